b=/usr/bin/busybox
$b mkdir /tmp/d && cd /tmp/d || exit 1
# names ROUND CONDITION lists those of 2,100 names whose number meets the condition.
names() {
    $b awk -v i=$1 "BEGIN { for (n = 1; n <= 2100; n++) if ($2) print \"f\" i \"-\" n }"
}
i=0
while [ $i -lt 80 ]; do
    names $i 1 | $b xargs $b touch || exit 1
    i=$((i + 1))
done
# One in 21 stays.
i=0
while [ $i -lt 80 ]; do
    names $i 'n % 21' | $b xargs $b rm || exit 1
    i=$((i + 1))
done
