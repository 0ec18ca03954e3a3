//! Reports for KernelCI's database (KCIDB), schema 5.

use preemptlab_model::{Digest, plain};
use preemptlab_stats::Gate;
use serde_json::{Value, json};

use super::{
    cases::{End, cases},
    tables::gate_headline,
};

/// Name of the system that reports. A submitter with an own origin replaces it.
const ORIGIN: &str = "preemptlab";

/// Renders the decision as reports for KernelCI: the new kernel as a build, and a test for each metric,
/// each section that is worse or suspect, and each cell that failed. Identities follow from the kernels
/// and the seeds alone, so the same decision has the same.
pub fn gate_kcidb(gate: &Gate) -> String {
    let id = |of: &Value| format!("{ORIGIN}:{}", Digest::of_json(of));
    let build = json!([gate.new, gate.new_image]);
    let build_id = id(&build);
    let checkout_id = id(&json!([gate.new]));
    let is_built = gate.new_image.is_some() || !gate.rows.is_empty();
    let tests = cases(gate).into_iter().map(|case| {
        let path = [ORIGIN, "gate"].into_iter().chain(case.path).map(word).collect::<Vec<_>>();
        let path: Vec<String> = path.into_iter().filter(|word| !word.is_empty()).collect();
        let mut test = json!({
            "id": id(&json!([build, gate.base, gate.base_image, case.name, gate.looks])),
            "origin": ORIGIN,
            "build_id": build_id,
            "path": path.join("."),
            "status": match case.end {
                End::Passed => "PASS",
                End::Failed => "FAIL",
                End::Broken => "ERROR",
                End::Undecided => "DONE",
            },
            "comment": shown(&format!("{}: {}", case.name, case.words)),
            "misc": { "base": shown(&gate.base) },
        });
        if let Some((value, unit)) = case.number {
            test["number"] = json!({ "value": value, "unit": shown(unit) });
        }
        test
    });
    let document = json!({
        "version": { "major": 5, "minor": 0 },
        "checkouts": [{ "id": checkout_id, "origin": ORIGIN, "comment": shown(&gate.new) }],
        "builds": [{
            "id": build_id,
            "origin": ORIGIN,
            "checkout_id": checkout_id,
            "architecture": "x86_64",
            "status": if is_built { "PASS" } else { "FAIL" },
            "comment": shown(&gate_headline(gate)),
        }],
        "tests": tests.collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&document).expect("it has strings as keys");
    format!("{}\n", plain::json(&text))
}

/// Returns a text without characters that steer a reader.
fn shown(text: &str) -> String {
    plain::line(text).into_owned()
}

/// Returns a text as a word of a test's path.
fn word(text: &str) -> String {
    let is_kept = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    text.chars().map(|char| if is_kept(char) { char } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::{NASTY, hostile};

    /// Asks KernelCI's own package. `KCIDB_IO` is a folder with it, of `pip install --target FOLDER
    /// kcidb-io`.
    #[test]
    #[ignore = "needs the Python package kcidb-io in the folder KCIDB_IO"]
    fn kernelcis_own_package_takes_it() {
        let check = "import json, sys, kcidb_io; \
                     kcidb_io.schema.LATEST.validate(json.load(sys.stdin))";
        let folder = std::env::var_os("KCIDB_IO").expect("KCIDB_IO is a folder");
        let mut python = std::process::Command::new("python3")
            .args(["-c", check])
            .env("PYTHONPATH", folder)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let document = gate_kcidb(&hostile());
        std::io::Write::write_all(&mut python.stdin.take().unwrap(), document.as_bytes()).unwrap();
        assert!(python.wait().unwrap().success());
    }

    /// The rules of the schema that a hostile name could break.
    #[test]
    fn it_keeps_the_schemas_rules() {
        let document: Value = serde_json::from_str(&gate_kcidb(&hostile())).unwrap();
        let all = |key: &str| document[key].as_array().unwrap().clone();
        let (builds, tests) = (all("builds"), all("tests"));
        assert_eq!(builds[0]["checkout_id"], all("checkouts")[0]["id"]);
        let mut ids = Vec::new();
        for test in &tests {
            assert_eq!(test["build_id"], builds[0]["id"]);
            let text = |key: &str| test[key].as_str().unwrap();
            assert!(text("id").starts_with("preemptlab:"));
            let words = text("path").split('.');
            let is_plain = |word: &str| {
                !word.is_empty()
                    && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
            };
            assert!(words.clone().all(is_plain), "{}", text("path"));
            assert!(!text("comment").contains('\0'));
            ids.push(text("id").to_owned());
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), tests.len(), "every test has an identity of its own");
        let has = |status: &str| tests.iter().any(|test| test["status"] == status);
        assert!(has("FAIL") && has("ERROR") && has("PASS"));
        assert!(NASTY.contains('\0'), "the name holds what the schema refuses");
    }
}
