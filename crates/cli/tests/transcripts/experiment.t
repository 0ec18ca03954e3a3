Mistakes in an experiment or a scenario are shown in their lines. `small.toml` is SMALL of bad_input.rs.

A file that is missing, and a key that is misspelt.

  $ preemptlab run nowhere.toml
    × cannot read nowhere.toml: No such file or directory (os error 2)
  [2]
  $ sed 's/factors/factor/' small.toml > bad.toml
  $ preemptlab run bad.toml
    × unknown field `factor`, expected one of `format`, `name`, `description`, `factors`,
    │ `replicates`, `machine`, `workload`
     ╭─[bad.toml:4:2]
   3 │
   4 │ [factor]
     ·  ───┬──
     ·     ╰── here
   5 │ kernel = ["debian:6.12"]
     ╰────
    help: did you mean `factors`?
  [2]

An architecture that is not known: the sentence names the key, its value and the values that are known.

  $ sed "s/^\[workload/[machine]\narch = \"riscv64\"\n\n&/" small.toml > riscv64.toml
  $ printf 'format = 1\nname = "x"\narch = "riscv64"\nend = "1s"\n[thread.a]\nsteps = ["yield"]\n' > play-riscv64.toml
  $ preemptlab run -n riscv64.toml
    × `arch = "riscv64"` is not known; the known architectures are "amd64", "arm64"
      ╭─[riscv64.toml:9:8]
    8 │ [machine]
    9 │ arch = "riscv64"
      ·        ────┬────
      ·            ╰── here
   10 │
      ╰────
    help: for example: arch = "amd64"
  [2]
  $ preemptlab run play-riscv64.toml
    × `arch = "riscv64"` is not known; the known architectures are "amd64", "arm64"
     ╭─[play-riscv64.toml:3:8]
   2 │ name = "x"
   3 │ arch = "riscv64"
     ·        ────┬────
     ·            ╰── here
   4 │ end = "1s"
     ╰────
    help: leave it out: scenarios are played on amd64
  [2]

Modes: misspelt, none, and one that is a kernel.

  $ sed 's/full/voluntery/' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × unknown variant `voluntery`, expected one of `none`, `voluntary`, `full`, `lazy`
     ╭─[bad.toml:6:20]
   5 │ kernel = ["debian:6.12"]
   6 │ preempt = ["none", "voluntery"]
     ·                    ─────┬─────
     ·                         ╰── here
   7 │
     ╰────
    help: did you mean `voluntary`?
  [2]
  $ sed '/^preempt/d' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × missing field `preempt`
     ╭─[bad.toml:4:1]
   3 │
   4 │ [factors]
     · ────┬────
     ·     ╰── here
   5 │ kernel = ["debian:6.12"]
     ╰────
    help: for example: preempt = ["none", "full"]
  [2]
  $ sed 's/none/rt/' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × unknown variant `rt`, expected one of `none`, `voluntary`, `full`, `lazy`
     ╭─[bad.toml:6:12]
   5 │ kernel = ["debian:6.12"]
   6 │ preempt = ["rt", "full"]
     ·            ──┬─
     ·              ╰── here
   7 │
     ╰────
    help: rt is a kernel flavour: kernel = ["debian:6.12-rt"]
  [2]

Settings that a machine may not be told.

  $ sed 's/^kernel/settings = ["sysctl.kernel.core_pattern=x"]\n&/' small.toml > bad.toml
  $ preemptlab run bad.toml --backend host
    × `sysctl.kernel.core_pattern=x` is not set on a machine: kernel.core_pattern is not among the
    │ sysctls that may be
  [2]
  $ sed 's/^kernel/settings = ["sysctl.kernel.modprobe=x"]\n&/' small.toml > bad.toml
  $ preemptlab run bad.toml --backend host
    × `sysctl.kernel.modprobe=x` is not set on a machine: kernel.modprobe is not among the sysctls
    │ that may be
  [2]
  $ sed 's/^kernel/settings = ["sysctl.kernel.sched_rt_runtime_us=x"]\n&/' small.toml > bad.toml
  $ preemptlab run bad.toml --backend host
    × `sysctl.kernel.sched_rt_runtime_us=x` is not set on a machine: its value is a number
  [2]
  $ sed 's/^kernel/settings = ["tracing\/tracing_on=1"]\n&/' small.toml > bad.toml
  $ preemptlab run bad.toml --backend host
    × `tracing/tracing_on=1` is not set on a machine: tracing/tracing_on is not among the files of
    │ debugfs that may be
  [2]

Scenarios: a step that is misspelt, one that may not stand there, and one after the end; the same name twice; a mode.

  $ printf 'format = 1\nname = "x"\ndescription = "d"\nend = "50ms"\n[thread.a]\nsteps = [{ busy = "1ms" }]\n' > x.toml
  $ sed 's/busy/busi/' x.toml > bad.toml
  $ preemptlab run bad.toml
    × there is no step `busi`
     ╭─[bad.toml:6:12]
   5 │ [thread.a]
   6 │ steps = [{ busi = "1ms" }]
     ·            ──┬─
     ·              ╰── here
     ╰────
    help: did you mean `busy`?
  [2]
  $ sed 's/{ busy.*}/{ call = [{ preempt_off = [{ sleep = "1ms" }] }] }/' x.toml > bad.toml
  $ preemptlab run bad.toml
    × `sleep` must not stand inside preempt_off: no kernel may switch tasks there
     ╭─[bad.toml:6:37]
   5 │ [thread.a]
   6 │ steps = [{ call = [{ preempt_off = [{ sleep = "1ms" }] }] }]
     ·                                     ────────┬────────
     ·                                             ╰── here
     ╰────
    help: put it outside, or hold a mutex or an rt_mutex instead
  [2]
  $ sed 's/busy = "1ms"/sleep_until = "2s"/' x.toml > bad.toml
  $ preemptlab run bad.toml
    × the thread would sleep until the scenario has ended
     ╭─[bad.toml:6:26]
   5 │ [thread.a]
   6 │ steps = [{ sleep_until = "2s" }]
     ·                          ──┬─
     ·                            ╰── here
     ╰────
    help: give the scenario a later `end`
  [2]
  $ preemptlab run x.toml x.toml
    × x.toml: there is another scenario `x`; give one of both another name
  [2]
  $ preemptlab run x.toml --preempt fulll
  error: invalid value 'fulll' for '--preempt <MODES>': unknown model `fulll`; did you mean `full`?

    tip: for example: preemptlab run studies/quick.toml --preempt none,full

  For more information, try '--help'.
  [2]
