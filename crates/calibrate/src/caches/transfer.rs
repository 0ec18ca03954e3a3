//! The cost of a line that another CPU has written.

use preemptlab_protocol::caches::{Distance, Transfer, Transfers};

use crate::{Exchange, Pair, PairTimes, price::PRICE_PER_NS};

/// Reason why a profile has no price of a line that another CPU has written.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoTransfer {
    /// There is one CPU.
    #[error("there is but one CPU to measure on")]
    OneCpu,
    /// The kernel does not tell what two CPUs share.
    #[error("the kernel does not tell what the two CPUs share")]
    Distance,
    /// The exchange failed with this error.
    #[error("the kernel refuses it: error {0}")]
    Refused(i32),
    /// The times differ by so many percent.
    #[error(
        "its time does not come again: two halves differ by {0}%; calibrate when the host is idle"
    )]
    Unsteady(u64),
    /// No profile holds the time, in nanoseconds.
    #[error("no profile holds {0} ns")]
    Bounds(u64),
}

/// The price of a line between two CPUs, and how far they are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// How far they are.
    pub distance: Distance,
    /// The price.
    pub transfer: Transfer,
}

impl Moved {
    /// Finds the price by what was measured between two CPUs.
    ///
    /// # Errors
    ///
    /// [`NoTransfer`]
    pub fn of(pair: Pair, times: &PairTimes) -> Result<Self, NoTransfer> {
        let distance = pair.distance.ok_or(NoTransfer::Distance)?;
        let line = times.of(Exchange::Line).map_err(NoTransfer::Refused)?;
        if !line.is_steady() {
            return Err(NoTransfer::Unsteady(line.differ_percent.round() as u64));
        }
        let transfer = (line.spread.quartile_ns * PRICE_PER_NS).round() as u32;
        let outside = |_| NoTransfer::Bounds(line.spread.quartile_ns.round() as u64);
        Ok(Self { distance, transfer: Transfer::try_from(transfer).map_err(outside)? })
    }

    /// Returns the time of the line, in nanoseconds.
    pub fn ns(self) -> f64 {
        f64::from(self.transfer.get()) / PRICE_PER_NS
    }

    /// Returns the prices of a profile, which has none of the other distances.
    pub fn transfers(self) -> Transfers {
        let of = |distance| (distance == self.distance).then_some(self.transfer);
        Transfers {
            core: of(Distance::Core),
            complex: of(Distance::Complex),
            socket: of(Distance::Socket),
            far: of(Distance::Far),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PairPass;

    /// Returns the price of passes in which a line took so many nanoseconds.
    fn moved(distance: Option<Distance>, line_ns: [u64; 2]) -> Result<Moved, NoTransfer> {
        let mut times = PairTimes::default();
        for ns in line_ns {
            let text = format!(
                "line-transfer 1 {ns} {ns} {ns}\ncall-alone 1 1 1 1\ncall-other 1 1 1 1\nfutex-between 1 1 1 1\n\
                 pipe-between 1 1 1 1\n"
            );
            times.add(PairPass::parse(&text).unwrap());
        }
        Moved::of(Pair { cpu: 0, other: 1, distance }, &times)
    }

    #[test]
    fn a_line_has_the_price_of_its_distance() {
        for distance in Distance::ALL {
            let moved = moved(Some(distance), [60, 61]).unwrap();
            let prices = Distance::ALL.map(|other| moved.transfers().of(other).map(Transfer::get));
            let expected = Distance::ALL.map(|other| (other == distance).then_some(60 * 256));
            assert_eq!(prices, expected);
        }
    }

    #[test]
    fn a_line_without_a_price_has_its_reason() {
        let complex = Some(Distance::Complex);
        assert_eq!(moved(None, [60, 60]), Err(NoTransfer::Distance));
        assert_eq!(moved(complex, [40, 200]), Err(NoTransfer::Unsteady(400)));
        assert_eq!(moved(complex, [65_536, 65_536]), Err(NoTransfer::Bounds(65_536)));
        let mut times = PairTimes::default();
        let text = "line-transfer error 22\ncall-alone error 1\ncall-other error 1\nfutex-between error 1\n\
                    pipe-between error 1\n";
        (0..2).for_each(|_| times.add(PairPass::parse(text).unwrap()));
        let pair = Pair { cpu: 0, other: 1, distance: complex };
        assert_eq!(Moved::of(pair, &times), Err(NoTransfer::Refused(22)));
    }
}
