//! Texts that can only hold valid values, so that their users need no check.

use std::fmt;

/// The most characters of a refused text that its error shows.
const SHOWN_CHARS_MAX: usize = 80;

/// Error of a text that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTextError {
    what: &'static str,
    text: String,
}

impl ParseTextError {
    /// Keeps the beginning of the text, escaped.
    pub(crate) fn new(what: &'static str, text: &str) -> Self {
        let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self { what, text: shown.escape_debug().to_string() }
    }
}

impl fmt::Display for ParseTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.text, self.what)
    }
}

impl std::error::Error for ParseTextError {}

/// Defines a text type from the function that checks it and from its name in errors.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $is_valid:path, $what:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::ParseTextError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                if $is_valid(&text) {
                    Ok(Self(text))
                } else {
                    Err($crate::ParseTextError::new($what, &text))
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ParseTextError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

pub(crate) use checked_text;
