use std::fmt;

use preemptlab_model::Histogram;

/// Tool that writes histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// cyclictest of rt-tests.
    Cyclictest,
    /// `rtla timerlat hist`.
    Timerlat,
    /// `rtla osnoise hist`.
    Osnoise,
    /// oslat of rt-tests.
    Oslat,
}

impl Tool {
    /// Returns the name of the program, with its command where it has several.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cyclictest => "cyclictest",
            Self::Timerlat => "rtla timerlat",
            Self::Osnoise => "rtla osnoise",
            Self::Oslat => "oslat",
        }
    }

    /// Returns the word that its series are numbered by.
    pub const fn numbered_by(self) -> &'static str {
        match self {
            Self::Cyclictest => "thread",
            Self::Timerlat | Self::Osnoise | Self::Oslat => "CPU",
        }
    }
}

/// Latency that a series has samples of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// From the expiry of a timer to a thread that runs.
    Wakeup,
    /// From the expiry of a timer to its interrupt handler.
    Irq,
    /// From the expiry of a timer to a kernel thread, or a user's, that runs.
    Thread,
    /// From the expiry of a timer to the return to user space.
    User,
    /// Time that a busy loop lost.
    Interruption,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Wakeup => "wakeup",
            Self::Irq => "timer interrupt",
            Self::Thread => "thread wakeup",
            Self::User => "return to user space",
            Self::Interruption => "interruption",
        })
    }
}

/// Samples of one thread or CPU in one context.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Latency that it has samples of.
    pub context: Context,
    /// Number of the thread or CPU.
    pub number: u32,
    /// The samples. Those in no bucket are its overflow, with the largest.
    pub histogram: Histogram,
    /// Least sample.
    pub min: u64,
    /// Mean of the samples, as the tool gives it.
    pub avg: f64,
}

impl Series {
    /// Returns the samples of several series together. Where no series has more than one sample beyond its
    /// buckets, each of these is its maximum, and all values are known.
    pub fn merged<'a>(series: impl IntoIterator<Item = &'a Self> + Clone) -> Histogram {
        let are_known = series.clone().into_iter().all(|each| each.histogram.overflow() < 2);
        let mut merged = Histogram::default();
        for Self { histogram, .. } in series {
            match histogram.max() {
                Some(max) if are_known && histogram.overflow() == 1 => {
                    merged.merge(&Histogram::new(histogram.counts().chain([(max, 1)])));
                }
                _ => merged.merge(histogram),
            }
        }
        merged
    }

    /// Returns the mean of several series: that of the buckets where all values are known, else of the
    /// tool's own mean of each series.
    pub fn mean<'a>(series: impl IntoIterator<Item = &'a Self> + Clone) -> f64 {
        let merged = Self::merged(series.clone());
        let sum = match merged.overflow() {
            0 => merged.sum() as f64,
            _ => series.into_iter().map(|each| each.avg * each.histogram.count() as f64).sum(),
        };
        sum / merged.count().max(1) as f64
    }
}
