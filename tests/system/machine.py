"""Virtual machines that boot a disk as a real machine does: firmware, boot loader, kernel."""

import contextlib
import dataclasses
import functools
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
OVMF = pathlib.Path("/usr/share/OVMF")
# The machine ends by itself unless something is broken.
PATIENCE_S = 900
QEMU = ("qemu-system-x86_64",)
RESULTS_BYTES = 64 << 20
# QEMU 7.2, which is Debian 12's, translates cmpxchg16b wrongly at times, and some instructions of
# the processors of today: the kernel and systemd find their memory overwritten. With a thread for
# each CPU one of them may meet a breakpoint of the kernel's own patching that is no longer there.
PROCESSORS = {
    "kvm": ["-accel", "kvm", "-cpu", "host"],
    "tcg": ["-accel", "tcg,thread=single", "-cpu", "qemu64,-cx16,-svm,+rdrand"],
}


class Broken(AssertionError):
    """A machine that did not do its job, with what it said."""


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk, the firmware that boots it, and the kernel that is on it."""

    path: pathlib.Path
    format: str
    firmware: str
    kernel: pathlib.Path


def overlay(disk, path):
    """A disk with another one's content, which keeps what is written and leaves the other alone."""
    subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-F", disk.format, "-b", disk.path, path],
        check=True,
    )
    return dataclasses.replace(disk, path=path, format="qcow2")


class Machine:
    """A running machine with a job."""

    def __init__(self, process, folder):
        self.process = process
        self._folder = folder
        self._read = 0

    def said(self, words):
        """Waits until the job says a line `@ WORDS...` and returns the rest of the line."""
        for line in self._lines():
            if line.startswith(f"@ {words}"):
                return line[len(words) + 2 :].strip()
        raise Broken(f"the machine ended before it said {words!r}\n{self._everything()}")

    def ended(self):
        """Waits until the machine has done its job and rebooted, and returns the job's results."""
        status = self.said("ended")
        self.process.wait(PATIENCE_S)
        if status != "0":
            raise Broken(f"the job failed: {status}\n{self._everything()}")
        with tarfile.open(self._folder / "results") as archive:
            return {
                entry.name.removeprefix("./"): archive.extractfile(entry).read().decode()
                for entry in archive
                if entry.isfile()
            }

    def cut(self):
        """Takes the power away."""
        self.process.kill()
        self.process.wait()

    def _lines(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            over = self.process.poll() is not None
            text = self._job_said()
            while "\n" in text[self._read :]:
                line, _, _ = text[self._read :].partition("\n")
                self._read += len(line) + 1
                yield line
            if over:
                return
            time.sleep(0.02)
        raise Broken(f"the machine took more than {PATIENCE_S} s\n{self._everything()}")

    def _job_said(self):
        return (self._folder / "job.log").read_bytes().decode(errors="replace").replace("\r", "")

    def _everything(self):
        console = (self._folder / "console.log").read_bytes().decode(errors="replace")
        return f"--- console\n{console[-4000:]}\n--- job\n{self._job_said()[-8000:]}"


@contextlib.contextmanager
def started(disk, folder, job, files=(), extra=(), log=None, program=QEMU):
    """Boots a disk whose agent executes a shell script that finds the files beside itself. QEMU,
    which is Debian's or another program, appends what is written to the disk to a log, if one is
    named (`write_log`)."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        scratch = pathlib.Path(scratch)
        _job(scratch / "job", job, files)
        with (scratch / "results").open("wb") as results:
            results.truncate(RESULTS_BYTES)
        for name in ["console.log", "job.log"]:
            (scratch / name).touch()
        command = _arguments(disk, scratch, extra, log, program)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            yield Machine(process, scratch)
        finally:
            process.kill()
            process.wait()


def _job(path, script, files):
    with tarfile.open(path, "w") as archive:
        text = f". ./lib.sh\n{script}\n".encode()
        entry = tarfile.TarInfo("run")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
        for file in [HERE / "guest/lib.sh", *files]:
            archive.add(file, pathlib.Path(file).name)


def _arguments(disk, scratch, extra, log, program):
    firmware = []
    if disk.firmware == "efi":
        # Nothing in the firmware's variables names the boot loader: it is where every firmware
        # looks on a disk that it does not know.
        shutil.copy(OVMF / "OVMF_VARS_4M.fd", scratch / "variables")
        firmware = [
            "-drive", f"if=pflash,format=raw,readonly=on,file={OVMF / 'OVMF_CODE_4M.fd'}",
            "-drive", f"if=pflash,format=raw,file={scratch / 'variables'}",
        ]  # fmt: skip
    return [
        *_qemu(accelerator(disk.kernel), program),
        *firmware,
        "-drive", _drive(disk, log),
        "-drive", f"if=virtio,format=raw,readonly=on,file={scratch / 'job'}",
        "-drive", f"if=virtio,format=raw,file={scratch / 'results'}",
        "-serial", f"file:{scratch / 'console.log'}",
        "-serial", f"file:{scratch / 'job.log'}",
        *extra,
    ]  # fmt: skip


def _drive(disk, log):
    if log is None:
        return f"if=virtio,format={disk.format},file={disk.path}"
    return (
        f"if=virtio,driver=blklogwrites,file.driver={disk.format},file.file.driver=file,"
        f"file.file.filename={disk.path},log.driver=file,log.filename={log},log-sector-size=512"
    )


@functools.cache
def accelerator(kernel):
    """`kvm` where it boots the kernel, which takes more than a device that can be opened."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    with tempfile.TemporaryDirectory() as folder:
        console = pathlib.Path(folder) / "console.log"
        command = [
            *_qemu("kvm"), "-kernel", kernel, "-append", "console=ttyS0 panic=-1",
            "-serial", f"file:{console}",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            # Without a root file system the kernel panics, which ends the machine.
            process.wait(10)
        except subprocess.TimeoutExpired:
            return "tcg"
        finally:
            process.kill()
            process.wait()
        return "kvm" if b"Kernel panic" in console.read_bytes() else "tcg"


def _qemu(accelerator, program=QEMU):
    return [
        # QEMU does not outlive this process, however that ends.
        "setpriv", "--pdeathsig", "KILL",
        *program, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        # GRUB waits for ever on a machine without a display adapter.
        "-vga", "std", "-machine", "q35", *PROCESSORS[accelerator], "-smp", "2", "-m", "1024",
    ]  # fmt: skip
