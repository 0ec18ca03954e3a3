//! Lines of the benchmarks, which a program of the machine or a kernel has printed.

/// More lines than all benchmarks have.
pub const LINES_MAX: usize = 256;

/// Longer than any benchmark's name.
const NAME_BYTES_MAX: usize = 32;

/// No number of operations or nanoseconds is larger: a repetition takes less than a thousand seconds.
const NUMBER_MAX: u64 = 1_000_000_000_000;

/// Returns the name of a benchmark; `None` for a text that cannot be one.
pub fn name(word: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = (1..=NAME_BYTES_MAX).contains(&word.len()) && word.bytes().all(is_plain);
    is_name.then(|| word.to_owned())
}

/// Returns a number of operations or nanoseconds, which is never 0.
pub fn number(word: &str) -> Option<u64> {
    let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.parse().ok().filter(|_| is_decimal)?;
    (1..=NUMBER_MAX).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_have_bounds() {
        assert_eq!(name("kernel-self-ipi").as_deref(), Some("kernel-self-ipi"));
        for damaged in ["", "A", "a b", "a\u{1b}[2J", "../a", "a\0", &"a".repeat(33)] {
            assert_eq!(name(damaged), None, "{damaged:?}");
        }
        assert_eq!(number("1000000000000"), Some(1_000_000_000_000));
        for damaged in ["", "0", "-1", "+1", "1.5", " 1", "1000000000001", "99999999999999999999"] {
            assert_eq!(number(damaged), None, "{damaged:?}");
        }
    }
}
