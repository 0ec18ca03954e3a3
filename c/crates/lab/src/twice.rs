use std::{fmt, str::FromStr};

/// Share of the cells that are executed twice, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twice(f64);

impl Twice {
    /// Returns the share, from 0 to 1.
    pub fn share(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Twice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|percent| percent.parse::<f64>().ok());
        match percent {
            Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(Self(percent)),
            _ => Err(format!("`{text}` is no share: write a percentage such as 1%")),
        }
    }
}

impl fmt::Display for Twice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        for (text, share) in [("1%", 0.01), ("100%", 1.0), ("0.1%", 0.001)] {
            let twice: Twice = text.parse().unwrap();
            // A worker reads what an engine's script says.
            assert_eq!((twice.share(), twice.to_string().as_str()), (share, text));
        }
        for text in ["", "1", "0%", "101%", "-1%", "NaN%", "x%"] {
            assert!(text.parse::<Twice>().is_err(), "{text}");
        }
    }
}
