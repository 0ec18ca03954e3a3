# Speaks QMP well enough for a boot and a cell, and misbehaves on demand.
# Usage: sh qemu.sh FOLDER BEHAVIOUR QEMU-ARGUMENT...
folder=$1
behaviour=$2

echo $$ >> "$folder/pids"
cat "/proc/$$/environ" > "$folder/environment"
ls "/proc/$$/fd" > "$folder/descriptors"

hang() {
    trap '' TERM
    # The child holds the monitor open, too.
    while :; do sleep 1000; done
}

case $behaviour in
dies) echo 'qemu: no such machine' >&2; exit 1 ;;
mute) hang ;;
early) echo 'qemu: error reading initrd' >&2; exit 1 ;;
garbage) echo 'hello'; hang ;;
long-line) while :; do printf '%4096s' ''; done ;;
esac

results=
role=boot
for argument; do
    case $argument in
    file,id=results,path=*) results=${argument#file,id=results,path=} ;;
    defer) role=cell ;;
    esac
done
echo "$role" >> "$folder/starts"

say() { printf '%s\r\n' "$1"; }

migrated() {
    say '{"return": {}}'
    say "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"$1\"}}"
}

[ "$behaviour" = unguarded ] || echo ready > "/proc/self/fd/$PREEMPTLAB_TURNSTILE"
say '{"QMP": {"version": {}, "capabilities": ["oob"]}}'
case $behaviour in
deaf) hang ;;
no-kernel) echo 'qemu: invalid kernel header' >&2; exit 1 ;;
esac

while read -r line; do
    path=${line#*file:}
    path=${path%%,*}
    case $line in
    *'"migrate"'*)
        if [ "$behaviour" = full ]; then
            migrated failed
        else
            echo 'a stream' | dd "of=$path" bs=4096 seek=1 conv=notrunc 2> "$folder/dd"
            migrated completed
        fi
        ;;
    *migrate-incoming*)
        if [ "$behaviour" = unloadable ] || { [ "$behaviour" = choosy ] && [ ! -e "$folder/chosen" ]; }; then
            : > "$folder/chosen"
            echo 'qemu: Unknown savevm section' >&2
            exit 1
        fi
        migrated completed
        ;;
    *query-migrate*) say '{"return": {"error-desc": "No space left on device"}}' ;;
    *cont*)
        say '{"return": {}}'
        [ "$behaviour" != asleep ] || hang
        if [ "$role" = boot ]; then
            cat "$folder/ready" > "$results"
            say '{"event": "WATCHDOG", "data": {"action": "pause"}}'
            say '{"event": "STOP"}'
        elif [ "$behaviour" = hung ]; then
            say '{"event": "WATCHDOG", "data": {"action": "pause"}}'
            hang
        elif [ "$behaviour" = verbose ]; then
            exec cat /dev/zero > "$results"
        elif [ "$behaviour" = crash ]; then
            kill -SEGV $$
        else
            cat "$folder/done" > "$results"
            say '{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-shutdown"}}'
            exit 85
        fi
        ;;
    *) say '{"return": {}}' ;;
    esac
done
