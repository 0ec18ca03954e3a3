"""The power fails while settings are applied or taken back: the machine boots all the same."""

import random
import time
import unittest

import image
import lab
from step import step
from test_loaders import OPTIONS, WORDS, words

FAILURES = 2


class PowerFailure:
    """What is the same whatever the boot loader is.

    The disk keeps what the guest's file systems flushed and loses what QEMU held back, as a disk
    with a cache of its own does.
    """

    def test_apply(self):
        with lab.system(self.loader) as system:
            undisturbed = system.boot(
                "install",
                "install_packages; snapshot before",
                lab.packages("preemptlab"),
            )
            self.interrupt(
                system, undisturbed["before/files"], words(undisturbed["before/cmdline"]),
                f"preemptlab system apply {OPTIONS} --yes",
            )  # fmt: skip

    def test_revert(self):
        with lab.system(self.loader) as system:
            undisturbed = system.boot(
                "install and apply",
                f"install_packages; snapshot before; preemptlab system apply {OPTIONS} --yes",
                lab.packages("preemptlab"),
            )
            self.interrupt(
                system, undisturbed["before/files"], words(undisturbed["before/cmdline"]),
                "preemptlab system revert --yes",
            )  # fmt: skip

    def interrupt(self, system, original, old, change):
        """Cuts the power at random moments of a change, each on a copy of the disk."""
        with step("how long it takes"), system.copy("timed").running(
            f"say begins; {change}; say done"
        ) as running:
            running.said("begins")
            start = time.monotonic()
            running.said("done")
            longest_s = time.monotonic() - start
        for number in range(FAILURES):
            moment_s = random.uniform(0, longest_s)
            what = f"power failure {number + 1}, {moment_s:.2f} s after the begin"
            with self.subTest(what), step(what):
                copy = system.copy(f"cut{number}")
                with copy.running(f"say begins; {change}; say done; sleep 1000") as running:
                    running.said("begins")
                    time.sleep(moment_s)
                    running.cut()
                after = copy.boot(
                    "boot, apply again and revert",
                    f"""
                    snapshot after
                    preemptlab system apply {OPTIONS} --yes
                    snapshot applied
                    preemptlab system revert --yes
                    snapshot reverted
                    """,
                )
                booted = words(after["after/cmdline"])
                self.assertIn(booted, [old, old | WORDS])
                self.assertNotEqual(after["applied/files"], original)
                self.assertEqual(after["reverted/files"], original)


class Grub(PowerFailure, unittest.TestCase):
    loader = image.GRUB


class SystemdBoot(PowerFailure, unittest.TestCase):
    loader = image.SYSTEMD_BOOT
