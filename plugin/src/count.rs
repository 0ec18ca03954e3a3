//! Counts the instructions of each class between two markers of the guest.
//!
//! QEMU adds them up by itself: each block that is executed adds its instructions to one counter a class. Only
//! markers call back.

use std::{
    fs::File,
    io::Write,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use preemptlab_protocol::{
    counts::{self, BEGIN, Counts},
    prices::Class,
};

use crate::{
    classifier::Classifier,
    clock::Clock,
    complaint::fail,
    qemu::{Access, InstructionCallback, Scoreboard, Translation},
};

/// What was executed so far; translated code adds to it.
static COUNTERS: [AtomicU64; Class::COUNT] = [const { AtomicU64::new(0) }; Class::COUNT];

/// Counts what all CPUs execute.
pub struct Counter {
    scoreboard: Scoreboard,
    classifier: Classifier,
    /// The counts at the marker that came last.
    begun: [u64; Class::COUNT],
    out: File,
}

impl Counter {
    pub fn new(classifier: Classifier, out: File) -> Self {
        Self { scoreboard: Scoreboard::new(), classifier, begun: [0; Class::COUNT], out }
    }

    /// Has QEMU count the instructions of a block, and call at its markers.
    pub fn translate(
        &mut self,
        block: &Translation,
        clock: &mut Clock,
        at_marker: InstructionCallback,
    ) {
        let mut of_block = [0; Class::COUNT];
        for index in 0..block.len() {
            let mut bytes = [0; 15];
            let (class, bytes) = self.classifier.class(block, index, &mut bytes);
            of_block[class.index()] += 1;
            if let Some(marker) = counts::marker(bytes) {
                block.on_execution(index, at_marker, Access::None, marker.into());
            }
        }
        // SAFETY: a block is translated where a CPU is about to execute it.
        let translating = unsafe { clock.cpu() };
        for (counter, count) in COUNTERS.iter().zip(of_block).filter(|(_, count)| *count > 0) {
            block.add_on_execution(self.scoreboard.entry(counter, translating), count);
        }
    }

    /// Takes note of a marker: the second one of a pair writes what was executed since the first.
    pub fn mark(&mut self, marker: u32) {
        let now = COUNTERS.each_ref().map(|counter| counter.load(Relaxed));
        if marker == BEGIN {
            self.begun = now;
            return;
        }
        let since = |class: &Class| now[class.index()] - self.begun[class.index()];
        let counts = Class::ALL.iter().map(|class| (*class, since(class)));
        let counts: Counts = counts.filter(|(_, count)| *count > 0).collect();
        let line = serde_json::to_string(&counts).expect("counts have a JSON form");
        if let Err(error) = writeln!(self.out, "{line}") {
            fail(&format!("the counts cannot be written: {error}"));
        }
    }
}
