"""Disk images of small Debian 13 systems, each with a boot loader that a first boot installed."""

import dataclasses
import hashlib
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import machine
from step import step

HERE = pathlib.Path(__file__).resolve().parent
SUITE = "trixie"
PACKAGES = [
    "debian-archive-keyring",
    "gpgv",
    "initramfs-tools",
    "linux-image-cloud-amd64",
    "systemd-sysv",
    "udev",
    "zstd",
]
MEBIBYTE = 1 << 20
# The first partition is the boot loader's, the second one the root.
FIRST_MIB, ROOT_MIB, ROOT_SIZE_MIB = 1, 129, 1024
# A panic ends the machine, because it may not reboot.
PARAMETERS = "console=ttyS0 quiet panic=-1"
# What a system does beside booting, on the first boot or by the clock, and no test looks at.
MASKED = [
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "systemd-firstboot.service",
    "systemd-tmpfiles-clean.timer",
]


@dataclasses.dataclass(frozen=True)
class Loader:
    """A boot loader: its packages, its partition, and how a running system installs it."""

    name: str
    packages: list[str]
    firmware: str
    partition_type: str
    mount: str
    before: str
    install: str


GRUB = Loader(
    name="grub",
    packages=["grub-pc"],
    firmware="bios",
    partition_type="21686148-6449-6E6F-744E-656564454649",
    mount="",
    before=f"""
        sed -i -e 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=0/' \
            -e 's/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="{PARAMETERS}"/' \
            -e 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=""/' \
            "$1/etc/default/grub"
    """,
    install="grub-install /dev/vda && update-grub",
)

SYSTEMD_BOOT = Loader(
    name="systemd-boot",
    packages=["systemd-boot"],
    firmware="efi",
    partition_type="C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
    mount="/dev/vda1 /boot/efi vfat umask=0077 0 2",
    before=f"""
        mkdir "$1/boot/efi"
        mkdir -p "$1/etc/kernel"
        echo 'root=/dev/vda2 ro {PARAMETERS}' > "$1/etc/kernel/cmdline"
    """,
    install="""
        bootctl --no-variables install
        release=$(uname -r)
        kernel-install add "$release" "/boot/vmlinuz-$release" "/boot/initrd.img-$release"
        echo 'timeout 0' > /boot/efi/loader/loader.conf
    """,
)

LOADERS = [GRUB, SYSTEMD_BOOT]


def image(loader, folder):
    """A disk that is built unless there is one of these very inputs."""
    name = f"{loader.name}-{_inputs(loader)}"
    disk = machine.Disk(folder / f"{name}.img", "raw", loader.firmware, folder / f"{name}.kernel")
    if not disk.path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{loader.name}-*"):
            old.unlink()
        with step(f"build the image {loader.name}"), tempfile.TemporaryDirectory(
            dir=folder
        ) as scratch:
            draft = _build(loader, pathlib.Path(scratch))
            draft.kernel.rename(disk.kernel)
            draft.path.rename(disk.path)
    return disk


def root(folder, packages, *options):
    """Unpacks a minimal Debian into a folder, from the mirror of this machine's apt."""
    mirrors = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
         "Origin: Debian", "Label: Debian", "Component: main"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--format=directory",
         f"--include={','.join(packages)}", *options, SUITE, folder, *mirrors[:1]],
        check=True,
    )  # fmt: skip


def _inputs(loader):
    inputs = hashlib.sha256(repr((loader, PACKAGES, MASKED)).encode())
    for file in [pathlib.Path(__file__), HERE / "guest/agent", HERE / "guest/agent.service"]:
        inputs.update(file.read_bytes())
    return inputs.hexdigest()[:16]


def _build(loader, scratch):
    tree, disk = scratch / "tree", scratch / "disk"
    _debian(loader, tree)
    _partitioned(loader, disk)
    _file_systems(loader, disk, tree)
    shutil.copy(_only(tree.glob("boot/vmlinuz-*")), scratch / "kernel")
    shutil.copy(_only(tree.glob("boot/initrd.img-*")), scratch / "initrd")
    shutil.rmtree(tree)
    direct = ["-kernel", scratch / "kernel", "-initrd", scratch / "initrd",
              "-append", f"root=/dev/vda2 ro {PARAMETERS}"]  # fmt: skip
    draft = machine.Disk(disk, "raw", loader.firmware, scratch / "kernel")
    with machine.started(draft, scratch, loader.install, extra=direct) as first:
        first.ended()
    return draft


def _debian(loader, tree):
    guest = shlex.quote(str(HERE / "guest"))
    # The initramfs finds the root with two modules, which a build elsewhere cannot find out.
    before_the_kernel = """
        mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
        echo MODULES=list > "$1/etc/initramfs-tools/conf.d/list"
        echo virtio_blk > "$1/usr/share/initramfs-tools/modules.d/root"
    """
    after = f"""
        install -m 755 {guest}/agent "$1/usr/local/sbin/agent"
        install -m 644 {guest}/agent.service "$1/etc/systemd/system/agent.service"
        chroot "$1" systemctl --quiet enable agent.service
        chroot "$1" systemctl --quiet mask {' '.join(MASKED)}
        printf '%s\\n' '/dev/vda2 / ext4 errors=remount-ro 0 1' {shlex.quote(loader.mount)} \
            > "$1/etc/fstab"
        echo preemptlab > "$1/etc/hostname"
        {loader.before}
    """
    root(
        tree, PACKAGES + loader.packages,
        f"--essential-hook={before_the_kernel}", f"--customize-hook=set -eu; {after}",
    )  # fmt: skip


def _partitioned(loader, disk):
    with disk.open("wb") as file:
        file.truncate((ROOT_MIB + ROOT_SIZE_MIB + 1) * MEBIBYTE)
    table = f"""
        label: gpt
        start={FIRST_MIB}MiB, size={ROOT_MIB - FIRST_MIB}MiB, type={loader.partition_type}
        start={ROOT_MIB}MiB, size={ROOT_SIZE_MIB}MiB, type=linux
    """
    subprocess.run(["sfdisk", "--quiet", disk], input=table.encode(), check=True)


def _file_systems(loader, disk, tree):
    if loader.firmware == "efi":
        sectors = (ROOT_MIB - FIRST_MIB) * MEBIBYTE // 512
        subprocess.run(
            ["mformat", "-i", f"{disk}@@{FIRST_MIB}M", "-F", "-T", str(sectors), "::"], check=True
        )
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-d", tree, "-E", f"offset={ROOT_MIB * MEBIBYTE}", disk,
         f"{ROOT_SIZE_MIB}M"],
        check=True,
    )  # fmt: skip


def _only(paths):
    (path,) = paths
    return path
