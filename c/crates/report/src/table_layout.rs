//! The widths of the columns of a table that is too wide: words give way, numbers do not.

use textwrap::core::display_width;

use crate::{Align, Row, Table};

/// Characters after which a long name may be broken.
const BREAKS: [char; 6] = ['_', '/', '-', ',', ':', '.'];

/// Returns the width of each column, together at most `room`; nothing where not even the parts of words
/// fit. The widest column of words gives way first; columns of numbers keep their width.
pub fn widths(table: &Table, headers: &[Vec<String>], room: usize) -> Option<Vec<usize>> {
    let texts = |column: usize| {
        let cells = table.rows.iter().filter_map(move |row| match row {
            Row::Cells(cells) | Row::More(cells) => cells.get(column).map(|cell| cell.text()),
            Row::Span(_) => None,
        });
        headers.iter().filter_map(move |line| line.get(column).map(String::as_str)).chain(cells)
    };
    let most = |column, measure: fn(&str) -> usize| texts(column).map(measure).max().unwrap_or(0);
    let columns = 0..table.columns.len();
    let mut widths: Vec<usize> = columns.clone().map(|it| most(it, display_width)).collect();
    for measure in [longest_word as fn(&str) -> usize, longest_part] {
        let least = |column: usize| match table.columns[column].align {
            Align::Left => most(column, measure),
            Align::Right => widths[column],
        };
        let least: Vec<usize> = columns.clone().map(least).collect();
        shrink(&mut widths, &least, room);
    }
    (widths.iter().sum::<usize>() <= room).then_some(widths)
}

/// Takes from the widest column, of equal ones from the last, until all fit or none can give way.
fn shrink(widths: &mut [usize], least: &[usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let can_give = (0..widths.len()).filter(|index| widths[*index] > least[*index]);
        let Some(widest) = can_give.max_by_key(|index| widths[*index]) else { return };
        widths[widest] -= 1;
    }
}

fn longest_word(text: &str) -> usize {
    indent(text) + words(text).map(display_width).max().unwrap_or(0)
}

fn longest_part(text: &str) -> usize {
    indent(text) + words(text).flat_map(parts).map(display_width).max().unwrap_or(0)
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Words, with a number and its unit or other suffix as one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        let mut end = rest.find(' ').unwrap_or(rest.len());
        let mut last = &rest[..end];
        while end < rest.len() && is_number(last) {
            let next = &rest[end + 1..];
            last = &next[..next.find(' ').unwrap_or(next.len())];
            end += 1 + last.len();
        }
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        (!word.is_empty()).then_some(word)
    })
}

/// Returns whether a word is a number, to which a unit or a sign such as that of a percentage
/// belongs.
fn is_number(word: &str) -> bool {
    let is_part = |char: char| char.is_ascii_digit() || ".,×–-+<>≤±".contains(char);
    word.chars().all(is_part) && word.contains(|char: char| char.is_ascii_digit())
}

/// Returns the parts of a long name; no number is cut.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let chars = word.char_indices().zip(word.char_indices().skip(1));
    for ((_, before), (at, char)) in chars {
        if BREAKS.contains(&before) && char.is_alphabetic() && !word.contains(' ') {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    parts.push(&word[start..]);
    parts
}

/// Breaks a text into lines of at most this width, where it can: at blanks, but not between a number
/// and its unit; a word that is longer, between its parts. Continued lines are set in like the first.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    if display_width(text) <= width {
        return vec![text.to_owned()];
    }
    let indent = " ".repeat(indent(text));
    let room = width.saturating_sub(indent.len());
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let pieces = if display_width(word) > room { parts(word) } else { vec![word] };
        for (index, piece) in pieces.into_iter().enumerate() {
            let gap = if index == 0 && !line.is_empty() { " " } else { "" };
            if !line.is_empty() && display_width(&line) + gap.len() + display_width(piece) > room {
                lines.push(format!("{indent}{}", std::mem::take(&mut line)));
            } else {
                line += gap;
            }
            line += piece;
        }
    }
    lines.push(format!("{indent}{line}"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_with_their_units() {
        let all = |text| words(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            all("wakeup.fifo.p99 <= 100 us at  9.5 % of"),
            ["wakeup.fifo.p99", "<=", "100 us", "at", "9.5 %", "of"]
        );
        assert_eq!(all("0.86–0.90 9 ×0.90 x"), ["0.86–0.90 9 ×0.90 x"]);
        assert_eq!(all("  "), Vec::<String>::new());
    }

    #[test]
    fn long_names_break_between_their_parts_and_never_in_a_number() {
        assert_eq!(parts("kmem_cache_alloc"), ["kmem_", "cache_", "alloc"]);
        assert_eq!(parts("debian:6.12-rt/full"), ["debian:6.12-", "rt/", "full"]);
        assert_eq!(parts("6.12.117+deb13-rt-amd64"), ["6.12.117+deb13-", "rt-", "amd64"]);
        assert_eq!(parts("38.5 us"), ["38.5 us"]);
    }

    #[test]
    fn lines_are_no_wider_than_the_column() {
        assert_eq!(wrap("one two three", 20), ["one two three"]);
        assert_eq!(wrap("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrap("f < kmem_cache_alloc", 12), ["f < kmem_", "cache_alloc"]);
        assert_eq!(wrap("at most 12.345 us each", 10), ["at most", "12.345 us", "each"]);
    }

    #[test]
    fn what_is_widest_gives_way_first() {
        let mut widths = vec![10, 30, 20];
        shrink(&mut widths, &[10, 5, 5], 40);
        assert_eq!(widths, [10, 15, 15]);
        shrink(&mut widths, &[10, 14, 14], 20);
        assert_eq!(widths, [10, 14, 14]);
    }
}
