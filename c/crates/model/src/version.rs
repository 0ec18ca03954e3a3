//! The order of versions.

use std::cmp::Ordering;

use crate::PackageVersion;

/// Returns the first two numbers of a kernel's version or release: `6.12` of `6.12.107+deb13-amd64`.
pub fn series(version: &str) -> &str {
    let is_end = |c: char| !c.is_ascii_digit() && c != '.';
    let numbers = &version[..version.find(is_end).unwrap_or(version.len())];
    numbers.match_indices('.').nth(1).map_or(numbers, |(end, _)| &numbers[..end])
}

/// Compares versions of kernels number by number: 6.9 is before 6.12, a release candidate such as
/// 6.12-rc6 before 6.12, and a series before its versions.
pub fn kernel_order(one: &str, other: &str) -> Ordering {
    // The kernel writes candidates like later builds; packages write them with a `~`.
    let marked = |version: &str| version.replace("-rc", "~rc");
    order(&marked(one), &marked(other))
}

impl PackageVersion {
    /// Compares two versions of a package as Debian does (Debian Policy Manual, 5.6.12).
    pub fn order(&self, other: &Self) -> Ordering {
        let parts = |version: &'_ Self| -> (u64, String) {
            match version.as_str().split_once(':') {
                Some((epoch, rest)) => (epoch.parse().unwrap_or(u64::MAX), rest.to_owned()),
                None => (0, version.as_str().to_owned()),
            }
        };
        let ((epoch, one), (other_epoch, other)) = (parts(self), parts(other));
        epoch.cmp(&other_epoch).then_with(|| order(&one, &other))
    }
}

/// Orders texts as Debian orders versions without an epoch.
///
/// Digits compare as numbers; of the rest, `~` sorts before the end, letters before other signs.
fn order(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    while !one.is_empty() || !other.is_empty() {
        let texts = [take(&mut one, false), take(&mut other, false)];
        let weigh = |text: &str| text.chars().map(weight).chain([0]).collect::<Vec<_>>();
        let numbers = [take(&mut one, true), take(&mut other, true)];
        let number = |digits: &str| {
            let digits = digits.trim_start_matches('0');
            (digits.len(), digits.to_owned())
        };
        let order = weigh(texts[0])
            .cmp(&weigh(texts[1]))
            .then_with(|| number(numbers[0]).cmp(&number(numbers[1])));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Cuts the longest start that is all digits, or that has none.
fn take<'a>(text: &mut &'a str, digits: bool) -> &'a str {
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    let (start, rest) = text.split_at(end);
    *text = rest;
    start
}

/// Returns the weight of a character, where the end of the text weighs 0.
fn weight(c: char) -> i32 {
    match c {
        '~' => -1,
        c if c.is_ascii_alphabetic() => c as i32,
        c => c as i32 + 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_two_numbers() {
        for version in ["6.12.107+deb13-amd64", "6.12-rc3", "6.12", "6.12.0-rc3"] {
            assert_eq!(series(version), "6.12");
        }
        assert_eq!(series("7.2+deb14-amd64"), "7.2");
        assert_eq!(series("6"), "6");
    }

    /// The order is that of `dpkg --compare-versions`.
    #[test]
    fn packages_are_ordered_as_debian_does() {
        let ascending = [
            "6.1.0-9",
            "6.1.0-56",
            "6.12~rc1",
            "6.12",
            "6.12.90+deb13",
            "6.12.90+deb13.1",
            "6.12.117",
            "6.12.117a",
            "6.12.117+deb12",
            "6.12.117+deb13",
            "7.2.9",
            "7.2.12",
            "1:0.9",
            "1:2:3",
            "10:0",
        ];
        let version = |text: &str| text.parse::<PackageVersion>().unwrap();
        for (place, one) in ascending.iter().enumerate() {
            for (other_place, other) in ascending.iter().enumerate() {
                let order = version(one).order(&version(other));
                assert_eq!(order, place.cmp(&other_place), "{one} and {other}");
            }
        }
        assert_eq!(version("6.01").order(&version("6.1")), Ordering::Equal);
    }

    #[test]
    fn kernels_are_in_the_order_of_their_releases() {
        let ascending = [
            "6.1",
            "6.1.0-9",
            "6.1.0-56",
            "6.1.100+deb12",
            "6.9",
            "6.12-rc6",
            "6.12-rc10",
            "6.12",
            "6.12.0-rc6",
            "6.12.0",
            "6.12.9",
            "6.12.107+deb13",
            "6.12.107+deb13.1",
            "7.0-rc1",
            "7.0",
        ];
        for (place, one) in ascending.iter().enumerate() {
            for (other_place, other) in ascending.iter().enumerate() {
                let order = kernel_order(one, other);
                assert_eq!(order, place.cmp(&other_place), "{one} and {other}");
            }
        }
    }
}
