//! Labels at the ends of lines: beside each other's ends they stand under each other.

use super::geometry::LABEL;

/// Returns the places of labels whose lines end at these, in the same order: as near as possible, a
/// line of text apart, between `top` and `bottom`.
pub fn apart(ends: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let mut places: Vec<f64> = order.iter().map(|at| ends[*at]).collect();
    // Those that overlap are a block, whose middle is that of its ends.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for end in &places {
        blocks.push((*end, 1));
        while let [.., (above, many), (below, few)] = blocks[..] {
            let need = LABEL * (many + few) as f64 / 2.0;
            if below - above >= need {
                break;
            }
            let count = many + few;
            let middle = (above * many as f64 + below * few as f64) / count as f64;
            blocks.truncate(blocks.len() - 2);
            blocks.push((middle, count));
        }
    }
    let mut next = 0;
    let mut reached = f64::MIN;
    for (middle, count) in blocks {
        let half = LABEL * (count as f64 - 1.0) / 2.0;
        let first = (middle - half).min(bottom - 2.0 * half).max(top).max(reached);
        for index in 0..count {
            places[next] = first + LABEL * index as f64;
            next += 1;
        }
        reached = places[next - 1] + LABEL;
    }
    let mut found = vec![0.0; ends.len()];
    for (at, place) in order.into_iter().zip(places) {
        found[at] = place;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_never_overlap() {
        assert_eq!(apart(&[50.0, 10.0], 0.0, 100.0), [50.0, 10.0]);
        assert_eq!(apart(&[50.0, 50.0], 0.0, 100.0), [43.5, 56.5]);
        assert_eq!(apart(&[100.0, 100.0], 0.0, 100.0), [87.0, 100.0]);
        assert_eq!(apart(&[0.0, 1.0, 0.0], 0.0, 100.0), [0.0, 26.0, 13.0]);
        assert!(apart(&[], 0.0, 1.0).is_empty());
    }
}
