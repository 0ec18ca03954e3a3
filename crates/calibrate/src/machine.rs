//! The machine that is calibrated, and whether its times can be relied on.

use preemptlab_model::{Conditions, MachineText};

use crate::{CalibrateError, Times};

/// Names of benchmarks that an error lists.
const NAMED_MAX: usize = 4;

/// One benchmark in this number may have times that do not repeat: prices follow all benchmarks, so a few
/// that are off by some tens of percent move prices little.
const UNSTEADY_PART: usize = 10;

/// A machine during a calibration.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Name of its processor, as it says itself.
    pub processor: Option<String>,
    /// Release of its kernel.
    pub release: Option<String>,
    /// Conditions on it meanwhile.
    pub conditions: Conditions,
}

impl Machine {
    /// Describes the machine as its profile does.
    pub fn description(&self) -> MachineText {
        /// The most that a profile takes.
        const CHARS_MAX: usize = 120;
        let processor = self.processor.as_deref().unwrap_or("an unknown processor");
        let mut parts = vec![processor.to_owned()];
        if self.conditions.hypervisor {
            parts.push("a virtual machine".to_owned());
        }
        // The series tells how the kernel works; the rest may name who built it.
        let series = self
            .release
            .as_ref()
            .map(|release| release.split('.').take(2).collect::<Vec<_>>().join("."));
        parts.extend(series.map(|series| format!("Linux {series}")));
        let words = parts.join(", ");
        let plain = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let printable = plain.chars().filter(|c| *c == ' ' || c.is_ascii_graphic());
        let text: String = printable.take(CHARS_MAX).collect();
        text.parse().expect("it is printable and not empty")
    }

    /// Refuses times that this machine would not give again.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Unsteady`] with the reason: heat that lowered its clock, or other work that took its
    /// CPUs and caches. A machine most of whose times come again is taken, however busy it was.
    pub fn check(&self, times: &Times) -> Result<(), CalibrateError> {
        if self.conditions.throttled.is_some_and(|count| count > 0) {
            let reason = "its CPUs were throttled for heat; let it cool down".to_owned();
            return Err(CalibrateError::Unsteady(reason));
        }
        let differing = times.differing();
        if differing.len() * UNSTEADY_PART <= times.benchmarks() {
            return Ok(());
        }
        let named = differing.iter().take(NAMED_MAX);
        let named: Vec<_> =
            named.map(|(name, percent)| format!("{name} by {percent:.0}%")).collect();
        let more = match differing.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Err(CalibrateError::Unsteady(format!(
            "after {} passes the shortest times of two halves still differ: {}{more}{}; end other \
             programs and calibrate again",
            times.passes(),
            named.join(", "),
            self.suspicion(),
        )))
    }

    /// Names possible disturbances of it.
    fn suspicion(&self) -> String {
        let Conditions { ticks, steal_ticks, load_average_centi, .. } = &self.conditions;
        let mut found = Vec::new();
        if steal_ticks * 100 > *ticks {
            let percent = steal_ticks * 100 / (*ticks).max(1);
            found.push(format!("a hypervisor took {percent}% of the time"));
        }
        if let Some(load) = load_average_centi.filter(|load| *load >= 50) {
            let (whole, hundredths) = (load / 100, load % 100);
            found.push(format!("its load average was {whole}.{hundredths:02} before"));
        }
        match found.is_empty() {
            true => String::new(),
            false => format!(" ({})", found.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pass;

    fn machine(conditions: Conditions) -> Machine {
        Machine {
            processor: Some("AMD EPYC\u{7f}   Processor".to_owned()),
            release: Some("6.18.5-of-mine".to_owned()),
            conditions,
        }
    }

    fn times(passes: [&str; 2]) -> Times {
        let mut times = Times::default();
        passes.iter().for_each(|text| times.add(Pass::parse(text).unwrap()));
        times
    }

    #[test]
    fn a_description_is_one_line_of_ascii() {
        let guest = machine(Conditions { hypervisor: true, ..Conditions::default() });
        assert_eq!(
            guest.description().as_str(),
            "AMD EPYC Processor, a virtual machine, Linux 6.18"
        );
        let unknown = Machine { processor: None, release: None, ..guest };
        assert_eq!(unknown.description().as_str(), "an unknown processor, a virtual machine");
    }

    #[test]
    fn a_busy_machine_whose_times_come_again_is_taken() {
        let busy = Conditions {
            ticks: 1000,
            steal_ticks: 300,
            load_average_centi: Some(1800),
            throttled: Some(0),
            ..Conditions::default()
        };
        machine(busy.clone()).check(&times(["a 1 100 100", "a 1 105 105"])).unwrap();
        let pass = |unsteady: usize, time: u64| {
            let time = |number: usize| if number < unsteady { time } else { 100 };
            let line = |number: usize| format!("b{number} 1 {0} {0}\n", time(number));
            (0..40).map(line).collect::<String>()
        };
        let few = times([&pass(4, 100), &pass(4, 130)]);
        machine(busy.clone()).check(&few).unwrap();
        let refused = machine(busy).check(&times([&pass(5, 100), &pass(5, 130)])).unwrap_err();
        assert!(refused.to_string().contains("b3 by 30% and 1 more"), "{refused}");
    }

    #[test]
    fn contention_and_heat_are_refused_with_the_reason() {
        let contended = Conditions {
            ticks: 1000,
            steal_ticks: 300,
            load_average_centi: Some(1805),
            ..Conditions::default()
        };
        let refused = machine(contended).check(&times(["a 1 100 100", "a 1 150 150"]));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "the machine cannot be calibrated now: after 2 passes the shortest times of two halves \
             still differ: a by 50% (a hypervisor took 30% of the time, its load average was 18.05 \
             before); end other programs and calibrate again"
        );
        let hot = Conditions { throttled: Some(2), ..Conditions::default() };
        let refused = machine(hot).check(&times(["a 1 100 100", "a 1 100 100"])).unwrap_err();
        assert!(refused.to_string().contains("throttled for heat"), "{refused}");
    }
}
