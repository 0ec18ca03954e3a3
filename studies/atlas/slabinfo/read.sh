for i in 1 2 3 4 5 6 7 8 9 10; do
    /usr/bin/busybox cat /proc/slabinfo > /dev/null || exit 1
done
