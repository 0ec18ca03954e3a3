A store and a QEMU that cannot be used. `small.toml` is SMALL of bad_input.rs.

  $ touch file
  $ preemptlab run small.toml --store file
    × the store cannot be `[DESK]/file`, which is not a folder; name another folder with --store
  [4]
  $ cat > qemu << 'end'
  > #!/bin/sh
  > [ "$1" = --version ] && echo 'QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7)'
  > end
  $ chmod +x qemu
  $ preemptlab run small.toml --set qemu=qemu
    × `[DESK]/qemu` is too old: QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7); 10.0 or newer is needed; without `qemu` in the configuration, Debian 13's is used
  [4]
  $ cat > qemu << 'end'
  > #!/bin/sh
  > [ "$1" = --version ] && echo 'QEMU emulator version 10.0.2' && exit
  > [ "$1" = --help ] && echo 'usage: qemu' && exit
  > exit 1
  > end
  $ preemptlab run small.toml --set qemu=qemu
    × `[DESK]/qemu` was built without TCG plugins (configure it with `--enable-plugins`); without `qemu` in the configuration, Debian 13's is used
  [4]
