use preemptlab_analysis::{Error, boot_kernels::BootKernels, wakeup::one_sentence};
use preemptlab_experiment::Recording;
use preemptlab_model::{MeasuredCell, Outcome, ProbeProcess};
use preemptlab_trace::{Target, timelines, wakeups, window, worst};

use super::data::Timeline;
use crate::{Lane, timeline_svg};

/// Drawer of the worst wakeups of traced cells. It executes nothing: a cell without a trace has no
/// timeline.
#[derive(Default)]
pub struct Timelines {
    kernels: BootKernels,
}

impl Timelines {
    /// Draws the worst wakeup of the real-time probe.
    ///
    /// # Errors
    ///
    /// When the trace cannot be read.
    pub fn of(
        &mut self,
        recording: &Recording,
        cell: &MeasuredCell,
    ) -> Result<Option<Timeline>, Error> {
        let folder = recording.traces();
        let record = cell.id.map(|id| recording.cell(id)).transpose()?.flatten();
        let Some(record) = record else { return Ok(None) };
        let Outcome::Completed { report, .. } = &record.outcome else { return Ok(None) };
        let Some(probe) = ProbeProcess::of(&record.inputs.job) else { return Ok(None) };
        let kernel = self.kernels.get(&folder, &record.inputs.snapshot)?;
        let Some(kernel) = kernel else { return Ok(None) };

        let stream = || folder.stream(record.id);
        let unreadable = |error| folder.unreadable(record.id, error);
        let Some(events) = stream()? else { return Ok(None) };
        let ProbeProcess { comm, first_waits } = &probe;
        let target = Target { comm, is_realtime: true, first_waits: *first_waits };
        let all = wakeups(events, kernel, target, window(&record.inputs.job, report))
            .map_err(unreadable)?;
        let Some(events) = stream()? else { return Ok(None) };
        let drawn = timelines(events, kernel, worst(all, 1)).map_err(unreadable)?;
        Ok(drawn.first().map(|timeline| {
            let caption =
                format!("{} · {:.1} us", cell.factors, timeline.wakeup.latency_ns() as f64 / 1e3);
            let lane = Lane { caption: &caption, timeline };
            let svg = timeline_svg(&format!("The worst wakeup of {}", cell.factors), &[lane]);
            Timeline { sentence: one_sentence(timeline), svg, caption }
        }))
    }
}
