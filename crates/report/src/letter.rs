//! A comparison as text for people.

use std::fmt::Write;

use preemptlab_model::{
    Package,
    plain::{self, markdown as shown},
};
use preemptlab_stats::Comparison;

use crate::{Facts, Form, View, page::PageData, tables_markdown};

/// Puts the words of a comparison beside a template, to be filled with its numbers.
pub fn form(template: String, data: &PageData, comparison: &Comparison) -> Form {
    let facts = Facts { experiment: shown(&data.title), measured: measured(data, comparison) };
    Form::new(template, comparison, facts)
}

/// Writes a letter for reviewers: the verdict, the table, and the conditions of the measurement.
pub fn letter(data: &PageData, comparison: &Comparison) -> String {
    let mut text = format!("## {}\n\n{}\n\n", shown(&data.title), shown(&data.headline));
    for point in &data.points {
        let _ = writeln!(text, "- {}", shown(point));
    }
    let _ = writeln!(text, "\n{}", tables_markdown(comparison, View::Overview));
    let _ = writeln!(text, "### How it was measured\n\n{}", measured(data, comparison));
    text
}

/// Returns the list of kernels, QEMU and packages that were used, each once for all recordings.
fn measured(data: &PageData, comparison: &Comparison) -> String {
    let kernels = data.kernels.iter().map(|kernel| {
        let packages = versions(&kernel.packages);
        format!("- {}: {}{packages}", shown(&kernel.name), shown(&kernel.release))
    });
    let qemu = data
        .qemu
        .iter()
        .map(|qemu| format!("- QEMU {}, build {:.12}", shown(&qemu.version), qemu.digest));
    let lines = data
        .command_lines
        .iter()
        .map(|line| format!("- kernel command line: `{}`", plain::line(line).replace('`', "'")));
    let mut each: Vec<String> = Vec::new();
    for line in kernels.chain(qemu).chain(lines) {
        if !each.contains(&line) {
            each.push(line);
        }
    }
    let mut text = format!("{}:\n\n{}\n", data.generator, each.join("\n"));
    // No other kind of time says the same again.
    if comparison.groups.iter().all(|group| group.backend.is_vm()) {
        text += "\nThe same packages give the same bytes on any machine: `preemptlab verify RUN` \
                 checks it.";
    }
    text
}

fn versions(packages: &[Package]) -> String {
    let versions: Vec<String> = packages
        .iter()
        .map(|package| format!("{} {}", shown(&package.name), shown(&package.version)))
        .collect();
    if versions.is_empty() { String::new() } else { format!(" ({})", versions.join(", ")) }
}
