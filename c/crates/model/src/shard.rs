use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Largest number of shards of a plan: an engine's largest job array is a tenth of it.
const COUNT_MAX: u32 = 100_000;

/// One of the shares of a plan that several machines execute: shard 3 of 8 is `3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: u32,
    count: u32,
}

/// Error of a shard that cannot be one of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: write INDEX/COUNT, such as 3/8, from 1/8 to 8/8")]
pub struct ParseShardError(String);

impl Shard {
    /// Returns shard `index` of `count`, from 1; `None` where there is no such shard.
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (1..=count.min(COUNT_MAX))
            .contains(&index)
            .then_some(Self { index, count })
            .filter(|_| count <= COUNT_MAX)
    }

    /// Lists all shards of a plan that is cut into `count`; none for more than a plan can have.
    pub fn all(count: u32) -> impl Iterator<Item = Self> {
        (1..=count).map_while(move |index| Self::new(index, count))
    }

    /// Returns its number, from 1.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of the plan's shards.
    pub fn count(self) -> u32 {
        self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        };
        text.split_once('/')
            .and_then(|(index, count)| Self::new(number(index)?, number(count)?))
            .ok_or_else(|| ParseShardError(text.to_owned()))
    }
}

impl TryFrom<String> for Shard {
    type Error = ParseShardError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shards_of_a_plan_are_read() {
        for text in ["1/1", "3/8", "8/8", "100000/100000"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        for text in ["", "/", "3", "0/3", "4/3", "1/0", "-1/3", "+1/3", " 1/3", "1/100001", "1/3/4"]
        {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        assert_eq!(
            Shard::all(3).map(|it| it.to_string()).collect::<Vec<_>>(),
            ["1/3", "2/3", "3/3"]
        );
    }
}
