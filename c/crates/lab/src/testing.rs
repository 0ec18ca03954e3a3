//! A lab for unit tests.

use preemptlab_provision::Options;
use preemptlab_runner::Cancel;

use crate::{Event, Lab, Result, Watch};

/// Hears nothing.
struct Deaf;

impl Watch for Deaf {
    fn on(&self, _: Event<'_>) {}

    fn cancel(&self) -> Result<Cancel> {
        Ok(Cancel::default())
    }
}

/// Returns a lab without a store and without an observer.
pub fn lab() -> Lab<'static> {
    Lab {
        store: None,
        cache: None,
        packages: Options::default(),
        qemu: None,
        jobs: Some(1),
        allow_build_scripts: false,
        watch: &Deaf,
    }
}
