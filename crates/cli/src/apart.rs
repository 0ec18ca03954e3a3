//! Templates are filled apart: in a process of this program that has bounds on its memory, its stack and
//! its time, and can open no file. A stranger's template can nest until a stack overflows, and take
//! memory without end in one step; then this process ends, and the command says why.
//!
//! The process gets a [`Form`] on its standard input. On its standard output it asks for numbers, line
//! by line, and gets each answer on its standard input; at last it writes the page.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use preemptlab_lab::ended_when;
use preemptlab_report::{Answer, Answers, Call, Form, PAGE_BYTES_MAX, TemplateError};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::exit;

/// The only argument of the process.
const ARGUMENT: &str = "--fill-template";

/// Stack of the thread that fills, in bytes.
const STACK_BYTES: usize = 8 << 20;

/// Most memory of the process beyond that of a form that is read: its stack, the template's values,
/// and the page.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Most CPU time of the process; a template that takes all its steps needs less than one second.
const CPU_S_MAX: u64 = 5;

/// Longest life of a process that takes no CPU time, because it was stopped or has no CPU.
const LIFE_MAX: Duration = Duration::from_secs(120);

/// Most bytes of a line that the process writes; names of a call are bounded to less.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Most bytes of the last words of a process.
const LAST_WORDS_BYTES_MAX: u64 = 4 << 10;

/// Messages of the process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Ask(Call),
    /// The page follows, to the end.
    Page,
    Refused(TemplateError),
}

/// Reason why there is no page.
enum Unfilled {
    Refused(TemplateError),
    /// The process has ended, or says something else.
    Ended,
}

/// Fills the template of a file in a process of its own, which gets these answers.
pub fn fill(path: &Path, form: &Form, answers: Answers<'_>) -> exit::Result<String> {
    // The file of this program may have been replaced meanwhile; this is the one that runs.
    let mut child = Command::new("/proc/self/exe")
        .arg0("preemptlab")
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(Apart)
        .map_err(|error| exit::host(format!("cannot start a process for a template: {error}")))?;
    let begin = Instant::now();
    let is_over = || begin.elapsed() > LIFE_MAX;
    match ended_when(is_over, || child.converse(form, answers)) {
        Ok(page) => Ok(page),
        Err(Unfilled::Refused(error)) => {
            Err(exit::unusable(format!("{}, {error}", path.display())))
        }
        Err(Unfilled::Ended) => {
            let (code, reason) = child.reason(is_over());
            Err(exit::failure(code, format!("{}: {reason}", path.display())))
        }
    }
}

/// The process, as its parent has it.
struct Apart(Child);

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Apart {
    fn converse(&mut self, form: &Form, mut answers: Answers<'_>) -> Result<String, Unfilled> {
        let (Some(mut input), Some(output)) = (self.0.stdin.take(), self.0.stdout.take()) else {
            return Err(Unfilled::Ended);
        };
        let ended = |_| Unfilled::Ended;
        let mut output = BufReader::new(output);
        write(&mut input, form).map_err(ended)?;
        loop {
            match read(&mut output, LINE_BYTES_MAX).map_err(ended)? {
                Said::Ask(call) => {
                    write(&mut input, &answers.answer(&call)).map_err(ended)?;
                }
                Said::Refused(error) => return Err(Unfilled::Refused(error)),
                Said::Page => break,
            }
        }
        let mut page = String::new();
        let read = output.take(PAGE_BYTES_MAX as u64 + 1).read_to_string(&mut page);
        let is_whole = self.0.wait().is_ok_and(|status| status.success());
        match read {
            Ok(bytes) if bytes <= PAGE_BYTES_MAX && is_whole => Ok(page),
            _ => Err(Unfilled::Ended),
        }
    }

    /// Returns the exit code and the reason of a process that has ended, out of its status and its
    /// last words.
    fn reason(mut self, is_over: bool) -> (u8, String) {
        // One that says something else than it should has not ended yet.
        let _ = self.0.kill();
        let mut words = Vec::new();
        if let Some(stderr) = self.0.stderr.take() {
            let _ = stderr.take(LAST_WORDS_BYTES_MAX).read_to_end(&mut words);
        }
        match self.0.wait() {
            _ if is_over => {
                let reason = format!(
                    "the process that fills the template did not end within {} s; try again when \
                     this machine does less",
                    LIFE_MAX.as_secs()
                );
                (exit::HOST, reason)
            }
            Ok(status) => reason(status, &String::from_utf8_lossy(&words)),
            Err(error) => (exit::HOST, format!("the template's process is lost: {error}")),
        }
    }
}

fn reason(status: ExitStatus, words: &str) -> (u8, String) {
    let signal = status.signal().and_then(Signal::from_named_raw);
    let refused = |reason: String| (exit::UNUSABLE, reason);
    // The standard library names the lack before it ends a process.
    let overflows = words.contains("has overflowed its stack");
    if signal == Some(Signal::XCPU) {
        refused(format!(
            "the template takes more than {CPU_S_MAX} s of CPU time; let it repeat, join or replace less"
        ))
    } else if overflows || matches!(signal, Some(Signal::SEGV | Signal::BUS)) {
        refused(
            "the template's expressions or values nest too deeply; write them with fewer levels"
                .to_owned(),
        )
    } else if words.contains("memory allocation of") || words.contains("capacity overflow") {
        refused(format!(
            "the template takes more than {} MiB of memory; let it repeat, join or pad less",
            MEMORY_BYTES_MAX >> 20
        ))
    } else if status.code() == Some(exit::PANICKED.into()) {
        let why = words.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
        let why = why.unwrap_or_default();
        refused(format!(
            "the template's language cannot execute the template ({why}); write it in another way"
        ))
    } else {
        let last = words.lines().last().unwrap_or_default();
        (exit::HOST, format!("the process that fills the template ended with {status}: {last}"))
    }
}

/// Returns whether this process is one that fills a template.
pub fn is_apart(mut arguments: impl Iterator<Item = impl AsRef<OsStr>>) -> bool {
    arguments.nth(1).is_some_and(|argument| argument.as_ref() == ARGUMENT)
        && arguments.next().is_none()
}

/// Fills the template on standard input, as the process that is apart.
pub fn execute() -> ExitCode {
    match confined() {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) => {
            crate::output::say(error);
            ExitCode::from(exit::HOST)
        }
    }
}

fn confined() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut input = io::stdin().lock();
    // The parent has read the recording within bounds, and the template, too.
    let form: Form = read(&mut input, u64::MAX)?;
    drop(input);
    confine()?;
    // The first thread's stack may have no bound.
    let filler = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || answer(&form))?;
    match filler.join() {
        Ok(answered) => answered,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn answer(form: &Form) -> io::Result<()> {
    match form.fill(ask) {
        Ok(page) => {
            let mut output = io::stdout().lock();
            write(&mut output, &Said::Page)?;
            output.write_all(page.as_bytes())?;
            output.flush()
        }
        Err(error) => write(&mut io::stdout().lock(), &Said::Refused(error)),
    }
}

fn ask(call: &Call) -> Result<Answer, String> {
    let said = write(&mut io::stdout().lock(), &Said::Ask(call.clone()));
    said.and_then(|()| read(&mut io::stdin().lock(), u64::MAX))
        .unwrap_or_else(|error| Err(format!("the numbers cannot be read: {error}")))
}

/// Takes away from this process all that a template does not need.
fn confine() -> io::Result<()> {
    // proc_pid_status(5)
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix("kB"));
    let taken: Option<u64> = size.and_then(|kib| kib.trim().parse().ok());
    let taken = taken.ok_or_else(|| io::Error::other("/proc/self/status has no VmSize"))?;
    bound(Resource::As, (taken << 10) + MEMORY_BYTES_MAX)?;
    bound(Resource::Cpu, CPU_S_MAX)?;
    bound(Resource::Core, 0)?;
    // Neither may it write to a file, nor open one.
    bound(Resource::Fsize, 0)?;
    bound(Resource::Nofile, 0)
}

/// Lowers a limit.
fn bound(resource: Resource, most: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let limits = Rlimit { current: lower(now.current), maximum: now.maximum };
    Ok(setrlimit(resource, limits)?)
}

fn write(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

fn read<T: DeserializeOwned>(from: &mut impl BufRead, bytes_max: u64) -> io::Result<T> {
    let mut line = Vec::new();
    from.take(bytes_max).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line)?)
}
