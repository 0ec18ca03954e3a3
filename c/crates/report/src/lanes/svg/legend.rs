//! The meaning of colours and marks.

use std::collections::BTreeSet;

use super::{geometry::NAMES, marks::arrow, style::fill};
use crate::{
    lanes::look::Look,
    svg::{self, LANES_WIDTH, SWATCH, coordinate},
};

/// Entries that a legend has to explain, because the picture has them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub entries: BTreeSet<Entry>,
}

impl Shown {
    pub fn look(&mut self, look: Look) {
        self.entries.insert(Entry::Look(look));
    }
}

/// An entry of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    Look(Look),
    /// A thread is woken.
    Woken,
    /// The scheduler asks for a thread's CPU.
    Asked,
    /// The scheduler asked lazily.
    AskedLazily,
}

impl Entry {
    fn words(self) -> &'static str {
        match self {
            Self::Look(look) => look.words(),
            Self::Woken => "woken",
            Self::Asked => "asked to give way",
            Self::AskedLazily => "asked to give way lazily",
        }
    }

    /// Returns its symbol, with the middle at this point.
    pub fn symbol(self, x: f64, y: f64) -> String {
        let [left, at] = [x - SWATCH / 2.0 + 3.0, y].map(coordinate);
        let width = SWATCH - 6.0;
        let rect = |look: Look, top: f64, height: f64| {
            let top = coordinate(y + top);
            format!(
                "<rect {} x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>",
                fill(look)
            )
        };
        match self {
            Self::Look(look @ Look::Sleeping) => rect(look, -1.0, 2.0),
            Self::Look(look @ Look::Blocked) => rect(look, -4.0, 8.0),
            Self::Look(look @ Look::PreemptOff) => {
                rect(Look::Kernel, -6.5, 13.0) + &rect(look, 1.5, 5.0)
            }
            Self::Look(look @ Look::IrqsOff) => {
                rect(Look::Kernel, -6.5, 13.0) + &rect(look, 1.5, 2.5)
            }
            Self::Look(look @ Look::Waiting) => {
                let edge = format!(
                    "<rect class=\"edge\" x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"13\"/>",
                    coordinate(y - 6.5)
                );
                rect(look, -6.5, 13.0) + &edge
            }
            Self::Look(look) => rect(look, -6.5, 13.0),
            Self::Woken => arrow(x, y + 6.0),
            Self::Asked | Self::AskedLazily => {
                let class = if self == Self::Asked { "head" } else { "hollow" };
                let x = coordinate(x);
                format!("<path class=\"{class}\" d=\"M{x} {at}m0 -3.5l3.5 6h-7z\"/>")
            }
        }
    }
}

/// Returns the legend, and its height.
pub fn legend(shown: &Shown, top: f64) -> (String, f64) {
    let order = Look::ALL.map(Entry::Look).into_iter();
    let order = order.chain([Entry::Woken, Entry::Asked, Entry::AskedLazily]);
    let entries = order
        .filter(|entry| shown.entries.contains(entry))
        .map(|entry| svg::Entry { symbol: move |x, y| entry.symbol(x, y), words: entry.words() });
    svg::legend(entries, [NAMES, LANES_WIDTH - NAMES], top)
}
