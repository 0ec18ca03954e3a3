use preemptlab_protocol::script::NS_MAX;

/// The units, with their nanoseconds; a unit that ends as another does comes before it.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// A span of virtual time such as `2s`, `1.5ms` or `250us`, in nanoseconds.
pub(crate) fn parse_ns(text: &str) -> Result<u64, String> {
    let ns = UNITS
        .iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)))
        .and_then(|(number, ns_of_unit)| decimal(number, ns_of_unit))
        .ok_or_else(|| format!("`{text}` is no time"))?;
    if ns > NS_MAX {
        return Err(format!("`{text}` is longer than {} s", NS_MAX / 1_000_000_000));
    }
    Ok(ns)
}

/// So many units, which must be a whole number of nanoseconds.
fn decimal(number: &str, ns_of_unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let divisor = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let parts = fraction.parse::<u64>().ok()?.checked_mul(ns_of_unit)?;
    if !parts.is_multiple_of(divisor) {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(ns_of_unit)?.checked_add(parts / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly() {
        for (text, ns) in [
            ("3s", 3_000_000_000),
            ("1.5ms", 1_500_000),
            ("250us", 250_000),
            ("0ns", 0),
            ("0.000000001s", 1),
            ("1000s", NS_MAX),
        ] {
            assert_eq!(parse_ns(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "3",
            "s",
            "3 s",
            "-1s",
            "+1s",
            "1.s",
            ".5s",
            "1.5ns",
            "1e3s",
            "3m",
            "1.2.3s",
            "0.0000000001s",
            "99999999999999999999s",
            "18446744073709551615s",
            "1001s",
            "1µs",
        ] {
            assert!(parse_ns(text).is_err(), "{text}");
        }
    }
}
