//! The kernel parameters that a machine may be given, and the values of each.

use preemptlab_model::{CpuList, Cpus, IsolatedCpus, PreemptMode, nearest, without_flags};

use crate::tune::{
    Command, cmdline, gone,
    known::{self, GIVEN, Takes},
    misplaced,
};

use Takes::{IsolatedCpus as Isolated, MaybeCpus, Mode, Nothing, Number, OneOf, Truth};

/// Returns the reason why a machine is not given a word; `None` if it is. `allowed` are words that
/// the user let through by name.
pub(crate) fn refusal(word: &str, allowed: &[String]) -> Option<String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_name || !is_plain(word) {
        return Some(
            "it holds characters that boot loaders read in ways of their own; set it by hand"
                .into(),
        );
    }
    if word.len() > cmdline::bytes_max() {
        return Some(cmdline::too_long("it", word.len()));
    }
    match GIVEN.iter().find(|(known, ..)| *known == name) {
        Some((_, takes, _)) => mismatch(*takes, value),
        None if allowed.iter().any(|it| it == word) => None,
        None => {
            let gone = word.parse().ok().and_then(|setting| gone::refusal(&setting, None));
            if let Some(reason) = gone.or_else(|| misplaced::refusal(name, value)) {
                return Some(format!("{reason}. If it is to have it: {}", allow(word)));
            }
            let similar = nearest(name, GIVEN.iter().map(|(known, ..)| *known));
            let similar = similar.map(|it| format!("; did you mean {it}?"));
            let similar = similar.unwrap_or_else(|| ".".to_owned());
            let option = allow(word);
            Some(format!(
                "{name} is not among the kernel parameters that a machine is given unasked\
                 {similar} If it is to have it: {option}"
            ))
        }
    }
}

fn allow(word: &str) -> Command {
    Command::new(["--allow", word])
}

/// Returns the word with its list of CPUs in ranges, which are shorter: `isolcpus=0-3` for
/// `isolcpus=0,1,2,3`. A list that means other CPUs on another machine stays as it is.
pub(crate) fn folded(word: &str) -> String {
    let Some((name, value)) = word.split_once('=') else { return word.to_owned() };
    let list = match known::values(name) {
        Some(Takes::Cpus | MaybeCpus) => value,
        Some(Isolated) => without_flags(value),
        _ => return word.to_owned(),
    };
    match Cpus::plain(list) {
        Ok(cpus) => format!("{name}={}{cpus}", &value[..value.len() - list.len()]),
        Err(_) => word.to_owned(),
    }
}

/// Returns the reason why a kernel takes no notice of the value of a parameter that it knows.
/// Where this crate does not know all the values that a kernel takes, the kernel is asked.
pub(crate) fn ignored(name: &str, value: Option<&str>) -> Option<String> {
    let takes = known::values(name)?;
    match (takes, value) {
        (Nothing, Some(value)) => {
            Some(format!("{name} takes no value, and would not read `{value}`"))
        }
        (Isolated, Some(value)) if ["nohz", "domain", "managed_irq"].contains(&value) => {
            Some(format!("a list of CPUs is missing after the flag, as in isolcpus={value},1"))
        }
        (Takes::Cpus | MaybeCpus | Isolated, _) => mismatch(takes, value),
        (Number(_), Some(value)) => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            let (digits, radix) = match digits.strip_prefix("0x") {
                Some(digits) => (digits, 16),
                None => (digits, 10),
            };
            let is_number = u64::from_str_radix(digits, radix).is_ok() && !digits.starts_with('+');
            (!is_number).then(|| format!("its value is a number, and `{value}` is none"))
        }
        (Mode | Nothing | Truth | Number(_) | OneOf(_), _) => None,
    }
}

/// Returns whether a text means the same to a shell, GRUB, systemd and tuned without any quoting.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:=/+@~".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

/// Returns the error of a value that the parameter does not take.
fn mismatch(takes: Takes, value: Option<&str>) -> Option<String> {
    let needs = || Some("it needs a value".to_owned());
    match (takes, value) {
        (Nothing | MaybeCpus, None) => None,
        (Nothing, Some(_)) => Some("it takes no value".to_owned()),
        (OneOf(words), value) => {
            let value = value.unwrap_or_default();
            (!words.contains(&value)).then(|| format!("it takes one of {}", list(words)))
        }
        (_, None) => needs(),
        (Mode, Some(value)) => value.parse::<PreemptMode>().err().map(|error| error.to_string()),
        (Takes::Cpus | MaybeCpus, Some(value)) => {
            value.parse::<CpuList>().err().map(|error| error.to_string())
        }
        (Isolated, Some(value)) => {
            value.parse::<IsolatedCpus>().err().map(|error| error.to_string())
        }
        (Truth, Some(value)) => {
            let is_truth = ["0", "1", "n", "N", "y", "Y", "off", "on"].contains(&value);
            (!is_truth).then(|| "it takes 0 or 1".to_owned())
        }
        (Number(max), Some(value)) => {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            let fits = value.parse::<u32>().is_ok_and(|number| number <= max);
            (!is_number || !fits).then(|| format!("it takes a number from 0 to {max}"))
        }
    }
}

fn list(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_field_boots_with_is_given() {
        for word in [
            "preempt=lazy",
            "threadirqs",
            "nohz_full=2-7",
            "nohz_full=0-7:2/4,9",
            "isolcpus=managed_irq,domain,6-7",
            "rcu_nocbs",
            "rcu_nocbs=all",
            "rcutree.enable_rcu_lazy=1",
            "skew_tick=1",
            "idle=poll",
            "nosmt",
            "nosmt=force",
            "tsc=reliable",
            "processor.max_cstate=1",
        ] {
            assert_eq!(refusal(word, &[]), None, "{word}");
        }
    }

    #[test]
    fn nothing_else_is_given_unasked() {
        for word in [
            "init=/bin/sh",
            "rdinit=/bin/sh",
            "mitigations=off",
            "module.sig_enforce=0",
            "lockdown=none",
            "selinux=0",
            "apparmor=0",
            "systemd.unit=rescue.target",
            "systemd.debug_shell",
            "sysctl.kernel.core_pattern=x",
            "root=/dev/sda1",
            "nohz-full=1",
            "single",
            "1",
        ] {
            let reason = refusal(word, &[]).unwrap();
            assert!(reason.contains(&format!("--allow {word}")), "{reason}");
            assert_eq!(refusal(word, &[word.to_owned()]), None, "{word}");
            assert!(refusal(word, &[format!("{word}1")]).is_some(), "{word}");
        }
        let reason = refusal("nohz_ful=2", &[]).unwrap();
        assert!(reason.contains("did you mean nohz_full?"), "{reason}");
    }

    #[test]
    fn no_option_lets_through_what_would_need_quotes_or_is_no_value_of_it() {
        for word in [
            "",
            "--",
            "-x=1",
            "=1",
            ".x",
            "a=\"b\"",
            "a;b",
            "a b",
            "a=$(reboot)",
            "a=%s",
            "a=b#c",
            "a=\\",
            "a=b\n",
            "a/b=1",
            "a=\u{e4}",
            "nohz_full",
            "nohz_full=",
            "nohz_full=2..7",
            "nohz_full=7-2",
            "nohz_full=1,,2",
            "nohz_full=99999",
            "rcu_nocbs=managed_irq,1",
            "isolcpus=managed_irq",
            "isolcpus=domain,,1",
            "preempt=rt",
            "threadirqs=1",
            "skew_tick=2",
            "skew_tick=-1",
            "idle=hlt",
            "nosmt=1",
            "rcutree.enable_rcu_lazy=maybe",
            "rcutree.kthread_prio=100",
        ] {
            assert!(refusal(word, &[word.to_owned()]).is_some(), "{word}");
        }
    }

    #[test]
    fn a_long_word_is_called_long() {
        let long = format!("a={}", "1".repeat(2046));
        let reason = refusal(&long, std::slice::from_ref(&long)).unwrap();
        assert!(
            reason.starts_with("it has 2048 characters") && reason.contains("2047"),
            "{reason}"
        );
        let fits = &long[..2047];
        assert_eq!(refusal(fits, &[fits.to_owned()]), None);
    }

    #[test]
    fn lists_become_ranges_where_they_mean_the_same() {
        for (word, short) in [
            ("isolcpus=0,1,2,3", "isolcpus=0-3"),
            ("isolcpus=managed_irq,domain,3,1,2", "isolcpus=managed_irq,domain,1-3"),
            ("nohz_full=1,2,3,5", "nohz_full=1-3,5"),
            ("rcu_nocbs=0,1", "rcu_nocbs=0-1"),
            ("nohz_full=1-N", "nohz_full=1-N"),
            ("nohz_full=0-7:2/4", "nohz_full=0-7:2/4"),
            ("nohz_full=2..7", "nohz_full=2..7"),
            ("quirk=1,2,3", "quirk=1,2,3"),
            ("rcu_nocbs", "rcu_nocbs"),
        ] {
            assert_eq!(folded(word), short);
        }
    }

    #[test]
    fn a_value_that_means_nothing_is_told() {
        let says = |name: &str, value| ignored(name, Some(value)).unwrap_or_default();
        assert!(says("rcu_nocb_poll", "1024").contains("takes no value"));
        assert!(says("isolcpus", "domain").contains("list of CPUs is missing after the flag"));
        assert!(says("nohz_full", "2..7").contains("no list of CPUs"));
        assert!(says("skew_tick", "on").contains("is a number"));
        // Values that a kernel may know and a machine is not given.
        for (name, value) in [("mce", "off"), ("tsc", "perfect"), ("watchdog_thresh", "100")] {
            assert_eq!(ignored(name, Some(value)), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_given_needs_no_quotes(word in "\\PC{0,30}|[a-z_.]{1,8}=[ -~]{0,12}") {
            if refusal(&word, std::slice::from_ref(&word)).is_none() {
                prop_assert!(is_plain(&word));
                prop_assert!(!word.starts_with('-'));
            }
        }
    }
}
