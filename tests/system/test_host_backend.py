"""What a machine's own kernel does when preemptlab measures it, on one that has a real debugfs."""

import unittest

import image
import lab


class HostBackend(unittest.TestCase):
    def test_the_mode_is_switched(self):
        with lab.system(image.GRUB) as system:
            results = system.boot(
                "switch the mode",
                """
                install_packages
                cd /sys/kernel/debug/sched
                cat preempt > "$RESULTS/before"
                for mode in none voluntary full; do
                    echo "$mode" > preempt
                    cat preempt > "$RESULTS/$mode"
                    preemptlab system show --format json > "$RESULTS/doctor-$mode" || :
                done
                """,
                lab.packages("preemptlab"),
            )
            self.assertIn("(voluntary)", results["before"])
            for mode in ["none", "voluntary", "full"]:
                self.assertIn(f"({mode})", results[mode])
                self.assertIn(f'"active": "{mode}"', results[f"doctor-{mode}"])
