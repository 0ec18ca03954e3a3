use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected},
};

/// Reads a number that must lie within bounds; for `deserialize_with`.
///
/// # Errors
///
/// A value that is not a number, or outside of `MIN` to `MAX`.
pub fn bounded<'de, D: Deserializer<'de>, const MIN: u32, const MAX: u32>(
    deserializer: D,
) -> Result<u32, D::Error> {
    let number = u32::deserialize(deserializer)?;
    if (MIN..=MAX).contains(&number) {
        Ok(number)
    } else {
        let expected = format!("a number from {MIN} to {MAX}");
        Err(D::Error::invalid_value(Unexpected::Unsigned(number.into()), &expected.as_str()))
    }
}

/// Reads an optional number that must lie within bounds; for `deserialize_with`.
///
/// # Errors
///
/// A value that is not a number, or outside of `MIN` to `MAX`.
pub fn some_bounded<'de, D: Deserializer<'de>, const MIN: u32, const MAX: u32>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    bounded::<D, MIN, MAX>(deserializer).map(Some)
}
