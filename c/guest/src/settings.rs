//! Puts a job's settings into force and proves that they are.

use alloc::{format, string::String, vec::Vec};

use preemptlab_protocol::{Evidence, Refusal, Setting, Write};
use rustix::io::Errno;

use crate::{
    file::{read_kernel, write_kernel},
    processes,
    trouble::{self, Attempt, Result, Trouble},
};

/// What init was started with and in: words of the command line that the kernel does not know
/// (`unknown_bootoption` in init/main.c).
const HANDED_ON: [&str; 2] = ["/proc/self/cmdline", "/proc/self/environ"];

/// Puts settings into force, in their order, and then proves each: one that a later one undid is
/// not in force.
pub fn apply(settings: &[Setting]) -> Result<()> {
    for setting in settings {
        if let Some(to) = &setting.write {
            write(setting, to)?;
        }
    }
    for setting in settings {
        for evidence in &setting.evidence {
            check(setting, evidence)?;
        }
    }
    Ok(())
}

fn write(setting: &Setting, to: &Write) -> Result<()> {
    let file = &to.file;
    match write_kernel(file, &to.text) {
        Err(Errno::NOENT) => Err(lacks(setting, file)),
        result => result.map_err(|errno| refused(setting, to, errno)),
    }
}

/// The kernel has the file and did not take the text. What that means for the cell the host knows.
fn refused(setting: &Setting, Write { file, text }: &Write, errno: Errno) -> Trouble {
    let name = &setting.name;
    let reason = format!(
        "this kernel refuses the setting {name} ({file} does not take `{text}`: {})",
        trouble::name(errno)
    );
    let refusal = Refusal {
        setting: name.clone(),
        file: file.clone(),
        text: text.clone(),
        errno: errno.raw_os_error(),
    };
    Trouble { refusal: Some(refusal), ..Trouble::other(reason) }
}

fn check(setting: &Setting, evidence: &Evidence) -> Result<()> {
    match evidence {
        Evidence::Text { file, any_of } => {
            let text = read(setting, file)?;
            if any_of.contains(&text) {
                return Ok(());
            }
            Err(not_in_force(setting, &format!("{file} holds `{text}`")))
        }
        Evidence::Word { file, word } => {
            let text = read(setting, file)?;
            if text.split_whitespace().any(|each| each == word) {
                return Ok(());
            }
            Err(not_in_force(setting, &format!("{file} does not hold `{word}`")))
        }
        Evidence::Known { parameter } => {
            for file in HANDED_ON {
                if read(setting, file)?.split('\0').any(|word| word == parameter) {
                    return Err(Trouble::unavailable(format!(
                        "this kernel does not know the parameter {parameter}"
                    )));
                }
            }
            Ok(())
        }
        Evidence::KernelThread { any_of } => {
            let threads = processes::kernel_threads()?;
            let begins =
                |prefix: &String| threads.values().any(|thread| thread.name.starts_with(&**prefix));
            if any_of.iter().any(begins) {
                return Ok(());
            }
            let missing = any_of.join("* or ");
            Err(not_in_force(setting, &format!("there is no kernel thread {missing}*")))
        }
    }
}

fn read(setting: &Setting, file: &str) -> Result<String> {
    match read_kernel(file) {
        Err(Errno::NOENT) => Err(lacks(setting, file)),
        result => result.attempt(|| format!("read {file}")),
    }
}

fn lacks(setting: &Setting, file: &str) -> Trouble {
    Trouble::unavailable(format!("this kernel lacks the setting {} ({file})", setting.name))
}

fn not_in_force(setting: &Setting, because: &str) -> Trouble {
    Trouble::unavailable(format!("the setting {} is not in force: {because}", setting.name))
}

/// The parameters of a module that the kernel's command line holds, as modprobe(8) finds them:
/// words `MODULE.PARAMETER=VALUE`, where `-` and `_` are the same in the module's name.
pub fn module_parameters(cmdline: &str, module: &str) -> String {
    let same = |name: &str| name.replace('-', "_") == module.replace('-', "_");
    let parameters: Vec<&str> = cmdline
        .split_whitespace()
        .filter_map(|word| word.split_once('.'))
        .filter(|(name, _)| same(name))
        .map(|(_, parameter)| parameter)
        .collect();
    parameters.join(" ")
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, string::ToString};

    use preemptlab_protocol::FailureKind;

    use super::*;

    /// A file of this test alone, which is gone with it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, text: &str) -> Self {
            let name = format!("preemptlab-settings-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, text).unwrap();
            Self(path)
        }

        fn path(&self) -> String {
            self.0.to_str().unwrap().to_string()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn setting(write: Option<Write>, evidence: Evidence) -> Setting {
        Setting { name: "switch".into(), write, evidence: [evidence].into() }
    }

    #[test]
    fn what_is_written_must_be_read_again() {
        let file = Scratch::new("written", "old");
        let text = |text: &str| Evidence::Text { file: file.path(), any_of: [text.into()].into() };
        let write = || Some(Write { file: file.path(), text: "new".into() });
        apply(&[setting(write(), text("new"))]).unwrap();
        let trouble = apply(&[setting(write(), text("newer"))]).unwrap_err();
        assert_eq!(trouble.kind, FailureKind::Unavailable);
        assert!(trouble.reason.contains("switch is not in force"), "{}", trouble.reason);
    }

    #[test]
    fn what_a_later_setting_undoes_is_not_in_force() {
        let file = Scratch::new("undone", "old");
        let set = |text: &str| {
            let evidence = Evidence::Text { file: file.path(), any_of: [text.into()].into() };
            setting(Some(Write { file: file.path(), text: text.into() }), evidence)
        };
        assert!(apply(&[set("new"), set("newer")]).is_err());
    }

    #[test]
    fn a_missing_file_is_a_missing_switch() {
        let file = "/nonexistent/switch".to_string();
        let evidence = Evidence::Text { file: file.clone(), any_of: ["1".into()].into() };
        for write in [None, Some(Write { file, text: "1".into() })] {
            let trouble = apply(&[setting(write, evidence.clone())]).unwrap_err();
            assert_eq!(trouble.kind, FailureKind::Unavailable);
            assert!(trouble.reason.contains("lacks the setting switch"), "{}", trouble.reason);
        }
    }

    #[test]
    fn a_refusal_names_the_setting_and_the_errors_number() {
        let write = Write { file: "/proc/self/oom_score_adj".into(), text: "9999".into() };
        let evidence = Evidence::Text { file: write.file.clone(), any_of: ["9999".into()].into() };
        let trouble = apply(&[setting(Some(write.clone()), evidence)]).unwrap_err();
        let Write { file, text } = write;
        let errno = Errno::INVAL.raw_os_error();
        let refusal = Refusal { setting: "switch".into(), file, text, errno };
        assert_eq!(trouble.refusal, Some(refusal));
        assert!(trouble.reason.contains("refuses the setting switch"), "{}", trouble.reason);
        assert!(trouble.reason.contains("does not take `9999`: EINVAL"), "{}", trouble.reason);
    }

    #[test]
    fn words_are_found_whole() {
        let file = Scratch::new("words", "FIRST NO_SECOND\n");
        let word = |word: &str| {
            apply(&[setting(None, Evidence::Word { file: file.path(), word: word.into() })])
        };
        word("NO_SECOND").unwrap();
        assert!(word("SECOND").is_err());
    }

    #[test]
    fn an_unknown_parameter_was_handed_on() {
        let known = Evidence::Known { parameter: "preemptlab-nonsense=1".into() };
        apply(&[setting(None, known)]).unwrap();
    }

    #[test]
    fn parameters_of_a_module() {
        let cmdline = "quiet pg-zero.yield=1 pg_zero.pages=7 pg_zerox.a=1 rcutree.b=2";
        assert_eq!(module_parameters(cmdline, "pg_zero"), "yield=1 pages=7");
        assert_eq!(module_parameters(cmdline, "other"), "");
    }
}
