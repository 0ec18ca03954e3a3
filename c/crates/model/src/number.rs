//! Numbers for people.

/// Returns a number with three significant digits, four from 1000 on: `0.451`, `8.49`, `13`, `126`,
/// `1,095`, `37,870`, `123k`, `1.23M`. A whole number below 1000 stays exact.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude < 1000.0 && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    if magnitude < 999.5 {
        // Rounded first, because 9.999 has one digit before the point and 10.0 has two.
        let rounded = format!("{magnitude:.2e}");
        let exponent = rounded.split_once('e').and_then(|(_, digits)| digits.parse::<i32>().ok());
        let decimals = 2 - exponent.unwrap_or(0).clamp(-6, 2);
        return format!("{value:.*}", decimals as usize);
    }
    match magnitude {
        ..99_995.0 => {
            let unit = if magnitude < 9999.5 { 1.0 } else { 10.0 };
            let rounded = (value / unit).round() * unit;
            format!("{:.0},{:03.0}", (rounded / 1000.0).trunc(), (rounded % 1000.0).abs())
        }
        ..999_500.0 => format!("{}k", number((value / 1e3).round())),
        ..999_500_000.0 => format!("{}M", number(value / 1e6)),
        _ => format!("{value:.2e}"),
    }
}

/// Returns a ratio to the baseline: `×0.045`, `×0.96`, `×1.00`, `×12.3`, `×123`.
pub fn ratio(ratio: f64) -> String {
    format!("×{}", factor(ratio))
}

/// Returns a range of ratios: `0.93–1.01`.
pub fn ratio_range(low: f64, high: f64) -> String {
    format!("{}–{}", factor(low), factor(high))
}

fn factor(ratio: f64) -> String {
    match ratio {
        0.0995.. => hundredths(ratio),
        _ => number_below_tenth(ratio),
    }
}

fn hundredths(ratio: f64) -> String {
    match ratio {
        ..9.995 => format!("{ratio:.2}"),
        ..99.95 => format!("{ratio:.1}"),
        _ => number(ratio.round()),
    }
}

fn number_below_tenth(ratio: f64) -> String {
    match ratio {
        0.00095.. => format!("{ratio:.*}", if ratio < 0.00995 { 4 } else { 3 }),
        0.0 => "0".to_owned(),
        _ => "<0.001".to_owned(),
    }
}

/// Returns a range: `12–14`.
pub fn range(min: f64, max: f64) -> String {
    format!("{}–{}", number(min), number(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_to_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0451, "0.0451"),
            (0.4512, "0.451"),
            (8.494, "8.49"),
            (9.999, "10.0"),
            (13.0, "13"),
            (125.91, "126"),
            (999.0, "999"),
            (999.7, "1,000"),
            (1095.0, "1,095"),
            (12_345.0, "12,350"),
            (37_874.3, "37,870"),
            (99_994.0, "99,990"),
            (99_996.0, "100k"),
            (123_456.0, "123k"),
            (999_600.0, "1.00M"),
            (1_234_567.0, "1.23M"),
            (2.5e12, "2.50e12"),
            (-4321.0, "-4,321"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ratios_keep_what_matters() {
        for (value, text) in [
            (0.0, "×0"),
            (0.0004, "×<0.001"),
            (0.0044, "×0.0044"),
            (0.0451, "×0.045"),
            (0.0999, "×0.10"),
            (0.964, "×0.96"),
            (1.0, "×1.00"),
            (9.999, "×10.0"),
            (12.34, "×12.3"),
            (99.97, "×100"),
            (1234.0, "×1,234"),
        ] {
            assert_eq!(ratio(value), text);
        }
    }
}
