Kernels that cannot be are refused before any download and any build. `small.toml` is SMALL of bad_input.rs.

A name of no kind, in the file and in an option.

  $ sed 's/debian:6.12/6.12/' small.toml > bad.toml
  $ preemptlab run bad.toml
    × `6.12` names no kernel: it must start with `debian:`, `ubuntu:`, `fedora:`, `source:`,
    │ `tree:`, `git:`, `file:` or `package:`, as in `debian:6.12-rt`, or be `host`
     ╭─[bad.toml:5:11]
   4 │ [factors]
   5 │ kernel = ["6.12"]
     ·           ───┬──
     ·              ╰── here
   6 │ preempt = ["none", "full"]
     ╰────
    help: did you mean `debian:6.12`?
  [2]
  $ preemptlab run small.toml --kernel elsewhere
  error: invalid value 'elsewhere' for '--kernel <[LABEL=]KERNEL>': `elsewhere` names no kernel: it must start with `debian:`, `ubuntu:`, `fedora:`, `source:`, `tree:`, `git:`, `file:` or `package:`, as in `debian:6.12-rt`, or be `host`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]

A kernel of another distribution of which no mirror is known, and names of releases.

  $ preemptlab run small.toml --kernel ubuntu:6.8
  not as the file says: factors.kernel = ["ubuntu:6.8"] instead of ["debian:6.12"]
    × no mirror of Ubuntu is known; name one with `--set ubuntu.mirror=URL`, or in the file that
    │ `preemptlab util config` names
  [2]
  $ preemptlab run small.toml --kernel fedora:6.14 --set fedora.repositories=mirror
  not as the file says: factors.kernel = ["fedora:6.14"] instead of ["debian:6.12"]
    × `mirror` is no mirror's URL; `fedora.repositories` should look like
    │ `http://HOST/fedora/releases/42/Everything/x86_64/os`
  [2]
  $ preemptlab run small.toml --kernel ubuntu:6.8 --set ubuntu.mirror=file:/srv --set ubuntu.keys=absent
  not as the file says: factors.kernel = ["ubuntu:6.8"] instead of ["debian:6.12"]
    × the keys in `absent` cannot be read: No such file or directory (os error 2)
  [2]
  $ preemptlab run small.toml --kernel fedora:42
  error: invalid value 'fedora:42' for '--kernel <[LABEL=]KERNEL>': `fedora:42` names no kernel: a series of kernels such as `6.14` or an exact version such as `6.14.5-300.fc42` is expected after `fedora:`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]

Each part of a name is blamed for its own slip only.

  $ sed 's/debian:6.12/source:6.12,config=lab+HZ_1000=m/' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × `source:6.12,config=lab+HZ_1000=m` names no kernel: `+HZ_1000=m` would be a module, and a
    │ kernel that is built here has none: `+HZ_1000=y` builds it in
     ╭─[bad.toml:5:11]
   4 │ [factors]
   5 │ kernel = ["source:6.12,config=lab+HZ_1000=m"]
     ·           ─────────────────┬────────────────
     ·                            ╰── here
   6 │ preempt = ["none", "full"]
     ╰────
    help: did you mean `source:6.12,config=lab+HZ_1000=y`?
  [2]
  $ sed 's/debian:6.12/source:6.12,config=lab+HZ_1000/' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × `source:6.12,config=lab+HZ_1000` names no kernel: `+HZ_1000` has no value: `+HZ_1000=y` builds
    │ it in
     ╭─[bad.toml:5:11]
   4 │ [factors]
   5 │ kernel = ["source:6.12,config=lab+HZ_1000"]
     ·           ────────────────┬───────────────
     ·                           ╰── here
   6 │ preempt = ["none", "full"]
     ╰────
    help: did you mean `source:6.12,config=lab+HZ_1000=y`?
  [2]
  $ sed 's/debian:6.12/source:6.12+HZ_1000=y,config=lab/' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × `source:6.12+HZ_1000=y,config=lab` names no kernel: its parts stand in this order:
    │ VERSION[,config=BASE][+SYMBOL=VALUE...]
     ╭─[bad.toml:5:11]
   4 │ [factors]
   5 │ kernel = ["source:6.12+HZ_1000=y,config=lab"]
     ·           ─────────────────┬────────────────
     ·                            ╰── here
   6 │ preempt = ["none", "full"]
     ╰────
    help: did you mean `source:6.12,config=lab+HZ_1000=y`?
  [2]
  $ sed 's/debian:6.12/source:6.12,config=PREEMPT/' small.toml > bad.toml
  $ preemptlab run -n bad.toml
    × `source:6.12,config=PREEMPT` names no kernel: `config=PREEMPT` is none of lab, debian,
    │ debian-rt, debian-cloud, and the path of a file has a `/`
     ╭─[bad.toml:5:11]
   4 │ [factors]
   5 │ kernel = ["source:6.12,config=PREEMPT"]
     ·           ──────────────┬─────────────
     ·                         ╰── here
   6 │ preempt = ["none", "full"]
     ╰────
    help: did you mean `source:6.12,config=./PREEMPT`?
  [2]
  $ preemptlab run small.toml --kernel source:6.12,config=./none
  not as the file says: factors.kernel = ["source:6.12,config=./none"] instead of ["debian:6.12"]
    × `./none` cannot be read: No such file or directory (os error 2)
  [2]
  $ preemptlab run small.toml --kernel source:6.12,confg=lab
  error: invalid value 'source:6.12,confg=lab' for '--kernel <[LABEL=]KERNEL>': `source:6.12,confg=lab` names no kernel: a kernel of Debian's source has the option `config=` only, as in `source:6.12,config=lab`; did you mean `source:6.12,config=lab`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel source:6.12-rt,config=lab
  error: invalid value 'source:6.12-rt,config=lab' for '--kernel <[LABEL=]KERNEL>': `source:6.12-rt,config=lab` names no kernel: only Debian's own configuration has a flavour: leave it out beside `config=`, and write `+EXPERT=y+PREEMPT_RT=y` for PREEMPT_RT; did you mean `source:6.12,config=lab+EXPERT=y+PREEMPT_RT=y`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel debian:6.12,config=lab
  error: invalid value 'debian:6.12,config=lab' for '--kernel <[LABEL=]KERNEL>': `debian:6.12,config=lab` names no kernel: a version holds letters, digits and `.+~-` only; did you mean `source:6.12,config=lab`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]

A vmlinux in the place of a bzImage.

  $ printf '\177ELF\2\1\1' > vmlinux
  $ sed 's/debian:6.12/file:vmlinux/' small.toml > bad.toml
  $ alike 'run,run -n' bad.toml --set mirror=http://127.0.0.1:9/debian
    × `vmlinux` cannot be booted: it is no bzImage (`HdrS` is missing at 0x202); name
    │ arch/x86/boot/bzImage of a build, or a /boot/vmlinuz
  [2]

Files of packages without a kernel that can be booted. bad_input.rs makes them.

  $ preemptlab run small.toml --kernel package:bzImage
  error: invalid value 'package:bzImage' for '--kernel <[LABEL=]KERNEL>': `package:bzImage` names no kernel: paths that end with `.deb` or `.rpm`, with commas between them, are expected after `package:`, as in `package:linux-image.deb,linux-modules.deb`

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel package:meta.deb,meta.deb
  error: invalid value 'package:meta.deb,meta.deb' for '--kernel <[LABEL=]KERNEL>': `package:meta.deb,meta.deb` names no kernel: it names a package twice

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel ./meta.deb
  not as the file says: factors.kernel = ["package:./meta.deb"] instead of ["debian:6.12"]
  unpacking ./meta.deb
    × the package `./meta.deb` holds no kernel image; it depends on `linux-image-6.12.1`: name the
    │ file of that package
  [2]
  $ preemptlab run small.toml --kernel package:meta.deb
  not as the file says: factors.kernel = ["package:meta.deb"] instead of ["debian:6.12"]
  unpacking meta.deb
    × the package `meta.deb` holds no kernel image; it depends on `linux-image-6.12.1`: name the
    │ file of that package
  [2]
  $ sed 's/debian:6.12/package:modules.deb/' small.toml > bad.toml
  $ alike 'run,run -n' bad.toml --set mirror=http://127.0.0.1:9/debian
  unpacking modules.deb
    × the package `modules.deb` holds no kernel image; it has modules of 6.12.1: name a package such
    │ as `linux-image-6.12.1` before it
  [2]
  $ preemptlab run small.toml --kernel package:arm64.deb
  not as the file says: factors.kernel = ["package:arm64.deb"] instead of ["debian:6.12"]
  unpacking arm64.deb
    × the package `arm64.deb` is for arm64, and the guest is amd64: name the package for amd64
  [2]
  $ preemptlab run small.toml --kernel package:aarch64.rpm
  not as the file says: factors.kernel = ["package:aarch64.rpm"] instead of ["debian:6.12"]
  unpacking aarch64.rpm
    × the package `aarch64.rpm` is for aarch64, and the guest is x86_64: name the package for x86_64
  [2]
  $ preemptlab run small.toml --kernel package:gzip.deb
  not as the file says: factors.kernel = ["package:gzip.deb"] instead of ["debian:6.12"]
  unpacking gzip.deb
    × the package `gzip.deb` holds `boot/vmlinuz-6.12.1`, which is compressed by gzip as a whole;
    │ only a bzImage can be booted
  [2]
  $ preemptlab run small.toml --kernel package:short.deb
  not as the file says: factors.kernel = ["package:short.deb"] instead of ["debian:6.12"]
  unpacking short.deb
    × the package `short.deb` is cut short or damaged: the file ends early
  [2]
  $ preemptlab run small.toml --kernel package:climbs.rpm
  not as the file says: factors.kernel = ["package:climbs.rpm"] instead of ["debian:6.12"]
  unpacking climbs.rpm
    × the package `climbs.rpm` holds `./lib/modules/../../../etc/passwd`, a path that may lead out
    │ of the package
  [2]
  $ preemptlab run small.toml --kernel package:device.rpm
  not as the file says: factors.kernel = ["package:device.rpm"] instead of ["debian:6.12"]
  unpacking device.rpm
    × the package `device.rpm` holds `boot/vmlinuz-6.12.1`, a device, where a file is expected
  [2]
  $ printf 'MZ' > text.deb
  $ preemptlab run small.toml --kernel package:text.deb
  not as the file says: factors.kernel = ["package:text.deb"] instead of ["debian:6.12"]
  unpacking text.deb
    × the package `text.deb` is neither a .deb nor an .rpm: the file begins as neither of them does
  [2]
  $ mkdir folder.deb
  $ preemptlab run small.toml --kernel package:folder.deb
  not as the file says: factors.kernel = ["package:folder.deb"] instead of ["debian:6.12"]
    × the kernel `folder.deb` cannot be read: Is a directory (os error 21)
  [2]
  $ mkfifo pipe.rpm
  $ preemptlab run small.toml --kernel package:pipe.rpm
  not as the file says: factors.kernel = ["package:pipe.rpm"] instead of ["debian:6.12"]
    × the kernel `pipe.rpm` cannot be read: it is no regular file
  [2]
  $ preemptlab run small.toml --kernel package:absent.deb
  not as the file says: factors.kernel = ["package:absent.deb"] instead of ["debian:6.12"]
    × the kernel `absent.deb` cannot be read: No such file or directory (os error 2)
  [2]
  $ ls store/unpacked store/kernels
  | store/kernels:
  |
  | store/unpacked:

Folders that are no kernel source; the commands of a Makefile are not executed.

  $ mkdir -p linux/kernel/sched
  $ preemptlab run small.toml --kernel tree:linux
  not as the file says: factors.kernel = ["tree:linux"] instead of ["debian:6.12"]
    × `linux` is no kernel source: it has no Makefile; name the folder with the kernel's Makefile,
    │ or a repository
  [2]
  $ preemptlab run small.toml --kernel tree:nowhere
  not as the file says: factors.kernel = ["tree:nowhere"] instead of ["debian:6.12"]
    × `nowhere` cannot be read: No such file or directory (os error 2)
  [2]
  $ preemptlab run small.toml --kernel git:linux@HEAD
  not as the file says: factors.kernel = ["git:linux@HEAD"] instead of ["debian:6.12"]
    × `linux` is no git repository, and is in none; name a clone, or build a working tree with
    │ `tree:`
  [2]
  $ mkdir -p linux/arch/x86
  $ touch linux/Kconfig linux/kernel/sched/core.c linux/arch/x86/Makefile
  $ printf 'all:\n\ttouch canary\n' > linux/Makefile
  $ preemptlab run small.toml --kernel tree:linux
  not as the file says: factors.kernel = ["tree:linux"] instead of ["debian:6.12"]
    × `[DESK]/linux` is no kernel source: it has no Makefile with a kernel's version; name the folder with the kernel's Makefile, or a repository
  [2]
  $ printf 'VERSION = 6\nPATCHLEVEL = 12\n$(shell touch canary)\n' > linux/Makefile
  $ preemptlab run small.toml --kernel tree:linux,clean
  not as the file says: factors.kernel = ["tree:linux,clean"] instead of ["debian:6.12"]
    × the tree `linux` is in no git repository, so nothing can say that it is clean: leave `,clean`
    │ out
  [2]
  $ preemptlab run small.toml --kernel tree:linux,config=./none
  not as the file says: factors.kernel = ["tree:linux,config=./none"] instead of ["debian:6.12"]
    × `./none` cannot be read: No such file or directory (os error 2)
  [2]
  $ preemptlab run small.toml --kernel tree:linux --arch arm64
  not as the file says: factors.kernel = ["tree:linux"] instead of ["debian:6.12"]
  not as the file says: machine.arch = "arm64" instead of "amd64"
  not as the file says: factors.machine = ["server-arm64"] instead of ["server-x86"]
    × the guest is of arm64, and the kernel source `linux` has no arch/arm64/Makefile: run it with
    │ `--arch amd64`, or name another folder or revision
  [2]
  $ mkdir linux/arch/arm64
  $ touch linux/arch/arm64/Makefile
  $ echo CONFIG_X86_64=y > x86.config
  $ preemptlab run small.toml --kernel tree:linux,config=./x86.config --arch arm64
  not as the file says: factors.kernel = ["tree:linux,config=./x86.config"] instead of ["debian:6.12"]
  not as the file says: machine.arch = "arm64" instead of "amd64"
  not as the file says: factors.machine = ["server-arm64"] instead of ["server-x86"]
    × the configuration `./x86.config` is of amd64, and the guest is of arm64: run it with `--arch
    │ amd64`, or name a configuration of arm64, such as `,config=lab`
  [2]
  $ preemptlab run small.toml --kernel source:6.12,config=./x86.config --arch arm64
  not as the file says: factors.kernel = ["source:6.12,config=./x86.config"] instead of ["debian:6.12"]
  not as the file says: machine.arch = "arm64" instead of "amd64"
  not as the file says: factors.machine = ["server-arm64"] instead of ["server-x86"]
    × the configuration `./x86.config` is of amd64, and the guest is of arm64: run it with `--arch
    │ amd64`, or name a configuration of arm64, such as `,config=lab`
  [2]
  $ preemptlab run small.toml --kernel tree:linux,confg=lab
  error: invalid value 'tree:linux,confg=lab' for '--kernel <[LABEL=]KERNEL>': `tree:linux,confg=lab` names no kernel: a kernel's tree has the options `config=`, `clean` and `nodiff` only; did you mean `tree:linux,config=lab`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel tree:linux+HZ_1000=m
  error: invalid value 'tree:linux+HZ_1000=m' for '--kernel <[LABEL=]KERNEL>': `tree:linux+HZ_1000=m` names no kernel: `+HZ_1000=m` would be a module, and a kernel that is built here has none: `+HZ_1000=y` builds it in; did you mean `tree:linux+HZ_1000=y`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel tree:linux,nodif
  error: invalid value 'tree:linux,nodif' for '--kernel <[LABEL=]KERNEL>': `tree:linux,nodif` names no kernel: a kernel's tree has the options `config=`, `clean` and `nodiff` only; did you mean `tree:linux,nodiff`?

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ preemptlab run small.toml --kernel git:linux@HEAD,nodiff
  error: invalid value 'git:linux@HEAD,nodiff' for '--kernel <[LABEL=]KERNEL>': `git:linux@HEAD,nodiff` names no kernel: a revision has no difference: leave `,nodiff` out

    tip: for example: preemptlab run studies/quick.toml --kernel debian:6.12-rt

  For more information, try '--help'.
  [2]
  $ echo canary* linux/*
  | canary* linux/Kconfig linux/Makefile linux/arch linux/kernel
