//! The module that executes benchmarks in this machine's kernel.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use rustix::{io::Errno, system};

use crate::CalibrateError;

/// Name of the module.
pub const MODULE: &str = "preemptlab_micro";

/// The bit of `CAP_SYS_MODULE` (`capabilities(7)`).
const CAP_SYS_MODULE: u32 = 16;

/// The files of a kernel that are read here are shorter.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Finds the build tree of a machine's kernel, whose files are below `root`.
///
/// # Errors
///
/// [`CalibrateError::NoModule`] with the first reason why the kernel would take no module, and the next
/// step.
pub fn build_tree(root: &Path, release: &str) -> Result<PathBuf, CalibrateError> {
    let refused = |reason: String| Err(CalibrateError::NoModule(reason));
    let without = "calibrate without `--root`";
    if !may_load(root) {
        return refused(
            "this process may not load one (it lacks CAP_SYS_MODULE); execute `sudo preemptlab system calibrate \
             --root`, on the machine itself and not in a container"
                .to_owned(),
        );
    }
    if !root.join("proc/modules").exists() {
        return refused(format!(
            "the kernel {release} was built without CONFIG_MODULES; boot a kernel with modules, or {without}"
        ));
    }
    if says(root, "proc/sys/kernel/modules_disabled", |text| text.trim() == "1") {
        return refused(format!(
            "kernel.modules_disabled is 1, so no module is loaded until the next boot; boot again without \
             that setting, or {without}"
        ));
    }
    let is_locked = |text: &str| text.contains("[integrity]") || text.contains("[confidentiality]");
    if says(root, "sys/kernel/security/lockdown", is_locked) {
        return refused(format!(
            "the kernel is locked down (/sys/kernel/security/lockdown), so it loads signed modules only, \
             and this one is built here; switch off Secure Boot or the parameter `lockdown=`, or {without}"
        ));
    }
    if says(root, "sys/module/module/parameters/sig_enforce", |text| text.trim() == "Y") {
        return refused(format!(
            "the kernel loads signed modules only (module.sig_enforce), and this one is built here; boot \
             without that parameter, or {without}"
        ));
    }
    let tree = root.join("lib/modules").join(release).join("build");
    // A kernel whose headers are not installed has a link to nowhere.
    match fs::canonicalize(&tree) {
        Ok(found) if found.join("Makefile").is_file() => Ok(found),
        _ => refused(format!(
            "the headers of the running kernel are not installed: {} leads to no build tree; `apt install \
             linux-headers-{release}` on Debian, or {without}",
            tree.display()
        )),
    }
}

/// Returns whether the process may load modules.
fn may_load(root: &Path) -> bool {
    says(root, "proc/self/status", |text| {
        let mask = text.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & 1 << CAP_SYS_MODULE != 0)
    })
}

/// Returns whether a file is there and says so.
fn says(root: &Path, path: &str, what: impl Fn(&str) -> bool) -> bool {
    use io::Read;
    let read = || -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(root.join(path))?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    };
    read().is_ok_and(|text| what(&text))
}

/// Loads and unloads the module.
pub trait Loader {
    /// Loads the module.
    ///
    /// # Errors
    ///
    /// Those of `init_module(2)`.
    fn load(&self, module: &[u8]) -> io::Result<()>;

    /// Unloads the module.
    ///
    /// # Errors
    ///
    /// Those of `delete_module(2)`.
    fn unload(&self) -> io::Result<()>;
}

/// The kernel of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisKernel;

impl Loader for ThisKernel {
    fn load(&self, module: &[u8]) -> io::Result<()> {
        Ok(system::init_module(module, c"")?)
    }

    fn unload(&self) -> io::Result<()> {
        let name = std::ffi::CString::new(MODULE).expect("a name has no NUL");
        // O_NONBLOCK: an error, not a wait, where another process uses the module.
        Ok(system::delete_module(&name, rustix::fs::OFlags::NONBLOCK.bits() as i32)?)
    }
}

/// The module while it is loaded; dropped, it is unloaded.
#[derive(Debug)]
pub struct Loaded<L: Loader>(Option<L>);

impl<L: Loader> Loaded<L> {
    /// Loads the module. One that a killed calibration has left is unloaded first.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::NoModule`] with the kernel's reason.
    pub fn load(loader: L, module: &[u8]) -> Result<Self, CalibrateError> {
        let mut loaded = loader.load(module);
        if loaded.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
            loader.unload().map_err(|error| stays(&error))?;
            loaded = loader.load(module);
        }
        loaded.map_err(|error| CalibrateError::NoModule(reason(&error)))?;
        Ok(Self(Some(loader)))
    }

    /// Unloads the module.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::NoModule`] where it stays, with the next step.
    pub fn unload(mut self) -> Result<(), CalibrateError> {
        let loader = self.0.take().expect("it is loaded until here");
        loader.unload().map_err(|error| stays(&error))
    }
}

impl<L: Loader> Drop for Loaded<L> {
    fn drop(&mut self) {
        // Another error is on its way; the next calibration unloads a module that stays.
        if let Some(loader) = self.0.take() {
            let _ = loader.unload();
        }
    }
}

fn stays(error: &io::Error) -> CalibrateError {
    CalibrateError::NoModule(format!(
        "it cannot be unloaded ({error}); end what uses /proc/{MODULE} and execute `rmmod {MODULE}`"
    ))
}

/// Says why the kernel has not taken the module.
fn reason(error: &io::Error) -> String {
    let without = "or calibrate without `--root`";
    match Errno::from_io_error(error) {
        Some(Errno::KEYREJECTED | Errno::NOKEY | Errno::BADMSG) => format!(
            "the kernel loads signed modules only ({error}); boot it without Secure Boot and without \
             module.sig_enforce, {without}"
        ),
        Some(Errno::PERM) => format!(
            "the kernel refuses it ({error}); `dmesg` names the security module or the lockdown that does, \
             {without}"
        ),
        Some(Errno::NOEXEC | Errno::INVAL | Errno::NOENT) => format!(
            "the kernel cannot use it ({error}), as where the headers are of another build than the \
             running kernel; `dmesg` says why: install the headers of that build, {without}"
        ),
        Some(Errno::NODEV) => format!(
            "the kernel does not know the frequency of the TSC ({error}), which times are measured with; \
             calibrate without `--root`"
        ),
        _ => format!("the kernel does not load it ({error}); `dmesg` may say why, {without}"),
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, os::unix::fs::symlink};

    use super::*;

    /// A machine whose kernel loads modules.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| write(root.path(), path, text);
        write("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
        write("proc/modules", "");
        write("proc/sys/kernel/modules_disabled", "0\n");
        write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        write("sys/module/module/parameters/sig_enforce", "N\n");
        write("usr/src/linux-headers-6.12.1-mine/Makefile", "modules:\n");
        fs::create_dir_all(root.path().join("lib/modules/6.12.1-mine")).unwrap();
        let build = root.path().join("lib/modules/6.12.1-mine/build");
        symlink("../../../usr/src/linux-headers-6.12.1-mine", build).unwrap();
        root
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_kernel_that_loads_modules_names_its_build_tree() {
        let root = machine();
        let tree = build_tree(root.path(), "6.12.1-mine").unwrap();
        assert!(tree.ends_with("usr/src/linux-headers-6.12.1-mine"), "{tree:?}");
        // A kernel without lockdown has no such file, and one without signatures no such parameter.
        fs::remove_dir_all(root.path().join("sys")).unwrap();
        build_tree(root.path(), "6.12.1-mine").unwrap();
    }

    #[test]
    fn each_obstacle_is_named_with_the_next_command() {
        for (path, text, said) in [
            (
                "proc/self/status",
                "CapEff:\t0000000000000000\n",
                ["CAP_SYS_MODULE", "sudo preemptlab system calibrate --root"],
            ),
            ("proc/self/status", "CapEff:\t1fffffeffff\n", ["CAP_SYS_MODULE", "container"]),
            ("proc/self/status", "nothing", ["CAP_SYS_MODULE", "sudo"]),
            ("proc/sys/kernel/modules_disabled", "1\n", ["modules_disabled", "boot again"]),
            (
                "sys/kernel/security/lockdown",
                "none [integrity] x\n",
                ["locked down", "Secure Boot"],
            ),
            (
                "sys/kernel/security/lockdown",
                "none [confidentiality]\n",
                ["locked down", "`--root`"],
            ),
            ("sys/module/module/parameters/sig_enforce", "Y\n", ["sig_enforce", "boot without"]),
        ] {
            let root = machine();
            write(root.path(), path, text);
            let refused = build_tree(root.path(), "6.12.1-mine").unwrap_err().to_string();
            assert!(said.iter().all(|said| refused.contains(said)), "{path}: {refused}");
        }
        let root = machine();
        fs::remove_file(root.path().join("proc/modules")).unwrap();
        let refused = build_tree(root.path(), "6.12.1-mine").unwrap_err().to_string();
        assert!(refused.contains("without CONFIG_MODULES"), "{refused}");
        let root = machine();
        fs::remove_dir_all(root.path().join("usr")).unwrap();
        for release in ["6.12.1-mine", "6.12.2-mine"] {
            let refused = build_tree(root.path(), release).unwrap_err().to_string();
            let next = format!("apt install linux-headers-{release}");
            assert!(refused.contains(&next), "{refused}");
        }
    }

    /// A kernel that takes note of its calls, and answers with these errors in turn.
    #[derive(Debug, Default)]
    struct Fake {
        done: RefCell<Vec<&'static str>>,
        errors: RefCell<Vec<Option<Errno>>>,
    }

    impl Fake {
        fn failing(errors: &[Option<Errno>]) -> Self {
            let errors = errors.iter().rev().copied().collect();
            Self { errors: RefCell::new(errors), ..Self::default() }
        }

        fn answer(&self, what: &'static str) -> io::Result<()> {
            self.done.borrow_mut().push(what);
            let error = self.errors.borrow_mut().pop().flatten();
            error.map_or(Ok(()), |errno| Err(errno.into()))
        }
    }

    impl Loader for &Fake {
        fn load(&self, _: &[u8]) -> io::Result<()> {
            self.answer("load")
        }

        fn unload(&self) -> io::Result<()> {
            self.answer("unload")
        }
    }

    #[test]
    fn the_module_is_unloaded_whatever_happens() {
        let kernel = Fake::default();
        Loaded::load(&kernel, b"").unwrap().unload().unwrap();
        assert_eq!(*kernel.done.borrow(), ["load", "unload"]);
        let interrupted = || -> Result<(), CalibrateError> {
            let _loaded = Loaded::load(&kernel, b"")?;
            Err(CalibrateError::Interrupted)
        };
        interrupted().unwrap_err();
        assert_eq!(*kernel.done.borrow(), ["load", "unload", "load", "unload"]);
    }

    #[test]
    fn a_module_that_a_killed_calibration_left_is_replaced() {
        let kernel = Fake::failing(&[Some(Errno::EXIST)]);
        drop(Loaded::load(&kernel, b"").unwrap());
        assert_eq!(*kernel.done.borrow(), ["load", "unload", "load", "unload"]);
        let used = Fake::failing(&[Some(Errno::EXIST), Some(Errno::AGAIN)]);
        let refused = Loaded::load(&used, b"").unwrap_err().to_string();
        assert!(refused.contains("rmmod preemptlab_micro"), "{refused}");
        assert_eq!(*used.done.borrow(), ["load", "unload"]);
    }

    #[test]
    fn a_kernel_that_refuses_the_module_says_why() {
        for (errno, said) in [
            (Errno::KEYREJECTED, "signed modules only"),
            (Errno::PERM, "`dmesg` names"),
            (Errno::NOEXEC, "headers are of another build"),
            (Errno::NODEV, "frequency of the TSC"),
            (Errno::NOMEM, "`dmesg` may say why"),
        ] {
            let kernel = Fake::failing(&[Some(errno)]);
            let refused = Loaded::load(&kernel, b"").unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
            // A module that was not loaded is not unloaded.
            assert_eq!(*kernel.done.borrow(), ["load"]);
        }
    }
}
