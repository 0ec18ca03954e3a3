//! `web/src/document.ts` holds the types of the page's data as they are here.

use std::{any::TypeId, collections::BTreeSet, env, fs, path::Path};

use preemptlab_report_html::PageData;
use ts_rs::{Config, TS, TypeVisitor};

const HEADER: &str = "\
// The types of the page's data. Written by crates/report-html/tests/types.rs, never by hand:
//     WRITE_TYPES=1 cargo test -p preemptlab-report-html --test types
";

/// Every type that a type is made of, in the order in which they are met.
struct Types {
    config: Config,
    met: BTreeSet<TypeId>,
    text: String,
}

impl TypeVisitor for Types {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if T::output_path().is_none() || !self.met.insert(TypeId::of::<T>()) {
            return;
        }
        let docs = T::docs().unwrap_or_default();
        self.text += &format!("\n{docs}export {}\n", T::decl(&self.config));
        T::visit_dependencies(self);
    }
}

#[test]
fn the_types_of_the_script_are_those_of_the_page() {
    let config = Config::new().with_large_int("number");
    let mut types = Types { config, met: BTreeSet::new(), text: HEADER.to_owned() };
    types.visit::<PageData>();
    let lines = types.text.lines().map(|line| format!("{}\n", line.trim_end()));
    let text: String = lines.collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/document.ts");
    if env::var_os("WRITE_TYPES").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "web/src/document.ts is not what the types in Rust come to; write it anew with\n    \
         WRITE_TYPES=1 cargo test -p preemptlab-report-html --test types\nand see whether web/ still \
         agrees with it (tests/report-in-browser)"
    );
}
