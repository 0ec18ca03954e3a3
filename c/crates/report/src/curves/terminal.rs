use preemptlab_model::number;

use super::{
    axis::{self, Decades},
    latencies::{LatencyCurve, LatencyCurves},
};

/// Lines of the plot.
const LINES: usize = 16;

/// Characters before the plot: a share and the axis.
const LEFT: usize = 11;

/// Least number of columns of the plot, so that a decade can be seen.
const PLOT_MIN: usize = 24;

/// Draws the curves with characters, a letter for each.
pub fn terminal(curves: &LatencyCurves, width: usize) -> String {
    let (latencies, shares) = axis::axes(curves);
    let columns = width.saturating_sub(LEFT + 1).max(PLOT_MIN);
    let mut plot = vec![vec![' '; columns]; LINES];
    for (curve, letter) in curves.curves.iter().zip(letters()) {
        draw(curve, letter, (latencies, shares), &mut plot);
    }
    let mut text = format!("{}: share of instants that are later\n", curves.title);
    let mut labelled = None;
    for (line, row) in plot.iter().enumerate() {
        let of = |exponent: i32| {
            ((1.0 - shares.place(10_f64.powi(exponent))) * (LINES - 1) as f64).round() as usize
        };
        let exponent = shares.exponents().rev().find(|exponent| of(*exponent) == line);
        let label = exponent.filter(|_| labelled != exponent).map(axis::share).unwrap_or_default();
        labelled = exponent.or(labelled);
        let row: String = row.iter().collect();
        text += &format!("{label:>w$} |{}\n", row.trim_end(), w = LEFT - 2);
    }
    text += &format!("{:>w$}+{}\n", "", "-".repeat(columns), w = LEFT - 1);
    text += &below(latencies, columns);
    for (curve, letter) in curves.curves.iter().zip(letters()) {
        text +=
            &format!("  {letter}  {}, worst {} us\n", curve.name(), number::number(curve.worst_us));
    }
    text
}

/// Letters of the curves, in their order.
fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain('A'..='Z').cycle()
}

/// Draws a curve: in each column the share of instants that are later than its latency.
fn draw(
    curve: &LatencyCurve,
    letter: char,
    (latencies, shares): (Decades, Decades),
    plot: &mut [Vec<char>],
) {
    let columns = plot[0].len();
    let worst = (latencies.place(curve.worst_us) * (columns - 1) as f64).round() as usize;
    let line_of = |column: usize| {
        let latency = |&(us, _): &&(f64, f64)| {
            (latencies.place(*us) * (columns - 1) as f64).round() as usize <= column
        };
        let share = curve.later.iter().rfind(latency).map_or(1.0, |(_, share)| *share);
        let place = if share > 0.0 { shares.place(share) } else { 0.0 };
        ((1.0 - place) * (LINES - 1) as f64).round() as usize
    };
    for (column, line) in (0..=worst).map(line_of).enumerate() {
        plot[line][column] = letter;
    }
    plot[LINES - 1][worst] = letter;
}

/// Returns the latencies below the axis.
fn below(latencies: Decades, columns: usize) -> String {
    let mut line = " ".repeat(LEFT);
    for exponent in latencies.exponents() {
        let label = axis::latency(exponent);
        let at =
            LEFT + (latencies.place(10_f64.powi(exponent)) * (columns - 1) as f64).round() as usize;
        let at = at.min((LEFT + columns).saturating_sub(label.chars().count()));
        let used = line.trim_end().chars().count();
        if used == 0 || used < at {
            line = format!("{:<at$}{label}", line.trim_end());
        }
    }
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use crate::curves::latencies::testing;

    use super::terminal;

    #[test]
    fn every_curve_has_a_letter_and_its_worst() {
        let text = terminal(&testing::curves(), 80);
        insta::assert_snapshot!(text);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_a_plot() {
        assert!(terminal(&testing::curves(), 10).contains("1 us"));
    }
}
