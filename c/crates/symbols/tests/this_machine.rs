//! The kernel that the tests run on, where it tells its symbols and types.

use std::fs;

use preemptlab_symbols::{Member, SymbolError, Symbols, Types};

#[test]
fn symbols_of_this_kernel() {
    // Elsewhere than on Linux, or in a container that hides it, there is nothing to read.
    let Ok(text) = fs::read_to_string("/proc/kallsyms") else { return };
    let symbols = match Symbols::parse(&text) {
        // An unprivileged reader sees zeros, and a kernel without KALLSYMS nothing.
        Err(error) => {
            return assert!(matches!(error, SymbolError::Hidden | SymbolError::Empty), "{error}");
        }
        Ok(symbols) => symbols,
    };
    assert_eq!(symbols.count(), text.lines().count());
    let schedule = symbols.address("schedule").unwrap();
    let found = symbols.find(schedule + 1).unwrap();
    assert_eq!((found.name, found.start, found.offset), ("schedule", schedule, 1));
    assert_eq!(found.module, None);
    assert!(found.end.is_some_and(|end| end > schedule));
    let mut last = None;
    for (start, name) in symbols.functions() {
        assert!(last < Some(start));
        last = Some(start);
        let found = symbols.find(start).unwrap();
        assert_eq!((found.name, found.offset), (name, 0));
        if let Some(end) = found.end {
            assert_eq!(symbols.find(end - 1).unwrap().start, start);
        }
        assert!(symbols.addresses(name).any(|address| address == start));
    }
    for (address, name) in symbols.starting_with("__x64_sys_") {
        assert!(name.starts_with("__x64_sys_"));
        assert!(symbols.addresses(name).any(|other| other == address));
    }
}

#[test]
fn types_of_this_kernel() {
    let Ok(blob) = fs::read("/sys/kernel/btf/vmlinux") else { return };
    let types = Types::from_btf(&blob).unwrap();
    let comm = types.member_offset("task_struct", "comm").unwrap();
    assert_eq!(comm.size_bytes, 16);
    assert!(comm.offset_bytes + comm.size_bytes <= types.size_of("task_struct").unwrap());
    let next = Member { offset_bytes: 0, size_bytes: size_of::<*const ()>() as u32 };
    assert_eq!(types.member_offset("list_head", "next"), Some(next));
}
