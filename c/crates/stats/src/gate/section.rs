//! Functions whose sections changed.

use std::collections::BTreeMap;

use preemptlab_model::Section;

use super::{GatePlace, SectionChange, SectionRow};
use crate::{REPLICATES_MIN, rank::rank_p, summary::median};

/// Share of the margin from which on a function's sections are longer. A median varies, and a stretch of
/// the whole margin is to be found.
const LEAST_SHARE: f64 = 0.75;

/// The sections of both kernels at one seed: the base's, then the new one's.
pub type Pair<'a> = (&'a [Section], &'a [Section]);

/// The sections of a function at a place, one value a seed.
#[derive(Default)]
struct Function {
    callers: Vec<String>,
    longest_ns: u64,
    /// Longest section of each cell, by kernel: the base's, then the new one's.
    max_us: [Vec<f64>; 2],
    total_us: [f64; 2],
}

/// Compares the longest sections of each function. Every cell of a place has a value for each
/// function: zero where it has no section of it. `alpha` is for all of the functions that decide together.
pub fn sections(
    places: &[(&GatePlace, Vec<Pair<'_>>)],
    margin_us: f64,
    alpha: f64,
    decides: &dyn Fn(&str) -> bool,
) -> Vec<SectionRow> {
    let mut all = Vec::new();
    for (place, pairs) in places {
        let mut functions: BTreeMap<(&str, &str), Function> = BTreeMap::new();
        for (at, (base, new)) in pairs.iter().enumerate() {
            for (side, sections) in [base, new].into_iter().enumerate() {
                for section in *sections {
                    let key = (section.kind, section.function.as_str());
                    let function = functions.entry(key).or_default();
                    if section.max_ns >= function.longest_ns {
                        function.longest_ns = section.max_ns;
                        function.callers.clone_from(&section.callers);
                    }
                    function.total_us[side] += section.total_ns as f64 / 1e3;
                    let values = &mut function.max_us[side];
                    values.resize(at, 0.0);
                    values.push(section.max_ns as f64 / 1e3);
                }
            }
        }
        for ((kind, name), mut function) in functions {
            function.max_us.iter_mut().for_each(|values| values.resize(pairs.len(), 0.0));
            all.push((*place, kind, name, function, pairs.len()));
        }
    }
    // Whether values vary enough does not depend on which kernel they are of, so the choice of those
    // that are tested spends nothing of the level.
    let varies = |of: &Function| {
        let values = || of.max_us.iter().flatten().copied();
        values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min) > margin_us / 2.0
    };
    let is_tested = |name: &str, function: &Function| varies(function) && decides(name);
    let tested = all.iter().filter(|(_, _, name, function, _)| is_tested(name, function)).count();
    let level = alpha / tested.max(1) as f64;
    let rows = all.into_iter().filter(|(.., function, _)| varies(function));
    let rows = rows.filter_map(|(place, kind, name, function, n)| {
        let level = decides(name).then_some(level);
        row(place, kind, name, &function, n, margin_us, level)
    });
    let mut rows: Vec<SectionRow> = rows.collect();
    let change = |row: &SectionRow| (row.new_us - row.base_us).abs();
    rows.sort_by(|a, b| {
        (b.is_worse, change(b))
            .partial_cmp(&(a.is_worse, change(a)))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}

fn row(
    place: &GatePlace,
    kind: &str,
    name: &str,
    function: &Function,
    n: usize,
    margin_us: f64,
    level: Option<f64>,
) -> Option<SectionRow> {
    let [base, new] = &function.max_us;
    let (base_us, new_us) = (median(base)?, median(new)?);
    let p = rank_p(base, new);
    let is_longer = level.is_some() && new_us - base_us >= LEAST_SHARE * margin_us;
    let ends = |values: &[f64]| {
        let min = values.iter().copied().fold(f64::MAX, f64::min);
        (min, values.iter().copied().fold(f64::MIN, f64::max))
    };
    let is_apart = ends(new).0 > ends(base).1;
    let has_enough = n >= REPLICATES_MIN;
    let is_worse = has_enough && is_longer && level.is_some_and(|level| p <= level);
    let change = match () {
        () if base.iter().all(|us| *us == 0.0) => SectionChange::New,
        () if new.iter().all(|us| *us == 0.0) => SectionChange::Gone,
        () if new_us >= base_us => SectionChange::Longer,
        () => SectionChange::Shorter,
    };
    // Where a median is the same only the rare ones differ, which a few seeds say nothing about.
    (new_us != base_us).then(|| SectionRow {
        place: place.clone(),
        kind: kind.to_owned(),
        function: name.to_owned(),
        callers: function.callers.clone(),
        base_us,
        new_us,
        base_total_us: function.total_us[0] / n as f64,
        new_total_us: function.total_us[1] / n as f64,
        change,
        p,
        is_worse,
        is_suspect: is_longer && is_apart && !is_worse,
    })
}
