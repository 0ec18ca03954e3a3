//! Generates the output of grub-mkconfig without writing it to its place.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::tune::grub;

use crate::apply::{Error, Machine, Result};

/// Script that generates GRUB's configuration before anything is changed, so that it can be shown
/// and checked first.
///
/// In a mount namespace of its own `/etc/default` is a copy in memory that has the drop-in of
/// standard input, or none. A broken drop-in of another program breaks nothing. The namespace ends
/// with the shell, however it ends. Where the root folder is not a mount point, as in most chroots,
/// the script cannot make a namespace; `--root` from outside works there. grub-mkconfig writes to
/// standard output where it is given no file.
const SCRIPT: &str = r#"
set -e
cd "$1/etc/default"
mount -t tmpfs -o mode=755 preemptlab "$1/etc/default"
cp -a . "$1/etc/default/"
mkdir -p "$1/etc/default/grub.d"
rm -f "$1$2"
if [ "$3" = write ]; then cat >"$1$2"; fi
cd /
exec chroot "$1" grub-mkconfig
"#;

/// Largest part of a program's output that is shown, in characters.
const SAID_MAX: usize = 2000;

/// Returns the configuration with this drop-in, or without any of preemptlab's.
///
/// # Errors
///
/// When a program fails, or the configuration is not a valid script of GRUB.
pub fn config(machine: &Machine, drop_in: Option<&[u8]>) -> Result<Vec<u8>> {
    let root = match machine.is_live() {
        true => String::new(),
        false => machine.root().display().to_string(),
    };
    let action = if drop_in.is_some() { "write" } else { "remove" };
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--", "sh", "-c", SCRIPT, "sh"]);
    command.args([if root.is_empty() { "/" } else { &root }, grub::PATH, action]);
    let output = piped(&mut command, drop_in.unwrap_or_default(), "grub-mkconfig")?;
    if !output.status.success() {
        return Err(failed("grub-mkconfig", &output));
    }
    check_syntax(machine, &output.stdout)?;
    Ok(output.stdout)
}

/// Checks the configuration's syntax, as grub-mkconfig itself does where it writes to a file.
fn check_syntax(machine: &Machine, config: &[u8]) -> Result<()> {
    if !machine.path("/usr/bin/grub-script-check").exists() {
        return Ok(());
    }
    let mut command = Command::new("chroot");
    command.arg(machine.root()).arg("grub-script-check");
    let output = piped(&mut command, config, "grub-script-check")?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed("grub-script-check", &output)),
    }
}

/// Checks that a configuration boots with the words, and boots the wanted kernel.
///
/// # Errors
///
/// [`Error::NotTaken`] when it does not.
pub fn check(config: &[u8], words: &[String], release: Option<&str>) -> Result<()> {
    let config = String::from_utf8_lossy(config);
    let lines: Vec<_> = grub::linux_lines(&config).collect();
    let Some(line) = lines.iter().find(|line| grub::holds(line, words)) else {
        let reason = "no entry that grub-mkconfig generates has the parameters: something in \
                      /etc/default/grub or /etc/grub.d sets the command line in another way";
        return Err(Error::NotTaken(reason.to_owned()));
    };
    for word in words {
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let other = line.words.iter().find(|it| name(it) == name(word) && *it != word);
        if let Some(other) = other {
            let reason =
                format!("the entry would have `{other}` beside `{word}`; take it out first");
            return Err(Error::NotTaken(reason));
        }
    }
    let first = lines.first().map(|line| line.image).unwrap_or_default();
    match release {
        Some(release) if !first.ends_with(&format!("-{release}")) => Err(Error::NotTaken(format!(
            "the first entry would boot {first}: this GRUB is older than 2.12 and does not know \
                 GRUB_TOP_LEVEL; set GRUB_DEFAULT to the entry of {release}, and apply the \
                 parameters alone"
        ))),
        _ => Ok(()),
    }
}

/// Runs a program with some input, and collects its output.
fn piped(command: &mut Command, input: &[u8], program: &'static str) -> Result<Output> {
    let not_run = |error: std::io::Error| Error::Program { program, said: error.to_string() };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_run)?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // It is written beside, since both pipes may be full; one that has ended early reads no more.
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output()
    })
    .map_err(not_run)
}

fn failed(program: &'static str, output: &Output) -> Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<char> = said.trim().chars().collect();
    let said: String = said[said.len().saturating_sub(SAID_MAX)..].iter().collect();
    let said = if said.is_empty() { output.status.to_string() } else { said };
    Error::Program { program, said }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_configuration_is_held_to_what_was_asked_for() {
        let config = b"linux /boot/vmlinuz-7.2.1 root=/dev/vda ro preempt=full\n\
            linux /boot/vmlinuz-6.12.1 root=/dev/vda ro preempt=full preempt=none\n";
        check(config, &words("preempt=full"), None).unwrap();
        check(config, &words("preempt=full"), Some("7.2.1")).unwrap();
        let says = |of: &str, release| check(config, &words(of), release).unwrap_err().to_string();
        assert!(says("threadirqs", None).contains("no entry"));
        assert!(says("preempt=full", Some("6.12.1")).contains("GRUB_DEFAULT"));
        assert!(says("preempt=none", None).contains("beside"));
    }
}
