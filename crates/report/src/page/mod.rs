//! A comparison with its evidence, and an atlas, as one HTML file each that needs nothing else: no request leaves
//! it, it opens from a disk, and its script, style and data are inside. The data is [`PageData`], of an atlas
//! [`AtlasData`]; `web/` has the scripts that show them.

mod atlas;
mod curves;
mod data;
mod evidence;
#[cfg(feature = "bundle")]
mod html;
mod provenance;
mod rows;
mod timelines;

use preemptlab_analysis::{Compared, Error};
use preemptlab_stats::Comparison;

pub use atlas::atlas_data;
pub use curves::latency_curves;
pub use data::{
    AtlasCause, AtlasClass, AtlasColumn, AtlasData, AtlasDetails, AtlasFunction, CellRow, Evidence,
    Histogram, ImageUsed, Instants, KernelUsed, PageData, QemuUsed, Timeline,
};
#[cfg(feature = "bundle")]
pub use html::{atlas_html, html};

use crate::{InWords, caption, curves_svg};

/// Returns all data of the page. The sentences stand first; the generator made them.
///
/// # Errors
///
/// Where a trace cannot be read.
pub fn page_data(
    compared: &Compared,
    comparison: &Comparison,
    InWords { headline, points }: InWords,
    generator: &str,
) -> Result<PageData, Error> {
    let recordings = compared.recordings();
    let title = recordings.iter().map(|recording| recording.manifest().experiment.name.as_str());
    let (command_lines, cells) = rows::rows(compared, comparison);
    Ok(PageData {
        comparison: comparison.clone(),
        title: title.collect::<Vec<_>>().join(", "),
        generator: generator.to_owned(),
        caption: caption(comparison),
        headline,
        points,
        instants: latency_curves(compared.cells(), comparison)
            .into_iter()
            .map(|(group, curves)| Instants { group, svg: curves_svg(&curves) })
            .collect(),
        evidence: evidence::evidence(compared, comparison)?,
        kernels: provenance::kernels(&recordings),
        qemu: provenance::qemu(&recordings),
        images: provenance::images(&recordings),
        command_lines,
        cells,
    })
}
