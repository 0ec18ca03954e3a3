//! Raises an interrupt that the machine would not have had.

use std::{
    ffi::{c_char, c_int, c_void},
    ptr,
};

use preemptlab_protocol::trace::Inject;

use crate::{
    arch::Processor,
    clock::{Clock, symbol},
    qemu::Guest,
};

/// The most timers that may expire before the one that is moved.
const BEFORE_MAX: usize = 16;

/// The most levels of a red-black tree with so many nodes as a kernel has timers.
const LEVELS_MAX: usize = 64;

type GetCpu = unsafe extern "C" fn(c_int) -> *mut c_void;
/// CPU, virtual address, buffer, length, whether to write.
type Virtual = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize, bool) -> c_int;
/// Physical address, buffer, length, whether to write.
type Physical = unsafe extern "C" fn(u64, *mut c_void, u64, bool);
/// Object, name of the property, where an error would go.
type Property = unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_void) -> u64;

/// Writes memory and messages as a debugger and a device would.
pub struct Injector {
    processor: &'static dyn Processor,
    /// The next one last.
    left: Vec<Inject>,
    get_cpu: GetCpu,
    memory: Virtual,
    devices: Physical,
    property: Property,
}

impl Injector {
    /// Finds what it takes to raise the first possible of these interrupts.
    ///
    /// # Errors
    ///
    /// When this QEMU does not export it.
    pub fn new(
        processor: &'static dyn Processor,
        mut injects: Vec<Inject>,
    ) -> Result<Self, String> {
        injects.sort_by_key(|inject| std::cmp::Reverse(inject.at_ns));
        // SAFETY: the symbols have these types.
        unsafe {
            Ok(Self {
                processor,
                left: injects,
                get_cpu: std::mem::transmute::<*mut c_void, GetCpu>(symbol(c"qemu_get_cpu")?),
                memory: std::mem::transmute::<*mut c_void, Virtual>(symbol(
                    c"cpu_memory_rw_debug",
                )?),
                devices: std::mem::transmute::<*mut c_void, Physical>(symbol(
                    c"cpu_physical_memory_rw",
                )?),
                property: std::mem::transmute::<*mut c_void, Property>(symbol(
                    c"object_property_get_uint",
                )?),
            })
        }
    }

    /// Whether no interrupt is left to be raised.
    pub fn is_over(&self) -> bool {
        self.left.is_empty()
    }

    /// Writes the guest's memory and raises the first interrupt that is due on a CPU and possible. Then
    /// no other one is raised.
    ///
    /// # Safety
    ///
    /// To be called from the callback of an instruction, on the CPU with this number.
    pub unsafe fn raise_due(&mut self, clock: &Clock, guest: &Guest, cpu: u32, now_ns: u64) {
        // Each CPU has a clock: what is due on one may come before what another one has passed.
        let first = self.left.iter().enumerate().rev();
        let mut due = first.take_while(|(_, inject)| now_ns >= inject.at_ns);
        let Some((place, _)) = due.find(|(_, inject)| inject.cpu == cpu) else { return };
        let inject = self.left.remove(place);
        let (leftmost, node) = inject.expected;
        let word = |address| guest.memory(address, 8);
        let Some(nodes) = until(word, leftmost, node) else { return };
        self.left.clear();
        // SAFETY: as the caller promises; every buffer is as long as is said.
        unsafe {
            let cpu = (self.get_cpu)(cpu.cast_signed());
            for (address, value) in inject.writes {
                let offset = address.wrapping_sub(node);
                let mut bytes = value.to_le_bytes();
                let bytes_len = bytes.len();
                for of in &nodes {
                    let address = of.wrapping_add(offset);
                    (self.memory)(cpu, address, bytes.as_mut_ptr().cast(), bytes_len, true);
                }
            }
            let mut message = inject.message.to_le_bytes();
            let len = message.len() as u64;
            let property = self.processor.processor_id();
            let id = (self.property)(cpu, property.as_ptr(), ptr::null_mut());
            let message_address = self.processor.message_address(inject.message_address, id);
            clock.as_device(|| {
                (self.devices)(message_address, message.as_mut_ptr().cast(), len, true);
            });
        }
    }
}

/// Returns the nodes of a red-black tree from the leftmost one, to which a word of memory points, to a node;
/// `None` where that is not among the first ones.
fn until(word: impl Fn(u64) -> Option<u64>, leftmost: u64, last: u64) -> Option<Vec<u64>> {
    let mut nodes = vec![word(leftmost)?];
    while nodes.last() != Some(&last) {
        if nodes.len() > BEFORE_MAX {
            return None;
        }
        nodes.push(next(&word, *nodes.last()?)?);
    }
    Some(nodes)
}

/// Returns the next node of a red-black tree, as `rb_next` does (lib/rbtree.c). A node has words with its
/// parent and colour, its right and its left child (include/linux/rbtree_types.h).
fn next(word: &impl Fn(u64) -> Option<u64>, node: u64) -> Option<u64> {
    let right = |node: u64| word(node.wrapping_add(8));
    let left = |node: u64| word(node.wrapping_add(16));
    let mut node = node;
    let mut below = right(node)?;
    if below != 0 {
        for _ in 0..LEVELS_MAX {
            match left(below)? {
                0 => return Some(below),
                lower => below = lower,
            }
        }
        return None;
    }
    for _ in 0..LEVELS_MAX {
        let parent = word(node)? & !3;
        if parent == 0 {
            return None;
        }
        if left(parent)? == node {
            return Some(parent);
        }
        node = parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Where the address of the leftmost node stands.
    const LEFTMOST: u64 = 0x10;

    /// Returns the memory of a tree: each node with its parent, right and left child.
    fn memory(leftmost: u64, nodes: &[(u64, u64, u64, u64)]) -> BTreeMap<u64, u64> {
        let words = nodes.iter().flat_map(|&(node, parent, right, left)| {
            [(node, parent | 1), (node + 8, right), (node + 16, left)]
        });
        words.chain([(LEFTMOST, leftmost)]).collect()
    }

    #[test]
    fn nodes_come_in_the_order_of_their_tree() {
        let tree = memory(
            0x100,
            &[
                (0x400, 0, 0x600, 0x200),
                (0x200, 0x400, 0x300, 0x100),
                (0x100, 0x200, 0, 0),
                (0x300, 0x200, 0, 0),
                (0x600, 0x400, 0, 0x500),
                (0x500, 0x600, 0, 0),
            ],
        );
        let word = |address| tree.get(&address).copied();
        assert_eq!(until(word, LEFTMOST, 0x100), Some(vec![0x100]));
        assert_eq!(
            until(word, LEFTMOST, 0x600),
            Some(vec![0x100, 0x200, 0x300, 0x400, 0x500, 0x600])
        );
        assert_eq!(until(word, LEFTMOST, 0x700), None);
        assert_eq!(until(word, 0x18, 0x100), None);
    }

    #[test]
    fn what_is_no_tree_has_an_end() {
        // A node that is its own parent's left child, and a child that is its own.
        let circle = memory(0x100, &[(0x100, 0x200, 0, 0), (0x200, 0x100, 0x100, 0)]);
        assert_eq!(until(|address| circle.get(&address).copied(), LEFTMOST, 0x900), None);
        let chain = memory(0x100, &[(0x100, 0, 0x200, 0), (0x200, 0x100, 0, 0x200)]);
        assert_eq!(until(|address| chain.get(&address).copied(), LEFTMOST, 0x900), None);
        let same = memory(0x100, &[(0x100, 0x100, 0, 0x100)]);
        assert_eq!(until(|address| same.get(&address).copied(), LEFTMOST, 0x900), None);
    }
}
