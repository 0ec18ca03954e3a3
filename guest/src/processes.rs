//! What procfs says of processes.

use alloc::{format, string::String, vec, vec::Vec};
use core::mem::MaybeUninit;

use rustix::{
    fs::{Mode, OFlags, RawDir, open},
    io::Errno,
    process::Pid,
};

use crate::{
    file::read_kernel,
    trouble::{Attempt, Result},
};

/// Room for some hundred entries of /proc at a time.
const FOLDER_BYTES: usize = 16 << 10;

/// The bytes that the processes of each group have handed to write(2) and its kin so far, with all
/// their threads. A process counts that is in the group, or in a session of the same number.
pub fn written_bytes(groups: &[Pid]) -> Result<Vec<u64>> {
    let mut written = vec![0; groups.len()];
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BYTES];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open("/proc", flags, Mode::empty()).attempt(|| "open /proc".into())?;
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.attempt(|| "read /proc".into())?;
        let Some(pid) = entry.file_name().to_str().ok().filter(|name| is_number(name)) else {
            continue;
        };
        let Some(membership) = read_of(pid, "stat")?.as_deref().and_then(Membership::parse) else {
            continue;
        };
        for (group, written) in groups.iter().zip(&mut written) {
            if membership.is_in(*group) {
                let io = read_of(pid, "io")?;
                *written += io.as_deref().and_then(wchar).unwrap_or(0);
            }
        }
    }
    Ok(written)
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// A file of a process; `None` when the process is gone.
fn read_of(pid: &str, name: &str) -> Result<Option<String>> {
    let path = format!("/proc/{pid}/{name}");
    match read_kernel(&path) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::NOENT | Errno::SRCH) => Ok(None),
        Err(errno) => Err(errno).attempt(|| format!("read {path}")),
    }
}

/// Where a process belongs.
#[derive(Debug, PartialEq, Eq)]
struct Membership {
    group: i32,
    session: i32,
}

impl Membership {
    /// From /proc/PID/stat: fields 5 and 6, counted from behind the name, which may hold anything.
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(2).map(str::parse);
        Some(Self { group: fields.next()?.ok()?, session: fields.next()?.ok()? })
    }

    fn is_in(&self, group: Pid) -> bool {
        [self.group, self.session].contains(&group.as_raw_pid())
    }
}

/// `wchar` of /proc/PID/io.
fn wchar(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("wchar:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_where_a_process_belongs() {
        let stat = "71 (a) b (c)) S 70 65 1 0 -1 4194560 90 0 0 0";
        assert_eq!(Membership::parse(stat), Some(Membership { group: 65, session: 1 }));
        assert_eq!(Membership::parse("71 (a) S 70"), None);
        let member = |pid| Membership::parse(stat).unwrap().is_in(Pid::from_raw(pid).unwrap());
        assert!(member(65) && member(1) && !member(71));
    }

    #[test]
    fn reads_the_written_bytes() {
        assert_eq!(wchar("rchar: 5\nwchar: 4200\nsyscr: 3\nwrite_bytes: 9\n"), Some(4200));
        assert_eq!(wchar("rchar: 5\n"), None);
    }
}
