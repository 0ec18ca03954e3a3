//! The settings in the form of the guest: the writes that put them into force, and the evidence
//! that they are.

use preemptlab_model::{Arch, CpuList, Cpus, Precaution, Setting, Value};
use preemptlab_protocol::{self as protocol, Evidence, Write};
use preemptlab_system::tune::acts_on;

const CMDLINE: &str = "/proc/cmdline";
const CPU_INFO: &str = "/proc/cpuinfo";
const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const CPUS: &str = "/sys/devices/system/cpu";

/// Parameters with a dot that have no file below /sys/module: kernel/rcu/tree_nocb.h gives the file
/// no permissions, and kernel/workqueue.c reads the word itself.
const WITHOUT_FILE: [&str; 2] = ["rcutree.nocb_nobypass_lim_per_jiffy", "workqueue.unbound_cpus"];

/// First part of the names of the threads of interrupts (kernel/irq/manage.c, `setup_irq_thread`).
const INTERRUPT_THREAD: &str = "irq/";

/// The most CPUs that a list may name; more than any machine here has.
const CPUS_MAX: u32 = 64;

/// Returns the setting in the form that a guest of an architecture takes.
pub fn provable(setting: &Setting, arch: Arch) -> protocol::Setting {
    let thread = crate::arch::of(arch).interrupt_thread;
    let (write, evidence) = match setting {
        Setting::Sysctl { name, value } => written(name.file(), value.as_str(), false),
        Setting::Debugfs { path, value } => {
            written(path.file(), value.as_str(), path.as_str() == "sched/features")
        }
        Setting::Lab(precaution) => (None, seen(*precaution)),
        Setting::Parameter { name, value } => {
            (None, parameter(setting, name.as_str(), value.as_ref().map(Value::as_str), thread))
        }
    };
    protocol::Setting { name: setting.to_string(), write, evidence }
}

/// Returns the evidence that a guest goes without a precaution. A kernel does not tell its address.
fn seen(without: Precaution) -> Vec<Evidence> {
    let (file, word) = match without {
        Precaution::Kaslr => return Vec::new(),
        Precaution::Hpet => (CLOCK_SOURCES, "hpet"),
        Precaution::RepStrings => (CPU_INFO, "erms"),
    };
    vec![Evidence::Word { file: file.to_owned(), word: word.to_owned() }]
}

/// Returns the write to a file, with the evidence that the file, or one word of it, then holds the
/// value.
fn written(file: String, value: &str, is_word: bool) -> (Option<Write>, Vec<Evidence>) {
    let evidence = if is_word {
        Evidence::Word { file: file.clone(), word: value.to_owned() }
    } else {
        Evidence::Text { file: file.clone(), any_of: vec![value.to_owned()] }
    };
    (Some(Write { file, text: value.to_owned() }), vec![evidence])
}

/// Returns the evidence of a parameter: it must have reached the kernel, the kernel must know it,
/// and the switch that it sets must show it where the kernel has a place for that. `interrupt_thread` is the beginning of the
/// name of a thread that an interrupt has if it may.
fn parameter(
    setting: &Setting,
    name: &str,
    value: Option<&str>,
    interrupt_thread: &str,
) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::Word { file: CMDLINE.to_owned(), word: setting.to_string() }];
    if WITHOUT_FILE.contains(&name) {
        return evidence;
    }
    if let Some((module, parameter)) = name.split_once('.') {
        let file = format!("/sys/module/{}/parameters/{parameter}", module.replace('-', "_"));
        evidence.push(Evidence::Text { file, any_of: readings(value) });
        return evidence;
    }
    // A kernel with PREEMPT_RT threads its interrupts anyway and does not know the word.
    if name != "threadirqs" {
        evidence.push(Evidence::Known { parameter: setting.to_string() });
    }
    let value = value.unwrap_or_default();
    match (name, cpu_list(if name == "isolcpus" { after_flags(value) } else { value })) {
        ("nohz_full", Some(list)) => evidence.push(shows("nohz_full", list)),
        ("isolcpus", Some(list)) if isolates_domain(value) => {
            evidence.push(shows("isolated", list));
        }
        ("rcu_nocbs", Some(list)) => evidence.extend(list.members().into_iter().map(|cpu| {
            // The letter is that of the preemptible or of the other RCU
            // (kernel/rcu/tree_nocb.h, `rcu_spawn_cpu_nocb_kthread`).
            Evidence::KernelThread { any_of: vec![format!("rcuop/{cpu}"), format!("rcuos/{cpu}")] }
        })),
        // kernel/cpu.c, `cpu_smt_disable`: a core with one thread says `notsupported`.
        ("nosmt", _) => {
            let state = if value == "force" { "forceoff" } else { "off" };
            let file = format!("{CPUS}/smt/control");
            evidence.push(Evidence::Text { file, any_of: vec![state.to_owned()] });
        }
        ("clocksource", _) => {
            let file = CLOCK_SOURCE.to_owned();
            evidence.push(Evidence::Text { file, any_of: vec![value.to_owned()] });
        }
        ("threadirqs", _) => {
            evidence.push(Evidence::KernelThread { any_of: vec![interrupt_thread.to_owned()] })
        }
        _ => {}
    }
    evidence
}

/// Returns whether nothing but the kernel's command line shows a parameter, and its target is unknown
/// here: a machine without the target looks like one where the parameter does nothing.
pub fn is_shown_by_cmdline_alone(setting: &Setting) -> bool {
    let Setting::Parameter { name, value } = setting else { return false };
    let shows = |evidence: &Evidence| match evidence {
        Evidence::Word { file, .. } => file != CMDLINE,
        Evidence::Known { .. } => false,
        Evidence::Text { .. } | Evidence::KernelThread { .. } => true,
    };
    let value = value.as_ref().map(Value::as_str);
    acts_on(name.as_str()).is_none()
        && !parameter(setting, name.as_str(), value, INTERRUPT_THREAD).iter().any(shows)
}

/// Returns whether a kernel parameter is one that is known here.
pub fn is_known_parameter(name: &str) -> bool {
    acts_on(name).is_some()
}

/// Returns whether the scheduler's domains leave the CPUs out, which flags have to ask for
/// (`housekeeping_isolcpus_setup` in kernel/sched/isolation.c).
fn isolates_domain(value: &str) -> bool {
    let mut flags = value.split(',').filter(|part| part.starts_with(|c: char| c.is_alphabetic()));
    flags.clone().next().is_none() || flags.any(|flag| flag == "domain")
}

fn shows(file: &str, list: List) -> Evidence {
    let text = match list {
        List::Cpus(cpus) => cpus.to_string(),
        List::Unreadable(text) => text,
    };
    Evidence::Text { file: format!("{CPUS}/{file}"), any_of: vec![text] }
}

/// Returns the texts that a module's parameter may have afterwards: the written one, `Y` or `N` for
/// a truth value, a number in decimal. The kernel looks at a truth value's beginning only
/// (`kstrtobool` in lib/kstrtox.c).
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

/// A list of CPUs in a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum List {
    /// The list means these CPUs on every machine.
    Cpus(Cpus),
    /// No kernel reads the list, and so none shows it: the cell fails.
    Unreadable(String),
}

impl List {
    fn members(&self) -> Vec<String> {
        match self {
            Self::Cpus(cpus) => cpus.iter().map(|cpu| cpu.to_string()).collect(),
            Self::Unreadable(text) => vec![text.clone()],
        }
    }
}

/// Reads a list such as `1-3,5`; `None` for no list, and for one that means other CPUs on another
/// machine (`all`, or a list with groups).
fn cpu_list(text: &str) -> Option<List> {
    if text.is_empty() {
        return None;
    }
    match text.parse::<CpuList>() {
        Err(_) => Some(List::Unreadable(text.to_owned())),
        Ok(_) => {
            let cpus = Cpus::plain(text).ok().filter(|cpus| cpus.last() < Some(CPUS_MAX))?;
            Some(List::Cpus(cpus))
        }
    }
}

/// Returns the text after the flags of `isolcpus`: the kernel skips unknown ones
/// (`housekeeping_isolcpus_setup` in kernel/sched/isolation.c).
fn after_flags(value: &str) -> &str {
    let mut rest = value;
    while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        rest = rest.split_once(',').map_or("", |(_, after)| after);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(setting: &str) -> Vec<Evidence> {
        provable(&setting.parse().unwrap(), Arch::Amd64).evidence
    }

    #[test]
    fn lists_of_cpus_are_compared_as_the_kernel_prints_them() {
        let read = |text| cpu_list(text).map(|list| list.members().join(" "));
        assert_eq!(read("1,2,3,5").as_deref(), Some("1 2 3 5"));
        for text in ["all", "", "3-70", "1:2/3"] {
            assert_eq!(read(text), None, "{text}");
        }
        let file = || "/sys/devices/system/cpu/isolated".to_owned();
        for (value, shown) in [
            ("1,2,3,5", "1-3,5"),
            ("domain,managed_irq,2-3", "2-3"),
            ("later_flag,domain,2-3", "2-3"),
            ("1-", "1-"),
            ("0,3-1", "0,3-1"),
        ] {
            let evidence = evidence(&format!("isolcpus={value}"));
            let shows = Evidence::Text { file: file(), any_of: vec![shown.to_owned()] };
            assert!(evidence.contains(&shows), "{value}: {evidence:?}");
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
    fn a_clock_and_threads_of_a_core_show_themselves() {
        let last = |setting: &str| match evidence(setting).pop() {
            Some(Evidence::Text { file, any_of }) => format!("{file} {}", any_of.join(" ")),
            other => panic!("{other:?}"),
        };
        assert!(last("nosmt").ends_with("/smt/control off"));
        assert!(last("nosmt=force").ends_with("/smt/control forceoff"));
        assert!(last("clocksource=acpi_pm").ends_with("/current_clocksource acpi_pm"));
        // They have no file that could show them.
        for setting in ["rcutree.nocb_nobypass_lim_per_jiffy=1", "workqueue.unbound_cpus=0"] {
            assert_eq!(evidence(setting).len(), 1, "{setting}");
        }
    }

    #[test]
    fn what_only_the_command_line_shows_is_known() {
        let alone = |setting: &str| is_shown_by_cmdline_alone(&setting.parse().unwrap());
        for setting in ["audit=0", "thp_anon=64K:always"] {
            assert!(alone(setting), "{setting}");
        }
        for setting in [
            "nohz_full=1",
            "nowatchdog",
            "rcutree.enable_rcu_lazy=1",
            "quirk.parameter=1",
            "sysctl.kernel.watchdog=0",
            "sched/base_slice_ns=1",
            "lab.hpet",
        ] {
            assert!(!alone(setting), "{setting}");
        }
    }

    #[test]
    fn only_what_shows_is_expected() {
        assert_eq!(evidence("isolcpus=1").len(), 3);
        assert_eq!(evidence("isolcpus=domain,managed_irq,1").len(), 3);
        assert_eq!(evidence("isolcpus=managed_irq,1").len(), 2);
        let is_known = |evidence: &Evidence| matches!(evidence, Evidence::Known { .. });
        assert!(!evidence("threadirqs").iter().any(is_known));
        let thread = |arch| provable(&"threadirqs".parse().unwrap(), arch).evidence.pop().unwrap();
        let named = |it: &str| Evidence::KernelThread { any_of: vec![it.to_owned()] };
        assert_eq!(thread(Arch::Amd64), named("irq/9-"));
        assert_eq!(thread(Arch::Arm64), named("irq/16-"));
    }

    #[test]
    fn what_is_set_at_run_time_is_read_again() {
        let sysctl =
            provable(&"sysctl.kernel.sched_rt_runtime_us=-1".parse().unwrap(), Arch::Amd64);
        assert_eq!(sysctl.write.unwrap().file, "/proc/sys/kernel/sched_rt_runtime_us");
        let feature = provable(&"sched/features=NO_HRTICK".parse().unwrap(), Arch::Amd64);
        assert!(
            matches!(&feature.evidence[..], [Evidence::Word { word, .. }] if word == "NO_HRTICK")
        );
    }
}
