//! Tests of an atlas's page: whatever the atlas holds, it is one document whose data can be read back, and a large
//! one is small.

mod atlas;

use preemptlab_report::page::{atlas_data, atlas_html};

fn page(atlas: &preemptlab_analysis::Atlas) -> String {
    let (data, details) = atlas_data(atlas, "runs/atlas", &[], "preemptlab");
    atlas_html(&data, &details)
}

/// Returns what a browser takes for the data of an element: everything up to the first end tag.
fn data_in<'a>(page: &'a str, id: &str) -> &'a str {
    let begin = format!(r#"<script type="application/json" id="{id}">"#);
    let (_, rest) = page.split_once(&begin).unwrap();
    rest.split_once("</script").unwrap().0
}

#[test]
fn the_data_can_be_read_back_whatever_it_says() {
    for atlas in [atlas::made_up(6, 4, 3), atlas::hostile()] {
        let (data, details) = atlas_data(&atlas, atlas::HOSTILE, &[], atlas::HOSTILE);
        let page = atlas_html(&data, &details);
        let read = |id| serde_json::from_str::<serde_json::Value>(data_in(&page, id)).unwrap();
        assert_eq!(read("data"), serde_json::to_value(&data).unwrap());
        assert_eq!(read("details"), serde_json::to_value(&details).unwrap());
        assert!(!data_in(&page, "data").contains('<'));
    }
}

#[test]
fn texts_add_no_element_and_end_none() {
    let tags = |page: &str, tag: &str| page.to_lowercase().matches(tag).count();
    let harmless = page(&atlas::made_up(6, 5, 4));
    let hostile = page(&atlas::hostile());
    for tag in ["<script", "</script", "<style", "</style", "<!--", "<img", "<meta", "</title"] {
        assert_eq!(tags(&hostile, tag), tags(&harmless, tag), "{tag}");
    }
    let before_the_script = hostile.split("<script>").next().unwrap();
    assert!(!before_the_script.contains(['\0', '\u{1b}']));
}

#[test]
fn nothing_but_the_inlined_script_may_run_and_nothing_may_be_asked_for() {
    let page = page(&atlas::made_up(6, 4, 3));
    let policy = "default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy), "the policy names the script by its hash");
    let (document, _) = page.split_once("<script>").unwrap();
    for asking in ["src=", "href=\"h", "@import", "url("] {
        assert!(!document.contains(asking), "{asking}");
    }
    assert!(!page.contains("echarts"), "the explorer draws its map itself");
}

#[test]
fn ten_thousand_cells_are_at_most_fifteen_megabytes() {
    let page = page(&atlas::filled(250, 40, 24));
    assert!(page.len() <= 15_000_000, "{} bytes", page.len());
}
