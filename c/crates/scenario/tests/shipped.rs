//! The scenarios that ship.

use std::{fs, path::Path};

use preemptlab_scenario::{Model, Scenario};

fn shipped() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (stem, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_is_a_scenario_of_its_name_that_says_what_it_shows() {
    let files = shipped();
    assert!(files.len() >= 15, "{}", files.len());
    for (stem, text) in files {
        let variants = Scenario::parse_variants(&text);
        for scenario in variants.unwrap_or_else(|error| panic!("{stem}: {error}")) {
            assert_eq!(scenario.family(), stem);
            assert!(!scenario.description().is_empty(), "{stem}");
            assert!(!scenario.expectations().is_empty(), "{stem}");
        }
    }
}

#[test]
fn the_driver_demo_is_what_the_article_has() {
    let files = shipped();
    let (_, text) = files.iter().find(|(stem, _)| stem == "driver-demo").unwrap();
    let scenario = Scenario::parse(text).unwrap();
    assert!(scenario.needs_module());
    let json = serde_json::to_string_pretty(scenario.script()).unwrap();
    insta::assert_snapshot!(json);
    let models = |model: Model| {
        let wakes = scenario.expectations()[0].clone();
        match wakes.expected {
            preemptlab_scenario::Expected::Wakes { at_ns, .. } => at_ns[&model],
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(models(Model::None), 6_000_000_000);
    assert_eq!(models(Model::Voluntary), 5_000_000_000);
    assert_eq!(models(Model::Rt), 3_000_000_000);
}

#[test]
fn only_user_space_needs_no_module() {
    let needs: Vec<String> = shipped()
        .into_iter()
        .filter(|(_, text)| !Scenario::parse(text).unwrap().needs_module())
        .map(|(stem, _)| stem)
        .collect();
    assert_eq!(
        needs,
        ["deadlock", "priority-inheritance", "priority-inversion", "priority-variants"]
    );
}

#[test]
fn the_file_of_the_reference_is_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario-format.md");
    let page = fs::read_to_string(page).unwrap();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(Scenario::parse(text).unwrap().name(), "driver-demo");
}
