//! The parts that all pictures have in common: the frame, the style block, the axis of time, the legend.

mod axis;
mod geometry;
mod legend;
pub mod style;

pub use axis::{grid, time_axis};
pub use geometry::{
    CODE_CHAR, LANES_WIDTH, LINE, SMALL_CHAR, TEXT_CHAR, VALUES_WIDTH, coordinate, fitting,
    width_of,
};
pub use legend::{Entry, SWATCH, legend};

use crate::xml::escape;

/// A picture with everything but its frame.
pub struct Picture<'a> {
    /// Class of the picture, to which its rules of style belong.
    pub class: &'a str,
    /// Width and height.
    pub size: [f64; 2],
    /// Title, as text.
    pub title: &'a str,
    /// Content of the picture in words, a line each.
    pub described: &'a [String],
    /// Style block, and definitions.
    pub style: &'a str,
    /// Elements of the picture.
    pub body: &'a str,
}

impl Picture<'_> {
    /// Returns the whole SVG. It stands alone: it has neither scripts nor links nor fonts, and follows the
    /// viewer's light or dark colours.
    pub fn svg(&self) -> String {
        let Self { class, style, body, .. } = self;
        let [width, height] = self.size.map(coordinate);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{style}\
             <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n",
            escape(self.title),
            escape(&self.described.join("\n"))
        )
    }
}
