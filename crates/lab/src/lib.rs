//! Executes experiments on this machine.

pub mod bisect;
mod prepare;

pub use prepare::{
    Build, EmbedError, Kernels, Preparation, PrepareError, Prepared, WriteError, Written,
    check_host, cost, embed, finished_cells, from_seed, is_seed_of, write_repeated,
};
