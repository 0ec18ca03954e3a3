//! The machine that is measured: this one, or one that a command reaches.

use std::{fs, io, path::Path, sync::atomic::AtomicBool};

use preemptlab_model::{Arch, GuestCpu};
use tempfile::TempDir;

use crate::{CalibrateError, Program, Reach, sysfs};

/// CPUs of another machine whose files are read: those beyond are not measured.
const CPUS_MAX: usize = 64;

/// Caches of a CPU whose files are read.
const CACHES_MAX: usize = 5;

/// Files that are asked for at a time, whose paths a command line holds.
const FILES_AT_A_TIME: usize = 400;

/// Files that tell of a machine.
const OF_MACHINE: [&str; 11] = [
    "proc/cpuinfo",
    "proc/loadavg",
    "proc/meminfo",
    "proc/stat",
    "proc/sys/kernel/osrelease",
    "sys/class/dmi/id/product_name",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/smt/active",
    "sys/firmware/devicetree/base/model",
];

/// Those of a CPU, in its folder.
const OF_CPU: [&str; 4] = [
    "cpufreq/scaling_governor",
    "thermal_throttle/core_throttle_count",
    "topology/physical_package_id",
    "topology/thread_siblings_list",
];

/// Those of a cache, in its folder.
const OF_CACHE: [&str; 6] =
    ["coherency_line_size", "level", "shared_cpu_list", "size", "type", "ways_of_associativity"];

/// A machine whose prices are found.
#[derive(Debug)]
pub struct Site {
    program: Program,
    arch: Arch,
    cpus: Vec<usize>,
    /// A copy of the files that tell of another machine.
    files: Option<TempDir>,
}

impl Site {
    /// Returns this machine, which executes the program.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Program`]
    pub fn here(program: &[u8], is_cancelled: &AtomicBool) -> Result<Self, CalibrateError> {
        let program = Program::open(program)?;
        let cpus = program.cpus(is_cancelled)?;
        Ok(Self { program, arch: Arch::HOST, cpus, files: None })
    }

    /// Returns the machine on which a command executes the program.
    ///
    /// # Errors
    ///
    /// When the command does not execute the program.
    pub fn reached_by(reach: Reach, is_cancelled: &AtomicBool) -> Result<Self, CalibrateError> {
        let program = Program::By(reach);
        let arch = program.arch(is_cancelled)?;
        let cpus = program.cpus(is_cancelled)?;
        let files = Some(TempDir::new().map_err(CalibrateError::Program)?);
        let site = Self { program, arch, cpus, files };
        site.look(is_cancelled)?;
        Ok(site)
    }

    /// Returns the program, as the machine executes it.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the architecture of its programs.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the CPUs that the program may use.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns the folder below which the files are that tell of the machine, as they were at the last look.
    pub fn root(&self) -> &Path {
        self.files.as_ref().map_or(Path::new("/"), TempDir::path)
    }

    /// Looks at the files of another machine again.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed, or the user cancels.
    pub fn look(&self, is_cancelled: &AtomicBool) -> Result<(), CalibrateError> {
        let Some(folder) = &self.files else { return Ok(()) };
        let paths: Vec<String> = paths(&self.cpus).iter().map(|path| format!("/{path}")).collect();
        for asked in paths.chunks(FILES_AT_A_TIME) {
            for (path, text) in self.program.read(asked, is_cancelled)? {
                // The path is one of those that were asked for.
                let path = folder.path().join(path.trim_start_matches('/'));
                write(&path, &text).map_err(CalibrateError::Program)?;
            }
        }
        Ok(())
    }

    /// Returns the processor that a guest has in the machine's place, where it is not the one that all have: kernel and
    /// programs execute other instructions where there are no atomic ones.
    pub fn guest_cpu(&self) -> Option<GuestCpu> {
        let text = sysfs::begin(&self.root().join("proc/cpuinfo"))?;
        let features = text.lines().find_map(|line| line.strip_prefix("Features"))?;
        let has_atomics = features.split_whitespace().any(|word| word == "atomics");
        (self.arch == Arch::Arm64 && !has_atomics).then_some(GuestCpu::CortexA72)
    }
}

/// Returns the paths of all files that tell of a machine with these CPUs, without the root.
fn paths(cpus: &[usize]) -> Vec<String> {
    let mut paths = OF_MACHINE.map(str::to_owned).to_vec();
    for cpu in cpus.iter().take(CPUS_MAX) {
        let of_cpu = |file: String| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        paths.extend(OF_CPU.map(|file| of_cpu(file.to_owned())));
        for index in 0..CACHES_MAX {
            paths.extend(OF_CACHE.map(|file| of_cpu(format!("cache/index{index}/{file}"))));
        }
    }
    paths
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what another machine is by a program that says these things, a line of the shell for each word that it is
    /// asked for.
    fn site(lines: &str) -> Result<Site, CalibrateError> {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("micro");
        fs::write(&script, format!("case $1 in\n{lines}\nesac\n")).unwrap();
        let reach: Reach = format!("sh {}", script.display()).parse().unwrap();
        Site::reached_by(reach, &AtomicBool::new(false))
    }

    const BOARD: &str = "arch) echo arm64 ;;\ncpus) printf '0\\n2\\n' ;;";

    #[test]
    fn a_machine_is_described_by_its_own_files() {
        let lines = "read) printf '/proc/cpuinfo 26\\nFeatures\\t: fp asimd crc32\\n'
            printf '/sys/devices/system/cpu/cpu2/cache/index0/size 4\\n32K\\n' ;;";
        let site = site(&format!("{BOARD}\n{lines}")).unwrap();
        assert_eq!((site.arch(), site.cpus()), (Arch::Arm64, &[0, 2][..]));
        assert_ne!(site.root(), Path::new("/"));
        assert_eq!(site.guest_cpu(), Some(GuestCpu::CortexA72));
        let size = site.root().join("sys/devices/system/cpu/cpu2/cache/index0/size");
        assert_eq!(fs::read_to_string(size).unwrap(), "32K\n");
    }

    #[test]
    fn what_another_machine_makes_up_is_refused() {
        for (lines, said) in [
            ("", "a line that cannot be read: \"\""),
            ("arch) echo arm64 ;;", "a line that cannot be read: \"\""),
            ("arch) echo arm64 ;;\ncpus) echo 99999999 ;;", "\"99999999\""),
            ("arch) echo arm64 ;;\ncpus) echo -1 ;;", "\"-1\""),
        ] {
            let refused = site(lines).unwrap_err().to_string();
            assert!(refused.contains(said), "{lines}: {refused}");
        }
        for printed in [
            "/etc/passwd 1\\nx",
            "../../x 1\\nx",
            "/proc/cpuinfo 9\\nx",
            "/proc/cpuinfo -1\\nx",
            "/proc/cpuinfo\\nx",
            "/proc/cpuinfo 99999999999999999999\\nx",
            "x",
        ] {
            let lines = format!("{BOARD}\nread) printf '{printed}' ;;");
            let refused = site(&lines).unwrap_err().to_string();
            assert!(refused.contains("a line that cannot be read"), "{printed}: {refused}");
        }
        let refused = site("arch) echo lost >&2; exit 255 ;;").unwrap_err().to_string();
        assert!(refused.contains("lost") && refused.contains("255"), "{refused}");
    }
}
