Values of options that cannot take the place of those of an experiment are refused before anything is brought here.

  $ cat > refused << 'end'
  > mirror='--set mirror=http://127.0.0.1:9/debian'
  > alike "run made.toml $mirror,run -n made.toml $mirror" "$@"
  > end
  $ sh refused --replicates 0
  error: invalid value '0' for '--replicates <N>': 0 is not in 1..=10000

    tip: for example: preemptlab run studies/quick.toml --replicates 2

  For more information, try '--help'.
  [2]
  $ sh refused --replicates 10001
  error: invalid value '10001' for '--replicates <N>': 10001 is not in 1..=10000

    tip: for example: preemptlab run studies/quick.toml --replicates 2

  For more information, try '--help'.
  [2]
  $ sh refused --replicates many
  error: invalid value 'many' for '--replicates <N>': invalid digit found in string

    tip: for example: preemptlab run studies/quick.toml --replicates 2

  For more information, try '--help'.
  [2]
  $ sh refused --seed -1
  error: unexpected argument '-1' found

    tip: to pass '-1' as a value, use '-- -1'

  Usage: preemptlab run [OPTIONS] [FILE|RUN]...

  For more information, try '--help'.
  [2]
  $ sh refused --seed one
  error: invalid value 'one' for '--seed <N>': invalid digit found in string

    tip: for example: preemptlab run studies/quick.toml --seed 2

  For more information, try '--help'.
  [2]
  $ sh refused --seed 1.5
  error: invalid value '1.5' for '--seed <N>': invalid digit found in string

    tip: for example: preemptlab run studies/quick.toml --seed 2

  For more information, try '--help'.
  [2]
  $ sh refused --kernel 6.12-rt
  error: invalid value '6.12-rt' for '--kernel <[LABEL=]KERNEL>': `6.12-rt` names no kernel: it must start with `debian:`, `ubuntu:`, `fedora:`, `source:`, `tree:`, `git:`, `file:` or `package:`, as in `debian:6.12-rt`, or be `host`; did you mean `debian:6.12-rt`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ sh refused --kernel ubuntu:24.04
  error: invalid value 'ubuntu:24.04' for '--kernel <[LABEL=]KERNEL>': `ubuntu:24.04` names no kernel: that is a release of Ubuntu, and a version of its kernel is expected, such as `ubuntu:6.8`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ sh refused --kernel =debian:6.12
  error: invalid value '=debian:6.12' for '--kernel <[LABEL=]KERNEL>': `` is not a label: letters, digits, `-`, `_` and `.`, 24 at most, the first a letter or a digit, and not `host`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ sh refused --kernel 'a b=debian:6.12'
  error: invalid value 'a b=debian:6.12' for '--kernel <[LABEL=]KERNEL>': `a b` is not a label: letters, digits, `-`, `_` and `.`, 24 at most, the first a letter or a digit, and not `host`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ sh refused --kernel host=debian:6.12
  error: invalid value 'host=debian:6.12' for '--kernel <[LABEL=]KERNEL>': `host` is not a label: letters, digits, `-`, `_` and `.`, 24 at most, the first a letter or a digit, and not `host`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ sh refused --preempt rt
    × unknown preemption mode `rt`; rt is a kernel flavour: kernel = ["debian:6.12-rt"]
  [2]
  $ sh refused --preempt none,ful
  error: invalid value 'ful' for '--preempt <MODES>': unknown model `ful`; did you mean `full`?

    tip: for example: preemptlab run studies/quick.toml --preempt none,full

  For more information, try '--help'.
  [2]
  $ sh refused --workload laod
    × the experiment has no workload `laod`; did you mean `load`?
  [2]
  $ sh refused --workload kernel
    × the experiment has no workload `kernel`; it has load
  [2]
  $ sh refused --cpu 2
  error: unexpected argument '--cpu' found

    tip: to pass '--cpu' as a value, use '-- --cpu'

  Usage: preemptlab run [OPTIONS] [FILE|RUN]...

  For more information, try '--help'.
  [2]

The baseline must be one of the configurations that run.

  $ preemptlab run made.toml --kernel debian:7.2 --preempt lazy --baseline debian:7.2/full --set mirror=http://127.0.0.1:9/debian
  not as the file says: factors.kernel = ["debian:7.2"] instead of ["debian:6.12.107+deb13"]
  not as the file says: factors.preempt = ["lazy"] instead of ["none", "full"]
    × the experiment has no configuration `debian:7.2/full`; did you mean `debian:7.2/lazy`?
  [2]

A folder of other values is refused with what differs.

  $ preemptlab run made.toml --out runs/made --replicates 3 --set mirror=http://127.0.0.1:9/debian
  not as the file says: replicates.count = 3 instead of 2
    × runs/made holds a recording of another experiment (made as its file says); choose another
    │ folder with --out
  [2]
  $ preemptlab run runs/made --replicates 3 --set mirror=http://127.0.0.1:9/debian
    × runs/made is a recording and cannot be changed; to use other values, run the experiment's file
  [2]
