//! The types of the pages' data in `web/src` are those here.

use std::{collections::BTreeMap, env, fs, path::Path};

use preemptlab_report::page::{AtlasData, AtlasDetails, PageData};
use ts_rs::{Config, TS, TypeVisitor};

const HEADER: &str = "\
// The types of the page's data. Written by crates/report/tests/types.rs, never by hand:
//     WRITE_TYPES=1 cargo test -p preemptlab-report --test types
";

/// The declaration of every type that a type is made of, by its name: they are met in an order that
/// each build draws anew.
struct Types {
    config: Config,
    declared: BTreeMap<String, String>,
}

impl TypeVisitor for Types {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let name = T::name(&self.config);
        if T::output_path().is_none() || self.declared.contains_key(&name) {
            return;
        }
        let docs = T::docs().unwrap_or_default();
        self.declared.insert(name, format!("\n{docs}export {}\n", T::decl(&self.config)));
        T::visit_dependencies(self);
    }
}

impl Types {
    fn new() -> Self {
        Self { config: Config::new().with_large_int("number"), declared: BTreeMap::new() }
    }
}

#[test]
fn the_types_of_the_scripts_are_those_of_the_pages() {
    let (mut comparison, mut atlas) = (Types::new(), Types::new());
    comparison.visit::<PageData>();
    atlas.visit::<AtlasData>();
    atlas.visit::<AtlasDetails>();
    check("document.ts", comparison);
    check("atlas/document.ts", atlas);
}

/// Compares types with those in a file of `web/src`, or writes the file.
#[track_caller]
fn check(file: &str, types: Types) {
    let declared: String = types.declared.into_values().collect();
    let lines = declared.lines().map(|line| format!("{}\n", line.trim_end()));
    let text: String = [HEADER.to_owned()].into_iter().chain(lines).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src").join(file);
    if env::var_os("WRITE_TYPES").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "web/src/{file} is not what the types in Rust come to; write it anew with\n    \
         WRITE_TYPES=1 cargo test -p preemptlab-report --test types\nand see whether web/ still \
         agrees with it (tests/report-in-browser)"
    );
}
