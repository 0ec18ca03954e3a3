use std::{collections::HashMap, ops::RangeInclusive};

use crate::{Located, SymbolError, steps::Steps};

/// The longest text that is parsed, in bytes. A kernel with every module loaded has some 20 MiB.
const TEXT_BYTES_MAX: usize = 128 << 20;

/// The most symbols that are kept. Debian's kernels have about 200,000.
const SYMBOLS_MAX: usize = 1 << 20;

/// The longest name (include/linux/kallsyms.h, `KSYM_NAME_LEN`).
const NAME_BYTES_MAX: usize = 512;

/// First parts of names that are no functions or variables: of labels of the assembler's own (GNU as, "Symbol Names"),
/// and of marks between code and data (ELF for the Arm 64-bit Architecture, "Mapping symbols"). Modules for arm64 keep
/// them.
const LABELS: [&str; 2] = [".L", "$"];

/// Size of the pieces of memory that modules get, in bytes: the next piece may be that of a module which was loaded after
/// the text was written (mm/execmem.c).
const PAGE_BYTES: u64 = 4 << 10;

/// Stands for no symbol in a table of functions.
const NOBODY: u32 = u32::MAX;

/// Symbols of one running kernel.
///
/// Addresses are those of the running kernel, after any relocation. The address of a per-CPU
/// variable is the one that the kernel lists: a small number before 6.15, since then one like any
/// other. A CPU's own copy is always at that address plus the CPU's entry of `__per_cpu_offset`,
/// which is the base of GS in kernel mode too.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// Every name, one after the other, in the order of the text, as are the next three.
    names: String,
    /// Offsets of the names in `names`, and the end of the last one.
    name_starts: Vec<u32>,
    addresses: Vec<u64>,
    /// The module of each symbol: 0 for the kernel proper, else one more than its place in
    /// `modules`.
    module_of: Vec<u16>,
    modules: Vec<Box<str>>,
    /// The symbols in the order of their names; namesakes in the order of the text.
    by_name: Vec<u32>,
    /// Starts of functions, and of parts of the code without one, ascending.
    starts: Steps,
    /// The symbol that stands for each of `starts`, or [`NOBODY`].
    functions: Vec<u32>,
}

impl Symbols {
    /// Parses the text of `/proc/kallsyms`: lines of `ADDRESS TYPE NAME`, with `[MODULE]` after the
    /// symbols of modules.
    ///
    /// # Errors
    ///
    /// [`SymbolError`], also for a text whose addresses are all zero.
    pub fn parse(kallsyms_text: &str) -> Result<Self, SymbolError> {
        if kallsyms_text.len() > TEXT_BYTES_MAX {
            return Err(SymbolError::TooLong("too many bytes"));
        }
        let mut symbols = Self {
            names: String::new(),
            name_starts: vec![0],
            addresses: Vec::new(),
            module_of: Vec::new(),
            modules: Vec::new(),
            by_name: Vec::new(),
            starts: Steps::default(),
            functions: Vec::new(),
        };
        let mut kinds = Vec::new();
        let mut places = HashMap::new();
        for (index, line) in kallsyms_text.lines().enumerate() {
            let malformed = |reason| SymbolError::Line { number: index + 1, reason };
            let Some(line) = Line::parse(line).map_err(malformed)? else { continue };
            if symbols.addresses.len() == SYMBOLS_MAX {
                return Err(SymbolError::TooLong("too many symbols"));
            }
            let module = match line.module {
                None => 0,
                Some(name) => match places.get(name) {
                    Some(place) => *place,
                    None => {
                        symbols.modules.push(name.into());
                        let place = u16::try_from(symbols.modules.len())
                            .map_err(|_| SymbolError::TooLong("too many modules"))?;
                        places.insert(name, place);
                        place
                    }
                },
            };
            symbols.names.push_str(line.name);
            // The text's length bounds that of the names.
            symbols.name_starts.push(symbols.names.len() as u32);
            symbols.addresses.push(line.address);
            symbols.module_of.push(module);
            kinds.push(line.kind);
        }
        if symbols.addresses.is_empty() {
            return Err(SymbolError::Empty);
        }
        // Single addresses may be zero: the first per-CPU variable's is, before 6.15.
        if symbols.addresses.iter().all(|address| *address == 0) {
            return Err(SymbolError::Hidden);
        }
        symbols.names.shrink_to_fit();
        symbols.index_names();
        symbols.index_functions(&kinds);
        Ok(symbols)
    }

    fn index_names(&mut self) {
        let mut by_name: Vec<u32> = (0..self.addresses.len() as u32).collect();
        by_name.sort_unstable_by_key(|symbol| (self.name(*symbol), *symbol));
        self.by_name = by_name;
    }

    fn index_functions(&mut self, kinds: &[u8]) {
        let parts = self.code();
        let mut text: Vec<u32> = (0..kinds.len() as u32)
            .filter(|symbol| {
                let place = *symbol as usize;
                is_text(kinds[place])
                    && (self.module_of[place] != 0 || parts.contains(self.addresses[place]))
                    && !is_padding(self.name(*symbol))
            })
            .collect();
        // Of the names of one address the best comes first, and is kept.
        text.sort_unstable_by_key(|symbol| {
            let name = self.name(*symbol);
            let local = kinds[*symbol as usize].is_ascii_lowercase();
            (self.addresses[*symbol as usize], is_boundary(name), local, name.len(), *symbol)
        });
        text.dedup_by_key(|symbol| self.addresses[*symbol as usize]);
        self.starts = Steps::new(text.iter().map(|symbol| self.addresses[*symbol as usize]));
        for symbol in &mut text {
            if is_section(self.name(*symbol)) {
                *symbol = NOBODY;
            }
        }
        self.functions = text;
    }

    /// Returns the ranges of the kernel's own code. The types do not tell them: Debian's 7.2 has
    /// its section `.data` marked as executable, and so lists data with the types of code.
    fn code(&self) -> Code {
        let part = |begin, end| Some(self.address(begin)?..=self.address(end)?);
        Code { always: part("_stext", "_etext"), early: part("_sinittext", "_einittext") }
    }

    fn name(&self, symbol: u32) -> &str {
        let symbol = symbol as usize;
        &self.names[self.name_starts[symbol] as usize..self.name_starts[symbol + 1] as usize]
    }

    /// Counts the symbols of every type.
    pub fn count(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the address of the first symbol with this name, of code or data. Static functions
    /// and variables have namesakes: see [`addresses`](Self::addresses).
    pub fn address(&self, name: &str) -> Option<u64> {
        self.addresses(name).next()
    }

    /// Returns the addresses of every symbol with this name, in the order of the text: those of the
    /// kernel proper before those of modules.
    pub fn addresses<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.named_from(name)
            .take_while(move |symbol| self.name(*symbol) == name)
            .map(|symbol| self.addresses[symbol as usize])
    }

    /// Returns the symbols of code and data with this prefix, in the order of their names.
    pub fn starting_with<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (u64, &'a str)> + 'a {
        self.named_from(prefix)
            .map(|symbol| (self.addresses[symbol as usize], self.name(symbol)))
            .take_while(move |(_, name)| name.starts_with(prefix))
    }

    /// Returns the symbols from the first one that is not before a name, in the order of their
    /// names.
    fn named_from(&self, name: &str) -> impl Iterator<Item = u32> + '_ {
        let first = self.by_name.partition_point(|symbol| self.name(*symbol) < name);
        self.by_name[first..].iter().copied()
    }

    /// Finds the function that holds an address of code.
    ///
    /// Of several names of one address it takes a global one before a local one, and of these the
    /// shortest. The padding before a function (`__pfx_`, `__cfi_`) counts as the end of the one
    /// before it.
    pub fn find(&self, address: u64) -> Option<Located<'_>> {
        let place = self.starts.last_up_to(address)?;
        let symbol = self.functions[place];
        if symbol == NOBODY {
            return None;
        }
        let start = self.addresses[symbol as usize];
        let (module, offset) = (self.module_of[symbol as usize], address - start);
        let end = match self.functions.get(place + 1) {
            None => None,
            Some(&next) if next != NOBODY && self.module_of[next as usize] != module => None,
            Some(_) => Some(self.starts.all[place + 1]),
        };
        // The kernel does not tell where the last function of a module ends.
        if end.is_none() && address / PAGE_BYTES > start / PAGE_BYTES {
            return None;
        }
        let module = self.modules.get(usize::from(module).wrapping_sub(1)).map(|name| &**name);
        Some(Located { name: self.name(symbol), start, offset, end, module })
    }

    /// Returns the address and the name of each function, in the order of the addresses, with one
    /// name an address, chosen as by [`find`](Self::find).
    pub fn functions(&self) -> impl Iterator<Item = (u64, &str)> + '_ {
        let symbols = self.functions.iter().filter(|symbol| **symbol != NOBODY);
        symbols.map(|symbol| (self.addresses[*symbol as usize], self.name(*symbol)))
    }
}

/// The code of the kernel proper.
struct Code {
    /// The code that stays; `None` where the text does not tell.
    always: Option<RangeInclusive<u64>>,
    /// The code that is freed once the kernel runs.
    early: Option<RangeInclusive<u64>>,
}

impl Code {
    /// Returns whether an address can be code: every address, where the text does not tell.
    fn contains(&self, address: u64) -> bool {
        match &self.always {
            None => true,
            Some(always) => {
                always.contains(&address)
                    || self.early.as_ref().is_some_and(|early| early.contains(&address))
            }
        }
    }
}

struct Line<'a> {
    address: u64,
    kind: u8,
    name: &'a str,
    module: Option<&'a str>,
}

impl<'a> Line<'a> {
    /// Parses a line; `None` for a blank one, and for what is no symbol of the kernel's.
    fn parse(line: &'a str) -> Result<Option<Self>, &'static str> {
        let mut fields = line.split_ascii_whitespace();
        let Some(address) = fields.next() else { return Ok(None) };
        let address = u64::from_str_radix(address, 16).map_err(|_| "no address")?;
        let &[kind] = fields.next().ok_or("no type")?.as_bytes() else {
            return Err("the type is not one letter");
        };
        let name = fields.next().ok_or("no name")?;
        if name.len() > NAME_BYTES_MAX {
            return Err("the name is too long");
        }
        // A label that was a number has a control character in it.
        if LABELS.iter().any(|start| name.starts_with(start)) {
            return Ok(None);
        }
        // Names are printed.
        if line.contains(|c: char| c.is_control() && c != '\t') {
            return Err("a control character");
        }
        let module = match fields.next() {
            None => None,
            Some(field) => Some(
                field
                    .strip_prefix('[')
                    .and_then(|field| field.strip_suffix(']'))
                    .ok_or("no brackets around the module")?,
            ),
        };
        match fields.next() {
            None => Ok(Some(Self { address, kind, name, module })),
            Some(_) => Err("something follows the module"),
        }
    }
}

/// Returns whether a type is that of symbols in code: global, local, weak and indirect ones
/// (nm(1)).
fn is_text(kind: u8) -> bool {
    matches!(kind, b'T' | b't' | b'W' | b'w' | b'i')
}

/// Returns whether a symbol names the padding before a function, and no function.
fn is_padding(name: &str) -> bool {
    name.starts_with("__pfx_") || name.starts_with("__cfi_")
}

/// Returns whether a symbol looks like one of the linker script's for the start or the end of a
/// region. Such a symbol tells nothing about the function at the same address.
fn is_boundary(name: &str) -> bool {
    is_section(name)
        || name.starts_with("__")
            && ["_start", "_begin", "_end"].iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a symbol is surely one of the linker script's for the start or the end of code,
/// such as `_etext` and `__sched_text_start`: it names no function.
fn is_section(name: &str) -> bool {
    // Code that runs before relocation sees its own aliases (arch/x86/boot/startup).
    let name = name.strip_prefix("__pi_").unwrap_or(name);
    matches!(name, "_text" | "_stext" | "_etext" | "_sinittext" | "_einittext")
        || name.starts_with("__") && (name.ends_with("text_start") || name.ends_with("text_end"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
000000000001c880 A pcpu_hot
ffffffff81000000 T _text
ffffffff81000000 T _stext
ffffffff81000000 t start
ffffffff81000040 T __pfx_schedule
ffffffff81000050 t schedule_local
ffffffff81000050 W schedule
ffffffff81000050 T __schedule_alias
ffffffff81000100 t helper.isra.0
ffffffff81000200 t helper
ffffffff81000300 t last_one
ffffffff81000400 T _etext
ffffffff81800000 t rcu_state
ffffffff81900000 T _sinittext
ffffffff81900000 t early
ffffffff81900100 T _einittext
ffffffff81900200 t never
ffffffff82000000 D jiffies
ffffffffc0000000 t first\t[one]
ffffffffc0000040 t helper\t[one]
ffffffffc0000048 t .L14472\u{2}1\t[one]
ffffffffc0000044 t $x\t[one]
ffffffffc0001000 t last [two]
";

    fn symbols() -> Symbols {
        Symbols::parse(TEXT).unwrap()
    }

    #[test]
    fn names_have_addresses() {
        let symbols = symbols();
        assert_eq!(symbols.count(), 22);
        assert_eq!(symbols.address("fixed_percpu_data"), Some(0));
        assert_eq!(symbols.address("pcpu_hot"), Some(0x1c880));
        assert_eq!(symbols.address("jiffies"), Some(0xffff_ffff_8200_0000));
        assert_eq!(symbols.address("__pfx_schedule"), Some(0xffff_ffff_8100_0040));
        assert_eq!((symbols.address("help"), symbols.address("zz")), (None, None));
    }

    #[test]
    fn namesakes_come_in_the_order_of_the_text() {
        let symbols = symbols();
        let addresses: Vec<_> = symbols.addresses("helper").collect();
        assert_eq!(addresses, [0xffff_ffff_8100_0200, 0xffff_ffff_c000_0040]);
        let names: Vec<_> = symbols.starting_with("helper").map(|(_, name)| name).collect();
        assert_eq!(names, ["helper", "helper", "helper.isra.0"]);
        assert_eq!(symbols.starting_with("").count(), 22);
        assert_eq!(symbols.starting_with("helper.z").count(), 0);
    }

    #[test]
    fn an_address_is_found_in_its_function() {
        let symbols = symbols();
        let found = symbols.find(0xffff_ffff_8100_0057).unwrap();
        assert_eq!(
            found,
            Located {
                name: "schedule",
                start: 0xffff_ffff_8100_0050,
                offset: 7,
                end: Some(0xffff_ffff_8100_0100),
                module: None
            }
        );
        let clone = symbols.find(0xffff_ffff_8100_01ff).unwrap();
        assert_eq!((clone.name, clone.function()), ("helper.isra.0", "helper"));
        let found = symbols.find(0xffff_ffff_c000_0000).unwrap();
        assert_eq!((found.name, found.module), ("first", Some("one")));
        assert_eq!(found.end, Some(0xffff_ffff_c000_0040));
    }

    #[test]
    fn padding_belongs_to_the_function_before_it() {
        let found = symbols();
        let found = found.find(0xffff_ffff_8100_0048).unwrap();
        assert_eq!((found.name, found.offset), ("start", 0x48));
        assert_eq!(found.end, Some(0xffff_ffff_8100_0050));
    }

    #[test]
    fn nothing_is_found_where_no_code_is() {
        let symbols = symbols();
        for address in [0, 0x1c880, 0xffff_ffff_80ff_ffff, 0xffff_ffff_8100_0400, u64::MAX]
            .into_iter()
            .chain([0xffff_ffff_8180_0000, 0xffff_ffff_8190_0100, 0xffff_ffff_8190_0200])
        {
            assert_eq!(symbols.find(address), None, "{address:x}");
        }
        let last = symbols.find(0xffff_ffff_8100_03ff).unwrap();
        assert_eq!((last.name, last.end), ("last_one", Some(0xffff_ffff_8100_0400)));
        // Behind the page of the last function of a module another one may have been loaded.
        let last = symbols.find(0xffff_ffff_c000_0050).unwrap();
        assert_eq!((last.name, last.module, last.end), ("helper", Some("one"), None));
        let far = 0xffff_ffff_c000_1000 + PAGE_BYTES;
        assert_eq!(symbols.find(far - 1).unwrap().name, "last");
        assert_eq!(symbols.find(far), None);
    }

    #[test]
    fn functions_have_one_name_each() {
        let symbols = symbols();
        let names: Vec<_> = symbols.functions().map(|(_, name)| name).collect();
        assert_eq!(
            names,
            [
                "start",
                "schedule",
                "helper.isra.0",
                "helper",
                "last_one",
                "early",
                "first",
                "helper",
                "last"
            ]
        );
        assert!(symbols.functions().is_sorted());
    }

    #[test]
    fn hidden_addresses_are_refused() {
        let text = "0000000000000000 T _text\n0000000000000000 t start\n";
        assert_eq!(Symbols::parse(text).unwrap_err(), SymbolError::Hidden);
        assert_eq!(Symbols::parse("").unwrap_err(), SymbolError::Empty);
        assert_eq!(Symbols::parse("\n \r\n").unwrap_err(), SymbolError::Empty);
    }

    #[test]
    fn malformed_lines_are_named() {
        for (line, reason) in [
            ("xyz T f", "no address"),
            ("10000000000000000 T f", "no address"),
            ("1", "no type"),
            ("1 TT f", "the type is not one letter"),
            ("1 T", "no name"),
            ("1 T f g", "no brackets around the module"),
            ("1 T f [g] h", "something follows the module"),
        ] {
            let text = format!("1 T f\r\n{line}\n");
            let error = Symbols::parse(&text).unwrap_err();
            assert_eq!(error, SymbolError::Line { number: 2, reason }, "{line}");
        }
        let name = "f".repeat(NAME_BYTES_MAX + 1);
        assert!(Symbols::parse(&format!("1 T {name}")).is_err());
        assert!(Symbols::parse(&format!("1 T {}", &name[1..])).is_ok());
    }

    #[test]
    fn more_than_any_kernel_has_is_refused() {
        let error = Symbols::parse(&"1 t f\n".repeat(SYMBOLS_MAX + 1)).unwrap_err();
        assert_eq!(error, SymbolError::TooLong("too many symbols"));
        let modules: String = (0..70_000).map(|name| format!("1 t f [{name}]\n")).collect();
        let error = Symbols::parse(&modules).unwrap_err();
        assert_eq!(error, SymbolError::TooLong("too many modules"));
    }

    proptest! {
        #[test]
        fn arbitrary_texts_never_panic(text: String, address: u64) {
            if let Ok(symbols) = Symbols::parse(&text) {
                let _ = symbols.find(address);
            }
        }

        /// Compares with a search through every line.
        #[test]
        fn agrees_with_a_linear_search(
            lines in prop::collection::vec((0..64u64, "[TtDw]", "[ab]{1,2}"), 1..40),
            address in 0..80u64,
            name in "[ab]{1,2}",
        ) {
            let text: String = lines
                .iter()
                .map(|(address, kind, name)| format!("{address:x} {kind} {name}\n"))
                .collect();
            let Ok(symbols) = Symbols::parse(&text) else { return Ok(()) };
            let expected: Vec<u64> =
                lines.iter().filter(|line| line.2 == name).map(|line| line.0).collect();
            prop_assert_eq!(symbols.addresses(&name).collect::<Vec<_>>(), expected);
            let text = || lines.iter().filter(|line| line.1 != "D");
            let start = text().map(|line| line.0).filter(|start| *start <= address).max();
            let found = symbols.find(address);
            prop_assert_eq!(found.map(|found| found.start), start);
            let end = text().map(|line| line.0).filter(|start| *start > address).min();
            prop_assert_eq!(found.and_then(|found| found.end), start.and(end));
            if let Some(found) = found {
                prop_assert!(text().any(|line| line.0 == found.start && line.2 == found.name));
            }
        }

        #[test]
        fn every_prefix_agrees_with_a_linear_search(
            names in prop::collection::vec("[ab]{1,4}", 1..30),
            prefix in "[ab]{0,3}",
        ) {
            let text: String = names.iter().map(|name| format!("1 t {name}\n")).collect();
            let symbols = Symbols::parse(&text).unwrap();
            let mut expected: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| name.starts_with(&prefix)).collect();
            expected.sort_unstable();
            let found: Vec<&str> = symbols.starting_with(&prefix).map(|(_, name)| name).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
