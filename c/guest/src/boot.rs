//! What is done once per boot, before the snapshot.

use alloc::{ffi::CString, format};

use preemptlab_protocol::{BOOT_FILE, BootConfig, Command, FORMAT, System};
use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, open, unlink},
    io::Errno,
    mount::{MountFlags, mount},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
    system::finit_module,
};

use crate::{
    clock::NS_PER_SEC,
    command::Waiting,
    file, kernel, login, network, settings, system,
    trouble::{Attempt, Result, Trouble},
};

const BOOT_FILE_BYTES_MAX: usize = 1 << 20;

/// Filesystem type and mount point, in order.
const MOUNTS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("debugfs", "/sys/kernel/debug"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/dev/shm"),
];

/// Mounts, loads the modules, runs the preparations, and describes the system that came up.
pub fn boot() -> Result<System> {
    for (kind, folder) in MOUNTS {
        match mkdirat(CWD, folder, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).attempt(|| format!("make {folder}")),
        }
        mount(kind, folder, kind, MountFlags::NOSUID, None)
            .attempt(|| format!("mount {kind} on {folder}"))?;
    }
    leave_console().attempt(|| "open /dev/null".into())?;
    network::bring_up_loopback()?;
    let config = config()?;
    let cmdline = file::read_kernel("/proc/cmdline").attempt(|| "read /proc/cmdline".into())?;
    for module in &config.modules {
        load(module, &cmdline)?;
    }
    kernel::block_child_signal().attempt(|| "block SIGCHLD".into())?;
    for command in &config.prepare {
        prepare(command)?;
    }
    system::observe()
}

/// Replaces the console, which the kernel opened as standard input and output, by /dev/null.
pub fn leave_console() -> core::result::Result<(), Errno> {
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)
}

pub fn config() -> Result<BootConfig> {
    let bytes =
        file::read(BOOT_FILE, BOOT_FILE_BYTES_MAX).attempt(|| format!("read {BOOT_FILE}"))?;
    let config: BootConfig = serde_json::from_slice(&bytes)
        .map_err(|error| Trouble::other(format!("{BOOT_FILE} cannot be read: {error}")))?;
    if config.format != FORMAT {
        return Err(Trouble::other(format!(
            "{BOOT_FILE} has format {}, this guest reads {FORMAT}",
            config.format
        )));
    }
    Ok(config)
}

/// Loads a module and removes its file, which is memory of the guest.
fn load(path: &str, cmdline: &str) -> Result<()> {
    let file_name = path.rsplit('/').next().unwrap_or(path);
    let name = file_name.strip_suffix(".ko").unwrap_or(file_name);
    let parameters = settings::module_parameters(cmdline, name);
    let parameters = CString::new(parameters).unwrap_or_default();
    file::open(path)
        .and_then(|module| finit_module(module, &parameters, 0))
        .and_then(|()| unlink(path))
        .attempt(|| format!("load the module {path}"))
}

/// Runs a command to its end, which must be good.
pub fn prepare(command: &Command) -> Result<()> {
    login::prepare_children().attempt(|| "set init's timer slack".into())?;
    let mut running = Waiting::new(command)?.start()?;
    while running.is_alive() {
        kernel::wait_child_signal(NS_PER_SEC);
        running.look()?;
    }
    if running.has_succeeded() {
        return Ok(());
    }
    Err(Trouble::other(format!("the preparation failed: {}", running.describe_end())))
}
