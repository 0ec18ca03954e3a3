use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Most ranges of a list in a user's text.
const RANGES_MAX: usize = 100_000;

/// Numbers of shards, written in ranges: `1-8,11`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardList(Vec<(u32, u32)>);

/// Error of a text that is not a list of shards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` lists no shards: ranges such as 1-8,11 ascend")]
pub struct ParseShardListError(String);

impl ShardList {
    /// Lists numbers, which ascend.
    pub fn new(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        Self(ranges)
    }
}

impl fmt::Display for ShardList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for ShardList {
    type Err = ParseShardListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown =
            || ParseShardListError(text.chars().take(40).flat_map(char::escape_debug).collect());
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<u32>().ok()).flatten()
        };
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = number(first).zip(number(last)).ok_or_else(shown)?;
            let after = ranges.last().map_or(0, |(_, last)| *last);
            if first <= after || last < first || ranges.len() >= RANGES_MAX {
                return Err(shown());
            }
            ranges.push((first, last));
        }
        Ok(Self(ranges))
    }
}

impl TryFrom<String> for ShardList {
    type Error = ParseShardListError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ShardList> for String {
    fn from(list: ShardList) -> Self {
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_are_short_and_ascend() {
        assert_eq!(ShardList::new([1, 2, 3, 5, 9, 10]).to_string(), "1-3,5,9-10");
        assert_eq!(ShardList::new([7]).to_string(), "7");
        for text in ["", ",", "0", "3-2", "2,1", "1-", "-1", "1,,2", "1;rm", "1-2-3", "99999999999"]
        {
            assert!(text.parse::<ShardList>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(numbers in prop::collection::btree_set(1_u32..5000, 1..300)) {
            let list = ShardList::new(numbers);
            prop_assert_eq!(list.to_string().parse::<ShardList>().unwrap(), list);
        }
    }
}
