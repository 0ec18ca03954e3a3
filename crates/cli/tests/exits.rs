//! Tests of commands that fail at the start or on the way: with an exit code of their own and a
//! sentence, before any work.

mod common;

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use common::{Desk, Finished};
use rustix::process::{Pid, Signal, kill_process};

const SMALL: &str = r#"format = 1
name = "small"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[workload.database]
kind = "pgbench"
"#;

/// Mirror on whose port no program listens: a command that gets that far fails with a message.
const NO_MIRROR: [&str; 2] = ["--set", "mirror=http://127.0.0.1:9/debian"];

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    desk
}

/// Checks the message of `run small.toml`, which must fail before it asks a mirror.
#[track_caller]
fn refused(desk: &Desk, arguments: &[&str], code: i32, said: &[&str]) {
    let finished = desk.run(&[&["run", "small.toml"], arguments, &NO_MIRROR].concat());
    finished.fails(code, said);
    assert!(!finished.stderr.contains("127.0.0.1"), "{}", finished.stderr);
    assert!(!desk.path("runs/small").exists(), "it left a folder");
}

/// Returns a shell command in which `preemptlab` is the program.
fn shell(desk: &Desk, line: &str) -> Command {
    let inner = desk.command(&[]);
    let program = inner.get_program().to_str().unwrap().to_owned();
    let mut command = Command::new("sh");
    command.args(["-c", &line.replace("preemptlab", &program)]).current_dir(desk.path(""));
    command.env("PREEMPTLAB_STORE", desk.path("store")).env("NO_COLOR", "1");
    command
}

fn of_shell(desk: &Desk, line: &str) -> Finished {
    Finished::new(shell(desk, line).output().unwrap())
}

#[test]
fn names_in_options_are_checked_before_anything_is_brought_here() {
    let desk = desk();
    let until = ["--until", "5%", "--metric"];
    refused(
        &desk,
        &[&until[..], &["responce.p99"]].concat(),
        2,
        &["no workload has the metric `responce.p99`", "did you mean `response.p99`?"],
    );
    refused(&desk, &[&until[..], &["wakeup.fifo.max"]].concat(), 2, &["no workload has"]);
    refused(
        &desk,
        &["--baseline", "debian:6.12/lazy"],
        2,
        &["has no configuration", "did you mean"],
    );
    refused(&desk, &["--baseline", "debian:6.1/none"], 2, &["did you mean `debian:6.12/none`?"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_noticed_first() {
    let desk = desk();
    desk.write("file", "");
    refused(&desk, &["--out", "file"], 2, &["file cannot hold a recording: it is no folder"]);
    refused(&desk, &["--out", "file/x"], 2, &["file/x cannot hold a recording"]);
    fs::create_dir(desk.path("thesis")).unwrap();
    desk.write("thesis/thesis.tex", "");
    refused(&desk, &["--out", "thesis"], 2, &["thesis is not empty and is not a recording"]);
    // The folder of a run that did not begin is removed.
    let finished = desk.run(&[&["run", "small.toml"][..], &NO_MIRROR].concat());
    finished.fails(4, &["127.0.0.1:9"]);
    assert!(!desk.path("runs/small").exists());
}

#[test]
fn a_store_that_programs_would_misread_is_refused() {
    let desk = desk();
    for store in ["a:b", "a;b", "a$b", "a\"b", "a\nb"] {
        refused(&desk, &["--store", store], 2, &["the store cannot be", "--store"]);
        assert!(!desk.path(store).exists(), "{store}");
    }
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let desk = desk();
    for arguments in ["--version", "--help", "run --help", "util completions bash"] {
        of_shell(&desk, &format!("preemptlab {arguments} >&-")).fails(4, &["it is closed"]);
        of_shell(&desk, &format!("preemptlab {arguments} >/dev/full")).fails(4, &["space"]);
        // Output that goes to `/dev/null` on purpose counts as written.
        of_shell(&desk, &format!("preemptlab {arguments} >/dev/null")).succeeds();
        of_shell(&desk, &format!("preemptlab {arguments} 2>&-")).succeeds();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let words: Vec<&str> = arguments.split(' ').collect();
        let finished = desk.command(&words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let finished = Finished::new(finished);
        assert_eq!((finished.code, finished.stderr.as_str()), (141, ""), "{arguments}");
    }
}

#[test]
fn limits_are_told_before_something_aborts() {
    let desk = desk();
    let run = "exec preemptlab run small.toml --set mirror=http://127.0.0.1:9/debian";
    of_shell(&desk, &format!("ulimit -v 1000000; {run}"))
        .fails(4, &["of address space", "976 MiB", "`ulimit -v`"]);
    of_shell(&desk, &format!("ulimit -s 128; {run}")).fails(4, &["128 KiB", "`ulimit -s`"]);
    // A command without a virtual machine needs less.
    of_shell(&desk, "ulimit -s 64; exec preemptlab util completions bash").succeeds();
    of_shell(&desk, "ulimit -v 300000; exec preemptlab util completions bash").succeeds();
}

/// The first program of apt that is run signals the whole group of processes, as a terminal does.
#[test]
fn an_interrupt_while_apt_runs_is_an_interrupt() {
    let desk = desk();
    fs::create_dir(desk.path("bin")).unwrap();
    for signal in ["INT", "TERM"] {
        for program in ["apt-config", "apt-get", "apt-cache"] {
            let script = format!("#!/bin/sh\nkill -{signal} 0\nexec sleep 60\n");
            let path = desk.write(&format!("bin/{program}"), &script);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for more in [&[][..], &["-n"]] {
            let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
            let mut command = desk.command(&[&["run", "small.toml"], more].concat());
            // A group of its own keeps the signal from this test.
            command.env("PATH", path).process_group(0);
            Finished::new(command.output().unwrap()).fails(130, &["interrupted"]);
        }
        assert!(!desk.path("runs/small").exists());
    }
}

/// Sends the command alone a signal once it has said something.
#[track_caller]
fn interrupted_at(mut command: Command, said: &str, signal: Signal) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(said)), "it never says {said}");
    kill_process(Pid::from_child(&child), signal).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("interrupted")), "{rest:?}");
}

/// Programs do not hear of a signal that a service manager or another program sends to one process.
#[test]
fn an_interrupt_of_one_process_ends_its_programs() {
    let desk = desk();
    fs::create_dir(desk.path("bin")).unwrap();
    // The real one knows the machine, and the first that would use the network takes its time.
    let script = "#!/bin/sh\ncase \"$*\" in *update*) ;; *) exec /usr/bin/apt-get \"$@\" ;; esac\n\
        for second in $(seq 100); do sleep 1 > /dev/null; done\ntouch \"$WENT_ON\"\nexit 1\n";
    let path = desk.write("bin/apt-get", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    for (option, signal) in
        [("--trace", Signal::TERM), ("-n", Signal::INT), ("--no-cache", Signal::HUP)]
    {
        let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
        let mut command = desk.command(&["run", "small.toml", option]);
        command.env("PATH", path).env("WENT_ON", desk.path("went-on"));
        interrupted_at(command, "refreshing the package lists", signal);
        assert!(!desk.path("went-on").exists(), "run {option} waits for the program's end");
        assert!(!desk.path("runs/small").exists(), "it left a folder");
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_another_process() {
    let desk = desk();
    // It makes the store.
    desk.run(&[&["run", "-n", "small.toml"][..], &NO_MIRROR].concat()).fails(4, &["127.0.0.1:9"]);
    let lock = File::options().write(true).open(desk.path("store/lock")).unwrap();
    lock.lock().unwrap();
    let is_given_back = desk.path("given-back");
    thread::scope(|scope| {
        let (done, waits) = mpsc::channel::<()>();
        let (lock, is_given_back) = (&lock, &is_given_back);
        scope.spawn(move || {
            // Without this a failing test would wait for ever.
            if waits.recv_timeout(Duration::from_secs(100)) == Err(mpsc::RecvTimeoutError::Timeout)
            {
                fs::write(is_given_back, "").unwrap();
                lock.unlock().unwrap();
            }
        });
        interrupted_at(desk.command(&["run", "small.toml"]), "waiting for another", Signal::TERM);
        drop(done);
    });
    assert!(!is_given_back.exists(), "it waits for the lock");
    assert!(!desk.path("runs/small").exists(), "it left a folder");
}

#[test]
fn a_picture_that_cannot_be_written_is_noticed_before_anything_is_played() {
    let desk = desk();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/driver-demo.toml");
    desk.write("file", "");
    for (format, path) in
        [("svg", "nowhere/a.svg"), ("svg", "file/a"), ("html", "."), ("html", "file/a.html")]
    {
        let form = format!("{format}={path}");
        let finished = desk.run(&[&["run", demo, "--format", &form][..], &NO_MIRROR].concat());
        finished.fails(4, &[&format!("cannot write {path}")]);
        assert!(!finished.stderr.contains("127.0.0.1"), "{}", finished.stderr);
    }
}
