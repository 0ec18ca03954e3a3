//! Test that docs/export.md describes the tables as they are written.

use std::{collections::BTreeSet, fs, path::Path};

use preemptlab_report::export::{Column, Table};

/// Returns the line of a column in the page.
fn line(column: &Column) -> String {
    let optional = if column.optional { ", may be absent" } else { "" };
    format!(
        "| `{}` | {}{optional} | {} | {} |",
        column.name,
        column.kind.as_str(),
        column.unit.unwrap_or("-"),
        column.about
    )
}

/// Returns the lines of columns in the page's section of that title.
fn documented<'a>(page: &'a str, title: &str) -> Vec<&'a str> {
    let start = page.find(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no `{title}`"));
    let section = &page[start + 4..];
    let section = section.split("\n## ").next().unwrap_or(section);
    section.lines().filter(|line| line.starts_with("| `")).collect()
}

#[test]
fn every_column_is_documented_with_its_type_and_unit() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/export.md");
    let page = fs::read_to_string(path).unwrap();
    let common = documented(&page, "Every table");
    for table in Table::ALL {
        let lines: Vec<String> = table.columns().iter().map(line).collect();
        let own = documented(&page, &format!("`{table}`"));
        let documented: Vec<&str> = common.iter().chain(&own).copied().collect();
        assert_eq!(documented, lines, "the page should say:\n{}\n", lines.join("\n"));
        assert!(page.contains(table.about()), "{}", table.about());
    }
}

#[test]
fn no_text_breaks_the_page_or_the_metadata() {
    let columns = Table::ALL.iter().flat_map(|table| table.columns());
    for column in columns {
        let text = line(&column);
        assert_eq!(text.matches('|').count(), 5, "{text}");
        assert!(column.about.ends_with('.') && !text.contains("  "), "{text}");
    }
    let names: BTreeSet<&str> = Table::ALL.iter().map(|table| table.as_str()).collect();
    assert_eq!(names.len(), Table::ALL.len());
}
