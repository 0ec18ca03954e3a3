Commands that fail before any work. No program listens on the port of the mirror: a command that gets that far says so.

  $ cat > small.toml << end
  > format = 1
  > name = "small"
  > [factors]
  > kernel = ["debian:6.12"]
  > preempt = ["none", "full"]
  > [workload.database]
  > kind = "pgbench"
  > end
  $ cat > refused << 'end'
  > preemptlab run small.toml "$@" --set mirror=http://127.0.0.1:9/debian
  > end

Names in options.

  $ sh refused --until 5% --metric responce.p99
    × no workload has the metric `responce.p99`; did you mean `response.p99`?
  [2]
  $ sh refused --until 5% --metric wakeup.fifo.max
    × no workload has the metric `wakeup.fifo.max`; `preemptlab compare RUN --all` shows those of a
    │ recording
  [2]
  $ sh refused --baseline debian:6.12/lazy
    × the experiment has no configuration `debian:6.12/lazy`; did you mean `debian:6.12/full`?
  [2]
  $ sh refused --baseline debian:6.1/none
    × the experiment has no configuration `debian:6.1/none`; did you mean `debian:6.12/none`?
  [2]

Folders that cannot be used.

  $ mkdir thesis
  $ touch file thesis/thesis.tex
  $ sh refused --out file
    × file cannot hold a recording: it is no folder; choose another with --out
  [2]
  $ sh refused --out file/x
    × file/x cannot hold a recording: it is no folder; choose another with --out
  [2]
  $ sh refused --out thesis
    × thesis is not empty and is not a recording; choose another folder with --out
  [2]

Stores that programs would misread; none is made.

  $ sh refused --store a:b
    × the store cannot be `[DESK]/a:b`: apt takes no path with a quote or a line break, and the loader that starts QEMU none with `:`, `;` or `$`; name another folder with --store
  [2]
  $ sh refused --store 'a;b'
    × the store cannot be `[DESK]/a;b`: apt takes no path with a quote or a line break, and the loader that starts QEMU none with `:`, `;` or `$`; name another folder with --store
  [2]
  $ sh refused --store 'a$b'
    × the store cannot be `[DESK]/a$b`: apt takes no path with a quote or a line break, and the loader that starts QEMU none with `:`, `;` or `$`; name another folder with --store
  [2]
  $ sh refused --store 'a"b'
    × the store cannot be `[DESK]/a"b`: apt takes no path with a quote or a line break, and the loader that starts QEMU none with `:`, `;` or `$`; name another folder with --store
  [2]
  $ sh refused --store "$(printf 'a\nb')"
    × the store cannot be `[DESK]/a b`: apt takes no path with a quote or a line break, and the loader that starts QEMU none with `:`, `;` or `$`; name another folder with --store
  [2]
  $ echo *
  | file refused small.toml store thesis

Limits are told before something aborts; a command without a virtual machine needs less.

  $ ulimit -v 1000000; exec sh refused
    × a virtual machine of this experiment needs 1664 MiB of address space, and this process is
    │ allowed 976 MiB: raise the limit (`ulimit -v`)
  [4]
  $ ulimit -s 128; exec sh refused
    × a virtual machine needs stacks of 256 KiB, and this process is allowed 128 KiB: raise the
    │ limit (`ulimit -s`)
  [4]
  $ ulimit -s 64; exec preemptlab util completions bash > out
  $ ulimit -v 300000; exec preemptlab util completions bash > out

A picture that cannot be written is noticed before anything is played.

  $ cat > play << 'end'
  > preemptlab run "$REPO/scenarios/driver-demo.toml" --format "$1" --set mirror=http://127.0.0.1:9/debian
  > end
  $ sh play svg=nowhere/a.svg
    × cannot write nowhere/a.svg: No such file or directory (os error 2); choose another file
  [4]
  $ sh play svg=file/a
    × cannot write file/a: Not a directory (os error 20); choose another file
  [4]
  $ sh play html=.
    × cannot write .: is a directory; choose another file
  [4]
  $ sh play html=file/a.html
    × cannot write file/a.html: not a directory; choose another file
  [4]

Output that cannot be written is no success; what goes to /dev/null on purpose counts as written.

  $ cat > each << 'end'
  > for arguments in --version --help 'run --help' 'util completions bash'; do
  >     (eval "preemptlab $arguments $1" > out; echo "[$?]") 2>&1 | paste -s -d ' '
  > done | sort | uniq -c
  > end
  $ sh each '>&-'
  |       4   × cannot write to standard output: it is closed  [4]
  $ sh each '> /dev/full'
  |       4   × cannot write to standard output: No space left on device (os error 28)  [4]
  $ sh each '> /dev/null'
  |       4 [0]
  $ sh each '2>&-'
  |       4 [0]
