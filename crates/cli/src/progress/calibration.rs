//! Progress of a calibration: one line that changes on a terminal, a line now and then elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use preemptlab_calibrate::{Passes, Place};
use preemptlab_lab::Part;
use preemptlab_report::human;

use crate::output::Output;

/// Time between lines without a terminal.
const EACH: Duration = Duration::from_secs(10);

/// A part of a calibration, while it works.
pub struct Measuring {
    bar: ProgressBar,
    output: Output,
    what: &'static str,
    started: Instant,
    said: Instant,
}

impl Measuring {
    /// Begins a part.
    pub fn begin(part: Part, output: Output) -> Self {
        let what = match part {
            Part::Time(Place::Program) => "measuring micro-benchmarks on the machine",
            Part::Time(Place::Kernel) => "measuring micro-benchmarks in this machine's kernel",
            Part::Count(Place::Program) => {
                "counting the instructions of micro-benchmarks in a guest"
            }
            Part::Count(Place::Kernel) => "counting the instructions of the module in a guest",
            Part::Between => "measuring between two CPUs of the machine",
            Part::Gaps => "measuring what is stolen from a CPU of the machine",
            Part::Caches => "measuring the caches of the machine",
            Part::Solve => "executing the same between two CPUs of a guest",
        };
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        bar.set_style(style.expect("it is valid"));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        if bar.is_hidden() {
            output.note(what);
        }
        let now = Instant::now();
        Self { bar, output, what, started: now, said: now }
    }

    /// Shows how many passes are done, and how long the others take.
    pub fn pass(&mut self, passes: Passes) {
        let line = line(self.what, passes, self.started.elapsed());
        if !self.bar.is_hidden() {
            self.bar.set_message(line);
        } else if self.said.elapsed() >= EACH {
            self.said = Instant::now();
            self.output.note(line);
        }
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Says how many passes are done after a time, and how long the expected ones and all of them take.
fn line(what: &str, passes: Passes, elapsed: Duration) -> String {
    let Passes { done, expected, most, differing } = passes;
    let each = elapsed / u32::try_from(done.max(1)).unwrap_or(u32::MAX);
    let left = |of: usize| human(each * u32::try_from(of.saturating_sub(done)).unwrap_or(u32::MAX));
    match differing {
        0 => format!("{what}: pass {done} of {expected}, about {} to go", left(expected)),
        _ => format!(
            "{what}: pass {done}; the times of {differing} have not come again yet; at most {} to go",
            left(most)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_long_it_will_take() {
        let said = |done, expected, differing| {
            let passes = Passes { done, expected, most: 60, differing };
            line("measuring", passes, Duration::from_secs(3 * done as u64))
        };
        assert_eq!(said(2, 8, 0), "measuring: pass 2 of 8, about 18 s to go");
        assert_eq!(
            said(10, 11, 4),
            "measuring: pass 10; the times of 4 have not come again yet; at most 3 min to go"
        );
    }
}
