//! Pages, letters and tables of recordings, without a virtual machine.

use std::{fs, path::Path};

use preemptlab_analysis::{Atlas, Class, Compared, GivenRule, Keep, in_us, mixed};
use preemptlab_experiment::Recording;
use preemptlab_model::PreemptMode;
use preemptlab_report::{
    Answers, InWords, atlas_markdown,
    export::{Format, export_tables},
    form, letter,
    page::{PageData, page_data},
};
use preemptlab_stats::Comparison;
use preemptlab_testkit::{
    recorded::{Cell, recorded},
    traced::Traced,
};

/// Makes cells whose modes are apart; one cell failed and one was not executed.
fn apart(mode: &str, replicate: u32) -> Cell {
    match (mode, replicate) {
        ("none", 1) => Cell::Failed,
        ("none", 2) => Cell::Missing,
        ("none", _) => Cell::Later(replicate.into()),
        _ => Cell::Measured,
    }
}

/// Returns the status of a row's cell.
fn status(row: &serde_json::Value) -> &str {
    row["no_result"]["status"].as_str().unwrap_or("completed")
}

fn page(path: &Path) -> (PageData, Comparison) {
    let paths = [path.to_owned()];
    let (compared, _) = Compared::open(&paths, Keep::Distributions, GivenRule::default()).unwrap();
    let comparison = compared.comparison().unwrap();
    let said = InWords { headline: "It is so.".into(), points: vec!["A point.".into()] };
    (page_data(&compared, &comparison, said, "a test").unwrap(), comparison)
}

#[test]
fn a_page_has_every_cell_of_the_plan() {
    let (_folder, path) = recorded("a", apart);
    let (page, comparison) = page(&path);
    let rows = serde_json::to_value(&page).unwrap()["cells"].clone();
    let statuses: Vec<&str> = rows.as_array().unwrap().iter().map(status).collect();
    assert_eq!(statuses.len(), 10);
    for (status, count) in [("completed", 8), ("failed", 1), ("missing", 1)] {
        assert_eq!(statuses.iter().filter(|each| **each == status).count(), count, "{status}");
    }
    let text = letter(&page, &comparison);
    assert!(text.contains("It is so.") && text.contains("- A point."), "{text}");
    assert!(text.contains("2 of 5") || text.contains("1 of 5 failed"), "{text}");
    let filled = |template: &str| {
        let form = form(template.to_owned(), &page, &comparison);
        let comparison = comparison.clone();
        form.fill(move |call| Answers::new(&comparison, &[]).answer(call))
    };
    assert_eq!(filled("{{ experiment }}").unwrap(), "made");
    assert!(filled("{{ median('x', 'y', 'z') }}").is_err());
}

#[test]
fn cells_of_an_atlas_are_named_as_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let Traced { recording, .. } = Traced::new(folder.path());
    let cells = |name: &str| Atlas::new(&[&recording], Some(name)).map(|atlas| atlas.cells().1);
    let (_, planned) =
        recording.planned().find(|(_, it)| it.factors.preempt == PreemptMode::Full).unwrap();
    let id = format!("{:.8}", planned.inputs().unwrap().id().to_string());
    assert_eq!(cells(&id).unwrap(), 1);
    let error = cells("nothing").unwrap_err().to_string();
    assert!(error.contains("no finished cell is called `nothing`; name one of these"), "{error}");
    assert!(error.contains(&format!(" ({id})")), "{error}");
}

#[test]
fn a_template_has_the_atlas_of_its_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let Traced { recording, .. } = Traced::new(folder.path());
    let path = recording.path().to_owned();
    let atlas = Atlas::new(&[&recording], None).unwrap();
    let section = atlas.of_class(Class::N).next().unwrap();
    let name = &atlas.configurations[section.configuration].name;
    let (page, comparison) = page(recording.path());
    let filled = |template: &str| {
        let form = form(template.to_owned(), &page, &comparison);
        let (comparison, path) = (comparison.clone(), path.clone());
        form.fill(move |call| {
            let recording = Recording::open(&path).unwrap();
            Answers::new(&comparison, &[&recording]).answer(call)
        })
    };
    assert_eq!(filled("{{ atlas() }}").unwrap(), atlas_markdown(&atlas));
    let longest = |class: &str, function: &str, configuration: &str| {
        filled(&format!("{{{{ longest('{class}', '{function}', '{configuration}') }}}}"))
    };
    let length = format!("{} us", in_us(section.longest_ns));
    assert_eq!(longest("N", &section.function, name).unwrap(), length);
    for (class, function, configuration, reason) in [
        (
            "Q",
            section.function.as_str(),
            name.as_str(),
            "no class of sections here; there are P, N",
        ),
        ("N", "nothing", name, "no section of class N is in `nothing`"),
        ("N", &section.function, "debian:1/full", "is no configuration here"),
    ] {
        let error = longest(class, function, configuration).unwrap_err();
        assert!(error.reason.contains(reason), "{error}");
    }
    assert!(filled("{{ atlas('x') }}").is_err());
}

#[test]
fn tables_are_written_whole_into_a_new_folder() {
    let (folder, path) = recorded("a", apart);
    let (recordings, warnings) = mixed::open(&[path]).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let out = folder.path().join("out");
    let written = export_tables(&recordings, Format::Csv, Some(&out)).unwrap();
    let counts: Vec<_> = written.statuses.into_iter().collect();
    assert_eq!(counts, [("completed", 8), ("failed", 1), ("missing", 1)]);
    let names = ["cells", "metrics", "histograms", "instants", "sections"];
    let names = names.map(|name| out.join(format!("{name}.csv")));
    assert_eq!(written.files, names);
    let cells = fs::read_to_string(&names[0]).unwrap();
    assert_eq!(cells.lines().count(), 11, "{cells}");
    let error = export_tables(&recordings, Format::Csv, Some(&out)).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
}
