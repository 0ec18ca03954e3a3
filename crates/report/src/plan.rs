//! The plan of an experiment as a table.

use std::time::Duration;

use preemptlab_analysis::plan::{PlanDocument, Sketch, profiles};
use preemptlab_experiment::configurations;
use preemptlab_model::{Kernel, KernelRef, Label, Name, Profile, Settings, Topology, counted};

use crate::{Cell, Column, Table, Tone, human, yes_or_no};

/// Returns a plan as a table.
pub fn plan_table(plan: &PlanDocument<'_>) -> Table {
    let has_machines = plan.configurations.iter().any(|each| each.machine.is_some());
    let mut table = Table::new(format!("Plan of {}", plan.experiment), columns(has_machines));
    for configuration in &plan.configurations {
        let (cells, state) = match (configuration.unavailable, configuration.finished) {
            (Some(_), _) if configuration.to_build => (String::new(), Cell::from("to build")),
            (Some(_), _) => (String::new(), Cell::new("unavailable", Tone::Faint)),
            (None, 0) => (configuration.replicates.to_string(), Cell::from("to execute")),
            (None, finished) if finished == configuration.replicates => {
                (configuration.replicates.to_string(), Cell::from("in the store"))
            }
            (None, finished) => (
                configuration.replicates.to_string(),
                Cell::from(format!("{finished} in the store")),
            ),
        };
        let of_workload = workload(configuration.workload, configuration.machine);
        table.row(of_workload.chain([
            Cell::from(kernel_words(
                configuration.label,
                configuration.kernel,
                configuration.settings,
            )),
            Cell::from(configuration.release),
            Cell::from(yes_or_no(configuration.rt)),
            Cell::from(configuration.preempt.as_str()),
            Cell::from(configuration.cpus.to_string()),
            Cell::from(cells),
            state,
        ]));
    }
    let modelled = Modelled { caches: plan.caches, stolen: plan.stolen };
    table.notes.extend(machine_note(plan.topology, &plan.profiles, modelled));
    let known = plan.configurations.iter().filter(|each| !each.to_build);
    let mut reasons: Vec<&str> = known.filter_map(|each| each.unavailable).collect();
    reasons.sort_unstable();
    reasons.dedup();
    table.notes.extend(reasons.into_iter().map(|reason| format!("unavailable: {reason}")));
    if plan.kernels_to_build > 0 {
        table.notes.push(format!(
            "Kernels to build before the run: {}, some 17 minutes each on 2 CPUs; their cells are not \
             counted.",
            plan.kernels_to_build
        ));
    }
    table.notes.push(match plan.cells_to_execute {
        0 if plan.kernels_to_build > 0 => "No other cell is to be executed.".to_owned(),
        0 if plan.configurations.iter().all(|each| each.unavailable.is_some()) => {
            "No cell can be executed.".to_owned()
        }
        0 => "Every cell is in the store: the run only has to compare.".to_owned(),
        cells => format!(
            "{} and {} to execute, {} at a time: about {}.",
            counted(cells, "cell"),
            counted(plan.boots, "boot"),
            plan.jobs,
            human(Duration::from_secs(plan.expected_wall_s))
        ),
    });
    table.notes.extend(plan.notes.iter().map(|note| format!("{}.", capitalized(note))));
    table
}

/// Returns a plan whose kernels are still looked up as a table like that of the plan.
pub fn sketch_table(sketch: &Sketch<'_>) -> Table {
    let has_machines = !sketch.experiment.factors.machine.is_empty();
    let title = format!("Plan of {}", sketch.experiment.name);
    let mut table = Table::new(title, columns(has_machines));
    let label = |kernel: &KernelRef| sketch.experiment.factors.label(kernel);
    for factors in configurations(sketch.experiment) {
        let kernel = sketch.kernels.get(&factors.kernel);
        let known = kernel.and_then(|kernel| kernel.as_ref().ok());
        let offers = |kernel: &Kernel| {
            kernel.modes.as_ref().is_none_or(|modes| modes.contains(&factors.preempt))
        };
        let state = match kernel {
            None => Cell::new("to look up", Tone::Faint),
            Some(Ok(kernel)) if offers(kernel) => Cell::from(""),
            Some(_) => Cell::new("unavailable", Tone::Faint),
        };
        table.row(workload(&factors.workload, factors.machine.as_ref()).chain([
            Cell::from(kernel_words(label(&factors.kernel), &factors.kernel, &factors.settings)),
            Cell::from(known.map_or("", |kernel| kernel.release.as_str())),
            Cell::from(known.map_or("", |kernel| yes_or_no(kernel.rt))),
            Cell::from(factors.preempt.as_str()),
            Cell::from(factors.cpus.to_string()),
            Cell::from(sketch.experiment.replicates.count.to_string()),
            state,
        ]));
    }
    let machine = &sketch.experiment.machine;
    let modelled = Modelled { caches: machine.caches, stolen: machine.stolen };
    table.notes.extend(machine_note(machine.topology, &profiles(sketch.experiment), modelled));
    table
}

fn columns(has_machines: bool) -> Vec<Column> {
    let machine = has_machines.then(|| Column::left("machine"));
    let others = [
        Column::left("kernel"),
        Column::left("release"),
        Column::left("rt"),
        Column::left("mode"),
        Column::right("CPUs"),
        Column::right("cells"),
        Column::left("state"),
    ];
    [Column::left("workload")].into_iter().chain(machine).chain(others).collect()
}

/// Returns a kernel with its label and its settings.
fn kernel_words(label: Option<&Label>, kernel: &KernelRef, settings: &Settings) -> String {
    let label = label.map(|label| format!("{label}=")).unwrap_or_default();
    format!("{label}{kernel} {settings}").trim_end().to_owned()
}

/// Says which sockets, cores, threads, caches and nodes the machine has, and the costs of
/// instructions.
fn machine_note(
    topology: Option<Topology>,
    profiles: &[&Profile],
    modelled: Modelled,
) -> Vec<String> {
    let topology = topology.map(|topology| format!("Machine: {topology}."));
    let parts = match (modelled.caches, modelled.stolen) {
        (false, false) => "",
        (true, false) => " with its caches",
        (false, true) => " with its stolen time",
        (true, true) => " with its caches and its stolen time",
    };
    let prices = profiles
        .iter()
        .map(|Profile { name, machine, .. }| format!("Prices: profile {name}, {machine}{parts}."));
    topology.into_iter().chain(prices).collect()
}

/// Parts of a profile that are modelled besides its prices.
struct Modelled {
    caches: bool,
    stolen: bool,
}

/// Returns the cells of a workload, and of its machine where that is a factor.
fn workload<'a>(workload: &'a str, machine: Option<&'a Name>) -> impl Iterator<Item = Cell> + 'a {
    [Some(workload), machine.map(Name::as_str)].into_iter().flatten().map(Cell::from)
}

fn capitalized(note: &str) -> String {
    let mut chars = note.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use preemptlab_experiment::Experiment;
    use preemptlab_model::{Digest, PreemptMode};

    use super::*;

    #[test]
    fn a_plan_is_shown_at_once_and_fills_in() {
        let text = "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\", \"debian:7.2\"]\n\
            preempt = [\"none\", \"lazy\"]\n[workload.a]\nkind = \"pgbench\"\n";
        let experiment = Experiment::parse(text).unwrap();
        let mut sketch = Sketch::new(&experiment);
        let states = |sketch: &Sketch<'_>| -> Vec<String> {
            let csv = sketch_table(sketch).csv();
            csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
        };
        assert_eq!(states(&sketch), ["\"to look up\""; 4]);
        let name: KernelRef = "debian:6.12".parse().unwrap();
        let modes = Some(vec![PreemptMode::None]);
        let kernel = Kernel {
            name: name.clone(),
            release: "6.12.1".to_owned(),
            image_sha256: Digest::of(b""),
            packages: vec![],
            rt: Some(false),
            modes,
            hz: None,
            source: None,
        };
        sketch.resolve(&name, Ok(&kernel));
        assert_eq!(states(&sketch), ["", "\"unavailable\"", "\"to look up\"", "\"to look up\""]);
        assert!(sketch_table(&sketch).csv().contains("6.12.1"));
        sketch.resolve(&"debian:7.2".parse().unwrap(), Err("gone"));
        assert_eq!(states(&sketch), ["", "\"unavailable\"", "\"unavailable\"", "\"unavailable\""]);
    }
}
