b=/usr/bin/busybox
cd /sys/fs/cgroup || exit 1
echo +memory +pids +cpu > cgroup.subtree_control
for round in 1 2; do
    $b mkdir $($b seq 1 20 | $b sed s/^/top/) || exit 1
    for top in top*; do
        echo +memory +pids +cpu > $top/cgroup.subtree_control
        $b mkdir $($b seq 1 20 | $b sed s,^,$top/leaf,) || exit 1
    done
    $b cat memory.stat top*/memory.stat top1/leaf*/memory.stat > /dev/null
    $b rmdir top*/leaf* && $b rmdir top* || exit 1
done
