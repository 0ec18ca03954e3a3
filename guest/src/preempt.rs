//! Sets the preemption mode and verifies it.

use alloc::{format, vec::Vec};

use rustix::{io::Errno, system::uname};

use crate::{
    file::{read_kernel, write_kernel},
    trouble::{Attempt, Result, Trouble},
};

/// The modes on offer, the active one in parentheses (kernel/sched/debug.c, `sched_dynamic_show`).
pub const PREEMPT_FILE: &str = "/sys/kernel/debug/sched/preempt";

/// Puts the kernel into a mode, or finds that it is in it already.
pub fn set(wanted: &str) -> Result<()> {
    let text = match read_kernel(PREEMPT_FILE) {
        Ok(text) => text,
        Err(Errno::NOENT) => return check_fixed(wanted, &uname().version().to_string_lossy()),
        Err(errno) => return Err(errno).attempt(|| format!("read {PREEMPT_FILE}")),
    };
    let modes = Modes::parse(&text);
    if modes.active == Some(wanted) {
        return Ok(());
    }
    if !modes.offered.is_empty() && !modes.offered.contains(&wanted) {
        return Err(Trouble::unavailable(format!(
            "this kernel does not offer the mode {wanted}; it offers {}",
            modes.offered.join(", ")
        )));
    }
    match write_kernel(PREEMPT_FILE, wanted) {
        Err(Errno::INVAL) => {
            return Err(Trouble::unavailable(format!("this kernel refuses the mode {wanted}")));
        }
        result => result.attempt(|| format!("write `{wanted}` to {PREEMPT_FILE}"))?,
    }
    let text = read_kernel(PREEMPT_FILE).attempt(|| format!("read {PREEMPT_FILE}"))?;
    match Modes::parse(&text).active {
        Some(active) if active == wanted => Ok(()),
        Some(active) => Err(Trouble::other(format!(
            "the mode {wanted} was set, but the kernel says that it runs in {active}"
        ))),
        None => Err(Trouble::unavailable(format!(
            "this kernel does not say which mode it runs in ({PREEMPT_FILE} holds `{text}`), so \
             that {wanted} cannot be verified"
        ))),
    }
}

struct Modes<'a> {
    offered: Vec<&'a str>,
    active: Option<&'a str>,
}

impl<'a> Modes<'a> {
    fn parse(text: &'a str) -> Self {
        let mut modes = Self { offered: Vec::new(), active: None };
        for word in text.split_whitespace() {
            let active = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
            modes.offered.push(active.unwrap_or(word));
            modes.active = active.or(modes.active);
        }
        modes
    }
}

/// Whether a kernel without the file can be in this mode, as far as its version string tells
/// (init/Makefile, `build-version`): the host has the config and knows better.
fn check_fixed(wanted: &str, version: &str) -> Result<()> {
    let built_with = |flag: &str| version.split_whitespace().any(|word| word == flag);
    let possible: &[&str] = if built_with("PREEMPT_DYNAMIC") {
        return Err(Trouble::other(format!(
            "the kernel is built with PREEMPT_DYNAMIC, but {PREEMPT_FILE} is not there"
        )));
    } else if built_with("PREEMPT_LAZY") {
        &["lazy"]
    } else if built_with("PREEMPT") {
        // Full and lazy have one flag.
        &["full", "lazy"]
    } else if built_with("PREEMPT_RT") {
        &["full", "lazy"]
    } else {
        &["none", "voluntary"]
    };
    if possible.contains(&wanted) {
        return Ok(());
    }
    Err(Trouble::unavailable(format!(
        "this kernel cannot change its mode, which is {}, not {wanted}",
        possible.join(" or ")
    )))
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::FailureKind;

    use super::*;

    #[test]
    fn reads_the_mode_file() {
        let modes = Modes::parse("none (voluntary) full");
        assert_eq!(modes.offered, ["none", "voluntary", "full"]);
        assert_eq!(modes.active, Some("voluntary"));
    }

    #[test]
    fn a_mode_file_without_an_active_mode() {
        assert_eq!(Modes::parse("full lazy").active, None);
        assert!(Modes::parse("").offered.is_empty());
    }

    #[test]
    fn the_version_string_limits_a_fixed_mode() {
        let rt = "#1 SMP PREEMPT_RT Debian 6.1.192-2 (2026-06-01)";
        check_fixed("lazy", rt).unwrap();
        assert_eq!(check_fixed("none", rt).unwrap_err().kind, FailureKind::Unavailable);
        check_fixed("voluntary", "#1 SMP Debian").unwrap();
        check_fixed("full", "#1 SMP PREEMPT Debian").unwrap();
        check_fixed("lazy", "#1 SMP PREEMPT Debian 7.3.4-1").unwrap();
        assert!(check_fixed("voluntary", "#1 SMP PREEMPT Debian").is_err());
        let dynamic = check_fixed("full", "#1 SMP PREEMPT_DYNAMIC Debian").unwrap_err();
        assert_eq!(dynamic.kind, FailureKind::Other);
    }
}
