//! Lines that move between CPUs.
//!
//! Each CPU has a clock of its own, and one that is ahead may have written what another one reads: the
//! reader then waits until the line could have come. So no CPU has another's store before the line has
//! travelled, and CPUs that fight for a line get it one after the other.

use preemptlab_protocol::caches::{Distance, Groups, Transfers};

/// Lines of which it is known who has written them last.
const LINES: usize = 1 << 16;

/// Who wrote which line, and when.
pub struct Writers {
    /// The prices by distance, in 1/256 ns.
    prices: [u32; Distance::ALL.len()],
    groups: Groups,
    /// By the low bits of the line.
    lines: Vec<Written>,
}

#[derive(Clone, Copy)]
struct Written {
    line: u32,
    cpu: u16,
    /// Whether CPUs have taken it from each other.
    is_contended: bool,
    at_ns: u64,
}

/// A line that another CPU has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrives {
    written_ns: u64,
    /// What it takes to come, in 1/256 ns.
    price: u32,
}

impl Arrives {
    /// What a CPU waits for it, in 1/256 ns, if it pays a part of the way and is at this time.
    pub fn cost(self, now_ns: u64, (part, of): (u32, u32)) -> u32 {
        let way = u64::from(self.price) * u64::from(part) / u64::from(of.max(1));
        let ahead_ns = self.written_ns.saturating_sub(now_ns);
        u32::try_from(way + (ahead_ns << 8)).unwrap_or(u32::MAX)
    }
}

impl Writers {
    pub fn new(transfers: Transfers, groups: Groups) -> Self {
        let prices = Distance::ALL.map(|distance| transfers.of(distance).map_or(0, |it| it.get()));
        let none = Written { line: u32::MAX, cpu: 0, is_contended: false, at_ns: 0 };
        Self { prices, groups, lines: vec![none; LINES] }
    }

    /// Which other CPU has written a line last, and when it comes to a CPU.
    pub fn arrives(&self, line: u32, cpu: usize) -> Option<(usize, Arrives)> {
        let written = self.lines[line as usize % LINES];
        let writer = usize::from(written.cpu);
        (written.line == line && writer != cpu).then(|| {
            let price = self.price(writer, cpu);
            (writer, Arrives { written_ns: written.at_ns, price })
        })
    }

    /// A CPU writes a line, which another CPU had or not. Returns whether CPUs take it from each other, so that
    /// each further store has to be known.
    pub fn write(&mut self, line: u32, cpu: usize, now_ns: u64, has_moved: bool) -> bool {
        let before = self.lines[line as usize % LINES];
        let is_known = before.line == line;
        // A store that comes to a line of the future is made when the line has come.
        let arrives_ns = match self.arrives(line, cpu) {
            Some((_, arrives)) if has_moved => {
                arrives.written_ns + u64::from(arrives.price).div_ceil(256)
            }
            _ => 0,
        };
        let is_contended = has_moved || (is_known && before.is_contended);
        self.lines[line as usize % LINES] =
            Written { line, cpu: cpu as u16, is_contended, at_ns: now_ns.max(arrives_ns) };
        is_contended
    }

    fn price(&self, one: usize, other: usize) -> u32 {
        self.prices[self.groups.distance(one as u32, other as u32) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of CPUs of a core, and no further structure: 10 and 100 ns.
    fn writers() -> Writers {
        let transfers = serde_json::from_str(r#"{"core":2560,"complex":25600}"#).unwrap();
        let groups = serde_json::from_str(r#"{"core":2,"complex":8,"socket":8}"#).unwrap();
        Writers::new(transfers, groups)
    }

    #[test]
    fn a_line_costs_its_way_and_what_its_writer_is_ahead() {
        let mut writers = writers();
        assert_eq!(writers.arrives(7, 1), None);
        assert!(!writers.write(7, 0, 5000, false));
        assert_eq!(writers.arrives(7, 0), None, "its own");
        let (writer, arrives) = writers.arrives(7, 1).unwrap();
        assert_eq!(
            (writer, arrives.cost(9000, (1, 1)), arrives.cost(4900, (1, 1))),
            (0, 2560, 28_160)
        );
        let (_, arrives) = writers.arrives(7, 2).unwrap();
        assert_eq!((arrives.cost(5000, (1, 1)), arrives.cost(5000, (1, 4))), (25_600, 6400));
    }

    #[test]
    fn cpus_get_a_line_one_after_the_other() {
        let mut writers = writers();
        writers.write(7, 0, 1000, false);
        // All at the same time: each store is a way later than the one before.
        for (order, cpu) in [2, 4, 6].into_iter().enumerate() {
            assert!(writers.write(7, cpu, 1000, true));
            let (_, arrives) = writers.arrives(7, 0).unwrap();
            assert_eq!(arrives.written_ns, 1100 + 100 * order as u64);
        }
    }

    #[test]
    fn another_line_takes_the_place() {
        let mut writers = writers();
        writers.write(7, 0, 1000, true);
        writers.write(7 + LINES as u32, 0, 1000, false);
        assert_eq!(writers.arrives(7, 1), None);
        assert!(!writers.write(7, 0, 1000, false));
    }
}
