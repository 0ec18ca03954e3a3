//! `preemptlab system show`: the abilities of this machine, and the settings that its own kernel
//! really runs with.

mod settings;

use std::{path::Path, process::ExitCode};

use clap::Args;
use preemptlab_lab::Config;
use preemptlab_model::Distro;
use preemptlab_provision::{
    Mirror, has_apt,
    needs::{KEYRINGS, PROGRAMS},
};
use preemptlab_report::{Cell, Column, Table, Tone, yes_or_no};
use preemptlab_system::{
    host::{Evidence, HostKernel, Kvm, kvm, naming},
    state::{Ability, AppliedSettings, Check, MachineState},
};

use crate::{
    args::{Format, formats},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Tell what this machine can run, and what its own kernel really runs with
#[derive(Args, Debug)]
pub struct Show {
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
}

/// Free space that the quick study needs, in bytes: at least a GiB of packages, kernels and
/// snapshots.
const FREE_BYTES_MIN: u64 = 2 << 30;

/// Prints the abilities of this machine, and the settings that its own kernel really runs with.
pub fn execute(args: &Show, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let checks = checks(config, output);
    let kernel = HostKernel::observe(Path::new("/"));
    let document = MachineState {
        format: 1,
        backends: backends(checks.iter().all(|check| check.ok)),
        checks,
        naming: naming(&kernel),
        settings: AppliedSettings::observe(&kernel),
        kernel,
    };
    output.print(&table(&document), args.format, &document)?;
    let missing = document.checks.iter().any(|check| !check.ok);
    Ok(ExitCode::from(if missing || document.settings.is_amiss() { exit::NO } else { exit::OK }))
}

fn checks(config: &Config, output: &Output) -> Vec<Check> {
    vec![
        Check::new("package tools", programs()),
        Check::new("archive keys", Ok(keyring())),
        Check::new("package mirror", mirror(config)),
        Check::new("store", store_and_space(config, output)),
    ]
}

fn programs() -> Result<String, (String, Option<String>)> {
    if !has_apt() {
        return Ok(
            "none needed: without apt, preemptlab fetches and checks packages itself".to_owned()
        );
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<_> = PROGRAMS.into_iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok("apt and gpgv are there".to_owned());
    }
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    let mend = format!("sudo {}", Distro::Debian.install(&packages).join(" "));
    Err((format!("{} missing", programs.join(", ")), Some(mend)))
}

/// Returns the file of Debian's archive keys; apt gets preemptlab's own where it has none.
fn keyring() -> String {
    let installed = KEYRINGS.into_iter().find(|path| Path::new(path).exists());
    installed.filter(|_| has_apt()).unwrap_or("those that preemptlab brings").to_owned()
}

fn mirror(config: &Config) -> Result<String, (String, Option<String>)> {
    Mirror::find(config.mirror()).map(|mirror| mirror.main).map_err(|error| {
        (error.to_string(), Some("preemptlab system show --set mirror=URL".to_owned()))
    })
}

fn store_and_space(config: &Config, output: &Output) -> Result<String, (String, Option<String>)> {
    let mend = || Some("preemptlab system show --store FOLDER".to_owned());
    let shown = Shown::new(output);
    let lab = lab::here(config, None, &shown);
    let store = lab.open_store().map_err(|error| (error.to_string(), mend()))?;
    let free = rustix::fs::statvfs(store.root())
        .map_err(|error| (error.to_string(), mend()))
        .map(|space| space.f_bavail * space.f_frsize)?;
    let root = store.root().display();
    if free < FREE_BYTES_MIN {
        return Err((format!("{root} has {:.1} GB free, 2 are needed", free as f64 / 1e9), mend()));
    }
    Ok(format!("{root}, {:.0} GB free", free as f64 / 1e9))
}

fn backends(vm_usable: bool) -> Vec<Ability> {
    let vm = match vm_usable {
        true => "deterministic virtual time; needs no privilege".to_owned(),
        false => "mend what is missing below".to_owned(),
    };
    let (kvm_usable, kvm_finding) = match kvm(Path::new("/")) {
        Kvm::Usable => {
            (true, "/dev/kvm opens; whether guests run, `run --backend kvm` tells".to_owned())
        }
        Kvm::Absent => (false, "there is no /dev/kvm".to_owned()),
        Kvm::Refused(reason) => (false, format!("/dev/kvm does not open: {reason}")),
    };
    vec![
        Ability { name: "vm", usable: vm_usable, finding: vm },
        Ability { name: "kvm", usable: kvm_usable, finding: kvm_finding },
        host_backend(),
    ]
}

fn host_backend() -> Ability {
    let (usable, finding) = match preemptlab_backend_host::check() {
        Err(error) => (false, error.to_string()),
        Ok(()) if preemptlab_backend_host::is_left_behind() => (
            true,
            "a killed run has left the kernel switched; the next one gives it back".to_owned(),
        ),
        Ok(()) => (true, "the running kernel, in its own time".to_owned()),
    };
    Ability { name: "host", usable, finding }
}

fn table(document: &MachineState) -> Table {
    let columns = [Column::left("this machine"), Column::left(""), Column::left("finding")];
    let mut table = Table::new("", columns);
    let verdict = |ok: bool| match ok {
        true => Cell::new("ok", Tone::Better),
        false => Cell::new("missing", Tone::Worse),
    };
    for backend in &document.backends {
        let word = match backend.usable {
            true => Cell::new("usable", Tone::Better),
            false => Cell::new("not usable", Tone::Faint),
        };
        let name = format!("backend {}", backend.name);
        table.row([Cell::from(name), word, Cell::from(backend.finding.clone())]);
    }
    for check in &document.checks {
        table.row([Cell::from(check.what), verdict(check.ok), Cell::from(check.finding.clone())]);
        if let Some(mend) = &check.mend {
            table.row([Cell::default(), Cell::from("try"), Cell::new(mend.clone(), Tone::Strong)]);
        }
    }
    let kernel = &document.kernel;
    table.span(Cell::new("Its own kernel, by its own files", Tone::Strong));
    for (what, value, finding) in kernel_rows(kernel) {
        table.row([what.to_owned(), value, finding]);
    }
    table.row(["its name", "", &document.naming]);
    settings::rows(&document.settings, &mut table);
    table
}

/// Returns the note on a state that no file shows.
fn ask() -> &'static str {
    match rustix::process::geteuid().is_root() {
        true => "this kernel does not let its debugfs be read",
        false => "`sudo preemptlab system show` asks the kernel",
    }
}

fn kernel_rows(kernel: &HostKernel) -> Vec<(&'static str, String, String)> {
    let unknown = || "unknown".to_owned();
    let mode = kernel.mode.active.map_or_else(unknown, |mode| mode.to_string());
    let how = match kernel.mode.evidence {
        Evidence::Kernel => "the kernel says so (debugfs sched/preempt)".to_owned(),
        Evidence::Config => "its config leaves no other".to_owned(),
        Evidence::Inferred => {
            format!("inferred from config and command line; {}", ask())
        }
        Evidence::None => {
            format!("its config is not on this machine; {}", ask())
        }
    };
    let offered: Vec<&str> = kernel.mode.offered.iter().map(|mode| mode.as_str()).collect();
    let parameter = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let yes = |value: bool| yes_or_no(Some(value)).to_owned();
    let mut rows = vec![
        ("release", kernel.release.clone(), kernel.version.clone()),
        ("preemption mode", mode, how),
    ];
    if !offered.is_empty() {
        rows.push(("modes on offer", String::new(), offered.join(", ")));
    }
    rows.extend([
        ("rt", yes(kernel.rt), "PREEMPT_RT, whatever uname says".to_owned()),
        (
            "HZ",
            kernel.hz.map_or_else(unknown, |hz| hz.to_string()),
            "the resolution of CLOCK_MONOTONIC_COARSE is one tick".to_owned(),
        ),
        (
            "clock source",
            kernel.clocksource.clone().unwrap_or_else(unknown),
            "current_clocksource".to_owned(),
        ),
        ("nohz_full", parameter(&kernel.nohz_full), "as the kernel took it".to_owned()),
        ("isolated CPUs", parameter(&kernel.isolated), "as the kernel took it".to_owned()),
        ("rcu_nocbs", parameter(&kernel.rcu_nocbs), "from the command line".to_owned()),
        (
            "threaded interrupts",
            yes(kernel.threaded_interrupts),
            "rt, or threadirqs on the command line".to_owned(),
        ),
        (
            "RT throttling",
            kernel.sched_rt_runtime_us.map_or_else(unknown, |us| format!("{us} us")),
            "sched_rt_runtime_us; -1 is none".to_owned(),
        ),
    ]);
    rows
}
