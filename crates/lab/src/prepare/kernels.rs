//! The kernels of an experiment, ready to be traced.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use preemptlab_model::{CellInputs, Machine, ModeFile, PreemptMode, SnapshotId};
use preemptlab_protocol::{FailureKind, LoadStart, Message, Report};
use preemptlab_provision::arch;
use preemptlab_recording::TraceFolder;
use preemptlab_runner::{Backend, Cancel, RunError, Stop, Untraceable};
use preemptlab_trace::{Kernel, Layout};

use super::{PrepareError, Prepared};

const KALLSYMS: &str = "/proc/kallsyms";

/// Largest number of kernels that stay in memory, each with some 30 MB. Others are read from the store again.
const KERNELS_MAX: usize = 16;

/// Finds out how kernels are laid out, each once: from their guest's kallsyms and their image's BTF.
pub struct Kernels<'a> {
    prepared: &'a Prepared,
    vm: &'a dyn Backend,
    folder: Option<&'a TraceFolder>,
    known: Mutex<BTreeMap<SnapshotId, Slot>>,
    recent: Mutex<VecDeque<Arc<Kernel>>>,
}

/// The state of a kernel. Two threads that need the same kernel read it once.
type Slot = Arc<Mutex<Known>>;

#[derive(Default)]
enum Known {
    #[default]
    Nothing,
    /// Read before, and in memory as long as a cell needs it.
    Read(Weak<Kernel>),
    /// It cannot be traced, for this reason.
    Untraceable(String),
}

impl<'a> Kernels<'a> {
    /// Creates the reader of kernels. `folder` is that of traces that are kept, which need the layouts beside
    /// them.
    pub fn new(
        prepared: &'a Prepared,
        vm: &'a dyn Backend,
        folder: Option<&'a TraceFolder>,
    ) -> Self {
        Self { prepared, vm, folder, known: Mutex::default(), recent: Mutex::default() }
    }

    /// Returns the kernel of a cell.
    ///
    /// # Errors
    ///
    /// When the guest cannot be asked, or its kernel cannot be read.
    pub fn get(&self, cell: &CellInputs, cancel: &Cancel) -> Result<Arc<Kernel>, PrepareError> {
        let id = cell.snapshot.id();
        let slot = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(id).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Known::Read(kernel) => {
                if let Some(kernel) = kernel.upgrade() {
                    return Ok(kernel);
                }
            }
            Known::Untraceable(reason) => return Err(PrepareError::NoLayout(reason.clone())),
            Known::Nothing => {}
        }
        let kernel = match self.read(cell, cancel) {
            Ok(kernel) => Arc::new(kernel),
            Err(error) => {
                // Every cell of it would ask again, and be told the same.
                if is_of_kernel(&error) {
                    *slot = Known::Untraceable(error.to_string());
                }
                return Err(error);
            }
        };
        *slot = Known::Read(Arc::downgrade(&kernel));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back(Arc::clone(&kernel));
        if recent.len() > KERNELS_MAX {
            recent.pop_front();
        }
        Ok(kernel)
    }

    fn read(&self, cell: &CellInputs, cancel: &Cancel) -> Result<Kernel, PrepareError> {
        let id = cell.snapshot.id();
        let kept = self.folder.map(|folder| folder.layout(id)).transpose()?.flatten();
        let layout = match kept {
            Some(layout) => layout,
            None => {
                let layout = self.stored_or_made(cell, cancel)?;
                if let Some(folder) = self.folder {
                    folder.put_layout(id, &layout)?;
                }
                layout
            }
        };
        Ok(Kernel::new(cell.snapshot.machine.arch, layout)?)
    }

    /// Returns the kernel of a cell, as the runner asks for it.
    ///
    /// # Errors
    ///
    /// When this kernel cannot be traced, or the run cannot continue.
    pub fn of_cell(&self, cell: &CellInputs, cancel: &Cancel) -> Result<Arc<Kernel>, Untraceable> {
        self.get(cell, cancel).map_err(|error| match error {
            PrepareError::Stopped(Stop::Cancelled) => Untraceable::Run(RunError::Cancelled),
            PrepareError::Stopped(Stop::Host { reason }) => {
                Untraceable::Run(RunError::Host(reason))
            }
            PrepareError::Recording(error) => Untraceable::Run(RunError::Recording(error)),
            error => Untraceable::Kernel(error.to_string()),
        })
    }

    fn stored_or_made(&self, cell: &CellInputs, cancel: &Cancel) -> Result<Layout, PrepareError> {
        let store = TraceFolder::new(self.prepared.store.layouts());
        let id = cell.snapshot.id();
        match store.layout(id) {
            Ok(Some(layout)) if layout.is_complete() => return Ok(layout),
            Ok(None) => {}
            // A layout that another version has left in the store is made again.
            Ok(Some(_)) | Err(_) => store.remove_layout(id)?,
        }
        let kallsyms = self.kallsyms(cell, cancel)?;
        let path = self.prepared.store.kernel_image(cell.snapshot.kernel_sha256);
        let path = self.prepared.artifacts.get(&cell.snapshot.kernel_sha256).unwrap_or(&path);
        let image = std::fs::read(path).map_err(|error| PrepareError::Layout(error.to_string()))?;
        let Machine { arch, cpus, .. } = cell.snapshot.machine;
        let types =
            (arch::of(arch).types_of)(&image).map_err(preemptlab_trace::KernelError::from)?;
        let layout = Layout::new(arch, kallsyms, &types, cpus > 1)?;
        store.create()?;
        store.put_layout(id, &layout)?;
        Ok(layout)
    }

    /// Reads the guest's own kallsyms, with a cell without a load, whose probe does nothing. The
    /// symbols are the same in every mode, so it takes a mode that the kernel has.
    fn kallsyms(&self, cell: &CellInputs, cancel: &Cancel) -> Result<String, PrepareError> {
        let mut cell = cell.clone();
        cell.job.load.clear();
        cell.job.load_start = LoadStart { written_bytes_min: 0, settle_ns: 0 };
        // The cell's own settings may be missing from this kernel, and change no symbols.
        cell.job.settings.clear();
        cell.job.hz = None;
        cell.job.probes.truncate(1);
        for probe in &mut cell.job.probes {
            probe.argv.truncate(1);
            probe.argv.push("--help".to_owned());
            probe.files = vec![KALLSYMS.to_owned()];
        }
        let mut report = asked(self.vm, cell, cancel)?;
        let mut files = report.probes.pop().map(|probe| probe.files).unwrap_or_default();
        files
            .remove(KALLSYMS)
            .ok_or_else(|| PrepareError::Layout(format!("its guest has no {KALLSYMS}")))
    }
}

/// Returns whether an error says something about a kernel, and not about the run.
fn is_of_kernel(error: &PrepareError) -> bool {
    !matches!(
        error,
        PrepareError::Stopped(Stop::Cancelled | Stop::Host { .. }) | PrepareError::Recording(_)
    )
}

/// Returns the report of a cell in its own mode, or else in the first other one that the kernel
/// has.
fn asked(vm: &dyn Backend, mut cell: CellInputs, cancel: &Cancel) -> Result<Report, PrepareError> {
    let mut modes = VecDeque::from([cell.job.preempt.clone()]);
    modes.extend(PreemptMode::ALL.map(|mode| mode.as_str().to_owned()));
    let mut tried = BTreeSet::new();
    let mut refused = "it has no mode".to_owned();
    while let Some(mode) = modes.pop_front() {
        if !tried.insert(mode.clone()) {
            continue;
        }
        cell.job.preempt = mode;
        let execution = vm.execute(&cell, None, cancel).map_err(PrepareError::Stopped)?;
        match execution.message {
            Message::Done(report) => return Ok(report),
            Message::Failed(failure) if failure.kind == FailureKind::Unavailable => {
                // The mode that it runs in is certainly one that it has.
                let said = failure.system.and_then(|system| system.preempt);
                let active = said.and_then(|said| ModeFile::parse(&said).active);
                if let Some(active) = active {
                    modes.push_front(active.as_str().to_owned());
                }
                refused = failure.reason;
            }
            Message::Failed(failure) => return Err(not_asked(&failure.reason)),
            Message::Ready(_) => return Err(not_asked("it booted again")),
        }
    }
    Err(not_asked(&refused))
}

fn not_asked(reason: &str) -> PrepareError {
    PrepareError::Layout(format!("its guest could not be asked: {reason}"))
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::{FORMAT, Failure, Stage, System, Window};
    use preemptlab_runner::{Execution, fake::Fake};
    use preemptlab_testkit::cell;

    use super::*;

    /// Asks a guest whose kernel has these modes and shows `says` in its mode file. Returns the
    /// modes that were asked for, and the mode in which the guest answered.
    fn ask(has: &[&str], says: Option<&str>) -> (Vec<String>, Result<String, String>) {
        let asked_for = Mutex::new(Vec::new());
        let system = || System { preempt: says.map(str::to_owned), ..System::default() };
        let guest = Fake::new(|cell: &CellInputs| {
            let mode = cell.job.preempt.clone();
            asked_for.lock().unwrap().push(mode.clone());
            let message = if has.contains(&mode.as_str()) {
                Message::Done(Report {
                    format: FORMAT,
                    system: System { preempt: Some(mode), ..System::default() },
                    window: Window { start_ns: 0, end_ns: 0 },
                    activity: Default::default(),
                    kernel_threads_ns: Default::default(),
                    load: vec![],
                    probes: vec![],
                })
            } else {
                Message::Failed(Failure {
                    stage: Stage::Setup,
                    kind: FailureKind::Unavailable,
                    reason: format!("no {mode}"),
                    system: Some(system()),
                    commands: vec![],
                    refusal: None,
                })
            };
            Ok(Execution { message, said: vec![], console: vec![], conditions: None })
        });
        let answer = asked(&guest, cell(PreemptMode::None), &Cancel::default());
        let answer = answer.map(|report| report.system.preempt.unwrap());
        let answer = answer.map_err(|error| error.to_string());
        (asked_for.into_inner().unwrap(), answer)
    }

    #[test]
    fn a_guest_is_asked_in_a_mode_that_it_has() {
        let (asked_for, answer) = ask(&["none", "full"], None);
        assert_eq!((asked_for.len(), answer.unwrap()), (1, "none".to_owned()));
        // It says which mode it is in.
        let (asked_for, answer) = ask(&["full", "lazy"], Some("full (lazy)"));
        assert_eq!((asked_for.len(), answer.unwrap()), (2, "lazy".to_owned()));
        // It does not: before 6.12 kernels of one mode have no file.
        let (asked_for, answer) = ask(&["full"], None);
        assert_eq!(asked_for, ["none", "voluntary", "full"]);
        assert_eq!(answer.unwrap(), "full");
    }

    #[test]
    fn a_guest_without_any_mode_is_asked_for_each_once() {
        let (asked_for, answer) = ask(&[], Some("(none)"));
        assert_eq!(asked_for, ["none", "voluntary", "full", "lazy"]);
        assert!(answer.unwrap_err().contains("could not be asked: no lazy"));
    }
}
