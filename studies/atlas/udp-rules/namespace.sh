# Makes a network namespace at the other end of a veth pair, with $1 rules that no packet matches, and delays what is sent there.
set -e
ip netns add far
ip link add near type veth peer name far0 netns far
ip address add 10.9.0.1/24 dev near
ip link set near up
ip -netns far address add 10.9.0.2/24 dev far0
ip -netns far link set far0 up
{
    echo 'table ip burst {'
    echo 'chain input {'
    echo 'type filter hook input priority 0;'
    rule=0
    while [ $rule -lt "$1" ]; do
        echo "udp dport $((10000 + rule)) drop"
        rule=$((rule + 1))
    done
    echo '}'
    echo '}'
} > /tmp/rules
ip netns exec far nft -f /tmp/rules
tc qdisc add dev near root netem delay 50ms limit 20000
