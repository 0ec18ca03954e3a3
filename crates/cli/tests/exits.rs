//! Tests of commands that fail at the start or on the way: with an exit code of their own and a
//! sentence, before any work.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::common::{Desk, Finished};
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

#[test]
fn a_command_that_cannot_succeed_fails_before_any_work() {
    Desk::new().replays("exits");
}

#[test]
fn the_folder_of_a_run_that_did_not_begin_is_removed() {
    let desk = desk();
    let finished = desk.run(&[&["run", "small.toml"][..], &NO_MIRROR].concat());
    finished.fails(4, &["127.0.0.1:9"]);
    assert!(!desk.path("runs/small").exists());
}

#[test]
fn a_reader_that_has_gone_ends_a_command_in_silence() {
    let desk = desk();
    for arguments in ["--version", "--help", "run --help", "util completions bash"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let words: Vec<&str> = arguments.split(' ').collect();
        let mut command = desk.command(&words);
        let finished = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let finished = Finished::new(finished);
        assert_eq!((finished.code, finished.stderr.as_str()), (141, ""), "{arguments}");
    }
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
