//! Differences that do not matter: a share or a time, for every metric or for one.

use std::{fmt, str::FromStr};

use preemptlab_model::{MeasuredCell, MetricName, Role, VIRTUAL_UNITS, nearest, parse_ns};
use serde::{Serialize, Serializer};

use crate::Share;

/// Time that a latency may be longer, in a gate, in nanoseconds.
const GATE_LATENCY_NS: u64 = 20_000;

/// Difference that does not matter: a share of the baseline's value, or a time. Serialized as it is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// A share, such as `3%`.
    Share(Share),
    /// A time in nanoseconds, such as `20us`.
    Time(u64),
}

/// The text is not a margin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a margin; expected a percentage between 0% and 100%, such as `5%`, or a time, such as `20us`, \
     and METRIC= before it for one metric"
)]
pub struct ParseMarginError(String);

impl Margin {
    fn parse(text: &str) -> Option<Self> {
        match text.ends_with('%') {
            true => text.parse().ok().map(Self::Share),
            false => parse_ns(text, VIRTUAL_UNITS).ok().filter(|ns| *ns > 0).map(Self::Time),
        }
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => share.fmt(f),
            Self::Time(ns) => write!(f, "{} us", *ns as f64 / 1e3),
        }
    }
}

impl Serialize for Margin {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// A margin as a person writes it: `[METRIC=]SHARE|TIME`.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenMargin {
    /// The metric; `None` for all of the kind: a time for latencies, a share for metrics without a
    /// time.
    pub metric: Option<MetricName>,
    /// The margin.
    pub margin: Margin,
}

/// Writes it as it is read.
impl fmt::Display for GivenMargin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(metric) = &self.metric {
            write!(f, "{metric}=")?;
        }
        match self.margin {
            Margin::Share(share) => share.fmt(f),
            Margin::Time(ns) => write!(f, "{}us", ns as f64 / 1e3),
        }
    }
}

impl FromStr for GivenMargin {
    type Err = ParseMarginError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (metric, margin) = match text.split_once('=') {
            Some((metric, margin)) => (Some(metric), margin),
            None => (None, text),
        };
        Margin::parse(margin)
            .filter(|_| metric.is_none_or(|metric| !metric.is_empty()))
            .map(|margin| Self { metric: metric.map(MetricName::from), margin })
            .ok_or_else(|| ParseMarginError(text.chars().take(80).collect()))
    }
}

/// Reason why margins do not fit each other, or the metrics.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MarginError {
    /// There are two of one kind.
    #[error("the margin of {of} is given twice, as {first} and {second}: leave one of them out")]
    Twice {
        /// Metrics that both are for.
        of: String,
        /// First of the two.
        first: Margin,
        /// Second of the two.
        second: Margin,
    },
    /// There is no such metric.
    #[error(
        "no cell has the metric `{}` of a margin{}",
        metric.to_string().escape_debug(),
        nearest.as_ref().map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
    )]
    NoMetric {
        /// Metric that was named.
        metric: MetricName,
        /// Name that was probably meant.
        nearest: Option<String>,
    },
    /// A time is to be the margin of a metric that is none.
    #[error(
        "the margin of `{metric}` cannot be a time such as {margin}, since its values are in {unit}: give it a \
         percentage, such as `{metric}=5%`"
    )]
    NoTime {
        /// Metric.
        metric: MetricName,
        /// Its margin.
        margin: Margin,
        /// Unit of its values.
        unit: String,
    },
}

/// The margins of all metrics. Serialized as the share of those that have none of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Margins {
    share: Share,
    latency_ns: Option<u64>,
    own: Vec<(MetricName, Margin)>,
}

impl Default for Margins {
    /// Returns those of a comparison: 5 % of everything.
    fn default() -> Self {
        Share::COMPARISON.into()
    }
}

impl From<Share> for Margins {
    /// Returns one share for everything.
    fn from(share: Share) -> Self {
        Self { share, latency_ns: None, own: Vec::new() }
    }
}

impl Serialize for Margins {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.share.serialize(to)
    }
}

impl Margins {
    /// Returns those of a gate, which the blind test of docs/gate.md is about: 3 %, and 20 us of a latency.
    pub const fn gate() -> Self {
        Self { share: Share::GATE, latency_ns: Some(GATE_LATENCY_NS), own: Vec::new() }
    }

    /// Returns these margins with others in their place.
    ///
    /// # Errors
    ///
    /// [`MarginError::Twice`] where two of the others are for the same metrics.
    pub fn with(mut self, given: &[GivenMargin]) -> Result<Self, MarginError> {
        for (at, GivenMargin { metric, margin }) in given.iter().enumerate() {
            let is_of_same = |other: &&GivenMargin| {
                other.metric == *metric
                    && (metric.is_some()
                        || matches!(other.margin, Margin::Time(_))
                            == matches!(margin, Margin::Time(_)))
            };
            if let Some(first) = given[..at].iter().find(is_of_same) {
                let of = match (metric, margin) {
                    (Some(metric), _) => format!("`{}`", metric.to_string().escape_debug()),
                    (None, Margin::Share(_)) => "all metrics".to_owned(),
                    (None, Margin::Time(_)) => "all latencies".to_owned(),
                };
                return Err(MarginError::Twice { of, first: first.margin, second: *margin });
            }
            match (metric, margin) {
                (Some(metric), margin) => self.own.push((metric.clone(), *margin)),
                (None, Margin::Share(share)) => self.share = *share,
                (None, Margin::Time(ns)) => self.latency_ns = Some(*ns),
            }
        }
        Ok(self)
    }

    /// Returns the margins as a person would give them.
    pub fn given(&self) -> Vec<GivenMargin> {
        let of_all = |margin| GivenMargin { metric: None, margin };
        let of_latencies = self.latency_ns.map(|ns| of_all(Margin::Time(ns)));
        let own = self.own.iter();
        let own =
            own.map(|(name, margin)| GivenMargin { metric: Some(name.clone()), margin: *margin });
        [of_all(Margin::Share(self.share))].into_iter().chain(of_latencies).chain(own).collect()
    }

    /// Returns the margin of a metric: its own, that of latencies for a statistic of a latency where there is
    /// one, and else the share. The margin of a metric without a unit of time is always a share.
    pub fn of(&self, metric: &MetricName, unit: &str) -> Margin {
        let is_time = ns_of(unit).is_some();
        let own = self.own.iter().find(|(name, _)| name == metric).map(|(_, own)| *own);
        let own = own.filter(|own| is_time || matches!(own, Margin::Share(_)));
        let is_latency = is_time && metric.role() == Role::Latency;
        let of_latencies = self.latency_ns.filter(|_| is_latency).map(Margin::Time);
        own.or(of_latencies).unwrap_or(Margin::Share(self.share))
    }

    /// Returns the share of metrics that have no margin of their own.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Returns the time that a section may be longer, in nanoseconds: that of latencies.
    pub fn of_sections_ns(&self) -> u64 {
        self.latency_ns.unwrap_or(GATE_LATENCY_NS)
    }

    /// Returns the margin in words for all metrics together: `5%`, or `the margin` where they have several.
    pub fn words(&self) -> String {
        match self.latency_ns.is_none() && self.own.is_empty() {
            true => self.share.to_string(),
            false => "the margin".to_owned(),
        }
    }

    /// Checks that the metrics of margins are those of cells, and that a time is the margin of a time. Without
    /// any measured cell there is nothing to check.
    ///
    /// # Errors
    ///
    /// [`MarginError`] of the first margin that does not fit; the nearest metric is named.
    pub fn check<'a>(
        &self,
        cells: impl IntoIterator<Item = &'a MeasuredCell> + Clone,
    ) -> Result<(), MarginError> {
        let metrics = || cells.clone().into_iter().flat_map(|cell| cell.result.iter().flatten());
        let samples = || cells.clone().into_iter().flat_map(|cell| &cell.samples);
        if metrics().next().is_none() && samples().next().is_none() {
            return Ok(());
        }
        for (metric, margin) in &self.own {
            let mut units =
                metrics().filter(|of| of.name == *metric).map(|of| &*of.unit).peekable();
            let Some(&unit) = units.peek() else {
                // A distribution without a sample has no metric, and other cells of the experiment may have.
                let of = metric.statistic().map(|(of, _)| of);
                if of.is_some_and(|of| samples().any(|(known, _)| known == of)) {
                    continue;
                }
                let names: Vec<String> = metrics().map(|of| of.name.to_string()).collect();
                let name = metric.to_string();
                let nearest = nearest(&name, names.iter().map(String::as_str)).map(str::to_owned);
                return Err(MarginError::NoMetric { metric: metric.clone(), nearest });
            };
            if matches!(margin, Margin::Time(_)) && units.all(|unit| ns_of(unit).is_none()) {
                let (metric, unit) = (metric.clone(), unit.to_owned());
                return Err(MarginError::NoTime { metric, margin: *margin, unit });
            }
        }
        Ok(())
    }
}

/// Returns the nanoseconds of a unit of time; `None` for another unit.
pub fn ns_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{
        BackendKind, Direction, Distribution, Factors, Metric, PreemptMode, Probe,
    };

    use super::*;

    #[test]
    fn margins_are_written_as_they_are_read() {
        for text in ["5%", "0.1%", "20us", "1.5us", "throughput=1%", "wakeup.fifo.max=100us"] {
            assert_eq!(text.parse::<GivenMargin>().unwrap().to_string(), text);
        }
        let given: Vec<GivenMargin> =
            ["2%", "30us", "throughput=1%"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(Margins::gate().with(&given).unwrap().given(), given);
        let of_gate: Vec<String> =
            Margins::gate().given().iter().map(ToString::to_string).collect();
        assert_eq!(of_gate, ["3%", "20us"]);
    }

    fn given(texts: &[&str]) -> Vec<GivenMargin> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn margins(texts: &[&str]) -> Margins {
        Margins::gate().with(&given(texts)).unwrap()
    }

    /// Returns a cell with these metrics, each with its unit.
    fn cell(metrics: &[(&str, &str)]) -> MeasuredCell {
        let factors = Factors {
            workload: "load".into(),
            kernel: "debian:6.12".parse().unwrap(),
            preempt: PreemptMode::Full,
            machine: None,
            cpus: 1,
            settings: Default::default(),
            replicate: 1,
        };
        let metric = |(name, unit): &(&str, &str)| Metric {
            name: (*name).into(),
            value: 1.0,
            unit: (*unit).into(),
            direction: Direction::Lower,
            resolution: 0.0,
        };
        let metrics = metrics.iter().map(metric).collect();
        MeasuredCell::new(BackendKind::Vm, factors, Ok(metrics))
    }

    #[test]
    fn margins_are_read_and_chosen() {
        for text in ["3%", "20 us", "1.5 us", "0.5%"] {
            assert_eq!(text.parse::<GivenMargin>().unwrap().margin.to_string(), text);
        }
        let margins = margins(&["1%", "5us", "wakeup.fifo.max=50us", "throughput=2%"]);
        let of = |metric: &str, unit: &str| margins.of(&metric.into(), unit).to_string();
        assert_eq!(of("wakeup.fifo.p99", "us"), "5 us");
        assert_eq!(of("wakeup.fifo.max", "us"), "50 us");
        assert_eq!(of("throughput", "messages/s"), "2%");
        assert_eq!(of("real", "s"), "1%", "a time that is no latency");
        assert_eq!((margins.words(), margins.of_sections_ns()), ("the margin".to_owned(), 5_000));
    }

    #[test]
    fn commands_have_their_own_defaults() {
        let of = |margins: &Margins| {
            ["wakeup.fifo.p99", "throughput"].map(|name| margins.of(&name.into(), "us").to_string())
        };
        assert_eq!(of(&Margins::default()), ["5%", "5%"]);
        assert_eq!(of(&Margins::gate()), ["20 us", "3%"]);
        // A share of a comparison is that of its latencies, too.
        let narrow = Margins::default().with(&given(&["2%"])).unwrap();
        assert_eq!(
            (of(&narrow), narrow.words()),
            (["2%", "2%"].map(str::to_owned), "2%".to_owned())
        );
        let timed = Margins::default().with(&given(&["20us"])).unwrap();
        assert_eq!(of(&timed), ["20 us", "5%"]);
    }

    #[test]
    fn what_is_no_margin_is_refused() {
        let texts = [
            "",
            "3",
            "%",
            "0%",
            "100%",
            "101%",
            "-1%",
            "nan%",
            "0us",
            "-1us",
            "3 messages/s",
            "us",
            "throughput=",
            "throughput",
            "=5%",
            "throughput=5",
            "a=b=5%",
            "throughput=-5%",
        ];
        for text in texts {
            let error = text.parse::<GivenMargin>().unwrap_err().to_string();
            let said = format!(
                "`{text}` is not a margin; expected a percentage between 0% and 100%, such as `5%`, or a time, \
                 such as `20us`, and METRIC= before it for one metric"
            );
            assert_eq!(error, said);
        }
    }

    #[test]
    fn a_margin_that_is_given_twice_is_refused() {
        let said = |texts: &[&str]| {
            Margins::default().with(&given(texts)).map_err(|error| error.to_string())
        };
        for (texts, of) in [
            (&["3%", "throughput=2%", "5%"][..], "all metrics is given twice, as 3% and 5%"),
            (&["3us", "3us"], "all latencies is given twice, as 3 us and 3 us"),
            (&["real=3%", "real=1us"], "`real` is given twice, as 3% and 1 us"),
            (&["\u{7}=3%", "\u{7}=4%"], "`\\u{7}` is given twice, as 3% and 4%"),
        ] {
            let expected = format!("the margin of {of}: leave one of them out");
            assert_eq!(said(texts), Err(expected));
        }
        said(&["3%", "3us", "real=3%"]).unwrap();
    }

    #[test]
    fn margins_are_of_what_was_measured() {
        let throughput = ("throughput", "messages/s");
        let cells = [cell(&[("wakeup.fifo.max", "us"), throughput]), cell(&[("real", "s")])];
        let said = |text: &str, cells: &[MeasuredCell]| {
            margins(&[text]).check(cells).map_err(|error| error.to_string())
        };
        for text in ["wakeup.fifo.max=1us", "wakeup.fifo.max=1%", "throughput=1%", "real=1s", "1us"]
        {
            said(text, &cells).unwrap();
        }
        for (text, expected) in [
            (
                "throughput=5us",
                "the margin of `throughput` cannot be a time such as 5 us, since its values are in \
                 messages/s: give it a percentage, such as `throughput=5%`",
            ),
            (
                "wakeup.fifo.maxx=5us",
                "no cell has the metric `wakeup.fifo.maxx` of a margin; did you mean `wakeup.fifo.max`?",
            ),
            ("\u{1b}=5us", "no cell has the metric `\\u{1b}` of a margin"),
        ] {
            assert_eq!(said(text, &cells), Err(expected.to_owned()));
        }
        // One workload counts in seconds, the other in requests: the time is the first's.
        let mixed = [cell(&[("real", "s")]), cell(&[("real", "requests")])];
        said("real=1s", &mixed).unwrap();
        assert_eq!(margins(&["real=1s"]).of(&"real".into(), "requests").to_string(), "3%");
        // Nothing happened that would have a latency, or nothing was measured at all.
        let mut idle = cell(&[throughput]);
        idle.samples = vec![(Distribution::Probe(Probe::Fifo), 0)];
        said("wakeup.fifo.max=5us", &[idle]).unwrap();
        said("x=5us", &[]).unwrap();
    }
}
