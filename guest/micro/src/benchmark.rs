//! What a benchmark is.

use rustix::io;

use crate::meter::Meter;

/// A benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// Operations of a repetition: some 0.3 ms on a processor of today.
    pub operations: u32,
    pub(crate) run: fn(&mut Meter, u32) -> io::Result<()>,
}

pub(crate) const fn benchmark(
    name: &'static str,
    operations: u32,
    run: fn(&mut Meter, u32) -> io::Result<()>,
) -> Benchmark {
    Benchmark { name, operations, run }
}
