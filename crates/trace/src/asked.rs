//! The questions to a job's trace: its window, and the places where its kernel may switch.

use preemptlab_model::WORKS_AFTER_NS;
use preemptlab_protocol::{Job, Report};

use crate::{Opportunities, Window};

/// Returns where the scheduler may switch in a job. PREEMPT_RT's own modes differ for fair tasks
/// only, and so does lazy; before 6.12 the kernel did not tell.
pub fn opportunities(job: &Job, report: &Report) -> Opportunities {
    match job.preempt.as_str() {
        "none" | "voluntary" if !report.system.realtime => Opportunities::Voluntary,
        _ => Opportunities::Everywhere,
    }
}

/// Returns the window in which the probes ran. A job of one command that a signal ends has no probe: its window is
/// the time in which that command works.
pub fn window(job: &Job, report: &Report) -> Window {
    let Window { start_ns, end_ns } =
        Window { start_ns: report.window.start_ns, end_ns: report.window.end_ns };
    if let ([command], [did]) = (&job.probes[..], &report.probes[..])
        && let Some(end) = command.end
    {
        let at = |after_ns: u64| did.start_ns.saturating_add(after_ns).min(end_ns);
        return Window { start_ns: at(WORKS_AFTER_NS), end_ns: at(end.after_ns) };
    }
    Window { start_ns, end_ns }
}
