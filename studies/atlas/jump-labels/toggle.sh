cd /sys/kernel/tracing || exit 1
for i in 1 2 3; do
    echo 1 > /proc/sys/kernel/sched_schedstats || exit 1
    echo 0 > /proc/sys/kernel/sched_schedstats
    echo 1 > events/sched/enable || exit 1
    echo 0 > events/sched/enable
done
# A kernel without the function tracer has the rest.
if echo function > current_tracer; then
    echo nop > current_tracer
fi
