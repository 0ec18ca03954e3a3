//! The configuration `lab`.

use preemptlab_model::KernelConfig;

/// The configuration as `make allnoconfig` reads it.
pub(crate) const LAB: &str = include_str!("lab.config");

/// The line after which symbols are only wished for.
const OPTIONAL: &str = "# Optional: ";

/// Returns the first symbol that cells need and that a configuration lacks, among those that the
/// kernel has.
pub(crate) fn missing(
    config: &KernelConfig,
    exists: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let needed = LAB.lines().take_while(|line| !line.starts_with(OPTIONAL));
    needed
        .filter_map(|line| line.strip_prefix("CONFIG_")?.strip_suffix("=y"))
        .find(|symbol| !config.is_builtin(symbol) && exists(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_cannot_be_set_is_found() {
        let whole = KernelConfig::parse(LAB);
        assert_eq!(missing(&whole, |_| true), None);
        let lacks = |symbol: &str| {
            let line = format!("CONFIG_{symbol}=y\n");
            assert!(LAB.contains(&line), "{symbol}");
            KernelConfig::parse(&LAB.replace(&line, ""))
        };
        assert_eq!(missing(&lacks("SCHED_DEBUG"), |_| true), Some("SCHED_DEBUG"));
        // A series that has no such symbol needs none.
        assert_eq!(missing(&lacks("SCHED_DEBUG"), |_| false), None);
        assert_eq!(missing(&lacks("RETPOLINE"), |_| true), None);
    }
}
