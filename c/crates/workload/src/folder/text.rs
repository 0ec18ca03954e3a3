//! Texts of a `workload.toml` that must have a form; for `deserialize_with`.

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected},
};

/// The longest name, and the longest unit.
const NAME_CHARS_MAX: usize = 40;

/// The most arguments of a command, and bytes of all of them: the guest takes a job of 1 MiB.
const ARGUMENTS_MAX: usize = 256;
const ARGUMENTS_BYTES_MAX: usize = 8 << 10;

/// Reads the name of a command.
///
/// # Errors
///
/// A text that is no such name.
pub fn command_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let is_name = is_name(&name, |byte| byte == b'-');
    only_if(is_name, name, "a name of small letters, digits, `-` and `_`")
}

/// Reads the name of a metric, which may have parts.
///
/// # Errors
///
/// A text that is no such name.
pub fn metric_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let is_metric = name.split('.').all(|part| is_name(part, |_| false));
    only_if(is_metric, name, "a name of small letters, digits and `_`, its parts joined by `.`")
}

fn is_name(text: &str, also: impl Fn(u8) -> bool) -> bool {
    text.len() <= NAME_CHARS_MAX
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || also(byte)
        })
}

/// Reads the unit of a metric.
///
/// # Errors
///
/// A text that is no such unit.
pub fn unit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let unit = String::deserialize(deserializer)?;
    let is_unit = (1..=NAME_CHARS_MAX).contains(&unit.chars().count())
        && unit.trim() == unit
        && !unit.contains(char::is_control);
    only_if(is_unit, unit, "a unit such as `requests/s`")
}

/// Reads a program's absolute path and its arguments.
///
/// # Errors
///
/// A path that is not absolute, and arguments that are too many or too long.
pub fn argv<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let argv = Vec::<String>::deserialize(deserializer)?;
    let program = argv.first().map_or("", String::as_str);
    if !is_absolute(program) {
        let expected = "a program's path in the guest, such as /workload/run or /usr/bin/openssl";
        return Err(invalid(program, expected));
    }
    if argv.len() > ARGUMENTS_MAX
        || argv.iter().map(String::len).sum::<usize>() > ARGUMENTS_BYTES_MAX
        || argv.iter().any(|argument| argument.contains('\0'))
    {
        let expected = "at most 256 arguments without a zero byte, of 8 KiB in all";
        return Err(invalid(program, expected));
    }
    Ok(argv)
}

/// Returns whether a path can be that of a file in a guest.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
        && (2..=1000).contains(&path.len())
        && !path.ends_with('/')
        && !path.contains(char::is_control)
}

fn only_if<E: Error>(sound: bool, text: String, expected: &str) -> Result<String, E> {
    if sound { Ok(text) } else { Err(invalid(&text, expected)) }
}

fn invalid<E: Error>(text: &str, expected: &str) -> E {
    E::invalid_value(Unexpected::Str(text), &expected)
}
