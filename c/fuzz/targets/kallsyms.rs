//! The text of a guest's /proc/kallsyms.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_symbols::Symbols;

fuzz_target!(|text: &str| {
    let Ok(symbols) = Symbols::parse(text) else { return };
    for (address, name) in symbols.functions().take(64) {
        assert!(symbols.addresses(name).any(|other| other == address));
        for near in [address.wrapping_sub(1), address, address.wrapping_add(70_000)] {
            if let Some(located) = symbols.find(near) {
                assert!(located.start <= near);
            }
        }
    }
    let _ = (symbols.find(0), symbols.find(u64::MAX), symbols.starting_with("a").count());
});
