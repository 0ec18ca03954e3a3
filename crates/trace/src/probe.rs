//! The questions to a job's trace: its probe, its window, and the places where its kernel may
//! switch.

use std::path::Path;

use preemptlab_protocol::{Job, Report};

use crate::{Opportunities, Window};

/// Returns the name that the kernel gives the program that a job measures wakeups with: cyclictest
/// where that is one of the probes, else the first. Probes start under a policy of the guest's choice
/// and set their own: which one is meant, its priority tells.
pub fn target(job: &Job) -> Option<String> {
    /// `TASK_COMM_LEN` without the NUL.
    const COMM_CHARS_MAX: usize = 15;
    let mut programs = job.probes.iter().filter_map(|probe| probe.argv.first());
    let program = programs
        .clone()
        .find(|program| program.ends_with("/cyclictest"))
        .or_else(|| programs.next())?;
    let name = Path::new(program).file_name()?.to_string_lossy();
    Some(name.chars().take(COMM_CHARS_MAX).collect())
}

/// Returns where the scheduler may switch in a job. PREEMPT_RT's own modes differ for fair tasks
/// only, and so does lazy; before 6.12 the kernel did not tell.
pub fn opportunities(job: &Job, report: &Report) -> Opportunities {
    match job.preempt.as_str() {
        "none" | "voluntary" if !report.system.realtime => Opportunities::Voluntary,
        _ => Opportunities::Everywhere,
    }
}

/// Returns the window in which the probes ran.
pub fn window(report: &Report) -> Window {
    Window { start_ns: report.window.start_ns, end_ns: report.window.end_ns }
}
