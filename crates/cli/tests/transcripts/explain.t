Requests about a recording with traces, which `run` is, that cannot be answered.

A cell that is not there is answered with those that are; a name of several configurations is ambiguous.

  $ preemptlab explain run --cell windows
    × no finished cell is called `windows`; name one of these with --cell: debian:6.12.107+deb13
    │ none processes on 1 CPU #1 (52f457f6); debian:6.12.107+deb13 none processes on 1 CPU #2
    │ (94295095); debian:6.12.107+deb13 full processes on 1 CPU #1 (240807cd); debian:6.12.107+deb13
    │ full processes on 1 CPU #2 (238a2fc8)
  [2]
  $ preemptlab explain run --cell 'processes #1'
    × `processes #1` names 2 cells of several configurations; name one of them:
    │ debian:6.12.107+deb13 none processes on 1 CPU #1 (52f457f6); debian:6.12.107+deb13 full
    │ processes on 1 CPU #1 (240807cd)
  [2]

A moment outside of the run, and a function that the trace lacks.

  $ cat > it << 'end'
  > preemptlab explain run "$@" --cell 'none processes #1'
  > end
  $ sh it zoom 99s
    × there is nothing at 99000.000000ms: the cell lasts from 0.001000ms to 4733.031000ms
  [2]
  $ sh it what-if preemptible=do_nanosleeep
    × the trace of debian:6.12.107+deb13 none processes on 1 CPU #1 (52f457f6) never meets
    │ `do_nanosleeep`; nearest by name: `do_nanosleep`; the functions with the longest sections:
    │ preemptlab explain run ranking
  [2]

Malformed command lines.

  $ sh it zoom '5 weeks'
  error: invalid value '5 weeks' for '<TIME[±WINDOW]>': `weeks` is no unit of time; there are ns, us, ms and s

    tip: for example: preemptlab explain runs/quick zoom 9118.023ms±20us

  For more information, try '--help'.
  [2]
  $ sh it zoom 1s±1s
  error: invalid value '1s±1s' for '<TIME[±WINDOW]>': a window is at most 10 ms to each side

    tip: for example: preemptlab explain runs/quick zoom 9118.023ms±20us

  For more information, try '--help'.
  [2]
  $ sh it what-if exit_mmap
  error: invalid value 'exit_mmap' for '<preemptible=FUNCTION|cut=FUNCTION:TIME>...': expected preemptible=FUNCTION or cut=FUNCTION:TIME

    tip: for example: preemptlab explain runs/quick what-if preemptible=exit_mmap

  For more information, try '--help'.
  [2]
  $ sh it what-if 'preemptible=exit()'
  error: invalid value 'preemptible=exit()' for '<preemptible=FUNCTION|cut=FUNCTION:TIME>...': `exit()` is no name of a function

    tip: for example: preemptlab explain runs/quick what-if preemptible=exit_mmap

  For more information, try '--help'.
  [2]
  $ sh it what-if cut=exit_mmap:0us
  error: invalid value 'cut=exit_mmap:0us' for '<preemptible=FUNCTION|cut=FUNCTION:TIME>...': a cut leaves more than 0 ns

    tip: for example: preemptlab explain runs/quick what-if preemptible=exit_mmap

  For more information, try '--help'.
  [2]
  $ sh it what-if 'cut=exit_mmap:5 weeks'
  error: invalid value 'cut=exit_mmap:5 weeks' for '<preemptible=FUNCTION|cut=FUNCTION:TIME>...': `weeks` is no unit of time; there are ns, us, ms and s

    tip: for example: preemptlab explain runs/quick what-if preemptible=exit_mmap

  For more information, try '--help'.
  [2]
  $ sh it what-if preemptible=exit_mmap --fair
  error: unexpected argument '--fair' found

    tip: to pass '--fair' as a value, use '-- --fair'

  Usage: preemptlab explain <RUN> what-if [OPTIONS] <preemptible=FUNCTION|cut=FUNCTION:TIME>...

  For more information, try '--help'.
  [2]
  $ sh it --fair response
  error: --fair stands before `response`, whose own options stand behind it

  Usage: preemptlab explain [OPTIONS] <RUN> [WHAT]

  For more information, try '--help'.
  [2]
  $ sh it trace
  error: the following required arguments were not provided:
    --out <FILE>

    tip: for example: preemptlab explain runs/quick trace --out late.pftrace

  Usage: preemptlab explain <RUN> trace [OPTIONS] --out <FILE>

  For more information, try '--help'.
  [2]
  $ sh it --out file
  error: unexpected argument '--out' found

    tip: to pass '--out' as a value, use '-- --out'

  Usage: preemptlab explain [OPTIONS] <RUN> [WHAT]

  For more information, try '--help'.
  [2]
  $ sh it trace --format word --out file
  error: invalid value 'word' for '--format <FORMAT>'
    [possible values: perfetto, ftrace]

  For more information, try '--help'.
  [2]

A format that a view does not have.

  $ alike 'explain run,explain run response,explain run confirm,explain run what-if preemptible=rcu_core' --format csv
  error: invalid value 'csv' for '--format <FORMAT>'
    [possible values: table, json, markdown]

    tip: this command cannot write csv, which others can

  For more information, try '--help'.
  [2]
  $ alike 'explain run zoom 1ms --format json,explain run zoom 1ms --format csv,explain run zoom 1ms --format markdown'
  error: unexpected argument '--format' found

    tip: to pass '--format' as a value, use '-- --format'

  Usage: preemptlab explain <RUN> zoom [OPTIONS] <TIME[±WINDOW]>

  For more information, try '--help'.
  [2]
  $ sh it trace --out x --format json
  error: invalid value 'json' for '--format <FORMAT>'
    [possible values: perfetto, ftrace]

    tip: this command cannot write json, which others can

  For more information, try '--help'.
  [2]
  $ sh it trace --out x --format csv
  error: invalid value 'csv' for '--format <FORMAT>'
    [possible values: perfetto, ftrace]

    tip: this command cannot write csv, which others can

  For more information, try '--help'.
  [2]
  $ sh it trace --out x --format markdown
  error: invalid value 'markdown' for '--format <FORMAT>'
    [possible values: perfetto, ftrace]

    tip: this command cannot write markdown, which others can

  For more information, try '--help'.
  [2]

An output file that cannot be written.

  $ mkdir folder
  $ sh it trace --format ftrace --out nowhere/file
    × cannot write nowhere/file: No such file or directory (os error 2); choose another file
  [4]
  $ sh it trace --format ftrace --out folder
    × cannot write folder: is a directory; choose another file
  [4]
  $ sh it trace --format ftrace --out /dev/full
    × cannot write /dev/full: No space left on device (os error 28); choose another file
  [4]
  $ sh it --svg nowhere/file
    × cannot write nowhere/file: No such file or directory (os error 2); choose another file
  [4]
