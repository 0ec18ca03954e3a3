//! The caches of a machine, and what a miss costs there.

mod level;
mod loads;
mod measured;
mod plan;
mod reason;
mod told;
mod transfer;
mod translations;

pub use self::{
    level::{BeyondNs, Holder, Level, Size},
    loads::{Buffer, LoadTimes},
    measured::MachineCaches,
    reason::NoCaches,
    told::{Told, ToldCaches, shares_last},
    transfer::{Moved, NoTransfer},
    translations::{Tlb, Tlbs},
};
