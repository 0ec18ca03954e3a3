//! A stream of the plugin, read in every way there is.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use preemptlab_trace::{
    Kernel,
    testing::{busy, kernel, read_in_every_way},
};

static KERNEL: LazyLock<Kernel> = LazyLock::new(kernel);

/// A trace's first bytes announce the sites that random bytes would hardly find: what is fuzzed
/// follows a sound beginning, or is everything.
static BEGINNING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut trace = busy(1);
    // Without its end: a tag, a time and a number of one byte each.
    trace.truncate(trace.len() - 3);
    trace
});

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    if first % 2 == 0 {
        read_in_every_way(rest, &KERNEL);
        return;
    }
    // An end that fits is nothing that a fuzzer should have to count.
    let trace = [&BEGINNING, rest].concat();
    read_in_every_way(&preemptlab_trace::testing::ended(&trace, &KERNEL), &KERNEL);
});
