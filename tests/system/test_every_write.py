"""The power fails after every single write to the disk: the boot loader finds the old configuration
or the new one, whole."""

import collections
import subprocess
import unittest

import image
import lab
import write_log
from step import step
from test_loaders import OPTIONS


class EveryWrite:
    """What is the same whatever the boot loader is."""

    def test_apply_and_revert(self):
        with lab.system(self.loader) as system:
            disk = system.content()
            old, new = self.change(
                system, disk, "install_packages", f"preemptlab system apply {OPTIONS} --yes"
            )
            self.assertNotEqual(old, new)
            self.assertEqual(self.change(system, disk, ":", "preemptlab system revert --yes"), (new, old))

    def change(self, system, disk, before, change):
        """Has a system make a change and reboot, and the copy of its disk follow write by write.
        Returns what the configuration was, and what it became."""
        log = disk.with_name("writes.log")
        log.write_bytes(b"")
        with step(change), system.running(
            f"""
            {before}
            cp {self.file} "$RESULTS/old"
            sync
            say begins
            {change}
            say done
            cp {self.file} "$RESULTS/new"
            """,
            lab.packages("preemptlab"),
            log,
        ) as running:
            running.said("begins")
            begin = write_log.position(log)
            running.said("done")
            done = write_log.position(log)
            results = running.ended()
        names = {results["new"]: "the new", results["old"]: "the old"}
        self.follow(disk, log, 0, begin, None)
        for what, start, end in [("the change", begin, done), ("the shutdown", done, None)]:
            with self.subTest(what):
                seen = self.follow(disk, log, start, end, names)
                print(f"  after each of {seen.total()} writes of {what}: {dict(seen)}", flush=True)
                self.assertGreater(seen.total(), 0)
        self.assertEqual(self.read(disk), results["new"])
        return results["old"], results["new"]

    def follow(self, disk, log, begin, end, names):
        """Repeats writes on the copy and counts which configuration is found after each."""
        seen = collections.Counter()
        with disk.open("r+b", buffering=0) as file:
            for number, write in enumerate(write_log.writes(log, begin, end)):
                file.seek(write.offset)
                file.write(write.data)
                if names is not None:
                    found = self.read(disk)
                    if found not in names:
                        self.fail(f"after write {number} this is found:\n{found}")
                    seen[names[found]] += 1
        return seen


class Grub(EveryWrite, unittest.TestCase):
    loader = image.GRUB
    file = "/boot/grub/grub.cfg"

    def read(self, disk):
        """As GRUB does, which does not replay the journal of a file system."""
        return output("grub-fstest", disk, "cat", f"(loop0,gpt2){self.file}")


class SystemdBoot(EveryWrite, unittest.TestCase):
    loader = image.SYSTEMD_BOOT
    file = "/boot/efi/loader/entries/*.conf"

    def read(self, disk):
        """As firmware does."""
        return output("mtype", "-i", f"{disk}@@{image.FIRST_MIB}M", "::/loader/entries/*.conf")


def output(*command):
    """What a command prints; what it complains about is a finding as well."""
    done = subprocess.run(command, capture_output=True)
    return (done.stdout + done.stderr).decode(errors="replace")
