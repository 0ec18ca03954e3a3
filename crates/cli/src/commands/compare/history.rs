//! `preemptlab compare --by kernel`: the changes from kernel to kernel.

use std::{
    path::{Component, Path},
    process::ExitCode,
};

use preemptlab_analysis::{Compared, GivenRule, Keep, histograms, history};
use preemptlab_lab::Config;
use preemptlab_model::MetricName;
use preemptlab_report::{history_markdown, history_pictures, history_terminal};
use preemptlab_stats::History;

use super::options::{Compare, Ending, too_many};
use crate::{
    args::{Format, gate_margins, refuse},
    exit,
    output::{self, Output},
    writable,
};

/// Shows the history of the kernels of recordings.
pub fn execute(args: &Compare, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let ending = args.out.as_deref().map(Ending::of).transpose()?;
    check(args, ending)?;
    if let Some(out) = &args.out {
        writable::check(out)?;
    }
    let metrics: Vec<MetricName> =
        args.metrics.iter().map(|name| MetricName::from(name.as_str())).collect();
    histograms::refuse(&args.recordings, "a history is one of kernels")?;
    let margins = gate_margins(&args.rule.margins, config)?;
    let (compared, notices) =
        Compared::open(&args.recordings, Keep::Sections, GivenRule::default())?;
    let history = history(&compared, &metrics, &margins)?;
    output.notices(notices);
    if let Some(folder) = &args.svg {
        let pictures = history_pictures(&history).into_iter();
        let pictures = pictures.map(|picture| (picture.file, picture.svg));
        writable::write_pictures(folder, pictures, output)?;
    }
    match (&args.out, ending) {
        (Some(out), Some(Ending::Svg)) => match &*history_pictures(&history) {
            [picture] => writable::write(out, picture.svg.as_bytes(), output)?,
            several => return Err(too_many(several.len())),
        },
        (Some(out), _) => {
            let folder = args.svg.as_deref().map(|svg| link(svg, Some(out)));
            let page = history_markdown(&history, folder.as_deref());
            writable::write(out, page.as_bytes(), output)?;
        }
        (None, _) => return output.data(&printed(&history, args, output)?),
    }
    Ok(ExitCode::from(exit::OK))
}

/// Refuses options that only configurations have.
fn check(args: &Compare, ending: Option<Ending>) -> exit::Result<()> {
    let given = [
        (args.rule.baseline.is_some(), "--baseline"),
        (args.all, "--all"),
        (args.picture, "--picture"),
        (args.template.is_some(), "--template"),
        (args.question.is_asked(), "--require and the like"),
        (args.format == Some(Format::Csv), "--format csv"),
        (ending == Some(Ending::Html), "a page with the ending .html"),
        (ending == Some(Ending::Toml), "a file with the ending .toml"),
    ];
    refuse(&given, "a comparison by kernel has -o FILE.md, -o FILE.svg, and --format json")
}

fn printed(history: &History, args: &Compare, output: &Output) -> exit::Result<String> {
    Ok(match args.format() {
        Format::Table => history_terminal(history, output.terminal()),
        Format::Markdown => {
            let folder = args.svg.as_deref().map(|svg| link(svg, None));
            history_markdown(history, folder.as_deref())
        }
        Format::Json => output::json(history)?,
        other => return Err(other.is_not_written()),
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
