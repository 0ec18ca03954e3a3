//! The style block of pictures: the rules that all of them share, and the colours of modes.

/// Rules of every picture.
pub const TEXT: &str = r#"text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}"#;
pub const TITLE: &str = ".title{font-size:16px;font-weight:600}";
pub const STRONG: &str = ".strong{font-weight:600}";
pub const SMALL: &str = ".small{font-size:10.5px}";
pub const FAINT: &str = ".faint{fill:#59636e}";
pub const MIDDLE: &str = ".middle{text-anchor:middle}";
pub const END: &str = ".end{text-anchor:end}";
pub const PAGE: &str = ".page{fill:#fff}";
pub const GRID: &str = ".grid{stroke:#e3e8ed;fill:none}";

/// The same where the viewer has dark colours.
pub const TEXT_DARK: &str = "text{fill:#e6edf3}";
pub const FAINT_DARK: &str = ".faint{fill:#9198a1}";
pub const PAGE_DARK: &str = ".page{fill:#0d1117}";
pub const GRID_DARK: &str = ".grid{stroke:#262c34}";

/// The modes, with their colours on light and on dark ground: those of Okabe and Ito, which people with any
/// kind of colour vision can tell apart ("Color Universal Design", 2002), some of them darker, so that they
/// can be read as text.
const MODES: [(&str, [&str; 2]); 4] = [
    ("none", ["#0072b2", "#56b4e9"]),
    ("voluntary", ["#007a59", "#2bbf95"]),
    ("full", ["#c25400", "#ff8f3d"]),
    ("lazy", ["#8c4a7d", "#dd9cc6"]),
];

/// Returns the rules of each mode, as they follow from its name and its colour, on light and on dark ground.
pub fn of_modes(rules: impl Fn(&str, &str) -> [String; 2]) -> [Vec<String>; 2] {
    [0, 1].map(|ground| {
        MODES.iter().flat_map(|(mode, colours)| rules(mode, colours[ground])).collect()
    })
}

/// Returns the style block of pictures of a class whose last rules are those of modes.
pub fn with_modes(class: &str, rules: [&[&str]; 2], of_modes: [Vec<String>; 2]) -> String {
    let all = |at: usize| -> Vec<&str> {
        rules[at].iter().copied().chain(of_modes[at].iter().map(String::as_str)).collect()
    };
    style(class, &all(0), &all(1))
}

/// Returns the style block of pictures of a class. The rules of the second list hold where the viewer has
/// dark colours.
pub fn style(class: &str, rules: &[&str], dark: &[&str]) -> String {
    let lines = |rules: &[&str]| -> String {
        rules.iter().map(|rule| format!(".{class} {rule}\n")).collect()
    };
    format!(
        "<style>\n{}@media (prefers-color-scheme:dark){{\n{}}}\n</style>\n",
        lines(rules),
        lines(dark)
    )
}
