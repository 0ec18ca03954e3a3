//! The caches in the table of a calibration.

use preemptlab_calibrate::{
    BeyondNs, Holder, Level, MachineCaches, Moved, NoCaches, NoTransfer, Size, Stolen,
};
use preemptlab_report::{Cell, Column, Table, Tone};

/// Shows the sizes of caches and what a miss costs, or why the profile has no caches.
pub fn table(
    found: &Result<MachineCaches, NoCaches>,
    moved: &Result<Moved, NoTransfer>,
    stolen: &Stolen,
) -> Table {
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
    if found.is_ok() && stolen.is_shared() {
        table.notes.push(format!(
            "other programs had the CPUs for {:.0}% of the time: the last cache and memory are dearer than those of an \
             idle machine; end other programs and calibrate again",
            stolen.preempted_share * 100.0
        ));
    }
    table
}

fn rows(table: &mut Table, found: &MachineCaches, moved: &Result<Moved, NoTransfer>) {
    for Level { holder, found, held, beyond_ns } in found.levels() {
        let (finds, unit) = words(holder);
        let (amount, ways) = match held.or(found) {
            Some(size) => (unit(size.amount), size.ways.map(|ways| ways.to_string())),
            None => (String::new(), None),
        };
        let times = beyond_ns.map(|BeyondNs { waits, overlaps, streams }| {
            [waits, overlaps, streams].map(|ns| format!("{ns:.2}"))
        });
        let cells = [finds.to_owned(), amount, ways.unwrap_or_default()].into_iter();
        let cells = cells.chain(times.unwrap_or_default());
        table.row(cells.chain([remark(holder, found, held, unit)]).map(Cell::from));
    }
    if let Ok(moved) = moved {
        let blank = String::new;
        let words = format!("`{}`", moved.distance.as_str());
        let waits = format!("{:.2}", moved.ns());
        let finds = "what another CPU has written".to_owned();
        table.row([finds, blank(), blank(), waits, blank(), blank(), words].map(Cell::from));
    }
    notes(table, found, moved);
}

/// Names what holds a line or a translation, and says what its size is in.
fn words(holder: Holder) -> (&'static str, fn(u64) -> String) {
    let pages = |entries| format!("{entries} pages");
    match holder {
        Holder::FirstData => ("data in the first cache", bytes),
        Holder::FirstInstructions => ("instructions there", bytes),
        Holder::Second => ("the second cache", bytes),
        Holder::Third => ("the third cache", bytes),
        Holder::Memory => ("memory", bytes),
        Holder::FirstTlb => ("the first TLB", pages),
        Holder::SecondTlb => ("the second TLB", pages),
        Holder::PageTable => ("the page table", pages),
    }
}

/// Says where a size comes from that the machine does not tell so.
fn remark(
    holder: Holder,
    found: Option<Size>,
    held: Option<Size>,
    unit: fn(u64) -> String,
) -> String {
    match (found, held) {
        (Some(Size { ways: None, .. }), Some(_)) => {
            "where the times of loads rise; the ways are assumed".to_owned()
        }
        (Some(Size { amount, ways: Some(ways) }), Some(held)) if found != Some(held) => {
            format!("the nearest to {} in {ways} ways", unit(amount))
        }
        _ if holder == Holder::Memory => "the size of the buffer".to_owned(),
        _ => String::new(),
    }
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
    let part = found.told.last().bytes as f64 / found.memory_bytes as f64;
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

fn bytes(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) && bytes > 0 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_calibrate::{Tlb, Tlbs, Told, ToldCaches};
    use preemptlab_protocol::caches::{Distance, Penalties, Penalty, Transfer};
    use preemptlab_report::Terminal;

    use super::*;

    fn xeon() -> MachineCaches {
        let told = |kib: u64, ways| Told { bytes: kib << 10, ways };
        let (l1d, l1i, l2, l3) = (told(48, 12), told(32, 8), told(2048, 16), told(307_200, 20));
        let penalty = Penalty::new(512, 128, 64).unwrap();
        let dtlb = Tlb { entries: 72, ways: Some(72) };
        MachineCaches {
            told: ToldCaches { cpu: 3, l1d, l1i, l2, l3: Some(l3) },
            alike: true,
            tlbs: Tlbs { dtlb, stlb: Tlb { entries: 2048, ways: None } },
            penalties: Penalties {
                l2: penalty,
                l3: Some(penalty),
                memory: penalty,
                stlb: penalty,
                walk: penalty,
            },
            memory_bytes: 1 << 30,
            huge_bytes: (1 << 30, 1 << 30),
        }
    }

    fn printed(found: Result<MachineCaches, NoCaches>, moved: Result<Moved, NoTransfer>) -> String {
        let text =
            table(&found, &moved, &Stolen::of(&[])).terminal(Terminal { width: 400, color: false });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sizes_that_no_profile_holds_are_named_with_what_takes_their_place() {
        let transfer = Transfer::try_from(25_600).unwrap();
        let moved = Ok(Moved { distance: Distance::Complex, transfer });
        let text = printed(Ok(xeon()), moved);
        for said in [
            "the second cache 2 MiB 16 2.00 0.50 0.25",
            "the third cache 304 MiB 19 2.00 0.50 0.25 the nearest to 300 MiB in 20 ways",
            "the first TLB 72 pages 18 the nearest to 72 pages in 72 ways",
            "the second TLB 2048 pages 16 2.00 0.50 0.25 where the times of loads rise",
            "what another CPU has written 100.00 `complex`",
            "holds 29% of the buffer in memory",
            "assumed: overlap_accesses, prefetcher",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(!text.contains("pages of 2 MiB;") && !text.contains("other CPUs"), "{text}");
    }

    #[test]
    fn a_machine_without_a_third_cache_has_no_row_of_it() {
        let mut pi = xeon();
        (pi.told.l3, pi.penalties.l3) = (None, None);
        let text = printed(Ok(pi), Err(NoTransfer::OneCpu));
        assert!(text.contains("the second cache 2 MiB 16") && !text.contains("third"), "{text}");
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
        let reason = NoCaches::NotTold { cpu: 0, cache: "second cache" };
        let text = printed(Err(reason), Err(NoTransfer::OneCpu));
        let said = "the profile has no caches: the kernel does not tell the second cache of CPU 0";
        assert!(text.contains(said), "{text}");
    }
}
