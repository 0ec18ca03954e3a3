//! `preemptlab history`: what changed from kernel to kernel.

use std::{
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::{Compared, Keep, histograms, history};
use preemptlab_model::{MetricName, plain};
use preemptlab_report::{Terminal, history_markdown, history_pictures, history_terminal};
use preemptlab_stats::{GivenMargin, History, Margins};

use crate::{
    args::written_path,
    exit::{self, OrExit},
    output::Output,
    writable,
};

/// Show what changed from kernel to kernel: change points first, then every value
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab history runs/history
  preemptlab history runs/history runs/next --metric throughput
  preemptlab history runs/history --format markdown --out history.md --svg pictures

Kernels are ordered by version, and each is compared with the one before it as `gate` does.
docs/history.md says how to keep such a page for kernels of your own.")]
pub struct HistoryArgs {
    /// The recordings, of two kernels or more
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    /// Show this metric only; may be repeated [default: throughput, latency.p99.9, latency.p99.999,
    /// latency.worst, wakeup.fifo.p99, wakeup.fifo.max, response.p99, and the numbers of a workload of your own]
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// How much may change and still be the same, as of `gate`; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]SHARE|TIME")]
    pub margins: Vec<GivenMargin>,
    /// How to write it
    #[arg(long, default_value = "table")]
    pub format: HistoryFormat,
    /// The file to write to [default: standard output]
    #[arg(long, short, value_name = "FILE", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// Draw a picture of each workload into this folder, as SVG; a Markdown page shows them
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub svg: Option<PathBuf>,
}

/// Format of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// For a terminal
    Table,
    /// A page that people read
    Markdown,
    /// One document
    Json,
}

/// Shows the history of the kernels of recordings.
pub fn execute(args: &HistoryArgs, output: &Output) -> exit::Result<ExitCode> {
    if let Some(out) = &args.out {
        writable::check(out)?;
    }
    let metrics: Vec<MetricName> =
        args.metrics.iter().map(|name| MetricName::from(name.as_str())).collect();
    histograms::refuse(&args.recordings, "a history is one of kernels")?;
    let margins = Margins::gate().with(&args.margins).or_exit(exit::UNUSABLE)?;
    let (compared, notices) = Compared::open(&args.recordings, Keep::Sections, None, &[])?;
    let history = history(&compared, &metrics, &margins)?;
    output.notices(notices);
    if let Some(folder) = &args.svg {
        let pictures = history_pictures(&history).into_iter();
        let pictures = pictures.map(|picture| (picture.file, picture.svg));
        writable::write_pictures(folder, pictures, output)?;
    }
    let text = rendered(&history, args, output)?;
    match &args.out {
        Some(out) => writable::write(out, text.as_bytes(), output)?,
        None => return output.data(&text),
    }
    Ok(ExitCode::from(exit::OK))
}

fn rendered(history: &History, args: &HistoryArgs, output: &Output) -> exit::Result<String> {
    Ok(match args.format {
        HistoryFormat::Table => {
            let color = args.out.is_none() && output.terminal().color;
            history_terminal(history, Terminal { color, ..output.terminal() })
        }
        HistoryFormat::Markdown => {
            let folder = args.svg.as_deref().map(|svg| link(svg, args.out.as_deref()));
            history_markdown(history, folder.as_deref())
        }
        HistoryFormat::Json => {
            let json = serde_json::to_string_pretty(history).or_exit(exit::HOST)?;
            format!("{}\n", plain::json(&json))
        }
    })
}

/// Returns the way from a page to a folder; without a page it is that from here.
fn link(folder: &Path, page: Option<&Path>) -> String {
    let page = page.and_then(Path::parent).unwrap_or(Path::new(""));
    let absolute = |path: &Path| std::path::absolute(path.join(".")).unwrap_or(path.to_owned());
    let (to, from) = (absolute(folder), absolute(page));
    let is_part = |part: &Component<'_>| !matches!(part, Component::CurDir);
    let [to, from] = [&to, &from].map(|path| path.components().filter(is_part).collect::<Vec<_>>());
    let common = to.iter().zip(&from).take_while(|(one, other)| one == other).count();
    let up = from[common..].iter().map(|_| "..".to_owned());
    let down = to[common..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_linked_from_their_page() {
        for (folder, page, wanted) in [
            ("docs/studies/history", Some("docs/studies/history.md"), "history"),
            ("pictures", Some("docs/page.md"), "../pictures"),
            ("pictures", Some("page.md"), "pictures"),
            ("pictures", None, "pictures"),
            (".", Some("page.md"), ""),
            ("/a/b", Some("/a/c/page.md"), "../b"),
        ] {
            assert_eq!(link(Path::new(folder), page.map(Path::new)), wanted, "{folder} {page:?}");
        }
    }
}
