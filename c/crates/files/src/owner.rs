use std::{
    fmt, fs,
    sync::atomic::{AtomicU64, Ordering},
};

/// A process, identified by machine, boot and process namespace. A folder that several machines
/// share needs all of these, because a process number means nothing on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The hash of the machine's identity and name; `None` on a machine without an identity.
    machine: Option<u64>,
    /// The kernel's `boot_id`, without dashes.
    boot: String,
    /// The inode of the process's PID namespace.
    namespace: u64,
    process: u32,
    /// The start in clock ticks since the boot, which distinguishes processes with one number.
    started: u64,
}

impl Owner {
    /// Identifies this process; `None` where procfs cannot be read.
    pub fn this() -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
        let namespace = namespace.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok();
        let process = std::process::id();
        let machine = fs::read_to_string("/etc/machine-id").ok().and_then(|id| {
            let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
            let named = id.trim().len() == 32;
            named.then(|| fnv1a(format!("{} {}", id.trim(), name.trim()).as_bytes()))
        });
        Some(Self {
            machine,
            boot: boot.trim().replace('-', ""),
            namespace: namespace?,
            process,
            started: started(process)?,
        })
    }

    /// Reads the text that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let machine = match parts.next()? {
            "" => None,
            machine => Some(u64::from_str_radix(machine, 16).ok()?),
        };
        let boot = parts.next().filter(|boot| boot.len() == 32)?.to_owned();
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (namespace, process, started) = (number()?, number()?, number()?);
        Some(Self { machine, boot, namespace, process: process.try_into().ok()?, started })
    }

    /// Returns whether the process has certainly ended. A process that this machine cannot see has
    /// not.
    pub fn is_gone(&self) -> bool {
        let Some(this) = Self::this() else { return false };
        if self.boot != this.boot {
            // The same machine has booted again since.
            return self.machine.is_some() && self.machine == this.machine;
        }
        self.namespace == this.namespace && started(self.process) != Some(self.started)
    }

    /// Returns the process number, which has a meaning on its own machine only.
    pub fn process(&self) -> u32 {
        self.process
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, boot, namespace, process, started } = self;
        if let Some(machine) = machine {
            write!(f, "{machine:x}")?;
        }
        write!(f, "-{boot}-{namespace}-{process}-{started}")
    }
}

/// Returns a number that this process uses only once.
pub(crate) fn serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns the start of a process (proc_pid_stat(5), `starttime`); `None` when there is no such
/// process, or when it is a zombie.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold anything, a parenthesis too.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Computes the hash of Fowler, Noll and Vo, which is the same in every version of every program.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_owner_is_read_as_it_was_written() {
        let this = Owner::this().unwrap();
        assert_eq!(Owner::parse(&this.to_string()), Some(this.clone()));
        let nameless = Owner { machine: None, ..this };
        assert_eq!(Owner::parse(&nameless.to_string()), Some(nameless));
        for text in ["", "abc", "-", "1-2-3-4-5", "x-00000000000000000000000000000000-1-2-3"] {
            assert_eq!(Owner::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_who_is_known_to_be_gone_is_gone() {
        let this = Owner::this().unwrap();
        assert!(!this.is_gone());
        assert!(Owner { started: this.started + 1, ..this.clone() }.is_gone());
        let mut child = Command::new("true").spawn().unwrap();
        let process = child.id();
        child.wait().unwrap();
        assert!(Owner { process, ..this.clone() }.is_gone());
        // This process cannot know whether these run.
        let elsewhere = Owner { namespace: 1, started: 1, ..this.clone() };
        assert!(!elsewhere.is_gone());
        let boot = "0".repeat(32);
        let other = Owner { machine: Some(1), boot: boot.clone(), ..this.clone() };
        assert!(!other.is_gone());
        assert!(!Owner { machine: None, boot: boot.clone(), ..this.clone() }.is_gone());
        // The machine has booted since.
        let before = Owner { machine: Some(7), boot, ..this.clone() };
        assert_eq!(before.is_gone(), this.machine == Some(7));
    }
}
