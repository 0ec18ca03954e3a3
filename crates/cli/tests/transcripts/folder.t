Folders of a workload that cannot be used are refused before anything is done. `sound` holds the definition of `mine`,
DEFINITION of folder.rs.

  $ cat > changed << 'end'
  > sed "$@" sound/workload.toml > mine/workload.toml && preemptlab run mine.toml
  > end

The folder itself: a link out of it, too large, without a definition, not there.

  $ ln -s /etc/passwd mine/secret
  $ preemptlab run mine.toml
    × the workload `mine` cannot be read from mine: `secret` is a link to `/etc/passwd`, which leads
    │ out of the folder
  [2]
  $ rm mine/secret
  $ truncate -s 65M mine/large
  $ preemptlab run mine.toml
    × the workload `mine` cannot be read from mine: there are more than 64 MiB in it
  [2]
  $ rm mine/large mine/workload.toml
  $ preemptlab run mine.toml
    × the workload `mine` cannot be read from mine: there is no workload.toml
  [2]
  $ mv mine moved
  $ preemptlab run mine.toml
    × the workload `mine` cannot be read from mine: cannot read mine: No such file or directory (os
    │ error 2)
  [2]
  $ mv moved mine

A mistake in the definition is shown in its place.

  $ sh changed s/packages/pakages/
    × unknown field `pakages`, expected one of `format`, `description`, `packages`, `without`,
    │ `module_files`, `window`, `settle`, `limit`, `cyclictest`, `prepare`, `load`, `probe`,
    │ `metric`, `latency`
     ╭─[mine/workload.toml:2:1]
   1 │ format = 1
   2 │ pakages = ["dash"]
     · ───┬───
     ·    ╰── here
   3 │ without = ["debianutils", "dpkg"]
     ╰────
    help: did you mean `packages`?
  [2]
  $ sh changed 's/+)/+/'
    × regex parse error:
    │     ^my seed is (\d+$
    │                 ^
    │ error: unclosed group
      ╭─[mine/workload.toml:28:11]
   27 │ from = "work.stdout"
   28 │ pattern = '^my seed is (\d+$'
      ·           ─────────┬─────────
      ·                    ╰── here
   29 │
      ╰────
    help: for example: pattern = '^rsa .* ([\d.]+)$'
  [2]
  $ sh changed 's/work\.real/wrok.real/'
    × there is no load or probe `wrok`
      ╭─[mine/workload.toml:20:8]
   19 │ better = "higher"
   20 │ from = "wrok.real"
      ·        ─────┬─────
      ·             ╰── here
   21 │ amount = 20000
      ╰────
    help: did you mean `work`?
  [2]
  $ sh changed 's/name = "seed"/name = "wakeup"/'
    × `wakeup` is the name of a metric that preemptlab itself has
      ╭─[mine/workload.toml:24:8]
   23 │ [[metric]]
   24 │ name = "wakeup"
      ·        ────┬───
      ·            ╰── here
   25 │ unit = "seeds"
      ╰────
    help: choose another name
  [2]

A trace follows one probe, which it knows by its name.

  $ sh changed '/name = "work"/a wakeups = true'
    × `work` has `wakeups`, but traces follow the cyclictest beside it
      ╭─[mine/workload.toml:13:8]
   12 │ [[probe]]
   13 │ name = "work"
      ·        ───┬──
      ·           ╰── here
   14 │ wakeups = true
      ╰────
    help: leave out `wakeups`, or `cyclictest`
  [2]
  $ sh changed -e /^cyclictest/d -e '/name = "noise"/a wakeups = true'
    × `noise` has `wakeups`, and is no probe
     ╭─[mine/workload.toml:8:8]
   7 │ [[load]]
   8 │ name = "noise"
     ·        ───┬───
     ·           ╰── here
   9 │ wakeups = true
     ╰────
    help: make it a [[probe]]
  [2]
  $ sh changed -e /^cyclictest/d -e '/name = "work"/a wakeups = true'
    × `work` and `noise` are the same program, whose wakeups a trace cannot tell apart
     ╭─[mine/workload.toml:8:8]
   7 │ [[load]]
   8 │ name = "noise"
     ·        ───┬───
     ·           ╰── here
   9 │ argv = ["/usr/bin/dash", "-c", "while :; do :; done"]
     ╰────
    help: give one of them another file name
  [2]
  $ sh changed -e /^cyclictest/d -e '/name = "work"/a wakeups = "yes"'
    × invalid type: string "yes", expected a boolean
      ╭─[mine/workload.toml:13:11]
   12 │ name = "work"
   13 │ wakeups = "yes"
      ·           ──┬──
      ·             ╰── here
   14 │ argv = ["/usr/bin/dash", "/workload/work", "{seed}"]
      ╰────
  [2]
  $ printf '\n[[probe]]\nname = "mine"\nargv = ["/usr/bin/servo"]\nwakeups = true\n' >> sound/workload.toml
  $ sh changed -e /^cyclictest/d -e '/name = "work"/a wakeups = true'
    × `work` and `mine` both have `wakeups`
      ╭─[mine/workload.toml:41:8]
   40 │ [[probe]]
   41 │ name = "mine"
      ·        ───┬──
      ·           ╰── here
   42 │ argv = ["/usr/bin/servo"]
      ╰────
    help: choose the probe that traces follow
  [2]
  $ printf '[[probe]]\nname = "next"\nargv = ["/usr/bin/cyclictest"]\n' >> sound/workload.toml
  $ sh changed /^cyclictest/d
    × `mine` has `wakeups`, but traces follow the cyclictest of `next`
      ╭─[mine/workload.toml:44:8]
   43 │ [[probe]]
   44 │ name = "next"
      ·        ───┬──
      ·           ╰── here
   45 │ argv = ["/usr/bin/cyclictest"]
      ╰────
    help: make it a [[load]], or move `wakeups` to it
  [2]
  $ test ! -e runs
