//! The cells that can run in this boot, and the boots that the others need.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use preemptlab_model::{CellInputs, Digest, Kernel, PreemptMode};
use preemptlab_system::host::{Evidence, HostKernel};

use crate::LiveError;

/// Kernels of cells, by the digest in a cell's inputs.
pub type Kernels = BTreeMap<Digest, Kernel>;

/// Mount point of debugfs.
pub const DEBUGFS: &str = "/sys/kernel/debug/";

/// Abilities of this boot.
#[derive(Clone, Debug)]
pub struct Reach {
    kernels: Kernels,
    release: String,
    cmdline: String,
    /// Parameters that some cell asks for: others must not have them by accident.
    varied: BTreeSet<String>,
    /// The mode, where it cannot be switched while the kernel runs.
    fixed: Option<PreemptMode>,
}

impl Reach {
    /// Reads the release, the command line and the mode of the running kernel.
    ///
    /// # Errors
    ///
    /// [`LiveError::UnknownMode`] when nothing tells the preemption mode.
    pub fn find(kernels: Kernels, cells: &[&CellInputs]) -> Result<Self, LiveError> {
        let HostKernel { release, cmdline, mode, .. } = HostKernel::observe(Path::new("/"));
        let fixed = match (mode.evidence, mode.active) {
            (Evidence::Kernel, _) => None,
            (_, Some(active)) => Some(active),
            (_, None) => return Err(LiveError::UnknownMode { reason: no_debugfs() }),
        };
        let words = cells.iter().flat_map(|cell| cell.snapshot.cmdline.split_whitespace());
        let varied = words.map(|word| name(word).to_owned()).collect();
        Ok(Self { kernels, release, cmdline, varied, fixed })
    }

    /// Returns the boot that a cell needs before it can run; `None` for a cell that can run now.
    pub fn boot_needed(&self, cell: &CellInputs) -> Option<String> {
        let mut needed = Vec::new();
        let kernel = self.kernels.get(&cell.snapshot.kernel_sha256);
        match kernel {
            Some(kernel) if kernel.release == self.release => {}
            Some(kernel) => needed.push(other_kernel(kernel)),
            None => needed.push("a kernel that the recording does not name".to_owned()),
        }
        let wanted: Vec<&str> = cell.snapshot.cmdline.split_whitespace().collect();
        let mut apply = Vec::new();
        if let Some(mode) = self.fixed.filter(|mode| mode.as_str() != cell.job.preempt) {
            let wanted = &cell.job.preempt;
            needed.push(format!(
                "preempt={wanted}, since the running {mode} is fixed ({})",
                no_debugfs()
            ));
            apply.push(format!("--preempt {wanted}"));
        }
        let words = |of: &[&str]| -> Vec<String> {
            let is_varied = |word: &&&str| self.varied.contains(name(word));
            of.iter().filter(is_varied).map(|word| (*word).to_owned()).collect()
        };
        let there = words(&self.cmdline.split_whitespace().collect::<Vec<_>>());
        let wanted = words(&wanted);
        let missing: Vec<_> = wanted.iter().filter(|word| !there.contains(word)).collect();
        let extra: Vec<_> = there.iter().filter(|word| !wanted.contains(word)).collect();
        for word in missing {
            needed.push(word.clone());
            apply.push(format!("--parameter {}", quoted(word)));
        }
        needed.extend(extra.iter().map(|word| format!("no {word}")));
        let writes = cell.job.settings.iter().filter_map(|setting| setting.write.as_ref());
        if self.fixed.is_some()
            && let Some(write) = writes.into_iter().find(|write| write.file.starts_with(DEBUGFS))
        {
            needed.push(format!("{}, which is out of reach ({})", write.file, no_debugfs()));
        }
        if needed.is_empty() {
            return None;
        }
        let how = match (apply.is_empty(), extra.is_empty()) {
            (false, _) => {
                format!(": sudo preemptlab system apply {}, then reboot", apply.join(" "))
            }
            (true, false) => ": sudo preemptlab system revert, then reboot".to_owned(),
            (true, true) => String::new(),
        };
        Some(format!("{}{how}", needed.join(", ")))
    }
}

fn other_kernel(Kernel { name, release, .. }: &Kernel) -> String {
    match name.packager() {
        Some(distribution) => {
            let package = distribution.kernel_package(release);
            let install = distribution.install(&[&package]).join(" ");
            format!("the kernel {release} (sudo {install})")
        }
        None => format!("the kernel {release}"),
    }
}

/// Returns the reason why the mode cannot be read or written.
fn no_debugfs() -> String {
    let lockdown = std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains('[') && !lockdown.contains("[none]") {
        return "the kernel is locked down, so that debugfs is refused".to_owned();
    }
    "debugfs has no sched/preempt that can be read".to_owned()
}

fn name(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

/// Quotes a word of a kernel's command line for a shell: the experiment may be a stranger's, and
/// the command is there to be copied.
fn quoted(word: &str) -> String {
    if word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.,:=/+@%".contains(&byte)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::BackendKind;

    use super::*;

    fn cell(kernel: &str, cmdline: &str, preempt: &str) -> CellInputs {
        let mut cell = preemptlab_testkit::cell(preempt.parse().unwrap());
        cell.snapshot.backend = BackendKind::Host;
        cell.snapshot.kernel_sha256 = Digest::of(kernel.as_bytes());
        cell.snapshot.cmdline = cmdline.to_owned();
        cell
    }

    fn reach(cmdline: &str, fixed: Option<PreemptMode>) -> Reach {
        let kernel = |name: &str| Kernel {
            name: name.parse().unwrap(),
            release: name.replace("debian:", ""),
            image_sha256: Digest::of(name.as_bytes()),
            packages: vec![],
            rt: None,
            modes: None,
            hz: None,
            source: None,
        };
        let kernels = ["debian:6.12", "debian:7.2"].map(kernel);
        Reach {
            kernels: kernels.into_iter().map(|kernel| (kernel.image_sha256, kernel)).collect(),
            release: "6.12".to_owned(),
            cmdline: cmdline.to_owned(),
            varied: ["nohz_full".to_owned(), "threadirqs".to_owned()].into(),
            fixed,
        }
    }

    #[test]
    fn a_cell_runs_in_the_boot_that_it_asks_for() {
        let reach = reach("quiet nohz_full=1", None);
        assert_eq!(reach.boot_needed(&cell("debian:6.12", "nohz_full=1", "full")), None);
        let other = reach.boot_needed(&cell("debian:7.2", "nohz_full=1", "full")).unwrap();
        assert!(other.contains("apt-get install linux-image-7.2"), "{other}");
    }

    #[test]
    fn parameters_are_there_or_are_not_but_never_by_accident() {
        let reach = reach("quiet nohz_full=1", None);
        let needed = |cmdline| reach.boot_needed(&cell("debian:6.12", cmdline, "full")).unwrap();
        let said = needed("nohz_full=1 threadirqs");
        assert_eq!(
            said,
            "threadirqs: sudo preemptlab system apply --parameter threadirqs, then reboot"
        );
        assert_eq!(needed(""), "no nohz_full=1: sudo preemptlab system revert, then reboot");
        let said = needed("nohz_full=2");
        assert!(
            said.contains("nohz_full=2, no nohz_full=1: sudo preemptlab system apply"),
            "{said}"
        );
    }

    #[test]
    fn a_word_is_no_command_of_a_shell() {
        assert_eq!(quoted("rcu_nocbs=0-1,3"), "rcu_nocbs=0-1,3");
        assert_eq!(quoted("a=1;reboot"), "'a=1;reboot'");
        assert_eq!(quoted("a='`x`"), "'a='\\''`x`'");
    }

    #[test]
    fn a_mode_that_cannot_be_switched_is_booted() {
        let reach = reach("", Some(PreemptMode::Full));
        assert_eq!(reach.boot_needed(&cell("debian:6.12", "", "full")), None);
        let said = reach.boot_needed(&cell("debian:6.12", "", "none")).unwrap();
        assert!(said.contains("apply --preempt none"), "{said}");
    }
}
