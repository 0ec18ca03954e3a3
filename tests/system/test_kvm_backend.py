"""Cells run with hardware virtualisation: that of this machine or, where it has none that works, that
of an emulated AMD processor, on which KVM's own module runs them."""

import json
import subprocess
import unittest

import image
import lab
from step import step

EXPERIMENT = """
format = 1
name = "kvm"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[replicates]
count = 1

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
groups = 1
"""
RUN = ["run", "kvm.toml", "--backend", "kvm", "--out", "run", "--store", "store"]
# `helper_check_io` of QEMU's target/i386/tcg/seg_helper.c lets a task use the ports of its I/O
# bitmap if its task state segment is of the type 9, available. KVM gives it the type 11, busy, which
# it has on a real processor. What decides is `and $0x8f00,%eax; cmp $0x8900,%eax`: the bit of busy
# is left out.
AVAILABLE_ONLY = bytes.fromhex("25 008f0000 3d 00890000")
AVAILABLE_OR_BUSY = bytes.fromhex("25 008d0000 3d 00890000")
GIBIBYTE = 1 << 30


class KvmBackend(unittest.TestCase):
    def test_cells_run_in_both_modes(self):
        with lab.scratch() as folder:
            work = folder / "work"
            work.mkdir()
            (work / "kvm.toml").write_text(EXPERIMENT)
            with step("provide, and run where this machine can"):
                here = subprocess.run(
                    [lab.TARGET / "release/preemptlab", *RUN], cwd=work,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                )  # fmt: skip
            if here.returncode == 0:
                cells = [path.read_text() for path in (work / "run/cells").iterdir()]
            else:
                self.assertIn("--backend vm", here.stderr)
                cells = self.emulated(folder)
            self.assertEqual(sorted(map(self.mode, cells)), ["full", "none"])

    def emulated(self, folder):
        """The cells that ran on an emulated processor."""
        disk = folder / "work.img"
        with disk.open("wb") as file:
            file.truncate(2 * GIBIBYTE)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", folder / "work", disk], check=True)
        with lab.system(image.GRUB) as system:
            results = system.boot(
                "run on an emulated processor",
                f"""
                install_packages
                modprobe kvm-amd
                mount /dev/vdd /mnt
                cd /mnt
                preemptlab {' '.join(RUN)}
                cp run/cells/* "$RESULTS"
                """,
                lab.packages("preemptlab"),
                program=self.qemu(folder),
                extra=["-drive", f"if=virtio,format=raw,file={disk}",
                       "-cpu", "max", "-smp", "1", "-m", "4096"],
            )  # fmt: skip
        return list(results.values())

    def qemu(self, folder):
        """The QEMU of the store, whose emulation is the newer one, with a busy task mended."""
        (tree,) = (folder / "work/store/qemu").iterdir()
        program = (tree / "usr/bin/qemu-system-x86_64").read_bytes()
        self.assertEqual(program.count(AVAILABLE_ONLY), 1, "this QEMU is another one")
        mended = folder / "qemu-system-x86_64"
        mended.write_bytes(program.replace(AVAILABLE_ONLY, AVAILABLE_OR_BUSY))
        mended.chmod(0o755)
        return [
            tree / "usr/lib64/ld-linux-x86-64.so.2",
            "--library-path", tree / "usr/lib/x86_64-linux-gnu", mended,
            "-L", tree / "usr/share/qemu", "-L", tree / "usr/share/seabios",
        ]  # fmt: skip

    def mode(self, text):
        """The mode that a completed cell ran in, which is the one that it asks for."""
        cell = json.loads(text)
        self.assertIn("completed", cell["outcome"], cell["outcome"])
        mode = cell["inputs"]["job"]["preempt"]
        report = cell["outcome"]["completed"]["report"]
        self.assertIn(f"({mode})", report["system"]["preempt"])
        self.assertGreater(report["activity"]["context_switches"], 0)
        self.assertIsNotNone(cell["conditions"])
        return mode
