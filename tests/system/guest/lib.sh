# What the jobs of the system tests have at hand.

# say WORDS...: a line that the host waits for.
say() {
    echo "@ $*"
}

# snapshot NAME: the command line that this machine booted with, and every file that the
# configuration of a boot consists of, with its mode, owner and digest. The loader's seed is new
# at each boot, and files whose names end in a hyphen are the backups of the user database.
snapshot() {
    mkdir "$RESULTS/$1"
    cat /proc/cmdline > "$RESULTS/$1/cmdline"
    set -- "$1" /etc /boot
    [ ! -e /var/lib/preemptlab ] || set -- "$@" /var/lib/preemptlab
    [ ! -e /var/lib/preemptlab-lowlatency ] || set -- "$@" /var/lib/preemptlab-lowlatency
    name=$1
    shift
    find "$@" ! -type f -printf '%p %y %m %U:%G %l\n' > /run/listing
    find "$@" -type f ! -name random-seed ! -name '*-' -printf '%p mode %m %U:%G\n' >> /run/listing
    find "$@" -type f ! -name random-seed ! -name '*-' -exec sha256sum {} + > /run/sums
    sed 's/\([^ ]*\)  \(.*\)/\2 bytes \1/' /run/sums >> /run/listing
    LC_ALL=C sort /run/listing > "$RESULTS/$name/files"
}

# quietly COMMAND...: what it prints is only of interest if it fails.
quietly() {
    "$@" > /run/said 2>&1 || {
        status=$?
        cat /run/said
        return "$status"
    }
}

# install_packages: the packages that came with the job.
install_packages() {
    quietly dpkg --install --force-unsafe-io ./*.deb
}
