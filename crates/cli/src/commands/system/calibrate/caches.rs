//! What the table of a calibration says of caches.

use preemptlab_calibrate::{MachineCaches, Moved, NoCaches, NoTransfer, Tlb, Told};
use preemptlab_protocol::caches::{CacheSize, Caches, Distance, Penalty, TlbSize};
use preemptlab_report::{Cell, Column, Table, Tone};

/// Shows the sizes of caches and what a miss costs, or why the profile has no caches.
pub fn table(found: &Result<MachineCaches, NoCaches>, moved: &Result<Moved, NoTransfer>) -> Table {
    let columns = [
        Column::left("a load finds"),
        Column::left("size"),
        Column::right("ways"),
        Column::right("waits").with_unit("ns"),
        Column::right("overlaps").with_unit("ns"),
        Column::right("streams").with_unit("ns"),
        Column::left(""),
    ];
    let mut table = Table::new("caches: the time of a load beyond a hit of the first", columns);
    match found {
        Ok(found) => rows(&mut table, found, moved),
        Err(reason) => table.span(format!("the profile has no caches: {reason}")),
    }
    table
}

fn rows(table: &mut Table, found: &MachineCaches, moved: &Result<Moved, NoTransfer>) {
    let Caches { l1d, l1i, l2, l3, dtlb, stlb, penalties, .. } = found.of_profile(None);
    let told = found.told;
    let of_cache = |size: CacheSize, told: Told| {
        let is_exact = (u64::from(size.bytes()), size.ways()) == (told.bytes, told.ways);
        let other = format!("the nearest to {} in {} ways", bytes(told.bytes), told.ways);
        let word = if is_exact { String::new() } else { other };
        ([bytes(size.bytes().into()), size.ways().to_string()], word)
    };
    let of_tlb = |size: TlbSize, tlb: Tlb| {
        let word = match tlb.ways {
            None => "where the times of loads rise; the ways are assumed".to_owned(),
            Some(ways) if (size.entries(), size.ways()) == (tlb.entries, ways) => String::new(),
            Some(ways) => format!("the nearest to {} in {ways} ways", tlb.entries),
        };
        ([format!("{} pages", size.entries()), size.ways().to_string()], word)
    };
    let memory = [bytes(found.memory_bytes), String::new()];
    let none = || ([String::new(), String::new()], String::new());
    for (finds, (size, word), penalty) in [
        ("data in the first cache", of_cache(l1d, told.l1d), None),
        ("instructions there", of_cache(l1i, told.l1i), None),
        ("the second cache", of_cache(l2, told.l2), Some(penalties.l2)),
        ("the last cache", of_cache(l3, told.l3), Some(penalties.l3)),
        ("memory", (memory, "the size of the buffer".to_owned()), Some(penalties.memory)),
        ("the first TLB", of_tlb(dtlb, found.tlbs.dtlb), None),
        ("the second TLB", of_tlb(stlb, found.tlbs.stlb), Some(penalties.stlb)),
        ("the page table", none(), Some(penalties.walk)),
    ] {
        let cells = [finds.to_owned()].into_iter().chain(size).chain(times(penalty)).chain([word]);
        table.row(cells.map(Cell::from));
    }
    if let Ok(Moved { distance, transfer }) = moved {
        let waits = ns(transfer.get());
        let [finds, words] =
            [format!("a line of a CPU {}", place(*distance)), format!("`{}`", distance.as_str())];
        let blank = String::new;
        let cells = [finds, blank(), blank(), waits, blank(), blank(), words];
        table.row(cells.map(Cell::from));
    }
    notes(table, found, moved);
}

fn notes(table: &mut Table, found: &MachineCaches, moved: &Result<Moved, NoTransfer>) {
    if let Err(reason) = moved {
        let text = format!(
            "a line that another CPU has written costs what one of the last cache does: {reason}"
        );
        table.span(Cell::new(text, Tone::Faint));
    }
    let (granted, asked) = found.huge_bytes;
    if granted < asked {
        table.notes.push(format!(
            "the kernel gave {} of {} in pages of 2 MiB; what translations of the rest take is subtracted",
            bytes(granted),
            bytes(asked)
        ));
    }
    let part = found.told.l3.bytes as f64 / found.memory_bytes as f64;
    if found.memory_fits_last() {
        table.notes.push(
            "the buffer in memory is no larger than the last cache: unless other tenants have most of that, this \
             is its time and not that of memory; more memory gives a larger buffer"
                .to_owned(),
        );
    } else if part > 0.1 {
        table.notes.push(format!(
            "the last cache, if none of it is another tenant's, holds {:.0}% of the buffer in memory",
            part * 100.0
        ));
    }
    if !found.alike {
        let cpu = found.told.cpu;
        table
            .notes
            .push(format!("other CPUs have caches of other sizes; these are those of CPU {cpu}"));
    }
    table.notes.push(
        "assumed: overlap_accesses, prefetcher, and that it foresees translations".to_owned(),
    );
}

/// Returns the three times of a penalty; blank ones without.
fn times(penalty: Option<Penalty>) -> [String; 3] {
    penalty.map_or_else(Default::default, |penalty| {
        [penalty.waits(), penalty.overlaps(), penalty.streams()].map(ns)
    })
}

fn ns(of_256: u32) -> String {
    format!("{:.2}", f64::from(of_256) / 256.0)
}

fn bytes(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) && bytes > 0 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

fn place(distance: Distance) -> &'static str {
    match distance {
        Distance::Core => "of the same core",
        Distance::Complex => "with the same last cache",
        Distance::Socket => "with another last cache",
        Distance::Far => "of another socket",
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_calibrate::{Tlbs, ToldCaches};
    use preemptlab_protocol::caches::{Penalties, Transfer};
    use preemptlab_report::Terminal;

    use super::*;

    fn xeon() -> MachineCaches {
        let told = |kib: u64, ways| Told { bytes: kib << 10, ways };
        let (l1d, l1i, l2, l3) = (told(48, 12), told(32, 8), told(2048, 16), told(307_200, 20));
        let penalty = Penalty::new(512, 128, 64).unwrap();
        let dtlb = Tlb { entries: 72, ways: Some(72) };
        MachineCaches {
            told: ToldCaches { cpu: 3, l1d, l1i, l2, l3 },
            alike: true,
            tlbs: Tlbs { dtlb, stlb: Tlb { entries: 2048, ways: None } },
            penalties: Penalties {
                l2: penalty,
                l3: penalty,
                memory: penalty,
                stlb: penalty,
                walk: penalty,
            },
            memory_bytes: 1 << 30,
            huge_bytes: (1 << 30, 1 << 30),
        }
    }

    fn printed(found: Result<MachineCaches, NoCaches>, moved: Result<Moved, NoTransfer>) -> String {
        let text = table(&found, &moved).terminal(Terminal { width: 400, color: false });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sizes_that_no_profile_holds_are_named_with_what_takes_their_place() {
        let transfer = Transfer::try_from(25_600).unwrap();
        let moved = Ok(Moved { distance: Distance::Complex, transfer });
        let text = printed(Ok(xeon()), moved);
        for said in [
            "the second cache 2 MiB 16 2.00 0.50 0.25",
            "the last cache 304 MiB 19 2.00 0.50 0.25 the nearest to 300 MiB in 20 ways",
            "the first TLB 72 pages 18 the nearest to 72 in 72 ways",
            "the second TLB 2048 pages 16 2.00 0.50 0.25 where the times of loads rise",
            "a line of a CPU with the same last cache 100.00 `complex`",
            "holds 29% of the buffer in memory",
            "assumed: overlap_accesses, prefetcher",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(!text.contains("pages of 2 MiB;") && !text.contains("other CPUs"), "{text}");
    }

    #[test]
    fn an_odd_machine_is_described() {
        let odd = MachineCaches {
            alike: false,
            memory_bytes: 128 << 20,
            huge_bytes: (2 << 20, 128 << 20),
            ..xeon()
        };
        let text = printed(Ok(odd), Err(NoTransfer::OneCpu));
        for said in [
            "costs what one of the last cache does: there is but one CPU to measure on",
            "gave 2 MiB of 128 MiB in pages of 2 MiB",
            "no larger than the last cache",
            "these are those of CPU 3",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn a_machine_without_caches_has_the_reason() {
        let reason = NoCaches::NotTold { cpu: 0, cache: "last cache (level 3)" };
        let text = printed(Err(reason), Err(NoTransfer::OneCpu));
        let said =
            "the profile has no caches: the kernel does not tell the last cache (level 3) of CPU 0";
        assert!(text.contains(said), "{text}");
    }
}
