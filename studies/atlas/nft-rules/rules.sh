/usr/bin/busybox awk 'BEGIN {
    print "table inet big {"
    printf "  set hosts { type ipv4_addr; elements = {"
    for (i = 0; i < 20000; i++)
        printf "%s 10.%d.%d.%d", i ? "," : "", i / 65536, i / 256 % 256, i % 256
    print " }; }"
    print "  chain in { type filter hook input priority 0;"
    for (i = 0; i < 2000; i++)
        printf "    ip saddr 10.1.%d.%d accept\n", i / 256, i % 256
    print "  }"
    print "}"
    print "flush ruleset"
}' > /tmp/rules
