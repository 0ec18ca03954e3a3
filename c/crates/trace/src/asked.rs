//! The questions to a job's trace: its window, and the places where its kernel may switch.

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

/// Returns the window in which the probes ran.
pub fn window(report: &Report) -> Window {
    Window { start_ns: report.window.start_ns, end_ns: report.window.end_ns }
}
