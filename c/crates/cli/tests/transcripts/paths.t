Paths that are not of the kind that the command reads or writes. `small.toml` is SMALL of bad_input.rs; of recordings,
only the presence matters.

  $ sed 's/small/move/' small.toml > move.toml
  $ sed 's/small/new/' small.toml > new.toml
  $ printf 'format = 1\nname = "play"\ndescription = "d"\nend = "50ms"\n[thread.a]\nsteps = [{ busy = "1ms" }]\n' > play.toml
  $ for run in runs/move runs/play-c0ffee fine; do mkdir -p $run/cells; echo {} > $run/recording.json; done

A path that is no recording is told from the one that was meant by every verb that reads recordings.

  $ cat > read << 'end'
  > alike 'compare,compare -o page.html,compare --by kernel,explain,recommend,export,verify,system apply --yes --from' "$1"
  > end
  $ sh read move.toml
    × move.toml is not a recording: it is an experiment; its recording is runs/move
  [2]
  $ sh read new.toml
    × new.toml is not a recording: it is an experiment; its recording will be runs/new: preemptlab
    │ run new.toml
  [2]
  $ sh read play.toml
    × play.toml is not a recording: it is a scenario; its recording is runs/play-c0ffee
  [2]
  $ sh read mvoe
    × there is no folder mvoe; did you mean runs/move?
  [2]
  $ sh read move
    × there is no folder move; did you mean runs/move?
  [2]
  $ sh read runs/mvoe
    × there is no folder runs/mvoe; did you mean runs/move?
  [2]
  $ sh read rnus/move
    × there is no folder rnus/move; did you mean runs/move?
  [2]
  $ sh read fien
    × there is no folder fien; did you mean fine?
  [2]
  $ sh read ./fien
    × there is no folder ./fien; did you mean ./fine?
  [2]
  $ sh read fine/cells
    × fine/cells is not a recording: it has no recording.json; did you mean fine?
  [2]
  $ sh read runs/move/recording.json
    × runs/move/recording.json is not a recording: it is a part of one; did you mean runs/move?
  [2]
  $ sh read runs
    × runs is not a recording: it has no recording.json; it holds runs/move, runs/play-c0ffee
  [2]
  $ sh read nothing/like/it
    × there is no folder nothing/like/it
  [2]

A capsule is unpacked before it is read.

  $ printf '\050\265\057\375' > quick.capsule
  $ preemptlab compare quick.capsule
    × quick.capsule is not a recording: it is packed; `preemptlab verify quick.capsule` checks a
    │ capsule, and `tar --zstd -xf quick.capsule recording` takes the recording out of it
  [2]
  $ preemptlab verify quick.capsule
    × quick.capsule is no whole capsule: incomplete frame; get another copy of it
  [2]
  $ rm quick.capsule

A file that is missing or of another kind.

  $ preemptlab run mvoe.toml
    × cannot read mvoe.toml: No such file or directory (os error 2); did you mean move.toml?
  [2]
  $ preemptlab run -n ./mvoe.toml
    × cannot read ./mvoe.toml: No such file or directory (os error 2); did you mean ./move.toml?
  [2]
  $ preemptlab run moev
    × cannot read moev: No such file or directory (os error 2); did you mean move.toml?
  [2]
  $ preemptlab run -n runs
    × cannot read runs: Is a directory (os error 21)
  [2]
  $ preemptlab run paly.toml
    × cannot read paly.toml: No such file or directory (os error 2); did you mean play.toml?
  [2]
  $ preemptlab cluster prepare play.toml
    × play.toml is a scenario; play it with: preemptlab run play.toml
  [2]
  $ preemptlab run play.toml move.toml
    × move.toml is an experiment; run it with: preemptlab run move.toml
  [2]
  $ preemptlab run move.toml play.toml
    × play.toml is one too many: only scenarios are run several at a time
  [2]

A suggestion is of the kind that the command reads.

  $ mkdir scenarios
  $ cp play.toml scenarios/late.toml
  $ cp play.toml movie.toml
  $ preemptlab run nothing/of-that-kind.toml
    × cannot read nothing/of-that-kind.toml: No such file or directory (os error 2)
  [2]
  $ preemptlab run laet.toml
    × cannot read laet.toml: No such file or directory (os error 2); did you mean
    │ scenarios/late.toml?
  [2]
  $ preemptlab run scenarios/lat.toml
    × cannot read scenarios/lat.toml: No such file or directory (os error 2); did you mean
    │ scenarios/late.toml?
  [2]
  $ preemptlab cluster prepare mvie.toml
    × cannot read mvie.toml: No such file or directory (os error 2); did you mean move.toml?
  [2]

Names of files in hints steer no terminal.

  $ mkdir "$(printf 'runs/mo\033[2Jve')"
  $ echo {} > "$(printf 'runs/mo\033[2Jve/recording.json')"
  $ preemptlab compare 'mo[2Jve'
    × there is no folder mo[2Jve; did you mean runs/mo [2Jve?
  [2]

A path to write to is not standard output.

  $ export check="$REPO/studies/check"
  > alike "export $check --out,compare $check -o,compare $check --template x --out,explain $check --svg,explain $check trace --out,run move.toml --out,gate debian:6.12 debian:7.2 --out,cluster prepare move.toml --out,system calibrate --out,util pack $check --out" -
  error: invalid value '-' for '--out <FOLDER>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab export runs/quick --out runs/quick-csv

  For more information, try '--help'.
  compare [REPO]/studies/check -o says:
  error: invalid value '-' for '--out <FILE>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab compare runs/quick --out report.html

  For more information, try '--help'.
  [2]
  compare [REPO]/studies/check --template x --out says:
  error: invalid value '-' for '--out <FILE>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab compare runs/quick --out report.html

  For more information, try '--help'.
  [2]
  explain [REPO]/studies/check --svg says:
  error: invalid value '-' for '--svg <FILE>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab explain runs/quick --svg late.svg

  For more information, try '--help'.
  [2]
  explain [REPO]/studies/check trace --out says:
  error: invalid value '-' for '--out <FILE>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab explain runs/quick trace --out late.pftrace

  For more information, try '--help'.
  [2]
  run move.toml --out says:
  error: invalid value '-' for '--out <FOLDER>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab run studies/quick.toml --out runs/mine

  For more information, try '--help'.
  [2]
  gate debian:6.12 debian:7.2 --out says:
  error: invalid value '-' for '--out <FOLDER>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab gate debian:6.12 debian:7.2 --out runs/mine

  For more information, try '--help'.
  [2]
  cluster prepare move.toml --out says:
  error: invalid value '-' for '--out <FOLDER>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab cluster prepare studies/quick.toml --out runs/mine

  For more information, try '--help'.
  [2]
  system calibrate --out says:
  error: invalid value '-' for '--out <FILE>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab system calibrate --out workstation.toml

  For more information, try '--help'.
  [2]
  util pack [REPO]/studies/check --out says:
  error: invalid value '-' for '--out <FILE>': `-` is not taken for standard output: give a path, or ./- for that name

    tip: for example: preemptlab util pack runs/quick --out quick.capsule

  For more information, try '--help'.
  [2]
  [2]
  $ test ! -e ./-

Recordings that are none, damaged, and of a newer format.

  $ mkdir empty new bad
  $ preemptlab compare nowhere
    × there is no folder nowhere
  [2]
  $ preemptlab compare empty
    × empty is not a recording: it has no recording.json
  [2]
  $ echo '{"format": 99, "future": true}' > new/recording.json
  $ preemptlab compare new
    × new/recording.json has format 99, and this preemptlab reads 3; use the newer one that wrote
    │ it, or run the experiment again
  [2]
  $ printf '{"format": 2, "experiment": ' > bad/recording.json
  $ preemptlab verify bad --against bad
    × bad/recording.json cannot be read: EOF while parsing a value at line 1 column 28; get another
    │ copy of the recording, or run the experiment into another folder
  [2]

Command lines: a verb that is none, in lines of its own, and values that are missing.

  $ preemptlab compre runs/quick
  error: unrecognized subcommand 'compre'

    tip: some similar subcommands exist: 'recommend', 'compare'

  Usage: preemptlab [OPTIONS] <COMMAND>

  For more information, try '--help'.
  [2]
  $ preemptlab "$(printf 'compre\nerror: something else')"
  error: unrecognized subcommand 'compre error: something else'  Usage: preemptlab [OPTIONS] <COMMAND>  For more information, try '--help'.
  [2]
  $ preemptlab runn
  error: unrecognized subcommand 'runn'

    tip: a similar subcommand exists: 'run'

  Usage: preemptlab [OPTIONS] <COMMAND>

  For more information, try '--help'.
  [2]
  $ preemptlab compare
  error: the following required arguments were not provided:
    <RUN>...

    tip: for example: preemptlab compare runs/quick

  Usage: preemptlab compare [OPTIONS] <RUN>...

  For more information, try '--help'.
  [2]
  $ preemptlab run x.toml --jobs
  error: a value is required for '--jobs <N>' but none was supplied

    tip: for example: preemptlab run studies/quick.toml --jobs 2

  For more information, try '--help'.
  [2]
