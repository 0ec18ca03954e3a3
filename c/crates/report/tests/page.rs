//! Tests of a whole page: whatever the data hold, it is one document whose data can be read back.

mod hostile;

use preemptlab_report::page::{PageData, html};
use preemptlab_stats::{Rule, compare};

fn empty() -> PageData {
    PageData {
        comparison: compare(&[], Rule::default()).unwrap(),
        title: "nothing".to_owned(),
        generator: "preemptlab".to_owned(),
        caption: String::new(),
        headline: String::new(),
        points: Vec::new(),
        instants: Vec::new(),
        evidence: Vec::new(),
        kernels: Vec::new(),
        qemu: Vec::new(),
        images: Vec::new(),
        command_lines: Vec::new(),
        cells: Vec::new(),
    }
}

/// Returns the part of a page that a browser takes for the data: everything up to the first end
/// tag.
fn data_in(page: &str) -> &str {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    rest.split_once("</script").unwrap().0
}

#[test]
fn the_data_can_be_read_back_whatever_it_says() {
    for data in [empty(), hostile::data()] {
        let page = html(&data);
        let read: serde_json::Value = serde_json::from_str(data_in(&page)).unwrap();
        assert_eq!(read, serde_json::to_value(&data).unwrap());
        assert!(!data_in(&page).contains('<'));
    }
}

#[test]
fn texts_add_no_element_and_end_none() {
    let tags = |page: &str, tag: &str| page.to_lowercase().matches(tag).count();
    let (harmless, page) = (html(&empty()), html(&hostile::data()));
    for tag in ["<script", "</script", "<style", "</style", "<!--", "<img", "<meta", "</title"] {
        assert_eq!(tags(&page, tag), tags(&harmless, tag), "{tag}");
    }
    let before_the_script = page.split("<script>").next().unwrap();
    assert!(!before_the_script.contains(['\0', '\u{1b}']));
}

#[test]
fn nothing_but_the_inlined_script_may_run_and_nothing_may_be_asked_for() {
    let page = html(&empty());
    let policy = "default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy), "the policy names the script by its hash");
    for asking in ["src=", "href=\"h", "@import", "url("] {
        let (document, _) = page.split_once("<script>").unwrap();
        assert!(!document.contains(asking), "{asking}");
    }
}

#[test]
fn the_licences_of_what_is_bundled_are_inside() {
    let page = html(&empty());
    for notice in ["Apache ECharts", "Apache License", "zrender/LICENSE", "tslib/LICENSE"] {
        assert!(page.contains(notice), "{notice}");
    }
}

#[test]
fn the_same_data_gives_the_same_bytes() {
    assert_eq!(html(&hostile::data()), html(&hostile::data()));
}

#[test]
fn ten_thousand_cells_are_a_few_megabytes() {
    let mut data = empty();
    let mut cell = hostile::data().cells[0].clone();
    (cell.id, cell.digest) = (Some("0".repeat(64)), Some("1".repeat(64)));
    cell.no_result = None;
    data.cells = vec![cell; 10_000];
    assert!(html(&data).len() < 5_000_000);
}
