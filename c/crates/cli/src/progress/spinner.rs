//! Progress of downloads and builds.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use preemptlab_model::plain;
use preemptlab_provision::Event;

use crate::output::Output;

/// One line that tells the current preparation, on a terminal below the results so far.
pub struct Spinner {
    bar: ProgressBar,
    output: Output,
    said: String,
}

impl Spinner {
    /// Begins to spin.
    pub fn new(output: Output) -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{prefix}{spinner} {msg}").expect("it is valid");
        bar.set_style(style);
        bar.set_message("looking for kernels and packages");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, output, said: String::new() }
    }

    /// Returns whether it is on a terminal.
    pub fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Shows lines above it until it ends.
    pub fn set_above(&self, lines: &str) {
        self.bar.set_prefix(format!("{}\n", plain::lines(lines.trim_end())));
    }

    /// Tells the current download or build.
    pub fn on_event(&mut self, event: Event) {
        let text = match event {
            Event::Waiting => "waiting for another preemptlab to be done with the store".to_owned(),
            Event::Refreshing => "refreshing the package lists".to_owned(),
            Event::Downloading { what, bytes, bytes_total } => {
                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                let line = format!("downloading {what}");
                self.show(&format!(
                    "{line} ({:.1} of {:.1} MB)",
                    megabytes(bytes),
                    megabytes(bytes_total)
                ));
                self.say_once(line);
                return;
            }
            Event::Packing { what } => {
                self.show(&format!("packing {what}"));
                return;
            }
            Event::Writing { bytes, bytes_total } => {
                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                let (bytes, bytes_total) = (megabytes(bytes), megabytes(bytes_total));
                self.show(&format!("packing {bytes:.1} of {bytes_total:.1} MB"));
                return;
            }
            Event::Unpacking { what } => format!("unpacking {what}"),
            Event::Copying { what } => format!("copying the source of {what}"),
            Event::RunningScripts { what } => {
                let line =
                    format!("running the Makefile and the scripts of {what}, with your rights");
                self.show(&line);
                self.bar.suspend(|| self.output.note(&line));
                return;
            }
            Event::Building { what } => format!("building {what}"),
            Event::Compiling { what, steps, steps_expected } => {
                let line = format!("building {what}");
                self.show(&format!("{line} (file {steps} of about {steps_expected})"));
                // It is an estimate, so a build that still runs is never said to be done.
                let tenths = (steps * 10 / steps_expected.max(1)).min(9);
                self.say_once(match tenths {
                    0 => line,
                    tenths => format!("{line}, about {tenths}0 %"),
                });
                return;
            }
            Event::Warning(text) => {
                self.bar.suspend(|| self.output.warning(text));
                return;
            }
        };
        self.show(&text);
        self.say_once(text);
    }

    fn show(&self, text: &str) {
        self.bar.set_message(plain::line(text).into_owned());
    }

    /// Prints a line for each step where no bar can be drawn.
    fn say_once(&mut self, text: String) {
        if self.bar.is_hidden() && self.said != text {
            self.output.note(&text);
            self.said = text;
        }
    }

    /// Removes it.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
