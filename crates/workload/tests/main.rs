//! Tests of the readers of what benchmarks print: one program, because each would be linked on its own.

mod build;
mod common;
mod cyclictest;
mod cyclictest_kernel;
mod folder;
mod histogram_file;
mod measure;
mod oslat;
mod pgbench;
mod sockperf;
mod stress_ng;
