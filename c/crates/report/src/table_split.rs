//! Tables that are too wide, as several with the same rows.

use crate::{Align, Cell, Column, Row, Table, Tone};

/// Tables that one is split into at most; beyond that a record per row reads better.
const PARTS_MAX: usize = 3;

/// Splits a table of numbers into several of which each `fits`: each has the first column, and groups of
/// columns stay together where they fit. `None` for a table of words, and where it would be too many.
pub fn split(table: &Table, fits: impl Fn(&Table) -> bool) -> Option<Vec<Table>> {
    let (first, numbers) = table.columns.split_first()?;
    let is_number = |column: &Column| column.align == Align::Right;
    if first.align != Align::Left || numbers.len() < 2 || !numbers.iter().all(is_number) {
        return None;
    }
    let fits = |columns: &[usize]| fits(&part(table, columns));
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for group in groups(numbers) {
        match parts.last_mut() {
            Some(last) if fits(&[last.as_slice(), &group].concat()) => last.extend(group),
            _ if fits(&group) => parts.push(group),
            _ => {
                for column in group {
                    match parts.last_mut() {
                        Some(last) if fits(&[last.as_slice(), &[column]].concat()) => {
                            last.push(column);
                        }
                        _ if fits(&[column]) => parts.push(vec![column]),
                        _ => return None,
                    }
                }
            }
        }
    }
    (parts.len() <= PARTS_MAX).then(|| {
        let each = parts.iter().enumerate();
        each.map(|(place, columns)| part(&notes_in_first(table, place), columns)).collect()
    })
}

/// Returns the table as it is split: notes across all columns stand in the first part alone.
fn notes_in_first(table: &Table, place: usize) -> Table {
    let is_note = |row: &Row| matches!(row, Row::Span(cell) if cell.tone() == Tone::Faint);
    let rows = table.rows.iter().filter(|row| place == 0 || !is_note(row)).cloned();
    Table { rows: rows.collect(), ..table.clone() }
}

/// Returns the places of the columns of each group; columns without a group are one each.
fn groups(numbers: &[Column]) -> Vec<Vec<usize>> {
    let is_together = |a: &Column, b: &Column| !a.group.is_empty() && a.group == b.group;
    let mut next = 1;
    let groups = numbers.chunk_by(is_together).map(|group| {
        let places = (next..next + group.len()).collect();
        next += group.len();
        places
    });
    groups.collect()
}

/// Returns the table with the first and these columns, without lines that say nothing in them.
fn part(table: &Table, columns: &[usize]) -> Table {
    let of = |cells: &Vec<Cell>| -> Vec<Cell> {
        let places = [0].iter().chain(columns);
        places.map(|place| cells.get(*place).cloned().unwrap_or_default()).collect()
    };
    let says = |cells: &[Cell]| cells.iter().any(|cell| !cell.text().is_empty());
    let rows = table.rows.iter().filter_map(|row| match row {
        Row::Cells(cells) => Some(Row::Cells(of(cells))),
        Row::More(cells) => Some(of(cells)).filter(|cells| says(cells)).map(Row::More),
        Row::Span(cell) => Some(Row::Span(cell.clone())),
    });
    let columns = [0].iter().chain(columns).map(|place| table.columns[*place].clone());
    Table { columns: columns.collect(), rows: rows.collect(), ..Table::default() }
}
