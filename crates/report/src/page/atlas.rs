//! The data of an atlas's page.

use std::collections::BTreeMap;

use preemptlab_analysis::{Atlas, AtlasCell, AtlasConfiguration, AtlasSection, Class, Longest};
use preemptlab_trace::{Cause, SectionKind};

use super::data::{AtlasCause, AtlasClass, AtlasColumn, AtlasData, AtlasDetails, AtlasFunction};
use crate::timeline::cause;

/// Meaning of the classes, and the limits of what a guest can show.
const CAPTION: &str = "Class P: preemptible code that the kernel executes for a call and that none and voluntary \
    do not leave; full, lazy and PREEMPT_RT preempt it. Class N: preemption or interrupts off, or softirqs; no mode \
    cuts it, PREEMPT_RT some of it. Times are virtual. A guest has no real devices and no SMIs, and only its own \
    few CPUs contend.";

/// Returns all data of an atlas's page, and the details of its cells. `recording` is the recording as the user
/// named it, of which the page tells commands; `notes` are sentences that it shows behind its own.
pub fn atlas_data(
    atlas: &Atlas,
    recording: &str,
    notes: &[String],
    generator: &str,
) -> (AtlasData, AtlasDetails) {
    let columns = atlas.configurations.len();
    let mut texts = Texts::default();
    let cells: Vec<Option<&AtlasCell>> = atlas
        .loads
        .iter()
        .flat_map(|load| (0..columns).map(|column| load.cells.get(column)?.as_ref()))
        .collect();
    let mut of_class = |class| {
        let longest: Vec<Option<&Longest>> =
            cells.iter().map(|cell| cell.and_then(|cell| cell.longest(class))).collect();
        (lengths(&longest, &mut texts), details(&longest, &mut texts))
    };
    let [(p, details_p), (n, details_n)] = Class::BOTH.map(&mut of_class);
    let mut reason = |cell: &Option<&AtlasCell>| {
        texts.place(cell.and_then(|cell| cell.reason.as_deref()).unwrap_or_default())
    };
    let reasons = cells.iter().map(&mut reason).collect();
    let loads: BTreeMap<&str, usize> =
        atlas.loads.iter().enumerate().map(|(at, load)| (load.name.as_str(), at)).collect();
    let sections = atlas
        .sections
        .iter()
        .map(|section| function(section, loads.get(&*section.load).copied(), &mut texts))
        .collect();
    let mut sentences = atlas.sentences().into_iter().chain(notes.iter().cloned());
    let data = AtlasData {
        title: format!("The longest sections of {recording}"),
        generator: generator.to_owned(),
        headline: sentences.next().unwrap_or_default(),
        points: sentences.collect(),
        caption: CAPTION.to_owned(),
        recording: recording.to_owned(),
        texts: texts.texts,
        kinds: SectionKind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect(),
        causes: Cause::ALL.into_iter().map(of_cause).collect(),
        columns: atlas.configurations.iter().map(column).collect(),
        loads: atlas.loads.iter().map(|load| load.name.clone()).collect(),
        measured: cells.iter().map(|cell| cell.map(|cell| cell.measured)).collect(),
        reasons,
        p,
        n,
        sections,
    };
    (data, AtlasDetails { p: details_p, n: details_n })
}

/// Texts that numbers refer to; the first is empty.
struct Texts {
    texts: Vec<String>,
    places: BTreeMap<String, u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { texts: vec![String::new()], places: BTreeMap::from([(String::new(), 0)]) }
    }
}

impl Texts {
    fn place(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

fn lengths(longest: &[Option<&Longest>], texts: &mut Texts) -> AtlasClass {
    let mut class = AtlasClass::default();
    for longest in longest {
        class.ns.push(longest.map(|longest| longest.ns));
        class.kind.push(longest.map_or(0, |longest| kind(longest.section.kind)));
        let function = longest.map_or("", |longest| &longest.section.function);
        class.function.push(texts.place(function));
    }
    class
}

fn details(longest: &[Option<&Longest>], texts: &mut Texts) -> Vec<Vec<u64>> {
    let detail = |longest: &Option<&Longest>| {
        let Some(Longest { replicate, section, callers, .. }) = longest else { return Vec::new() };
        let mut place = |text: &str| u64::from(texts.place(text));
        let inside = section.inside.as_deref().unwrap_or_default();
        let mut numbers = vec![
            u64::from(*replicate),
            place(inside),
            place(&section.comm),
            place(&section.context),
            section.waited_ns,
            callers.len() as u64,
        ];
        numbers.extend(callers.iter().map(|caller| place(caller)));
        for part in &section.parts {
            let function = part.function.as_deref().unwrap_or_default();
            let cause = Cause::ALL.into_iter().position(|cause| cause == part.cause);
            numbers.extend([part.ns, cause.unwrap_or_default() as u64, place(function)]);
        }
        numbers
    };
    longest.iter().map(detail).collect()
}

fn function(section: &AtlasSection, load: Option<usize>, texts: &mut Texts) -> AtlasFunction {
    AtlasFunction {
        is_p: section.class == Class::P,
        kind: kind(section.kind),
        function: texts.place(&section.function),
        inside: texts.place(section.inside.as_deref().unwrap_or_default()),
        longest_ns: section.longest_ns,
        load: load.unwrap_or_default(),
        column: section.configuration,
        count: section.count,
        total_ns: section.total_ns,
        loads: section.loads,
        by_column: section.by_configuration.clone(),
        ended_by: section.ended_by.clone(),
    }
}

fn column(
    AtlasConfiguration { name, kernel, model, cpus, .. }: &AtlasConfiguration,
) -> AtlasColumn {
    let rest = name.strip_prefix(kernel.as_str()).unwrap_or(name);
    AtlasColumn {
        kernel: kernel.clone(),
        rest: rest.trim_start_matches(['/', ' ']).to_owned(),
        model: model.clone(),
        cpus: *cpus,
    }
}

fn kind(kind: SectionKind) -> u32 {
    SectionKind::ALL.into_iter().position(|it| it == kind).unwrap_or_default() as u32
}

fn of_cause(cause: Cause) -> AtlasCause {
    AtlasCause { words: cause.as_str().to_owned(), look: cause::class(Some(cause)).to_owned() }
}

#[cfg(test)]
mod tests {
    use preemptlab_analysis::AtlasLoad;
    use preemptlab_trace::{LongSection, Part};

    use super::*;

    fn atlas() -> Atlas {
        let section = Longest {
            ns: 105_000,
            replicate: 2,
            section: LongSection {
                kind: SectionKind::NotPreemptible,
                function: "munmap".to_owned(),
                inside: Some("zap_pte_range".to_owned()),
                comm: "stress-ng-mmap".to_owned(),
                context: "munmap".to_owned(),
                waited_ns: 7,
                parts: vec![Part {
                    ns: 105_000,
                    cause: Cause::NotPreemptible,
                    function: Some("zap_pte_range".to_owned()),
                }],
            },
            callers: vec!["do_syscall_64".to_owned()],
        };
        let of = |kind, function: &str, longest_ns, by_configuration| AtlasSection {
            class: Class::of(kind),
            kind,
            function: function.to_owned(),
            inside: None,
            callers: Vec::new(),
            holder: None,
            waited_ns: 0,
            longest_ns,
            load: "mmap".to_owned(),
            configuration: 0,
            replicate: 2,
            count: 3,
            total_ns: 9,
            loads: 1,
            by_configuration,
            ended_by: vec!["full".to_owned()],
        };
        let configuration = |name: &str, model: &str| AtlasConfiguration {
            name: name.to_owned(),
            kernel: "debian:6.12".to_owned(),
            model: model.to_owned(),
            cpus: 1,
            cells: 1,
        };
        Atlas {
            format: 1,
            configurations: vec![
                configuration("debian:6.12/none", "none"),
                configuration("debian:6.12/full threadirqs", "full"),
            ],
            loads: vec![
                AtlasLoad {
                    name: "mmap".to_owned(),
                    cells: vec![
                        Some(AtlasCell { p: Some(section), measured: 3, ..AtlasCell::default() }),
                        Some(AtlasCell {
                            reason: Some("no memory".to_owned()),
                            ..AtlasCell::default()
                        }),
                    ],
                },
                AtlasLoad { name: "fork".to_owned(), cells: vec![None, None] },
            ],
            sections: vec![
                of(SectionKind::NotPreemptible, "munmap", 105_000, vec![Some(105_000), None]),
                of(SectionKind::IrqsOff, "rmqueue", 42_000, vec![Some(42_000), Some(40_000)]),
            ],
        }
    }

    #[test]
    fn cells_are_lists_of_numbers_that_refer_to_texts() {
        let (data, details) =
            atlas_data(&atlas(), "runs/atlas", &["A note.".to_owned()], "preemptlab");
        let text = |place: u64| data.texts[place as usize].as_str();
        assert_eq!(data.texts[0], "");
        assert_eq!(data.p.ns, [Some(105_000), None, None, None]);
        assert_eq!(data.n.ns, [None; 4]);
        assert_eq!(data.measured, [Some(3), Some(0), None, None]);
        assert_eq!(data.texts[data.reasons[1] as usize], "no memory");
        assert_eq!(data.reasons[0], 0);
        assert_eq!(data.kinds[data.p.kind[0] as usize], "call");
        let section = &details.p[0];
        assert_eq!(
            (section[0], text(section[1]), text(section[2])),
            (2, "zap_pte_range", "stress-ng-mmap")
        );
        assert_eq!((text(section[3]), section[4], section[5]), ("munmap", 7, 1));
        assert_eq!((text(section[6]), section[7]), ("do_syscall_64", 105_000));
        assert_eq!(data.causes[section[8] as usize].look, "not-preemptible");
        assert_eq!((text(section[9]), section.len()), ("zap_pte_range", 10));
        assert!(details.n.iter().all(Vec::is_empty));
        assert_eq!(
            (data.columns[1].rest.as_str(), data.columns[1].model.as_str()),
            ("full threadirqs", "full")
        );
        assert_eq!((data.sections[0].load, data.sections[0].is_p), (0, true));
    }

    #[test]
    fn the_sentences_of_the_atlas_stand_first_and_notes_behind_them() {
        let atlas = atlas();
        let (data, _) = atlas_data(&atlas, "runs/atlas", &["A note.".to_owned()], "preemptlab");
        let said = [vec![data.headline], data.points].concat();
        assert_eq!(said, [atlas.sentences(), vec!["A note.".to_owned()]].concat());
    }
}
