//! Made-up atlases: one that a recording could have, of any size, and one of hostile texts and numbers.

use std::{cmp::Reverse, collections::BTreeMap};

use preemptlab_analysis::{
    Atlas, AtlasCell, AtlasConfiguration, AtlasLoad, AtlasSection, Class, Longest,
};
use preemptlab_trace::{Cause, LongSection, Part, SectionKind};

/// Text that ends its surroundings, begins a script, and steers terminals and pages.
pub const HOSTILE: &str = "</script></style><!--<script><img src=x onerror=alert(1)>\"'&amp;${c}\u{0}\u{1b}[31m\u{202e}\u{2028}\\u003c\n\t";

/// Kernels and modes of the configurations, and the model of each.
const MODELS: [(&str, &str, &str); 8] = [
    ("debian:6.12", "none", "none"),
    ("debian:6.12", "voluntary", "voluntary"),
    ("debian:6.12", "full", "full"),
    ("debian:6.18", "lazy", "lazy"),
    ("debian:7.3", "full", "full"),
    ("debian:7.3", "lazy", "lazy"),
    ("debian:6.12-rt", "full", "rt"),
    ("debian:7.2-rt", "full", "rt"),
];

const LOADS: [&str; 24] = [
    "mmap",
    "fork",
    "vm",
    "dentry",
    "inotify",
    "futex",
    "pipe",
    "sock",
    "udp",
    "netlink-proc",
    "cgroup",
    "clone",
    "exec",
    "getdent",
    "hdd",
    "io-uring",
    "key",
    "mremap",
    "nanosleep",
    "poll",
    "shm-sysv",
    "slabinfo",
    "sysfs",
    "timerfd",
];

const OF_P: [&str; 12] = [
    "munmap",
    "exit_mmap",
    "copy_page_range",
    "shrink_dcache_sb",
    "ext4_writepages",
    "slab_show",
    "nf_tables_newrule",
    "free_pgtables",
    "zap_pte_range",
    "do_sys_poll",
    "ksys_read",
    "cgroup_rmdir",
];

const OF_N: [&str; 12] = [
    "__rmqueue_pcplist",
    "tcp_v4_rcv",
    "net_rx_action",
    "rcu_core",
    "smp_call_function_many_cond",
    "queued_spin_lock_slowpath",
    "free_pcppages_bulk",
    "text_poke_bp_batch",
    "update_blocked_averages",
    "tick_sched_handle",
    "distribute_cfs_runtime",
    "flush_tlb_mm_range",
];

/// Numbers that look like chance and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    /// Returns a length between two powers of ten of nanoseconds, all magnitudes as often.
    fn ns(&mut self, decades: [usize; 2]) -> u64 {
        let decade = decades[0] + self.below(decades[1] - decades[0]);
        10_u64.pow(decade as u32) * (10 + self.below(90)) as u64 / 10
    }
}

/// Returns an atlas that a recording could have: so many loads and configurations, and so many parts in a section.
/// The third load failed everywhere, and of the fourth the plan has every second cell.
pub fn made_up(loads: usize, configurations: usize, parts: usize) -> Atlas {
    let mut numbers = Numbers(43);
    let configurations: Vec<AtlasConfiguration> =
        (0..configurations).map(|place| configuration(place, loads)).collect();
    let cell = |load: usize, column: usize, numbers: &mut Numbers| match load {
        2 => Some(AtlasCell {
            reason: Some("stress-ng: no such device: /dev/hpet".to_owned()),
            ..AtlasCell::default()
        }),
        3 if column % 2 == 1 => None,
        _ => {
            let model = configurations[column].model.as_str();
            let p = matches!(model, "none" | "voluntary")
                .then(|| longest(SectionKind::NotPreemptible, load, [3, 7], parts, numbers));
            let kind = [SectionKind::PreemptOff, SectionKind::IrqsOff, SectionKind::Softirq]
                [numbers.below(3)];
            let decades = if model == "rt" { [2, 4] } else { [3, 6] };
            Some(AtlasCell {
                p,
                n: Some(longest(kind, load, decades, parts, numbers)),
                measured: 1,
                reason: None,
            })
        }
    };
    let loads: Vec<AtlasLoad> = (0..loads)
        .map(|load| AtlasLoad {
            name: numbered(&LOADS, load),
            cells: (0..configurations.len())
                .map(|column| cell(load, column, &mut numbers))
                .collect(),
        })
        .collect();
    let sections = sections(&loads, configurations.len());
    Atlas { format: 1, configurations, loads, sections }
}

/// Returns an atlas in which every cell with sections has one of each class.
pub fn filled(loads: usize, configurations: usize, parts: usize) -> Atlas {
    let mut atlas = made_up(loads, configurations, parts);
    let mut numbers = Numbers(44);
    for (load, of_load) in atlas.loads.iter_mut().enumerate() {
        for cell in of_load.cells.iter_mut().flatten().filter(|cell| cell.measured > 0) {
            let kind = SectionKind::NotPreemptible;
            cell.p.get_or_insert_with(|| longest(kind, load, [3, 7], parts, &mut numbers));
        }
    }
    atlas
}

fn configuration(place: usize, cells: usize) -> AtlasConfiguration {
    let (kernel, mode, model) = MODELS[place / 2 % MODELS.len()];
    let settings = match place / 16 {
        0 => String::new(),
        round => format!(" kernel.sched_nr_migrate={round}"),
    };
    AtlasConfiguration {
        name: format!("{kernel}/{mode}{settings}"),
        kernel: kernel.to_owned(),
        model: model.to_owned(),
        cpus: if place.is_multiple_of(2) { 1 } else { 4 },
        cells,
    }
}

fn numbered(names: &[&str], place: usize) -> String {
    let name = names[place % names.len()];
    if place < names.len() { name.to_owned() } else { format!("{name}-{}", place / names.len()) }
}

fn longest(
    kind: SectionKind,
    load: usize,
    decades: [usize; 2],
    parts: usize,
    numbers: &mut Numbers,
) -> Longest {
    let ns = numbers.ns(decades);
    let (functions, causes) = match kind {
        SectionKind::NotPreemptible => (&OF_P, [Cause::NotPreemptible, Cause::HardIrq]),
        SectionKind::PreemptOff => (&OF_N, [Cause::PreemptOff, Cause::SpinWait]),
        SectionKind::IrqsOff => (&OF_N, [Cause::IrqsOff, Cause::IpiWait]),
        SectionKind::Softirq => (&OF_N, [Cause::Softirq, Cause::HardIrq]),
    };
    let function = numbered(functions, load * 7 % 400 + numbers.below(3));
    let mut left = ns;
    let parts = (0..parts).map(|place| {
        let even = (left / (parts - place) as u64).max(1);
        let ns = if place + 1 == parts {
            left
        } else {
            even / 3 + even * numbers.below(100) as u64 / 75
        };
        left = left.saturating_sub(ns);
        Part { ns, cause: causes[place % 2], function: Some(numbered(&OF_N, numbers.below(900))) }
    });
    let parts: Vec<Part> = parts.collect();
    let is_wait = |part: &&Part| matches!(part.cause, Cause::SpinWait | Cause::IpiWait);
    let waited_ns = parts.iter().filter(is_wait).map(|part| part.ns).sum();
    Longest {
        ns,
        replicate: 1,
        section: LongSection {
            kind,
            function,
            inside: Some(numbered(&OF_N, numbers.below(900))),
            comm: format!("stress-ng-{}", numbered(&LOADS, load)),
            context: "munmap > page_fault".to_owned(),
            waited_ns,
            parts,
        },
        callers: vec!["do_syscall_64".to_owned(), "entry_SYSCALL_64_after_hwframe".to_owned()],
    }
}

/// Returns the table of functions that cells make.
fn sections(loads: &[AtlasLoad], configurations: usize) -> Vec<AtlasSection> {
    let mut sections: BTreeMap<(SectionKind, &str), AtlasSection> = BTreeMap::new();
    for load in loads {
        for (column, cell) in load.cells.iter().enumerate() {
            let longest = cell.iter().flat_map(|cell| cell.p.iter().chain(&cell.n));
            for longest in longest {
                let LongSection { kind, function, inside, comm, context, waited_ns, .. } =
                    &longest.section;
                let section = sections.entry((*kind, function)).or_insert_with(|| AtlasSection {
                    class: Class::of(*kind),
                    kind: *kind,
                    function: function.clone(),
                    inside: inside.clone(),
                    callers: longest.callers.clone(),
                    holder: Some(format!("{comm} in {context}")),
                    waited_ns: *waited_ns,
                    longest_ns: 0,
                    load: load.name.clone(),
                    configuration: column,
                    replicate: 1,
                    count: 0,
                    total_ns: 0,
                    loads: 1,
                    by_configuration: vec![None; configurations],
                    ended_by: Vec::new(),
                });
                section.count += 1;
                section.total_ns = section.total_ns.saturating_add(longest.ns);
                let of_column = &mut section.by_configuration[column];
                *of_column = Some(of_column.unwrap_or(0).max(longest.ns));
                if longest.ns > section.longest_ns {
                    section.longest_ns = longest.ns;
                    section.load.clone_from(&load.name);
                    section.configuration = column;
                }
                if *kind == SectionKind::NotPreemptible {
                    section.ended_by = vec!["full".to_owned(), "lazy".to_owned(), "rt".to_owned()];
                }
            }
        }
    }
    let mut sections: Vec<AtlasSection> = sections.into_values().collect();
    sections.sort_by_key(|section| Reverse(section.longest_ns));
    sections
}

/// Returns an atlas whose texts may say anything and whose numbers may be any.
pub fn hostile() -> Atlas {
    let mut atlas = made_up(6, 5, 4);
    let long = format!("{HOSTILE}{}", "long-name-".repeat(400));
    for (place, configuration) in atlas.configurations.iter_mut().enumerate() {
        configuration.name = if place == 0 { long.clone() } else { HOSTILE.to_owned() };
        configuration.kernel = if place == 1 { long.clone() } else { HOSTILE.to_owned() };
        configuration.model =
            if place == 2 { "constructor".to_owned() } else { HOSTILE.to_owned() };
        configuration.cpus = u32::MAX;
    }
    for (place, load) in atlas.loads.iter_mut().enumerate() {
        load.name = if place == 0 { long.clone() } else { format!("{HOSTILE}{place}") };
        for cell in load.cells.iter_mut().flatten() {
            cell.reason = cell.reason.is_some().then(|| long.clone());
            for longest in cell.p.iter_mut().chain(&mut cell.n) {
                let section = &mut longest.section;
                for text in [&mut section.function, &mut section.comm, &mut section.context] {
                    HOSTILE.clone_into(text);
                }
                section.inside = Some(long.clone());
                longest.callers = vec![HOSTILE.to_owned(), long.clone(), String::new()];
                for (number, part) in section.parts.iter_mut().enumerate() {
                    part.function = (number != 1).then(|| HOSTILE.to_owned());
                    part.ns = [u64::MAX, 0, 1, 2][number % 4];
                }
                longest.ns = [u64::MAX, 0, 1][place % 3];
            }
        }
    }
    atlas.sections.truncate(4);
    for (place, section) in atlas.sections.iter_mut().enumerate() {
        section.function = if place == 1 { long.clone() } else { HOSTILE.to_owned() };
        section.inside = Some(HOSTILE.to_owned());
        section.load = HOSTILE.to_owned();
        section.ended_by = vec![HOSTILE.to_owned()];
        (section.count, section.total_ns, section.longest_ns) = (u64::MAX, u64::MAX, 0);
    }
    atlas
}
