//! The benchmarks.

use crate::{
    arch,
    benchmark::{Benchmark, benchmark},
    calls, memory, pairs, processes, programs, sockets,
};

/// The benchmarks that all processors have.
const COMMON: &[Benchmark] = &[
    benchmark("clock", 10_000, calls::clock),
    benchmark("copy-64", 50_000, memory::copy::<64>),
    benchmark("copy-4096", 5_000, memory::copy::<4096>),
    benchmark("copy-65536", 200, memory::copy::<65536>),
    benchmark("fill-4096", 5_000, memory::fill::<4096>),
    benchmark("sort", 10, programs::sort),
    benchmark("hash", 80, programs::hash),
    benchmark("format", 2_000, programs::format_text),
    benchmark("tree", 10_000, programs::tree),
    benchmark("parse", 300, programs::parse),
    benchmark("checksum", 50, programs::checksum),
    benchmark("heap", 5_000, programs::heap),
    benchmark("search", 3_000, programs::search),
    benchmark("dot-product", 800, programs::dot_product),
    benchmark("null-call", 2_000, calls::null_call),
    benchmark("yield-alone", 1_000, calls::yield_alone),
    benchmark("read-zero-1", 2_000, calls::read_zero::<1>),
    benchmark("read-zero-64", 2_000, calls::read_zero::<64>),
    benchmark("read-zero-1024", 1_500, calls::read_zero::<1024>),
    benchmark("read-zero-4096", 1_000, calls::read_zero::<4096>),
    benchmark("read-zero-65536", 200, calls::read_zero::<65536>),
    benchmark("write-null", 2_000, calls::write_null),
    benchmark("memory-file-64", 500, calls::memory_file::<64>),
    benchmark("memory-file-4096", 500, calls::memory_file::<4096>),
    benchmark("open-close", 200, calls::open_close),
    benchmark("stat", 500, calls::stat),
    benchmark("pipe-1", 500, calls::pipe_alone::<1>),
    benchmark("pipe-1024", 500, calls::pipe_alone::<1024>),
    benchmark("pipe-4096", 500, calls::pipe_alone::<4096>),
    benchmark("event", 300, calls::event),
    benchmark("page-fault", 512, calls::page_fault),
    benchmark("shared-fault", 256, calls::shared_fault),
    benchmark("map-unmap", 150, calls::map_unmap),
    benchmark("signal", 200, calls::signal),
    benchmark("breakpoint", 200, calls::breakpoint),
    benchmark("timer", 50, calls::timer),
    benchmark("pipe-ping-pong", 100, pairs::pipes),
    benchmark("unix-ping-pong", 100, pairs::sockets),
    benchmark("futex-ping-pong", 100, pairs::futexes),
    benchmark("yield-pair", 200, pairs::yields),
    benchmark("unix-64", 200, sockets::unix::<64>),
    benchmark("unix-1024", 200, sockets::unix::<1024>),
    benchmark("unix-8192", 100, sockets::unix::<8192>),
    benchmark("tcp-64", 50, sockets::tcp::<64>),
    benchmark("tcp-1024", 50, sockets::tcp::<1024>),
    benchmark("tcp-8192", 50, sockets::tcp::<8192>),
    benchmark("udp-64", 100, sockets::udp::<64>),
    benchmark("udp-1024", 100, sockets::udp::<1024>),
    benchmark("udp-8192", 100, sockets::udp::<8192>),
    benchmark("fork", 5, processes::fork),
    benchmark("thread", 20, processes::thread),
];

/// Returns every benchmark, in the order in which they are executed.
pub fn benchmarks() -> impl Iterator<Item = &'static Benchmark> {
    arch::BENCHMARKS.iter().chain(COMMON)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_benchmark_has_a_name_of_its_own() {
        let names: BTreeSet<_> = benchmarks().map(|benchmark| benchmark.name).collect();
        assert_eq!(names.len(), benchmarks().count());
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(names.iter().all(|name| name.chars().all(is_plain)), "{names:?}");
    }
}
