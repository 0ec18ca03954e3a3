//! The atlas as sentences and tables.

use preemptlab_analysis::{Atlas, AtlasSection, Class, in_us};
use preemptlab_model::{counted, plain};
use preemptlab_trace::SectionKind;

use crate::{Cell, Column, Table, Terminal, Tone};

/// Functions of a class that a terminal shows.
const SHOWN: usize = 20;

/// Functions of a class that a page shows.
const SHOWN_IN_MARKDOWN: usize = 50;

/// Shows an atlas for a terminal: the sentences, and the longest sections of each class.
pub fn atlas_terminal(atlas: &Atlas, terminal: Terminal) -> String {
    let sentences = atlas.sentences().iter().map(|said| terminal.note(said)).collect::<String>();
    let tables = tables(atlas, SHOWN).map(|table| table.terminal(terminal));
    format!("{sentences}\n{}", tables.collect::<Vec<_>>().join("\n"))
}

/// Shows an atlas in Markdown: the sentences, the longest sections of each class, and the loads without sections.
pub fn atlas_markdown(atlas: &Atlas) -> String {
    let sentences = atlas.sentences();
    let sentences = sentences.iter().map(|said| format!("- {}\n", plain::markdown(said)));
    let tables = tables(atlas, SHOWN_IN_MARKDOWN).chain(unmeasured(atlas));
    let tables: Vec<String> = tables.map(|table| table.markdown()).collect();
    format!("{}\n{}", sentences.collect::<String>(), tables.join("\n"))
}

/// Returns all functions of an atlas as one table, with all that is known of each.
pub fn atlas_table(atlas: &Atlas) -> Table {
    let of_configuration = atlas.configurations.iter().map(|configuration| {
        Column::right(configuration_name(&configuration.name, configuration.cpus)).with_unit("us")
    });
    let columns = [
        Column::left("class"),
        Column::left("kind"),
        Column::left("function"),
        Column::left("inside"),
        Column::left("callers"),
        Column::left("holder"),
        Column::right("longest").with_unit("us"),
        Column::left("load"),
        Column::left("configuration"),
        Column::right("waited").with_unit("us"),
        Column::right("count"),
        Column::right("total").with_unit("us"),
        Column::right("loads"),
        Column::left("ended by"),
    ];
    let mut table =
        Table::new("The longest sections by function", columns.into_iter().chain(of_configuration));
    for section in &atlas.sections {
        let configuration = &atlas.configurations[section.configuration];
        let own = [
            section.class.as_str().to_owned(),
            section.kind.as_str().to_owned(),
            section.function.clone(),
            section.inside.clone().unwrap_or_default(),
            section.callers.join(" < "),
            section.holder.clone().unwrap_or_default(),
            in_us(section.longest_ns),
            section.load.clone(),
            configuration_name(&configuration.name, configuration.cpus),
            in_us(section.waited_ns),
            section.count.to_string(),
            in_us(section.total_ns),
            section.loads.to_string(),
            section.ended_by.join(" "),
        ];
        let each = section.by_configuration.iter().map(|ns| ns.map(in_us).unwrap_or_default());
        table.row(own.into_iter().chain(each).map(Cell::from));
    }
    table
}

/// Returns a table of the longest sections of each class that has some.
fn tables(atlas: &Atlas, shown: usize) -> impl Iterator<Item = Table> {
    let there = |class: &Class| atlas.of_class(*class).next().is_some();
    Class::BOTH.into_iter().filter(there).map(move |class| of_class(atlas, class, shown))
}

/// Returns the longest sections of a class, one column a configuration.
fn of_class(atlas: &Atlas, class: Class, shown: usize) -> Table {
    let title = match class {
        Class::P => "P: calls that none and voluntary do not leave",
        Class::N => "N: preemption or interrupts off, and softirqs",
    };
    // Models that leave every call have no column beside sections of calls.
    let places: Vec<usize> = (0..atlas.configurations.len())
        .filter(|place| {
            let mut of_class = atlas.of_class(class);
            of_class.any(|section| section.by_configuration[*place].is_some())
        })
        .collect();
    let columns = places.iter().map(|place| {
        let configuration = &atlas.configurations[*place];
        let model = match configuration.cpus {
            1 => configuration.model.clone(),
            cpus => format!("{} x{cpus}", configuration.model),
        };
        Column::right(model).with_unit("us").under(short(&configuration.kernel))
    });
    let first = [Column::left("function")];
    let last = [Column::left("longest beside"), Column::left("ended by")];
    let mut table = Table::new(title, first.into_iter().chain(columns).chain(last));
    for section in atlas.of_class(class).take(shown) {
        let lengths = places.iter().map(|place| {
            let ns = section.by_configuration[*place];
            let is_longest = *place == section.configuration;
            let tone = if is_longest { Tone::Strong } else { Tone::Plain };
            Cell::new(ns.map(in_us).unwrap_or_else(|| "-".to_owned()), tone)
        });
        let words = [section.load.clone(), section.ended_by.join(" ")].map(Cell::from);
        table.row([Cell::from(function(section))].into_iter().chain(lengths).chain(words));
    }
    let count = atlas.of_class(class).count();
    if let Some(next) = atlas.of_class(class).nth(shown) {
        table.span(Cell::new(
            format!("{} more, of at most {} us", count - shown, in_us(next.longest_ns)),
            Tone::Faint,
        ));
    }
    table.notes.push(match class {
        Class::P => "Full, lazy and PREEMPT_RT preempt these. In parentheses: the function in which the \
                     longest one spent more time than in any other, lock functions aside."
            .to_owned(),
        Class::N => "No preemption mode cuts these. In parentheses: what is off, or the caller. ended by: \
                     models that preempt more, under which no load on this kernel has a section of a \
                     quarter of the length in the function. -: none. `--format csv` has every function, and who held it."
            .to_owned(),
    });
    table
}

/// Returns the loads of which a configuration has no sections, with the reasons.
fn unmeasured(atlas: &Atlas) -> Option<Table> {
    let columns = [Column::left("load"), Column::right("configurations"), Column::left("reason")];
    let mut table = Table::new("Loads without sections", columns);
    for load in &atlas.loads {
        let without: Vec<&str> = load
            .cells
            .iter()
            .flatten()
            .filter(|cell| cell.measured == 0)
            .filter_map(|cell| cell.reason.as_deref())
            .collect();
        if let Some(reason) = without.first() {
            let row = [load.name.clone(), without.len().to_string(), (*reason).to_owned()];
            table.row(row.map(Cell::from));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Returns a section's function, with what explains it best.
fn function(section: &AtlasSection) -> String {
    let explained = match section.kind {
        SectionKind::NotPreemptible => section.inside.clone(),
        SectionKind::PreemptOff => section.callers.first().cloned(),
        kind => Some(kind.as_str().to_owned()),
    };
    match explained {
        Some(explained) => format!("{} ({explained})", section.function),
        None => section.function.clone(),
    }
}

/// Returns the name of a configuration of an atlas, with the number of its CPUs where there are several.
pub(crate) fn configuration_name(name: &str, cpus: u32) -> String {
    match cpus {
        1 => name.to_owned(),
        cpus => format!("{name} on {}", counted(cpus as usize, "CPU")),
    }
}

/// Returns a kernel without the distribution that all may have in common.
fn short(kernel: &str) -> String {
    kernel.strip_prefix("debian:").unwrap_or(kernel).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_of_several_cpus_says_so() {
        assert_eq!(configuration_name("debian:6.12/full", 1), "debian:6.12/full");
        assert_eq!(configuration_name("debian:6.12/full", 4), "debian:6.12/full on 4 CPUs");
    }
}
