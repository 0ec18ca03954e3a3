//! From recordings and their comparison to the data of the HTML page.

mod gathered;
mod groups;
mod provenance;
mod timelines;

use preemptlab_report::caption;
use preemptlab_report_html::PageData;
use preemptlab_stats::Comparison;

pub use gathered::Gathered;

use crate::Error;

/// Everything that the page shows. The verdict is what it says first, the generator
/// what made it.
///
/// # Errors
///
/// Where a trace cannot be read.
pub fn data(
    gathered: Gathered<'_>,
    comparison: &Comparison,
    verdict: preemptlab_report_html::Verdict,
    generator: &str,
) -> Result<PageData, Error> {
    let recordings = gathered.recordings.clone();
    let title = recordings.iter().map(|recording| recording.manifest().experiment.name.as_str());
    let (command_lines, cells) = gathered.rows(comparison);
    Ok(PageData {
        format: preemptlab_report_html::FORMAT,
        title: title.collect::<Vec<_>>().join(", "),
        generator: generator.to_owned(),
        caption: caption(comparison),
        margin: comparison.margin.share(),
        verdict,
        groups: groups::groups(&gathered, comparison)?,
        kernels: provenance::kernels(&recordings),
        qemu: provenance::qemu(&recordings),
        images: provenance::images(&recordings),
        command_lines,
        cells,
    })
}
