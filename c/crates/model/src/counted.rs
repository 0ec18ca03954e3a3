use std::fmt::Display;

/// Returns a number with its noun, which is in the singular after one: `1 cell`, `2 cells`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_nothing_else_is() {
        assert_eq!(counted(1_usize, "cell"), "1 cell");
        assert_eq!(counted(0_u32, "cell"), "0 cells");
        assert_eq!(counted(21_u64, "boot"), "21 boots");
    }
}
