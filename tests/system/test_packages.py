"""The packages are installed, used and purged, and nothing is left; building them again gives the
same bytes."""

import os
import pathlib
import shutil
import subprocess
import unittest

import image
import lab
from step import step

# Where dpkg and its triggers keep their books and caches, whose content is not the packages'.
BOOKS = [
    "/var/cache/debconf/",
    "/var/cache/ldconfig/",
    "/var/lib/dpkg/",
    "/var/log/",
]


class Packages(unittest.TestCase):
    def test_a_second_build_gives_the_same_bytes(self):
        with lab.scratch() as folder, step("build the packages again"):
            (folder / "release").symlink_to(lab.TARGET / "release")
            build = image.HERE / "../../packaging/build-deb"
            # Whatever the modes of new files, the zone and the words of the builder are.
            environment = {**os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"}
            subprocess.run([build, folder], check=True, capture_output=True, umask=0o077,
                           env=environment)  # fmt: skip
            for package in lab.packages("preemptlab", "preemptlab-lowlatency"):
                again = folder / "deb" / package.name
                self.assertEqual(package.read_bytes(), again.read_bytes(), package.name)

    def test_nothing_is_left_of_it(self):
        with lab.scratch() as folder:
            root = folder / "root"
            with step("a clean root"):
                image.root(root, ["debian-archive-keyring", "gpgv"])
            for package in lab.packages("preemptlab", "preemptlab-lowlatency"):
                shutil.copy(package, root / "root")
            before = files(root)
            with step("install, use and purge"):
                said = self.inside(root, """
                    dpkg --install root/*.deb
                    preemptlab --version
                    preemptlab system apply --preempt full --emit script > /dev/null
                    ! preemptlab-lowlatency-apply
                    dpkg --install root/*.deb
                    dpkg --remove preemptlab-lowlatency preemptlab
                    test -e /etc/preemptlab/lowlatency.conf
                    dpkg --purge preemptlab-lowlatency preemptlab
                """)  # fmt: skip
            self.assertIn("this is a chroot", said)
            self.assertEqual(files(root), before)
            status = (root / "var/lib/dpkg/status").read_text()
            self.assertNotIn("preemptlab", status)

    def inside(self, root, script):
        done = subprocess.run(
            ["chroot", root, "sh", "-euc", script], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"},
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout


def files(root):
    """Every path below a root with its mode, and the bytes of what is no book of dpkg's."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(folder, name)
            inside = path.removeprefix(str(root))
            if any(inside.startswith(book) for book in BOOKS):
                continue
            regular = os.path.isfile(path) and not os.path.islink(path)
            content = pathlib.Path(path).read_bytes() if regular else b""
            found[inside] = (os.lstat(path).st_mode, hash(content))
    return found
