//! A command as a person types it, split into words as a shell splits them.

use std::{fmt, str::FromStr};

/// A program and its arguments. Quotes and backslashes have their meaning in a POSIX shell; words that only a
/// shell could execute are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    text: String,
    words: Vec<String>,
}

impl CommandLine {
    /// Returns the program as it was typed: a name, or a path.
    pub fn program(&self) -> &str {
        &self.words[0]
    }

    /// Returns the words, the program first.
    pub fn words(&self) -> &[String] {
        &self.words
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The text is not a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCommandLineError {
    /// There is no word.
    #[error("it names no program; write one with its arguments, such as 'xz --version'")]
    Empty,
    /// A quote is not closed.
    #[error("the quote {0} is never closed")]
    Unclosed(char),
    /// Nothing follows the last backslash.
    #[error("nothing follows the last backslash")]
    Backslash,
    /// A word is for a shell.
    #[error(
        "{0} {does}, and no shell reads the command: put '...' around it where the text itself is meant, or \
         let a shell of a package do it: --command \"dash -c '...'\" --package dash; for a longer script make \
         a folder with a workload.toml (docs/workload.md)", does = .0.does()
    )]
    Shell(ShellSyntax),
    /// A path is not that of a file in the guest.
    #[error(
        "`{0}` is a relative path, and a command starts in the guest's `/`: write the name of a program of \
         the package, such as xz, or its whole path, such as /usr/bin/xz"
    )]
    Relative(String),
    /// A variable is set before the program.
    #[error(
        "`{0}` sets a variable, as a shell does, and no shell reads the command: let env do it: --command \
         'env {0} PROGRAM ...' --package coreutils, and the --package of the program"
    )]
    Assignment(String),
}

/// Text in a command that only a shell understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellSyntax {
    /// It joins commands: `|`, `&`, `;`, or a new line.
    Joins(&'static str),
    /// It redirects an input or an output.
    Redirects(char),
    /// It groups commands.
    Groups(char),
    /// It is replaced by something else: a variable, the output of a command, the home folder.
    Expands(String),
    /// It is replaced by the names of files.
    Matches(char),
    /// It begins a comment.
    Comment,
}

impl ShellSyntax {
    fn does(&self) -> &'static str {
        match self {
            Self::Joins(_) => "joins commands in a shell",
            Self::Redirects(_) => "redirects in a shell",
            Self::Groups(_) => "groups commands in a shell",
            Self::Expands(_) => "is replaced by a shell",
            Self::Matches(_) => "stands for names of files in a shell",
            Self::Comment => "begins a comment in a shell",
        }
    }
}

impl fmt::Display for ShellSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joins("\n") => f.write_str("a new line"),
            Self::Joins(text) => write!(f, "`{text}`"),
            Self::Redirects(sign) | Self::Groups(sign) | Self::Matches(sign) => {
                write!(f, "`{sign}`")
            }
            Self::Expands(text) if text == "`" => f.write_str("a backquote"),
            Self::Expands(text) => write!(f, "`{text}`"),
            Self::Comment => f.write_str("`#`"),
        }
    }
}

impl FromStr for CommandLine {
    type Err = ParseCommandLineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = Splitter::new(text).words()?;
        let first = words.first().ok_or(ParseCommandLineError::Empty)?;
        if first.text.is_empty() {
            return Err(ParseCommandLineError::Empty);
        }
        if let Some(name) = first.assigned()
            && is_variable(name)
        {
            return Err(ParseCommandLineError::Assignment(first.text.clone()));
        }
        if first.text.contains('/') && !first.text.starts_with('/') {
            return Err(ParseCommandLineError::Relative(first.text.clone()));
        }
        let words = words.into_iter().map(|word| word.text).collect();
        Ok(Self { text: text.trim().to_owned(), words })
    }
}

/// A word, and how many of its first bytes stood outside of quotes.
#[derive(Default)]
struct Word {
    text: String,
    plain_bytes: usize,
    is_quoted: bool,
}

impl Word {
    fn plain(&mut self, char: char) {
        self.text.push(char);
        if !self.is_quoted {
            self.plain_bytes = self.text.len();
        }
    }

    fn quoted(&mut self, char: char) {
        self.is_quoted = true;
        self.text.push(char);
    }

    /// Returns the name before a `=` without quotes.
    fn assigned(&self) -> Option<&str> {
        self.text[..self.plain_bytes].split_once('=').map(|(name, _)| name)
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Splits a text by the rules of the Shell Command Language of POSIX, 2.2 and 2.3.
struct Splitter<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    words: Vec<Word>,
    word: Option<Word>,
}

type Split<T = ()> = Result<T, ParseCommandLineError>;

fn shell<T>(syntax: ShellSyntax) -> Split<T> {
    Err(ParseCommandLineError::Shell(syntax))
}

impl<'a> Splitter<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.trim().chars().peekable(), words: Vec::new(), word: None }
    }

    fn words(mut self) -> Split<Vec<Word>> {
        while let Some(char) = self.rest.next() {
            self.outside_quotes(char)?;
        }
        self.words.extend(self.word);
        Ok(self.words)
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn outside_quotes(&mut self, char: char) -> Split {
        let begins_word = self.word.is_none();
        match char {
            ' ' | '\t' => self.words.extend(self.word.take()),
            '\n' | '\r' => return shell(ShellSyntax::Joins("\n")),
            '|' | '&' | ';' => return shell(ShellSyntax::Joins(self.joining(char))),
            '<' | '>' => return shell(ShellSyntax::Redirects(char)),
            '(' | ')' => return shell(ShellSyntax::Groups(char)),
            '*' | '?' | '[' => return shell(ShellSyntax::Matches(char)),
            '#' if begins_word => return shell(ShellSyntax::Comment),
            '~' if begins_word => return shell(ShellSyntax::Expands("~".to_owned())),
            '{' => self.braces()?,
            '$' => self.dollar(Word::plain)?,
            '`' => return shell(ShellSyntax::Expands("`".to_owned())),
            '\'' => self.single_quotes()?,
            '"' => self.double_quotes()?,
            '\\' => match self.rest.next() {
                // It continues the line.
                Some('\n') => {}
                Some(escaped) => self.word().quoted(escaped),
                None => return Err(ParseCommandLineError::Backslash),
            },
            char => self.word().plain(char),
        }
        Ok(())
    }

    /// Returns the operator that begins with a sign.
    fn joining(&mut self, sign: char) -> &'static str {
        match (sign, self.rest.peek()) {
            ('|', Some('|')) => "||",
            ('|', _) => "|",
            ('&', Some('&')) => "&&",
            ('&', _) => "&",
            _ => ";",
        }
    }

    /// Takes an opening brace, unless it begins alternatives, as in `{a,b}` and `{1..3}`. `{seed}` does not.
    fn braces(&mut self) -> Split {
        let inside: String =
            self.rest.clone().take_while(|char| !" \t\n}".contains(*char)).collect();
        let is_closed = self.rest.clone().nth(inside.chars().count()) == Some('}');
        if is_closed && (inside.contains(',') || inside.contains("..")) {
            return shell(ShellSyntax::Expands(format!("{{{inside}}}")));
        }
        self.word().plain('{');
        Ok(())
    }

    /// Takes a dollar sign, unless it begins an expansion.
    fn dollar(&mut self, take: impl Fn(&mut Word, char)) -> Split {
        let next = self.rest.peek().copied();
        if let Some(next) = next
            && (next.is_ascii_alphanumeric() || "_{(*@#?$!-'\"".contains(next))
        {
            let name =
                self.rest.clone().take_while(|char| char.is_ascii_alphanumeric() || *char == '_');
            let name: String = name.collect();
            let shown = if name.is_empty() { next.to_string() } else { name };
            return shell(ShellSyntax::Expands(format!("${shown}")));
        }
        take(self.word(), '$');
        Ok(())
    }

    fn single_quotes(&mut self) -> Split {
        self.word().is_quoted = true;
        loop {
            match self.rest.next() {
                None => return Err(ParseCommandLineError::Unclosed('\'')),
                Some('\'') => return Ok(()),
                Some(char) => self.word().quoted(char),
            }
        }
    }

    fn double_quotes(&mut self) -> Split {
        self.word().is_quoted = true;
        loop {
            match self.rest.next() {
                None => return Err(ParseCommandLineError::Unclosed('"')),
                Some('"') => return Ok(()),
                // Quotes begin no expansion here.
                Some('$') if matches!(self.rest.peek(), Some('"' | '\'')) => {
                    self.word().quoted('$')
                }
                Some('$') => self.dollar(Word::quoted)?,
                Some('`') => return shell(ShellSyntax::Expands("`".to_owned())),
                Some('\\') => match self.rest.next() {
                    None => return Err(ParseCommandLineError::Unclosed('"')),
                    Some('\n') => {}
                    Some(char @ ('$' | '`' | '"' | '\\')) => self.word().quoted(char),
                    Some(char) => {
                        self.word().quoted('\\');
                        self.word().quoted(char);
                    }
                },
                Some(char) => self.word().quoted(char),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.parse::<CommandLine>().unwrap_or_else(|error| panic!("{text}: {error}")).words
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, expected) in [
            ("xz -9 file", &["xz", "-9", "file"][..]),
            ("  xz\t-9  ", &["xz", "-9"]),
            ("echo 'a | b' \"c > d\"", &["echo", "a | b", "c > d"]),
            ("echo a'b'\"c\"\\ d", &["echo", "abc d"]),
            ("echo '' \"\"", &["echo", "", ""]),
            ("echo \"a\\\"b\\n\\\\\"", &["echo", "a\"b\\n\\"]),
            ("echo 'a\\b' a\\|b", &["echo", "a\\b", "a|b"]),
            ("grep 'a$' \"b$\" \"$'\" c$ 1$% ", &["grep", "a$", "b$", "$'", "c$", "1$%"]),
            (
                "stress-ng --seed {seed} a#b a~ --x=~",
                &["stress-ng", "--seed", "{seed}", "a#b", "a~", "--x=~"],
            ),
            ("dd if=/dev/zero of=/dev/null", &["dd", "if=/dev/zero", "of=/dev/null"]),
            ("a \\\nb \"c\\\nd\"", &["a", "b", "cd"]),
            ("'A'=1 b", &["A=1", "b"]),
            ("echo '\n' !x {a {a}", &["echo", "\n", "!x", "{a", "{a}"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn the_shell_agrees() {
        for text in [
            "echo a'b'\"c\"\\ d",
            "echo '' \"\" x",
            "echo \"a\\\"b\\n\\\\\" 'a$' \"b$\" c$",
            "echo a#b a~ {seed} '*' \\* \"[x]\" !x {a",
            "echo a \\\nb \"c\\\nd\"",
            "echo '\n' \"\t\" a=b",
        ] {
            let shell = std::process::Command::new("sh")
                .args(["-c", &format!("printf '%s\\0' {text}")])
                .output()
                .unwrap();
            let split: Vec<&[u8]> = shell.stdout.split(|&byte| byte == 0).collect();
            let split = &split[..split.len() - 1];
            assert_eq!(
                words(text).iter().map(String::as_bytes).collect::<Vec<_>>(),
                split,
                "{text}"
            );
        }
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        for (text, said) in [
            ("a | b", "`|` joins commands"),
            ("a || b", "`||` joins commands"),
            ("a && b", "`&&` joins commands"),
            ("a &", "`&` joins commands"),
            ("a; b", "`;` joins commands"),
            ("a\nb", "a new line joins commands"),
            ("a >b", "`>` redirects"),
            ("a 2>&1", "`>` redirects"),
            ("a < b", "`<` redirects"),
            ("(a)", "`(` groups commands"),
            ("a $HOME/x", "`$HOME` is replaced"),
            ("a \"$HOME\"", "`$HOME` is replaced"),
            ("a ${x}", "`${` is replaced"),
            ("a $(b)", "`$(` is replaced"),
            ("a $'b'", "`$'` is replaced"),
            ("a $1 ", "`$1` is replaced"),
            ("a `b`", "a backquote is replaced"),
            ("a \"`b`\"", "a backquote is replaced"),
            ("a *.c", "`*` stands for names of files"),
            ("a x?", "`?` stands for names of files"),
            ("a [ab]", "`[` stands for names of files"),
            ("a {b,c}", "`{b,c}` is replaced"),
            ("a {1..3}", "`{1..3}` is replaced"),
            ("~/a", "`~` is replaced"),
            ("a # b", "`#` begins a comment"),
        ] {
            let error = text.parse::<CommandLine>().unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
            assert!(error.contains("--command \"dash -c '...'\" --package dash"), "{error}");
        }
    }

    #[test]
    fn what_is_no_command_says_why() {
        for (text, said) in [
            ("", "it names no program"),
            (" \t\n", "it names no program"),
            ("'' a", "it names no program"),
            ("a 'b", "the quote ' is never closed"),
            ("a \"b", "the quote \" is never closed"),
            ("a \"b\\", "the quote \" is never closed"),
            ("a \\", "nothing follows the last backslash"),
            ("LANG=C a", "`LANG=C` sets a variable"),
            ("./a", "`./a` is a relative path"),
            ("bin/a b", "`bin/a` is a relative path"),
        ] {
            let error = text.parse::<CommandLine>().unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
