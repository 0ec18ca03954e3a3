//! The check whether this process has the rights that cells need.

use std::{fs, path::Path};

use rustix::thread::{CapabilitySet, capabilities};

use crate::LiveError;

/// The whole of the ids, as the first user namespace maps them (user_namespaces(7)).
const ALL_IDS: [&str; 3] = ["0", "0", "4294967295"];

/// Files that container managers leave inside. They alone refuse nothing: a container may have been
/// given the machine.
const MARKS: [&str; 3] = ["/run/.containerenv", "/.dockerenv", "/run/systemd/container"];

/// Refuses a user who is not root of the machine.
///
/// # Errors
///
/// [`LiveError::NotRoot`] and [`LiveError::Container`].
pub fn check() -> Result<(), LiveError> {
    if !rustix::process::geteuid().is_root() {
        return Err(LiveError::NotRoot);
    }
    let container = |evidence: &str| Err(LiveError::Container { evidence: evidence.to_owned() });
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !map.trim().is_empty() && !map.split_whitespace().eq(ALL_IDS) {
        return container("it has a user namespace of its own");
    }
    let may = capabilities(None).is_ok_and(|sets| {
        sets.effective.contains(CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_NICE)
    });
    if may {
        return Ok(());
    }
    let mark = MARKS.into_iter().find(|mark| Path::new(mark).exists());
    let marked = mark.map(|mark| format!(", and there is {mark}")).unwrap_or_default();
    container(&format!("CAP_SYS_ADMIN or CAP_SYS_NICE is missing{marked}"))
}
