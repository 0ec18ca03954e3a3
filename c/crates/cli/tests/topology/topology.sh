# Says what the kernel makes of the machine: whom CPU 1 shares its core, caches, socket and node with, and
# the scheduler's domains.
cpu=/sys/devices/system/cpu/cpu1
of() { printf '%s %s, ' "$2" "$(/bin/busybox cat "$1")"; }
printf "1 "
of $cpu/topology/core_cpus_list core
of $cpu/topology/package_cpus_list socket
for index in $cpu/cache/index*; do
    of $index/shared_cpu_list "L$(/bin/busybox cat $index/level)-$(/bin/busybox cat $index/type)"
done
for node in /sys/devices/system/node/node[0-9]*; do of "$node/cpulist" "${node##*/}"; done
# kernel/sched/debug.c shows the domains to who asks for them; debugfs is mounted.
echo Y > /sys/kernel/debug/sched/verbose
for domain in /sys/kernel/debug/sched/domains/cpu1/domain*; do of $domain/name "${domain##*/}"; done
echo end
