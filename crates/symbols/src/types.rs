use object::{Object, ObjectSection};

use crate::{
    TypesError, arm64,
    btf::{Btf, Type, kind},
    bzimage,
};

/// Largest number of references from one type to the next; more count as a circle.
const REFERENCES_MAX: u32 = 64;

/// Largest number of definitions of a name. Debian's kernels have a handful at most.
const DEFINITIONS_MAX: usize = 64;

/// Largest number of members that are searched for one name. The largest structures have some
/// hundreds.
const MEMBERS_MAX: u32 = 1 << 16;

/// The size of a pointer of a 64-bit kernel, in bytes; the format does not tell it.
const POINTER_BYTES: u64 = 8;

/// The place of a member in its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The distance from the beginning of the outermost structure, in bytes.
    pub offset_bytes: u32,
    /// Size of the member, in bytes; zero for a flexible array.
    pub size_bytes: u32,
}

/// The types of one kernel, without those of its modules.
///
/// Drivers that do not know of each other can define one name several times. If the definitions
/// disagree there is no answer, which is better than a wrong one.
#[derive(Clone, Debug)]
pub struct Types {
    btf: Btf,
    /// The types that have a name and a size, in the order of the names.
    by_name: Vec<u32>,
}

impl Types {
    /// Reads the types of a kernel's image for x86, compressed with gzip, xz or zstd.
    ///
    /// # Errors
    ///
    /// [`TypesError`], also for a kernel that was built without its types.
    pub fn from_bzimage(image: &[u8]) -> Result<Self, TypesError> {
        Self::from_vmlinux(&bzimage::vmlinux(image)?)
    }

    /// Reads the types of a kernel's image for arm64.
    ///
    /// # Errors
    ///
    /// [`TypesError`], also for a kernel that was built without its types.
    pub fn from_arm64_image(image: &[u8]) -> Result<Self, TypesError> {
        Self::from_btf(arm64::btf(image)?)
    }

    /// Reads the types of the ELF file in a kernel's image.
    ///
    /// # Errors
    ///
    /// [`TypesError`] when the file has no types or they are malformed.
    pub fn from_vmlinux(elf: &[u8]) -> Result<Self, TypesError> {
        let elf_error = |error: object::Error| TypesError::Elf(error.to_string());
        let file = object::File::parse(elf).map_err(elf_error)?;
        let section = file.section_by_name(".BTF").ok_or(TypesError::NoBtf)?;
        Self::from_btf(section.data().map_err(elf_error)?)
    }

    /// Reads bare types, as in `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    ///
    /// [`TypesError::Btf`] when they are malformed.
    pub fn from_btf(blob: &[u8]) -> Result<Self, TypesError> {
        let btf = Btf::parse(blob)?;
        let name = |id: &u32| btf.get(*id).map(|found| found.name);
        let mut by_name: Vec<u32> = btf
            .ids()
            .filter(|id| {
                btf.get(*id).is_some_and(|found| {
                    !found.name.is_empty()
                        && (is_compound(found.kind)
                            || is_scalar(found.kind)
                            || found.kind == kind::TYPEDEF)
                })
            })
            .collect();
        by_name.sort_unstable_by_key(|id| (name(id), *id));
        Ok(Self { btf, by_name })
    }

    /// Finds a member of a structure, a union or a typedef of one, along a path such as
    /// `thread_info.flags` or `clock_base[1].get_time`. Members of unnamed structures and unions
    /// are found as in C. Pointers are not followed.
    ///
    /// `None` if there is no such member, if it is a bitfield, or if the definitions disagree.
    pub fn member_offset(&self, structure: &str, path: &str) -> Option<Member> {
        agreed(self.definitions(structure).filter_map(|id| self.member(id, path)))
    }

    /// Returns the size of a structure, a union, an enumeration, a typedef or an integer, in bytes;
    /// `None` if there is no such type, or if the definitions disagree.
    pub fn size_of(&self, name: &str) -> Option<u32> {
        agreed(self.definitions(name).filter_map(|id| u32::try_from(self.size(id)?).ok()))
    }

    /// Returns the types of a name: structures and unions, whose names are apart in C, or else the
    /// others.
    fn definitions(&self, name: &str) -> impl Iterator<Item = u32> + '_ {
        let named = |id: &u32| self.btf.get(*id).map_or(&b""[..], |found| found.name);
        let first = self.by_name.partition_point(|id| named(id) < name.as_bytes());
        let rest = &self.by_name[first..];
        let all = &rest[..rest.partition_point(|id| named(id) == name.as_bytes())];
        let all = if all.len() > DEFINITIONS_MAX { &[] } else { all };
        let compound = |id: &u32| self.btf.get(*id).is_some_and(|found| is_compound(found.kind));
        let any_compound = all.iter().any(compound);
        all.iter().copied().filter(move |id| !any_compound || compound(id))
    }

    fn member(&self, structure: u32, path: &str) -> Option<Member> {
        let (mut id, mut offset_bits) = (structure, 0_u64);
        for step in path.split('.') {
            let (name, indices) = step.split_at(step.find('[').unwrap_or(step.len()));
            let (member_bits, member) = self.named_member(id, name.as_bytes())?;
            (id, offset_bits) = (member, offset_bits.checked_add(member_bits)?);
            for index in indices.split_inclusive(']') {
                let index = index.strip_prefix('[')?.strip_suffix(']')?.parse::<u32>().ok()?;
                let [element, _, count] = self.plain(id, kind::ARRAY)?.entries().next()?;
                if index >= count {
                    return None;
                }
                let bits = self.size(element)?.checked_mul(u64::from(index))?.checked_mul(8)?;
                (id, offset_bits) = (element, offset_bits.checked_add(bits)?);
            }
        }
        Some(Member {
            offset_bytes: u32::try_from(offset_bits / 8).ok()?,
            size_bytes: u32::try_from(self.size(id)?).ok()?,
        })
    }

    /// Returns a member's offset in bits and its type; `None` for a bitfield too.
    fn named_member(&self, structure: u32, wanted: &[u8]) -> Option<(u64, u32)> {
        if wanted.is_empty() {
            return None;
        }
        let mut unsearched = vec![(structure, 0_u64)];
        let mut seen = 0;
        while let Some((id, base_bits)) = unsearched.pop() {
            let Some(found) = self.unqualified(id).filter(|found| is_compound(found.kind)) else {
                continue;
            };
            for [name, member, offset] in found.entries() {
                seen += 1;
                if seen > MEMBERS_MAX {
                    return None;
                }
                let (bits, bitfield) = match found.flag {
                    true => (offset & 0xff_ffff, offset >> 24 != 0),
                    false => (offset, self.is_part_of_int(member)),
                };
                let name = self.btf.name(name);
                if name == wanted {
                    let aligned = !bitfield && bits % 8 == 0;
                    return aligned.then_some((base_bits.checked_add(u64::from(bits))?, member));
                }
                if name.is_empty() {
                    unsearched.push((member, base_bits.checked_add(u64::from(bits))?));
                }
            }
        }
        None
    }

    /// Returns whether a type is an integer that does not fill its bytes, as old blobs have for
    /// bitfields.
    fn is_part_of_int(&self, id: u32) -> bool {
        self.plain(id, kind::INT).is_some_and(|int| {
            int.entries().next().is_some_and(|[encoding]: [u32; 1]| {
                let (offset_bits, bits) = (encoding >> 16 & 0xff, encoding & 0xff);
                offset_bits != 0 || u64::from(bits) != u64::from(int.size_or_type) * 8
            })
        })
    }

    /// Returns a type's size in bytes; `None` for a type without one, such as `void` and functions.
    fn size(&self, mut id: u32) -> Option<u64> {
        let mut count = 1_u64;
        for _ in 0..REFERENCES_MAX {
            let found = self.unqualified(id)?;
            match found.kind {
                kind::ARRAY => {
                    let [element, _, length] = found.entries().next()?;
                    (id, count) = (element, count.checked_mul(u64::from(length))?);
                }
                kind::PTR => return count.checked_mul(POINTER_BYTES),
                kind if is_compound(kind) || is_scalar(kind) => {
                    return count.checked_mul(u64::from(found.size_or_type));
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the type of this kind behind a type's qualifiers.
    fn plain(&self, id: u32, kind: u8) -> Option<Type<'_>> {
        self.unqualified(id).filter(|found| found.kind == kind)
    }

    /// Finds the type behind typedefs and qualifiers.
    fn unqualified(&self, mut id: u32) -> Option<Type<'_>> {
        for _ in 0..REFERENCES_MAX {
            let found = self.btf.get(id)?;
            match found.kind {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    id = found.size_or_type
                }
                _ => return Some(found),
            }
        }
        None
    }
}

fn is_compound(kind: u8) -> bool {
    matches!(kind, kind::STRUCT | kind::UNION)
}

fn is_scalar(kind: u8) -> bool {
    matches!(kind, kind::INT | kind::ENUM | kind::ENUM64 | kind::FLOAT)
}

/// Returns the value that all have.
fn agreed<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{self, Blob};

    fn at(offset_bytes: u32, size_bytes: u32) -> Option<Member> {
        Some(Member { offset_bytes, size_bytes })
    }

    /// Returns the types of these definitions:
    ///
    /// ```c
    /// typedef int number;
    /// struct inner { char c; const number n; };
    /// struct outer {
    ///     void *p;
    ///     struct { union { struct inner in; int raw[3]; }; };
    ///     struct inner many[2][4];
    ///     char tail[];
    /// };
    /// ```
    fn blob() -> Blob {
        let mut blob = Blob::default();
        let int = blob.int("int", 4);
        let char = blob.int("char", 1);
        let number = blob.refer(kind::TYPEDEF, "number", int);
        let constant = blob.refer(kind::CONST, "", number);
        let inner = blob.structure("inner", 8, &[("c", char, 0), ("n", constant, 32)]);
        let pointer = blob.refer(kind::PTR, "", 0);
        let raw = blob.array(int, 3);
        let union = blob.record("", kind::UNION, 2, 12, &[]);
        blob.entry(&["in"], &[inner, 0]);
        blob.entry(&["raw"], &[raw, 0]);
        let unnamed = blob.structure("", 12, &[("", union, 0)]);
        let row = blob.array(inner, 4);
        let many = blob.array(row, 2);
        let tail = blob.array(char, 0);
        blob.structure(
            "outer",
            88,
            &[("p", pointer, 0), ("", unnamed, 64), ("many", many, 160), ("tail", tail, 672)],
        );
        blob
    }

    fn types(blob: &Blob) -> Types {
        Types::from_btf(&blob.bytes()).unwrap()
    }

    #[test]
    fn members_are_found_along_a_path() {
        let types = types(&blob());
        assert_eq!(types.member_offset("inner", "n"), at(4, 4));
        assert_eq!(types.member_offset("outer", "p"), at(0, 8));
        assert_eq!(types.member_offset("outer", "in"), at(8, 8));
        assert_eq!(types.member_offset("outer", "in.n"), at(12, 4));
        assert_eq!(types.member_offset("outer", "raw"), at(8, 12));
        assert_eq!(types.member_offset("outer", "raw[2]"), at(16, 4));
        assert_eq!(types.member_offset("outer", "many"), at(20, 64));
        assert_eq!(types.member_offset("outer", "many[1]"), at(52, 32));
        assert_eq!(types.member_offset("outer", "many[1][3].n"), at(80, 4));
        assert_eq!(types.member_offset("outer", "tail"), at(84, 0));
    }

    #[test]
    fn what_is_not_there_has_no_offset() {
        let types = types(&blob());
        for path in [
            "",
            ".",
            "n",
            "in.",
            "in.x",
            "p.x",
            "raw[3]",
            "raw[",
            "raw]",
            "raw[]",
            "raw[-1]",
            "raw[0]x",
            "raw[0][0]",
            "many.n",
            "tail[0]",
            "in[0]",
            "[0]",
        ] {
            assert_eq!(types.member_offset("outer", path), None, "{path}");
        }
        for name in ["", "oute", "outers", "int", "number"] {
            assert_eq!(types.member_offset(name, "p"), None, "{name}");
        }
    }

    #[test]
    fn sizes_are_those_behind_the_names() {
        let mut blob = blob();
        blob.refer(kind::TYPEDEF, "outer_t", 13);
        let types = types(&blob);
        for (name, size) in [("outer", 88), ("outer_t", 88), ("number", 4), ("char", 1)] {
            assert_eq!(types.size_of(name), Some(size), "{name}");
        }
        assert_eq!(types.member_offset("outer_t", "in.n"), at(12, 4));
        assert_eq!(types.size_of("nothing"), None);
        assert_eq!(types.size_of(""), None);
    }

    #[test]
    fn definitions_that_disagree_have_no_answer() {
        let mut blob = blob();
        blob.structure("inner", 8, &[("n", 1, 32), ("c", 2, 8)]);
        blob.refer(kind::TYPEDEF, "inner", 1);
        let types = types(&blob);
        assert_eq!(types.member_offset("inner", "n"), at(4, 4));
        assert_eq!(types.member_offset("inner", "c"), None);
        assert_eq!(types.size_of("inner"), Some(8));
    }

    #[test]
    fn bitfields_have_no_offset() {
        let mut blob = Blob::default();
        let int = blob.int("int", 4);
        let part = blob.record("part", kind::INT, 0, 4, &[3]);
        blob.structure("old", 8, &[("whole", int, 0), ("part", part, 32)]);
        let flagged = blob.record("new", kind::STRUCT, 3, 8, &[]);
        blob.flag(flagged);
        blob.entry(&["whole"], &[int, 0]);
        blob.entry(&["part"], &[int, 3 << 24 | 32]);
        blob.entry(&["next"], &[int, 35]);
        let types = types(&blob);
        for name in ["old", "new"] {
            assert_eq!(types.member_offset(name, "whole"), at(0, 4));
            assert_eq!(types.member_offset(name, "part"), None);
        }
        assert_eq!(types.member_offset("new", "next"), None);
    }

    #[test]
    fn enumerations_have_sizes() {
        let mut blob = Blob::default();
        let signed = blob.record("signed", kind::ENUM, 1, 4, &[]);
        blob.flag(signed);
        blob.entry(&["MINUS"], &[u32::MAX]);
        blob.record("wide", kind::ENUM64, 2, 8, &[]);
        blob.entry(&["WIDE"], &[2, 1]);
        blob.entry(&["HUGE"], &[0, 1 << 31]);
        let types = types(&blob);
        assert_eq!(types.size_of("signed"), Some(4));
        assert_eq!(types.size_of("wide"), Some(8));
    }

    #[test]
    fn circles_end() {
        let mut blob = Blob::default();
        blob.refer(kind::TYPEDEF, "circle", 1);
        blob.array(2, 2);
        blob.structure("itself", 8, &[("", 3, 0), ("", 3, 8), ("a", 2, 0), ("b", 1, 0)]);
        let types = types(&blob);
        assert_eq!(types.size_of("circle"), None);
        for path in ["a", "b", "c"] {
            assert_eq!(types.member_offset("itself", path), None);
        }
    }

    #[test]
    fn types_are_found_in_an_image() {
        let elf = testing::elf(".BTF", &blob().bytes());
        assert_eq!(Types::from_vmlinux(&elf).unwrap().size_of("outer"), Some(88));
        let mut packed = zstd::encode_all(&elf[..], 1).unwrap();
        packed.extend((elf.len() as u32).to_le_bytes());
        let types = Types::from_bzimage(&testing::bzimage(4, &packed)).unwrap();
        assert_eq!(types.member_offset("outer", "in.n"), at(12, 4));
        let without = testing::elf(".text", b"");
        assert_eq!(Types::from_vmlinux(&without).unwrap_err(), TypesError::NoBtf);
        assert!(matches!(Types::from_vmlinux(b"\x7fELF").unwrap_err(), TypesError::Elf(_)));
    }

    /// Asks for everything that there is.
    fn ask(types: &Types) {
        for name in ["outer", "inner", "number", "int", ""] {
            let _ = types.size_of(name);
            for path in ["in.n", "many[1][3].n", "p", "tail", "x"] {
                let _ = types.member_offset(name, path);
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Types::from_btf(&bytes);
            let _ = Types::from_vmlinux(&bytes);
            let mut blob = blob().bytes();
            blob.truncate(24);
            blob.extend(&bytes);
            let _ = Types::from_btf(&blob);
        }

        #[test]
        fn damaged_blobs_never_panic(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = blob().bytes();
            for (place, value) in flips {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            if let Ok(types) = Types::from_btf(&bytes) {
                ask(&types);
            }
        }

        #[test]
        fn damaged_files_never_panic(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut elf = testing::elf(".BTF", &blob().bytes());
            for (place, value) in flips {
                let place = place.index(elf.len());
                elf[place] = value;
            }
            if let Ok(types) = Types::from_vmlinux(&elf) {
                ask(&types);
            }
        }

        #[test]
        fn arbitrary_paths_never_panic(name: String, path: String) {
            let types = types(&blob());
            let _ = types.member_offset(&name, &path);
            let _ = types.member_offset("outer", &path);
        }
    }
}
