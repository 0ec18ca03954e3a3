/// The symbol that holds an address of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// The symbol's name, as the kernel spells it.
    pub name: &'a str,
    /// The address of the symbol.
    pub start: u64,
    /// The distance of the address from the symbol's beginning, in bytes.
    pub offset: u64,
    /// Start of the next symbol of the same module: the end of this one, with the padding that
    /// follows. `None` for a module's last symbol, whose end the kernel does not tell.
    pub end: Option<u64>,
    /// The module that the symbol belongs to; `None` for the kernel proper.
    pub module: Option<&'a str>,
}

impl<'a> Located<'a> {
    /// Returns the function in the source: [`function`] of the name.
    pub fn function(&self) -> &'a str {
        function(self.name)
    }
}

/// Returns the name in the source of a symbol: without the compiler's suffixes, such as `.isra.0`,
/// `.constprop.0`, `.part.0` and `.cold`.
///
/// No name of C has a dot, so whatever follows the first one is the compiler's.
pub fn function(symbol: &str) -> &str {
    match symbol.find('.') {
        None | Some(0) => symbol,
        Some(dot) => &symbol[..dot],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_the_compiler_are_dropped() {
        for symbol in ["f", "f.cold", "f.isra.0", "f.constprop.12", "f.part.0.isra.0.cold"] {
            assert_eq!(function(symbol), "f");
        }
        assert_eq!(function(".text"), ".text");
        assert_eq!(function(""), "");
    }
}
