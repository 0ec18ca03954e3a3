# Takes every CPU but the first away and brings it back, and sends each an NMI.
rounds=0
while [ $rounds -lt 3 ]; do
    for cpu in /sys/devices/system/cpu/cpu[1-9]/online; do echo 0 > $cpu || exit 1; done
    /bin/busybox usleep 3000
    for cpu in /sys/devices/system/cpu/cpu[1-9]/online; do echo 1 > $cpu || exit 1; done
    rounds=$((rounds + 1))
done
# sysrq.rst: the stacks of all CPUs.
echo l > /proc/sysrq-trigger
/bin/busybox grep NMI /proc/interrupts
echo rounds $rounds
