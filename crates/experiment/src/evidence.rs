//! How a guest puts a setting into force, and what shows that it is.

use preemptlab_model::{Cpus, Setting, Value, without_flags};
use preemptlab_protocol::{self as protocol, Evidence, Write};

const CMDLINE: &str = "/proc/cmdline";
const CPUS: &str = "/sys/devices/system/cpu";

/// Of q35, the one interrupt that every kernel requests and that may be threaded: ACPI's.
const THREADED_INTERRUPT: &str = "irq/9-";

/// The most CPUs that a list may name; more than any machine here has.
const CPUS_MAX: u32 = 64;

/// The setting as the guest takes it.
pub fn provable(setting: &Setting) -> protocol::Setting {
    let (write, evidence) = match setting {
        Setting::Sysctl { name, value } => written(name.file(), value.as_str(), false),
        Setting::Debugfs { path, value } => {
            written(path.file(), value.as_str(), path.as_str() == "sched/features")
        }
        Setting::Parameter { name, value } => {
            (None, parameter(setting, name.as_str(), value.as_ref().map(Value::as_str)))
        }
    };
    protocol::Setting { name: setting.to_string(), write, evidence }
}

/// A file that holds afterwards what was written, or one word of it that is as written.
fn written(file: String, value: &str, is_word: bool) -> (Option<Write>, Vec<Evidence>) {
    let evidence = if is_word {
        Evidence::Word { file: file.clone(), word: value.to_owned() }
    } else {
        Evidence::Text { file: file.clone(), any_of: vec![value.to_owned()] }
    };
    (Some(Write { file, text: value.to_owned() }), vec![evidence])
}

/// A parameter must have reached the kernel, the kernel must know it, and what it switches must
/// show it where there is a place for that.
fn parameter(setting: &Setting, name: &str, value: Option<&str>) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::Word { file: CMDLINE.to_owned(), word: setting.to_string() }];
    if let Some((module, parameter)) = name.split_once('.') {
        let file = format!("/sys/module/{}/parameters/{parameter}", module.replace('-', "_"));
        evidence.push(Evidence::Text { file, any_of: readings(value) });
        return evidence;
    }
    // A kernel with PREEMPT_RT threads its interrupts anyway and does not know the word.
    if name != "threadirqs" {
        evidence.push(Evidence::Known { parameter: setting.to_string() });
    }
    let list = value.and_then(cpu_list);
    match (name, list) {
        ("nohz_full", Some(cpus)) => evidence.push(shows("nohz_full", &cpus)),
        ("isolcpus", Some(cpus)) if isolates_domain(value.unwrap_or_default()) => {
            evidence.push(shows("isolated", &cpus));
        }
        ("rcu_nocbs", Some(cpus)) => evidence.extend(cpus.iter().map(|cpu| {
            // The letter is that of the preemptible or of the other RCU
            // (kernel/rcu/tree_nocb.h, `rcu_spawn_cpu_nocb_kthread`).
            Evidence::KernelThread { any_of: vec![format!("rcuop/{cpu}"), format!("rcuos/{cpu}")] }
        })),
        ("threadirqs", _) => {
            evidence.push(Evidence::KernelThread { any_of: vec![THREADED_INTERRUPT.to_owned()] })
        }
        _ => {}
    }
    evidence
}

/// Whether the scheduler's domains leave the CPUs out, which flags have to ask for
/// (`housekeeping_isolcpus_setup` in kernel/sched/isolation.c).
fn isolates_domain(value: &str) -> bool {
    let mut flags = value.split(',').filter(|part| part.starts_with(|c: char| c.is_alphabetic()));
    flags.clone().next().is_none() || flags.any(|flag| flag == "domain")
}

fn shows(file: &str, cpus: &Cpus) -> Evidence {
    Evidence::Text { file: format!("{CPUS}/{file}"), any_of: vec![cpus.to_string()] }
}

/// How a module's parameter may read afterwards: as it was written, a truth value as `Y` or `N`, a
/// number in decimal. The kernel looks at a truth value's beginning only (`kstrtobool` in
/// lib/kstrtox.c).
fn readings(value: Option<&str>) -> Vec<String> {
    let text = value.unwrap_or("1");
    let boolean = match text.as_bytes() {
        [b'1' | b'y' | b'Y' | b't' | b'T', ..] | [b'o' | b'O', b'n' | b'N', ..] => Some("Y"),
        [b'0' | b'n' | b'N' | b'f' | b'F', ..] | [b'o' | b'O', b'f' | b'F', ..] => Some("N"),
        _ => None,
    };
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let decimal = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let decimal = decimal.map(|number| number.to_string());
    boolean.map(str::to_owned).into_iter().chain(decimal).chain(value.map(str::to_owned)).collect()
}

/// The CPUs of a list such as `1-3,5`, which flags of `isolcpus` may precede; `None` for what means
/// other CPUs on another machine (`all`, or a list with groups).
fn cpu_list(text: &str) -> Option<Cpus> {
    Cpus::plain(without_flags(text)).ok().filter(|cpus| cpus.last() < Some(CPUS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(setting: &str) -> Vec<Evidence> {
        provable(&setting.parse().unwrap()).evidence
    }

    #[test]
    fn lists_of_cpus_are_compared_as_the_kernel_prints_them() {
        let read = |text| cpu_list(text).map(|cpus| cpus.to_string());
        assert_eq!(read("1,2,3,5").as_deref(), Some("1-3,5"));
        assert_eq!(read("domain,managed_irq,2-3").as_deref(), Some("2-3"));
        for text in ["all", "", "1-", "3-70", "1:2/3", "a1"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
    }

    #[test]
    fn every_setting_has_evidence_of_its_own() {
        let file = "/sys/devices/system/cpu/nohz_full".to_owned();
        assert!(
            evidence("nohz_full=1,2")
                .contains(&Evidence::Text { file, any_of: vec!["1-2".into()] })
        );
        assert_eq!(evidence("rcu_nocbs=0-1").len(), 4);
        let file = "/sys/module/rcutree/parameters/enable_rcu_lazy".to_owned();
        let any_of = vec!["Y".to_owned(), "1".to_owned()];
        assert!(evidence("rcutree.enable_rcu_lazy=1").contains(&Evidence::Text { file, any_of }));
        assert_eq!(readings(Some("true")), ["Y", "true"]);
        assert_eq!(readings(Some("0x10")), ["N", "16", "0x10"]);
        let parameter = "skew_tick=1".to_owned();
        assert!(evidence("skew_tick=1").contains(&Evidence::Known { parameter }));
    }

    #[test]
    fn only_what_shows_is_expected() {
        assert_eq!(evidence("isolcpus=1").len(), 3);
        assert_eq!(evidence("isolcpus=domain,managed_irq,1").len(), 3);
        assert_eq!(evidence("isolcpus=managed_irq,1").len(), 2);
        let is_known = |evidence: &Evidence| matches!(evidence, Evidence::Known { .. });
        assert!(!evidence("threadirqs").iter().any(is_known));
    }

    #[test]
    fn what_is_set_at_run_time_is_read_again() {
        let sysctl = provable(&"sysctl.kernel.sched_rt_runtime_us=-1".parse().unwrap());
        assert_eq!(sysctl.write.unwrap().file, "/proc/sys/kernel/sched_rt_runtime_us");
        let feature = provable(&"sched/features=NO_HRTICK".parse().unwrap());
        assert!(
            matches!(&feature.evidence[..], [Evidence::Word { word, .. }] if word == "NO_HRTICK")
        );
    }
}
