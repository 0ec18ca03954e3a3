//! The scheduler's features, where the kernel itself cannot be asked for them.

use preemptlab_model::nearest;

use crate::tune::{Command, gone::Series};

/// The features of a range of series: from one, before another.
struct Since {
    from: Series,
    before: Series,
    names: &'static [&'static str],
}

const FIRST: Series = (0, 0);
const LAST: Series = (u32::MAX, 0);

/// Features that kernel/sched/features.h lists, from 5.10 on. Where it is not certain in which
/// series a feature came or went, it counts as being in all of them.
const KNOWN: [Since; 4] = [
    Since {
        from: FIRST,
        before: LAST,
        names: &[
            "ATTACH_AGE_LOAD",
            "CACHE_HOT_BUDDY",
            "DOUBLE_TICK",
            "HRTICK",
            "HRTICK_DL",
            "HZ_BW",
            "LATENCY_WARN",
            "LB_MIN",
            "NEXT_BUDDY",
            "NI_RANDOM",
            "NI_RATE",
            "NONTASK_CAPACITY",
            "PARANOID_AVG",
            "PICK_BUDDY",
            "RT_PUSH_IPI",
            "RT_RUNTIME_SHARE",
            "SIS_AVG_CPU",
            "SIS_PROP",
            "SIS_UTIL",
            "TTWU_QUEUE",
            "UTIL_EST",
            "UTIL_EST_FASTUP",
            "WAKEUP_PREEMPTION",
            "WARN_DOUBLE_CLOCK",
            "WA_BIAS",
            "WA_IDLE",
            "WA_WEIGHT",
        ],
    },
    // The fair scheduler before EEVDF.
    Since {
        from: FIRST,
        before: (6, 6),
        names: &["ALT_PERIOD", "BASE_SLICE", "GENTLE_FAIR_SLEEPERS", "LAST_BUDDY", "START_DEBIT"],
    },
    Since {
        from: (6, 6),
        before: LAST,
        names: &["PLACE_DEADLINE_INITIAL", "PLACE_LAG", "RUN_TO_PARITY"],
    },
    Since {
        from: (6, 12),
        before: LAST,
        names: &["DELAY_DEQUEUE", "DELAY_ZERO", "PLACE_REL_DEADLINE", "PREEMPT_SHORT"],
    },
];

/// Returns the reason why a feature, with `NO_` before it where it is turned off, is not one of a
/// series, or of any if the series is unknown. `allowed` are settings that the user let through.
pub(crate) fn refusal(value: &str, series: Option<Series>, allowed: &[String]) -> Option<String> {
    let setting = format!("sched/features={value}");
    if allowed.contains(&setting) {
        return None;
    }
    let name = value.strip_prefix("NO_").unwrap_or(value);
    let option = Command::new(["--allow", &setting]);
    let Some(of) = KNOWN.iter().find(|of| of.names.contains(&name)) else {
        let all = KNOWN.iter().flat_map(|of| of.names).copied();
        let similar = nearest(name, all).map(|it| format!("; did you mean {it}?"));
        return Some(format!(
            "{name} is no scheduler feature that is known here{} If the kernel has it: {option}",
            similar.unwrap_or_else(|| ".".to_owned())
        ));
    };
    let when = of.lacking(name, series?)?;
    Some(format!("{when}. If this kernel has it: {option}"))
}

/// Returns the reason why a series has not got a feature that other series have.
pub(crate) fn lacking(value: &str, series: Series) -> Option<String> {
    let name = value.strip_prefix("NO_").unwrap_or(value);
    KNOWN.iter().find(|of| of.names.contains(&name))?.lacking(name, series)
}

impl Since {
    fn lacking(&self, name: &str, series: Series) -> Option<String> {
        let (from, before) = (self.from, self.before);
        match () {
            () if series < from => Some(format!("{name} is there from {}.{} on", from.0, from.1)),
            () if series >= before => {
                Some(format!("{name} is not there from {}.{} on", before.0, before.1))
            }
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_those_of_the_series() {
        assert_eq!(refusal("NO_HRTICK", None, &[]), None);
        assert_eq!(refusal("PREEMPT_SHORT", None, &[]), None);
        assert_eq!(refusal("NO_PREEMPT_SHORT", Some((6, 12)), &[]), None);
        assert_eq!(refusal("GENTLE_FAIR_SLEEPERS", Some((6, 1)), &[]), None);
        let says = |value: &str, series| refusal(value, series, &[]).unwrap();
        assert!(says("PREEMPT_SHORT", Some((6, 11))).contains("from 6.12 on"));
        assert!(says("NO_START_DEBIT", Some((6, 6))).contains("not there from 6.6 on"));
        let misspelt = says("NO_HRTCK", None);
        assert!(misspelt.contains("did you mean HRTICK?"), "{misspelt}");
        assert!(misspelt.contains("--allow sched/features=NO_HRTCK"), "{misspelt}");
        assert_eq!(refusal("NO_HRTCK", None, &["sched/features=NO_HRTCK".to_owned()]), None);
    }
}
