//! The types in a kernel's image: BTF alone, and the image around it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_symbols::Types;
use preemptlab_trace::{
    Layout,
    testing::{ARCH, layout},
};

fuzz_target!(|bytes: &[u8]| {
    let _ = Types::from_bzimage(bytes);
    let _ = Types::from_vmlinux(bytes);
    let Ok(types) = Types::from_btf(bytes) else { return };
    for name in ["a", "task_struct", "hrtimer"] {
        let _ = types.size_of(name);
        for member in ["a", "a.a", "pid", "node.expires", ""] {
            let _ = types.member_offset(name, member);
        }
    }
    for has_several_cpus in [false, true] {
        let _ = Layout::new(ARCH, layout().kallsyms, &types, has_several_cpus);
    }
});
