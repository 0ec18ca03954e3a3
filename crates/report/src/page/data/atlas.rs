use serde::Serialize;
use ts_rs::TS;

/// Everything that the page of an atlas shows, as a script reads it: texts once, numbers in lists. Every text in it
/// may be hostile. A number of a text is its place in [`Self::texts`], of which the first is empty. Lists of cells
/// go through the columns of a load before the next load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct AtlasData {
    /// Title of the atlas, for the heading and the window.
    pub title: String,
    /// Program that made the page, such as `preemptlab 0.1.0`.
    pub generator: String,
    /// How much the atlas holds, in one sentence.
    pub headline: String,
    /// The longest sections, those of each model, and further notes; a sentence each.
    pub points: Vec<String>,
    /// Meaning of the classes, and the limits of what a guest can show.
    pub caption: String,
    /// The recording, as the user named it.
    pub recording: String,
    /// Texts that numbers refer to.
    pub texts: Vec<String>,
    /// Kinds of sections in words.
    pub kinds: Vec<String>,
    /// Causes of parts.
    pub causes: Vec<AtlasCause>,
    /// The configurations.
    pub columns: Vec<AtlasColumn>,
    /// Names of the loads.
    pub loads: Vec<String>,
    /// Number of replicates with sections, of each cell; `null` where the plan has no cell.
    pub measured: Vec<Option<u32>>,
    /// The reason why a replicate has none, of each cell, as a text.
    pub reasons: Vec<u32>,
    /// The longest sections of class P.
    pub p: AtlasClass,
    /// The longest sections of class N.
    pub n: AtlasClass,
    /// The sections by kind and function, the longest first.
    pub sections: Vec<AtlasFunction>,
}

/// Details of the cells' longest sections. They are most of a page, and stand behind its script, so that the map
/// is drawn before they are read.
///
/// A section is a list of numbers: its replicate, the function inside (a text), the task (a text), the levels of
/// the kernel (a text), the nanoseconds that it waited for other CPUs, the number of its callers, the callers
/// (texts), and for each part its nanoseconds, its cause and its function (a text). The list of a cell without a
/// section is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct AtlasDetails {
    /// The sections of class P, of each cell.
    #[ts(type = "number[][]")]
    pub p: Vec<Vec<u64>>,
    /// The sections of class N, of each cell.
    #[ts(type = "number[][]")]
    pub n: Vec<Vec<u64>>,
}

/// Cause of a part of a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct AtlasCause {
    /// The cause in words.
    pub words: String,
    /// Name of its colour.
    pub look: String,
}

/// Configuration of an atlas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct AtlasColumn {
    /// The kernel as the experiment names it.
    pub kernel: String,
    /// The mode, settings and machine.
    pub rest: String,
    /// The preemption model: the mode, or `rt`.
    pub model: String,
    /// Number of virtual CPUs.
    pub cpus: u32,
}

/// The longest sections of a class, of each cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, TS)]
pub struct AtlasClass {
    /// Lengths, in nanoseconds; `null` where there is none.
    #[ts(type = "(number | null)[]")]
    pub ns: Vec<Option<u64>>,
    /// Their kinds.
    pub kind: Vec<u32>,
    /// Their functions, as texts.
    pub function: Vec<u32>,
}

/// Sections of a kind in a function, over all cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct AtlasFunction {
    /// Whether they are of class P.
    pub is_p: bool,
    /// The kind.
    pub kind: u32,
    /// The function, as a text.
    pub function: u32,
    /// The function in which the longest one spent more time than in any other, as a text.
    pub inside: u32,
    /// Length of the longest, in nanoseconds.
    #[ts(type = "number")]
    pub longest_ns: u64,
    /// The load of the longest.
    pub load: usize,
    /// The configuration of the longest.
    pub column: usize,
    /// Number of sections.
    #[ts(type = "number")]
    pub count: u64,
    /// All of them together, in nanoseconds.
    #[ts(type = "number")]
    pub total_ns: u64,
    /// Number of loads that have one.
    pub loads: usize,
    /// Length of the longest in each configuration, in nanoseconds; `null` where there is none.
    #[ts(type = "(number | null)[]")]
    pub by_column: Vec<Option<u64>>,
    /// Models that end it.
    pub ended_by: Vec<String>,
}
