"""Settings are applied, booted with, and taken back, on a disk with each boot loader."""

import json
import unittest

import image
import lab

OPTIONS = "--preempt full --threadirqs --rcu-nocbs all --rcu-lazy on"
WORDS = {"preempt=full", "threadirqs", "rcu_nocbs=all", "rcutree.enable_rcu_lazy=1"}


class Applied:
    """What is the same whatever the boot loader is."""

    def test_apply_boot_revert_boot(self):
        with lab.system(self.loader) as system:
            first = system.boot(
                "install and apply",
                f"""
                install_packages
                snapshot before
                preemptlab system apply {OPTIONS} --yes
                snapshot applied
                touch /run/now
                preemptlab system apply {OPTIONS} --yes
                find /etc /boot /var/lib/preemptlab -newer /run/now > "$RESULTS/written"
                preemptlab system show --format json > "$RESULTS/doctor" || :
                """,
                lab.packages("preemptlab"),
            )
            self.assertIn(self.file, first["before/files"])
            self.assertNotEqual(first["before/files"], first["applied/files"])
            self.assertEqual(first["written"], "", "the second apply wrote")
            self.assertEqual(states(first)["rcu_nocbs=all"], "after_next_boot")

            second = system.boot(
                "boot with the settings and revert",
                """
                snapshot booted
                preemptlab system show --format json > "$RESULTS/doctor" || :
                preemptlab system revert --yes
                snapshot reverted
                """,
            )
            before, booted = words(first["before/cmdline"]), words(second["booted/cmdline"])
            self.assertEqual(booted - before, WORDS)
            self.assertLessEqual(before, booted)
            self.assertEqual(first["applied/files"], second["booted/files"])
            self.assertEqual(states(second), dict.fromkeys(WORDS, "in_force"))
            self.assertEqual(first["before/files"], second["reverted/files"])

            third = system.boot(
                "boot without the settings",
                """
                snapshot booted
                preemptlab system show --format json > "$RESULTS/doctor" || :
                """,
            )
            self.assertEqual(first["before/cmdline"], third["booted/cmdline"])
            self.assertEqual(first["before/files"], third["booted/files"])
            self.assertEqual(states(third), {})


class Grub(Applied, unittest.TestCase):
    loader = image.GRUB
    file = "/boot/grub/grub.cfg bytes "


class SystemdBoot(Applied, unittest.TestCase):
    loader = image.SYSTEMD_BOOT
    file = ".conf bytes "


def words(cmdline):
    return set(cmdline.split())


def states(results):
    """What `preemptlab system show` says of each setting that was applied."""
    settings = json.loads(results["doctor"])["settings"]
    return {effect["setting"]: effect["state"] for effect in settings["applied"]}
