use alloc::{format, string::String};

/// Runs of a command that have ended.
pub struct Runs {
    start_ns: u64,
    count: u64,
    /// Time of the last one, and its end.
    last: Option<(u64, u64)>,
}

impl Runs {
    /// Creates no runs, at the start of the first one.
    pub fn new(start_ns: u64) -> Self {
        Self { start_ns, count: 0, last: None }
    }

    /// Adds a run.
    pub fn add(&mut self, begin_ns: u64, end_ns: u64) {
        self.count += 1;
        self.last = Some((end_ns.saturating_sub(begin_ns), end_ns));
    }

    /// Returns a line with the runs per second so far, before which is the time of the last run, if there was
    /// one: `12345678 ns; 80.906417 runs/s`.
    pub fn line(&self) -> String {
        let Some((took_ns, end_ns)) = self.last else { return "0 runs/s\n".into() };
        let elapsed_ns = end_ns.saturating_sub(self.start_ns).max(1);
        let rate = self.count as f64 * 1e9 / elapsed_ns as f64;
        format!("{took_ns} ns; {rate:.6} runs/s\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_last_time_and_the_rate_of_all() {
        let mut runs = Runs::new(1_000_000_000);
        assert_eq!(runs.line(), "0 runs/s\n");
        runs.add(1_000_000_000, 1_250_000_000);
        assert_eq!(runs.line(), "250000000 ns; 4.000000 runs/s\n");
        runs.add(1_500_000_000, 2_000_000_000);
        // Two in a second: what passes between runs counts.
        assert_eq!(runs.line(), "500000000 ns; 2.000000 runs/s\n");
    }
}
