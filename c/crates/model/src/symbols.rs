use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    str::FromStr,
};

/// Symbols of a kernel's build configuration with the values that they are to have, written
/// `+SYMBOL=VALUE...` without `CONFIG_`. Their order makes no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbols {
    values: BTreeMap<String, SymbolValue>,
}

/// The value of a symbol: Documentation/kbuild/kconfig-language.rst.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolValue {
    /// `n`, of a bool or a tristate.
    No,
    /// `y`.
    Yes,
    /// An int, or a hex with `0x`, as it is written.
    Number(String),
    /// A string, written in quotes.
    Text(String),
}

impl Symbols {
    /// Returns every symbol with its value, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SymbolValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns whether a symbol is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
}

/// The symbols that may have a text. Those of a kernel's other texts name files of the building
/// machine, keys and programs, or reach a shell.
const TEXTS: [&str; 2] = ["CMDLINE", "LOCALVERSION"];

/// The longest name and the longest value, in bytes, and the most symbols.
const NAME_BYTES_MAX: usize = 100;
const VALUE_BYTES_MAX: usize = 1000;
const SYMBOLS_MAX: usize = 100;

impl FromStr for Symbols {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut values = BTreeMap::new();
        let mut rest = text;
        while !rest.is_empty() {
            let symbol = rest.strip_prefix('+').ok_or("`+` is expected before a symbol")?;
            let (name, value) =
                symbol.split_once('=').ok_or("a symbol needs a value, as in `+HZ_1000=y`")?;
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(is_plain) {
                return Err("a symbol's name consists of letters, digits and `_`");
            }
            if name.starts_with("CONFIG_") {
                return Err("symbols are written without `CONFIG_`");
            }
            if name.len() > NAME_BYTES_MAX || values.len() >= SYMBOLS_MAX {
                return Err("a symbol's name has 100 letters at most, and there are 100 at most");
            }
            // A text may hold the separator of symbols.
            let end = match value.strip_prefix('"') {
                Some(text) => text.find('"').map(|end| end + 2).ok_or("a text has no end")?,
                None => value.find('+').unwrap_or(value.len()),
            };
            let (value, after) = value.split_at(end);
            if value.starts_with('"') && !TEXTS.contains(&name) {
                return Err("only CMDLINE and LOCALVERSION can have a text");
            }
            match values.entry(name.to_owned()) {
                Entry::Vacant(vacant) => vacant.insert(value.parse()?),
                Entry::Occupied(_) => return Err("a symbol can have one value only"),
            };
            rest = after;
        }
        Ok(Self { values })
    }
}

impl fmt::Display for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(name, value)| write!(f, "+{name}={value}"))
    }
}

impl FromStr for SymbolValue {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > VALUE_BYTES_MAX {
            return Err("a value has 1000 letters at most");
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_number = match digits.strip_prefix("0x") {
            Some(hex) => !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
            None => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        };
        match text {
            "y" => Ok(Self::Yes),
            "n" => Ok(Self::No),
            "m" => Err("a kernel from source has no modules; `y` builds the symbol in"),
            number if is_number => Ok(Self::Number(number.to_owned())),
            text => {
                let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let quoted = quoted.ok_or("a value is `y`, `n`, a number or a \"text\"")?;
                // It is read by make, by shells and by a C compiler.
                let is_plain = |c: char| c.is_ascii_alphanumeric() || " +,-./:=_".contains(c);
                match quoted.chars().all(is_plain) {
                    true => Ok(Self::Text(quoted.to_owned())),
                    false => Err("a text holds letters, digits, blanks and `+,-./:=_`"),
                }
            }
        }
    }
}

impl fmt::Display for SymbolValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::No => f.write_str("n"),
            Self::Yes => f.write_str("y"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_read_and_printed() {
        let text = r#"+CMDLINE="a=b +c"+HZ_1000=y+LOG_BUF_SHIFT=18+NO_HZ_FULL=n+START=0x1fF"#;
        let symbols: Symbols = text.parse().unwrap();
        assert_eq!(symbols.to_string(), text);
        assert_eq!(symbols.iter().count(), 5);
        assert_eq!(symbols.iter().next(), Some(("CMDLINE", &SymbolValue::Text("a=b +c".into()))));
        assert!(symbols.contains("HZ_1000") && !symbols.contains("HZ"));
        assert_eq!("".parse(), Ok(Symbols::default()));
    }

    #[test]
    fn what_is_no_symbol_is_refused() {
        for text in [
            "HZ=1",
            "+",
            "+HZ",
            "+=y",
            "+HZ=",
            "+HZ=yes",
            "+HZ=m",
            "+HZ=1.5",
            "+HZ=0x",
            "+HZ=-",
            "+CONFIG_HZ=1",
            "+H Z=1",
            "+HZ=1+HZ=1",
            "+CMDLINE=\"b",
            "+INITRAMFS_SOURCE=\"/etc\"",
            "+MODULE_SIG_KEY=\"/etc\"",
            "+EXTRA_FIRMWARE=\"x\"",
            "+UNKNOWN=\"x\"",
            "+CMDLINE=\"b\"c",
            "+CMDLINE=\"\\\"",
            "+LOCALVERSION=\"`x`\"",
            "+LOCALVERSION=\"$(shell id)\"",
            "+LOCALVERSION=\"-a;b\"",
            "+LOCALVERSION=\"-a'b\"",
            "+LOCALVERSION=\"-a#b\"",
            "+CMDLINE=\"\n\"",
            "+LOCALVERSION=`x`",
            "+LOCALVERSION=-a",
            "+A=y+",
        ] {
            assert!(text.parse::<Symbols>().is_err(), "{text}");
        }
    }
}
