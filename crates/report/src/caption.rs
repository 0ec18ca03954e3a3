//! How to read the times of an answer.

use std::collections::BTreeSet;

use preemptlab_analysis::explain::Chosen;
use preemptlab_model::{BackendKind, CellCost, Clocks};
use preemptlab_stats::Comparison;

use crate::machine_histograms;

/// Writes the caption of a comparison: the facts about virtual and host time that a reader of the
/// numbers needs.
pub fn caption(comparison: &Comparison) -> String {
    let of_machines = machine_histograms::caption(comparison);
    let of_cells =
        (!comparison.groups.is_empty() || of_machines.is_none()).then(|| cells(comparison));
    let disturbed = comparison.disturbances.iter().map(|what| format!("{what}."));
    of_cells.into_iter().chain(disturbed).chain(of_machines).collect::<Vec<_>>().join(" ")
}

/// Writes the caption of virtual times that count this.
pub fn time_caption(costs: &BTreeSet<CellCost>) -> String {
    CellCost::caption(costs) + " Microseconds are not a promise about hardware."
}

/// Writes the caption of a traced cell's times.
pub fn cell_caption(cell: &Chosen) -> String {
    let caption = time_caption(&cell.cost.iter().cloned().collect());
    caption + " The traced execution is the same to the byte as the one without a trace."
}

/// Describes the times of cells.
fn cells(comparison: &Comparison) -> String {
    let has = |kind: BackendKind| comparison.groups.iter().any(|group| group.backend == kind);
    let (host, kvm) = (has(BackendKind::Host), has(BackendKind::Kvm));
    let real = match (host, kvm) {
        (true, true) => "host and kvm",
        (true, false) => "host",
        (false, true) => "kvm",
        (false, false) => return virtual_caption(comparison),
    };
    let real = format!(
        "Times of {real} are those of the machine that measured, with whatever else it did: they hold \
         for it, and no run says the same again."
    );
    if !has(BackendKind::Vm) {
        return real;
    }
    format!(
        "{} {real} A difference between a virtual and a real microsecond says nothing: compare ratios \
         and orders, each within its own kind of time.",
        virtual_caption(comparison)
    )
}

fn virtual_caption(comparison: &Comparison) -> String {
    let mut caption = CellCost::caption(&comparison.costs);
    caption += " Compare ratios, orders and causes; microseconds are not a promise about hardware.";
    let has_caches = comparison
        .costs
        .iter()
        .any(|cost| matches!(cost, CellCost::Prices { of, .. } if of.has_caches));
    caption + &clocks_caption(&comparison.clocks, has_caches)
}

/// Describes the time of several CPUs, and its accuracy.
fn clocks_caption(clocks: &BTreeSet<Clocks>, has_caches: bool) -> String {
    let each = |value: fn(&Clocks) -> Option<String>| {
        let values: Vec<_> = clocks.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| values.join(" in some cells, in others "))
    };
    let lookahead = each(|clocks| match clocks {
        Clocks::Own(lookahead) => Some(format!("{lookahead} ns")),
        Clocks::Turns { .. } => None,
    });
    let skew = each(|clocks| match clocks {
        Clocks::Turns { skew_us } => Some(format!("{skew_us} us")),
        Clocks::Own(_) => None,
    });
    let mut caption = String::new();
    if let Some(lookahead) = &lookahead {
        caption += &format!(
            " With several CPUs, each has a clock of its own, and sees what another writes to memory up to \
             {lookahead} early"
        );
        // A reader waits for a line that the writer's caches have.
        caption += if has_caches {
            "; with caches, only where the writer's have lost the line."
        } else {
            "."
        };
    }
    if let Some(skew) = &skew {
        let which =
            if lookahead.is_some() { "several CPUs of earlier recordings" } else { "several CPUs" };
        caption += &format!(
            " With {which}, time advances with the instructions of all of them, and no CPU is ahead of \
             another by more than {skew}."
        );
    }
    if !clocks.is_empty() {
        caption += " See docs/virtual-time.md.";
    }
    caption
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Lookahead;

    use super::*;

    #[test]
    fn the_time_of_several_cpus_is_said_with_its_bound() {
        let own = |ns| Clocks::Own(Lookahead::try_from(ns).unwrap());
        let turns = Clocks::Turns { skew_us: 10 };
        let said = |clocks: &[Clocks]| clocks_caption(&clocks.iter().copied().collect(), false);
        assert_eq!(said(&[]), "");
        let one = said(&[own(500)]);
        assert!(one.contains("up to 500 ns early. See docs/"), "{one}");
        let cached = clocks_caption(&[own(500)].into(), true);
        assert!(cached.contains("500 ns early; with caches, only where"), "{cached}");
        let two = said(&[own(500), own(20)]);
        assert!(two.contains("up to 20 ns in some cells, in others 500 ns early"), "{two}");
        let before = said(&[turns]);
        assert!(before.starts_with(" With several CPUs, time advances"), "{before}");
        assert!(before.contains("by more than 10 us. See"), "{before}");
        let both = said(&[turns, own(500)]);
        assert!(
            both.contains("500 ns early. With several CPUs of earlier recordings, time"),
            "{both}"
        );
    }
}
