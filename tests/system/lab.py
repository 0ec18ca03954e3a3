"""What every test needs: the packages, a disk of its own, and boots of it."""

import contextlib
import pathlib
import subprocess
import tempfile

import image
import machine
from step import step

TARGET = pathlib.Path("target")


def packages(*names):
    """The newest built package of each name."""
    found = []
    for name in names:
        built = sorted((TARGET / "deb").glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
        if not built:
            raise FileNotFoundError(f"{TARGET}/deb has no package {name}: make deb")
        found.append(built[-1])
    return found


@contextlib.contextmanager
def scratch():
    """A folder for as long as it is needed."""
    parent = TARGET / "test-system"
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix="scratch-") as folder:
        yield pathlib.Path(folder)


@contextlib.contextmanager
def system(loader):
    """A system with a disk of its own that boots through a loader."""
    disk = image.image(loader, TARGET / "test-system/images")
    with scratch() as folder:
        yield System(machine.overlay(disk, folder / "disk.qcow2"), folder)


class System:
    """A disk, and what boots it."""

    def __init__(self, disk, folder):
        self._disk = disk
        self._folder = folder

    def boot(self, what, job, files=(), **options):
        """Boots, executes a shell script, reboots, and returns the files that the script left."""
        with step(what), self.running(job, files, **options) as running:
            return running.ended()

    def running(self, job, files=(), **options):
        """The machine while it boots and executes a shell script (`machine.started`)."""
        return machine.started(self._disk, self._folder, job, files, **options)

    def content(self):
        """The path of a copy of what is on the disk now, as a raw image."""
        raw = self._folder / "content.img"
        subprocess.run(
            ["qemu-img", "convert", "-O", "raw", self._disk.path, raw],
            check=True,
        )
        return raw

    def copy(self, name):
        """A system that begins with what is on the disk now. This one is not to be used again."""
        return System(machine.overlay(self._disk, self._folder / f"{name}.qcow2"), self._folder)
