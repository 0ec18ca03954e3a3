//! The places of labels, so that none covers another.

/// Place of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index of the line, from the lane upwards.
    pub line: usize,
    /// Column of the text's start.
    pub start: i64,
}

/// Label of a mark at `x`, whose text has this width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    pub x: i64,
    pub width: i64,
}

/// Distance of a text from its mark, and from other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub to_mark: i64,
    pub to_text: i64,
}

/// Returns the names of marks, each at its place; those of marks at one place become one name.
pub fn joined(marks: impl Iterator<Item = (i64, String)>) -> Vec<(i64, String)> {
    let mut marks: Vec<(i64, String)> = marks.collect();
    marks.sort_by_key(|(x, _)| *x);
    let mut joined: Vec<(i64, String)> = Vec::with_capacity(marks.len());
    for (x, name) in marks {
        match joined.last_mut() {
            Some((at, names)) if *at == x => *names += &format!(", {name}"),
            _ => joined.push((x, name)),
        }
    }
    joined
}

/// Returns the place of each label; `None` for one without room. A label stands right of its mark,
/// or left of it at the end of the axis. From each mark a line leads down to the lane, and crosses
/// no text. Right above the lane something else may be in the way of text at some places.
pub fn place(
    labels: &[Label],
    in_the_way: &[i64],
    end: i64,
    gap: Gap,
    lines: usize,
) -> Vec<Option<Placed>> {
    let mut taken: Vec<Vec<(i64, i64)>> = vec![Vec::new(); lines];
    let mut places = vec![None; labels.len()];
    let mut order: Vec<usize> = (0..labels.len()).collect();
    // The line of a mark meets only text that begins left of it: from the right there is none yet.
    order.sort_by_key(|index| std::cmp::Reverse((labels[*index].x, *index)));
    let is_free = |taken: &[(i64, i64)], from: i64, to: i64| {
        taken.iter().all(|(start, end)| to < *start || from > *end)
    };
    for index in order {
        let Label { x, width } = labels[index];
        let right = x + gap.to_mark;
        let left = x - gap.to_mark - width + 1;
        let found = [right, left].into_iter().filter(|start| *start >= 0).find_map(|start| {
            if start + width > end {
                return None;
            }
            let (from, to) = (start.min(x), (start + width - 1).max(x));
            let is_reached = |line: usize| taken[..line].iter().all(|below| is_free(below, x, x));
            let line = (0..lines).find(|line| {
                let is_clear = in_the_way.iter().all(|at| *at < start || *at > start + width);
                let (from, to) = (from - gap.to_text, to + gap.to_text);
                (*line > 0 || is_clear) && is_free(&taken[*line], from, to) && is_reached(*line)
            })?;
            Some((Placed { line, start }, (from, to)))
        });
        if let Some((placed, range)) = found {
            taken[placed.line].push(range);
            for below in &mut taken[..placed.line] {
                below.push((x, x));
            }
            places[index] = Some(placed);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Gap = Gap { to_mark: 1, to_text: 1 };

    fn placed(labels: &[(i64, i64)]) -> Vec<Option<(usize, i64)>> {
        placed_beside(&[], labels)
    }

    fn placed_beside(in_the_way: &[i64], labels: &[(i64, i64)]) -> Vec<Option<(usize, i64)>> {
        let labels: Vec<Label> =
            labels.iter().map(|(x, width)| Label { x: *x, width: *width }).collect();
        let places = place(&labels, in_the_way, 50, GAP, 2);
        places.into_iter().map(|place| place.map(|it| (it.line, it.start))).collect()
    }

    #[test]
    fn marks_at_one_place_share_a_label() {
        let marks = [(7, "wakes"), (3, "a"), (7, "due")].map(|(x, name)| (x, name.to_owned()));
        let expected = [(3, "a".to_owned()), (7, "wakes, due".to_owned())];
        assert_eq!(joined(marks.into_iter()), expected);
    }

    #[test]
    fn labels_do_not_meet() {
        assert_eq!(placed(&[(5, 4), (20, 4)]), [Some((0, 6)), Some((0, 21))]);
        assert_eq!(placed(&[(5, 20), (20, 4)]), [Some((1, 6)), Some((0, 21))]);
        assert_eq!(placed(&[(5, 9), (6, 9), (7, 9)]), [None, Some((1, 7)), Some((0, 8))]);
        assert_eq!(placed(&[(48, 5)]), [Some((0, 43))]);
        assert_eq!(placed(&[(5, 100)]), [None]);
        assert_eq!(placed_beside(&[5, 20], &[(5, 4), (18, 4)]), [Some((0, 6)), Some((1, 19))]);
    }
}
