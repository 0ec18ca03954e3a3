//! Data goes to stdout, everything else to stderr.

use std::{
    borrow::Cow,
    error::Error,
    fmt,
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use preemptlab_analysis::Notice;
use preemptlab_model::plain;
use preemptlab_report::{Table, Terminal, View};
use preemptlab_stats::Comparison;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    args::{Color, Format},
    exit::{self, Failure, OrExit},
};

/// Columns where no terminal tells.
const WIDTH: usize = 100;

static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// The streams, and whether they are coloured.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    color_stdout: bool,
    color_stderr: bool,
}

impl Output {
    /// Decides on colour once and for all.
    pub fn new(color: Color) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let on = |terminal: bool| match color {
            Color::Auto => terminal && !plain,
            Color::Always => true,
            Color::Never => false,
        };
        let output = Self {
            color_stdout: on(io::stdout().is_terminal()),
            color_stderr: on(io::stderr().is_terminal()),
        };
        let theme = if output.color_stderr {
            miette::GraphicalTheme::unicode()
        } else {
            miette::GraphicalTheme::unicode_nocolor()
        };
        // The hook can be set once per process, and this is called once.
        let _ = miette::set_hook(Box::new(move |_| {
            // A path or a command that is broken in its middle cannot be copied.
            let handler = miette::GraphicalReportHandler::new_themed(theme.clone())
                .with_width(100)
                .with_break_words(false)
                .with_word_separator(textwrap::WordSeparator::AsciiSpace)
                .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
            Box::new(handler)
        }));
        output
    }

    /// Returns the terminal that data is made for: with this one's width, or that of the variable
    /// `COLUMNS`, or 100 columns.
    pub fn terminal(&self) -> Terminal {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let columns = size.map(|size| size.ws_col).filter(|columns| *columns > 0);
        let named = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = columns.or_else(named).map_or(WIDTH, |it| usize::from(it).clamp(40, 160));
        Terminal { width, color: self.color_stdout }
    }

    /// Returns the terminal without colours, for text that is soon removed.
    pub fn plain_terminal(&self) -> Terminal {
        Terminal { color: false, ..self.terminal() }
    }

    /// Prints a table, or its content as a document.
    pub fn print(
        &self,
        table: &Table,
        format: Format,
        document: &(impl Serialize + JsonSchema),
    ) -> Result<ExitCode, Failure> {
        self.data(&match format {
            Format::Table => table.terminal(self.terminal()),
            Format::Csv => table.csv(),
            Format::Markdown => table.markdown(),
            Format::Json => return self.json(document),
            other => return Err(other.is_not_written()),
        })
    }

    /// Prints a document as JSON.
    pub fn json(&self, document: &(impl Serialize + JsonSchema)) -> Result<ExitCode, Failure> {
        self.data(&json(document)?)
    }

    /// Prints a comparison.
    pub fn comparison(
        &self,
        comparison: &Comparison,
        format: Format,
        view: View,
    ) -> Result<ExitCode, Failure> {
        self.data(&match format {
            Format::Table => preemptlab_report::terminal(comparison, view, self.terminal()),
            Format::Json => preemptlab_report::json(comparison),
            Format::Csv => preemptlab_report::csv(comparison),
            Format::Markdown => preemptlab_report::markdown(comparison, view),
            other => return Err(other.is_not_written()),
        })
    }

    /// Prints data. A reader that has gone, as in `| head`, is not an error; see
    /// [`Output::was_cut_off`].
    pub fn data(&self, text: &str) -> Result<ExitCode, Failure> {
        let text = plain::uncommanded(&harmless(text, self.color_stdout)).into_owned();
        self.print_out(&text)
    }

    /// Prints the commands of a CI that this program means.
    pub fn commands(&self, text: &str) -> Result<ExitCode, Failure> {
        self.print_out(&harmless(text, false))
    }

    fn print_out(&self, text: &str) -> Result<ExitCode, Failure> {
        if preemptlab_system::host::stdout_was_closed() {
            let message = "cannot write to standard output: it is closed";
            return Err(exit::host(message));
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| {
            if text.ends_with('\n') { stdout.flush() } else { stdout.write_all(b"\n") }
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                CUT_OFF.store(true, Ordering::Relaxed);
                Ok(ExitCode::from(exit::OK))
            }
            Err(error) => Err(exit::host(format!("cannot write to standard output: {error}"))),
            _ => Ok(ExitCode::from(exit::OK)),
        }
    }

    /// Prints clap's message about the command line.
    pub fn help(&self, text: &clap::builder::StyledStr) -> Result<ExitCode, Failure> {
        match self.color_stdout {
            true => self.data(&text.ansi().to_string()),
            false => self.data(&text.to_string()),
        }
    }

    /// Returns whether a reader has gone before all data was written.
    pub fn was_cut_off() -> bool {
        CUT_OFF.load(Ordering::Relaxed)
    }

    /// Says something that is not data.
    pub fn note(&self, text: impl std::fmt::Display) {
        say(text);
    }

    /// Warns.
    pub fn warning(&self, text: impl std::fmt::Display) {
        if self.color_stderr {
            let text = text.to_string();
            let _ = writeln!(io::stderr(), "\x1b[33mwarning:\x1b[0m {}", one_line(&text));
        } else {
            say(format_args!("warning: {text}"));
        }
    }

    /// Prints everything that makes recordings less comparable.
    pub fn notices(&self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Warning(text) => self.warning(text),
                Notice::Note(text) => self.note(text),
            }
        }
    }

    /// Reports the error that ends the command.
    pub fn error(&self, report: &miette::Report) {
        // A mistake in a file was made harmless with the file, whose places its labels name.
        let told = match report.source_code() {
            Some(_) => format!("{report:?}"),
            None => format!("{:?}", miette::Report::new(Told::new(report.chain()))),
        };
        let told = harmless(&told, self.color_stderr);
        let _ = writeln!(io::stderr(), "{}", plain::uncommanded(&told));
    }
}

/// Returns a document as JSON, in which nothing steers a terminal. Only a document with a schema is printed:
/// `schemas/` holds that of each.
pub fn json(document: &(impl Serialize + JsonSchema)) -> exit::Result<String> {
    let json = serde_json::to_string_pretty(document).or_exit(exit::HOST)?;
    Ok(plain::json(&json).into_owned())
}

/// The most characters of a word in a message, unless it may be a path.
const WORD_CHARS_MAX: usize = 300;

/// The most characters of a path in a message: Linux takes no longer one (PATH_MAX in linux/limits.h).
const PATH_CHARS_MAX: usize = 4096;

/// Says something on stderr that is not data, in one line.
pub fn say(text: impl fmt::Display) {
    // A closed stderr is not a reason to stop.
    let _ = writeln!(io::stderr(), "{}", one_line(&text.to_string()));
}

/// Returns a message as the one line that it is, whatever names and reasons are in it.
fn one_line(text: &str) -> String {
    plain::uncommanded(&plain::line(&shortened(text))).into_owned()
}

/// Cuts overlong words, such as one of a stranger's file that a reason repeats. The rest says how much is
/// missing.
fn shortened(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(PATH_CHARS_MAX));
    for part in text.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        let most = if word.contains('/') { PATH_CHARS_MAX } else { WORD_CHARS_MAX };
        match word.char_indices().nth(most) {
            None => shown += part,
            Some((end, _)) => {
                let left = word[end..].chars().count();
                shown += &format!("{}... ({left} more characters)", &word[..end]);
                shown += &part[word.len()..];
            }
        }
    }
    shown
}

/// An error and its causes as harmless text.
#[derive(Debug)]
struct Told {
    text: String,
    cause: Option<Box<Self>>,
}

impl Told {
    fn new<'a>(chain: impl DoubleEndedIterator<Item = &'a (dyn Error + 'static)>) -> Self {
        let mut told = None;
        for error in chain.rev() {
            let text = shortened(&plain::unbroken(&error.to_string()));
            told = Some(Box::new(Self { text, cause: told }));
        }
        *told.unwrap_or_else(|| Box::new(Self { text: String::new(), cause: None }))
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Told {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl miette::Diagnostic for Told {}

/// Returns a text that may reach a terminal: it keeps line feeds and tabs, and in colour the
/// sequences that switch colours and weights. Everything that this program prints goes through here.
fn harmless(text: &str, color: bool) -> Cow<'_, str> {
    if !color {
        return plain::lines(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (index, part) in text.split('\x1b').enumerate() {
        let style = if index == 0 { "" } else { style(part) };
        match (index, style) {
            (0, _) => {}
            (_, "") => shown.push(' '),
            (_, style) => shown.extend(["\x1b", style]),
        }
        shown += &plain::lines(&part[style.len()..]);
    }
    Cow::Owned(shown)
}

/// Returns the rest of a sequence that only switches colours, weight and underlining, at the
/// beginning of a text; or nothing (ECMA-48, 8.3.117).
fn style(text: &str) -> &str {
    let Some(end) = text.find('m').filter(|end| *end <= 20 && text.starts_with('[')) else {
        return "";
    };
    let mut numbers = text[1..end].split(';');
    while let Some(number) = numbers.next() {
        let is_style = match number.parse::<u8>() {
            Ok(0..=4 | 22..=24 | 30..=37 | 39 | 90..=97) => true,
            // Red, green and blue.
            Ok(38) => {
                numbers.next() == Some("2")
                    && (0..3).all(|_| numbers.next().is_some_and(|part| part.parse::<u8>().is_ok()))
            }
            _ => number.is_empty(),
        };
        if !is_style {
            return "";
        }
    }
    &text[..=end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_nobody_reads_are_cut() {
        let path = format!("/{}", "a/".repeat(2000));
        for text in [
            "",
            "a\nb  c\n",
            &"word ".repeat(5000),
            &path,
            &"\u{e4}".repeat(300),
            &format!("{} x", "a".repeat(300)),
        ] {
            assert_eq!(shortened(text), text);
        }
        let long = format!("is {}\nno word", "\u{e4}".repeat(1 << 20));
        let cut = format!("is {}... (1048276 more characters)", "\u{e4}".repeat(300));
        assert_eq!(shortened(&long), format!("{cut}\nno word"));
        assert!(shortened(&path.repeat(100)).len() < 4200);
    }

    #[test]
    fn only_colours_reach_a_terminal_and_only_in_colour() {
        for sound in [
            "\x1b[1mbold\x1b[0m \x1b[38;2;255;0;17mred\x1b[39;49;0m".replace(";49", ""),
            "a\tb\n".into(),
        ] {
            assert_eq!(harmless(&sound, true), sound);
            assert!(!harmless(&sound, false).contains('\x1b'));
        }
        for hostile in [
            "\x1b[2J",
            "\x1b[8mhidden",
            "\x1b[5m",
            "\x1b[38;5;0m",
            "\x1b]0;title\x07",
            "\x1b]8;;http://x\x1b\\",
            "\x1b[?1049h",
            "\x1bc",
            "\x1b",
            "\x1b[",
            "\u{9b}2J",
            "\u{202e}",
            "\r",
            "\x08",
        ] {
            for color in [true, false] {
                let shown = harmless(hostile, color);
                assert!(!shown.contains(plain::is_steering), "{hostile:?} became {shown:?}");
            }
        }
    }
}
