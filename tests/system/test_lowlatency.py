"""The package of ready settings: what installing, upgrading and purging it does to a machine."""

import unittest

import image
import lab
from test_loaders import states, words

WORDS = {"preempt=full", "rcu_nocbs=all", "rcutree.enable_rcu_lazy=1"}


class Lowlatency(unittest.TestCase):
    def test_install_boot_upgrade_purge(self):
        with lab.system(image.GRUB) as system:
            first = system.boot(
                "install",
                """
                snapshot before
                install_packages
                cat /sys/kernel/debug/sched/preempt > "$RESULTS/preempt"
                """,
                lab.packages("preemptlab", "preemptlab-lowlatency"),
            )
            self.assertIn("(full)", first["preempt"])

            second = system.boot(
                "boot with the settings, upgrade and purge",
                """
                snapshot booted
                preemptlab system show --format json > "$RESULTS/doctor" || :
                touch /run/now
                install_packages
                find /etc/default /boot /var/lib/preemptlab -newer /run/now > "$RESULTS/written"
                quietly dpkg --purge preemptlab-lowlatency preemptlab
                snapshot purged
                """,
                lab.packages("preemptlab", "preemptlab-lowlatency"),
            )
            before, booted = words(first["before/cmdline"]), words(second["booted/cmdline"])
            self.assertEqual(booted - before, WORDS)
            self.assertEqual(states(second), dict.fromkeys(WORDS, "in_force"))
            self.assertEqual(second["written"], "", "the upgrade wrote")
            self.assertEqual(first["before/files"], second["purged/files"])

    def test_a_setting_that_the_kernel_lacks_is_left_out(self):
        with lab.system(image.GRUB) as system:
            results = system.boot(
                "install with a setting that this kernel lacks",
                """
                mkdir /etc/preemptlab
                printf 'preempt lazy\\nthreadirqs\\n' > /etc/preemptlab/lowlatency.conf
                dpkg --install --force-unsafe-io --force-confold ./*.deb > "$RESULTS/said" 2>&1
                cat /etc/default/grub.d/*preemptlab* > "$RESULTS/drop-in"
                """,
                lab.packages("preemptlab", "preemptlab-lowlatency"),
            )
            self.assertIn("Left out: preempt=lazy", results["said"])
            self.assertIn("threadirqs", results["drop-in"])
            self.assertNotIn("preempt=", results["drop-in"])
