use preemptlab_model::PreemptMode;

use crate::tune::Settings;

/// Returns a note on a preemption mode that some supported kernels ignore, where the kernel is not
/// known (`setup_preempt_mode`, kernel/sched/core.c; kernel/Kconfig.preempt).
pub(crate) fn note(settings: &Settings) -> Option<String> {
    if settings.release.is_some() {
        return None;
    }
    let mode = settings.parameters.iter().find_map(|word| word.strip_prefix("preempt="))?;
    let others = match mode.parse().ok()? {
        PreemptMode::None | PreemptMode::Voluntary => {
            "kernels of x86 from 7.0 on, kernels with PREEMPT_RT and"
        }
        PreemptMode::Lazy => "kernels before 6.13 without PREEMPT_RT and",
        PreemptMode::Full => "",
    };
    let what = format!("{others} kernels without PREEMPT_DYNAMIC ignore it");
    let what = what.trim_start();
    Some(format!(
        "preempt={mode}: {what}. On the machine, `preemptlab system show` says which mode runs."
    ))
}
