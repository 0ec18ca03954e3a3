//! Numbers and tables of a comparison and of its atlas, as a template calls for them.

use std::cell::OnceCell;

use preemptlab_analysis::{Atlas, Class, in_us};
use preemptlab_experiment::Recording;
use preemptlab_model::{MetricName, number, plain};
use preemptlab_stats::{Comparison, Configuration, Group, Summary};
use serde::{Deserialize, Serialize};

use crate::{
    explain::{atlas_markdown, configuration_name},
    label, overview, verdict,
};

/// Most bytes of all that a call names.
const NAMES_BYTES_MAX: usize = 64 << 10;

/// Most characters of a name that is not known, in a message.
const NAME_CHARS_MAX: usize = 100;

/// Most metrics of a table whose workload has no more.
const METRICS_MAX: usize = 100;

/// Most bytes of all answers together; the longest page of the studies takes some kilobytes.
const ANSWERS_BYTES_MAX: usize = 64 << 20;

/// Bytes that every answer counts for, since finding it takes time.
const ANSWER_BYTES_MIN: usize = 1 << 10;

/// Function of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// A workload's table, with all metrics or those that are named.
    Table,
    /// The median as a number.
    Value,
    /// The median with its unit.
    Median,
    /// The least and the largest replicate.
    Range,
    /// The ratio to the baseline.
    Ratio,
    /// The verdict as a word.
    Verdict,
    /// The atlas of the longest sections.
    Atlas,
    /// The longest section of a class in a function under a configuration.
    Longest,
}

impl Function {
    /// The functions of three names: most of them of a workload, a configuration and a metric.
    pub(crate) const OF_THREE: [Self; 6] =
        [Self::Value, Self::Median, Self::Range, Self::Ratio, Self::Verdict, Self::Longest];

    /// Returns the name of the function in a template.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Value => "value",
            Self::Median => "median",
            Self::Range => "range",
            Self::Ratio => "ratio",
            Self::Verdict => "verdict",
            Self::Atlas => "atlas",
            Self::Longest => "longest",
        }
    }
}

/// Call of a function by a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    function: Function,
    arguments: Vec<String>,
}

impl Call {
    pub(crate) fn new(function: Function, arguments: Vec<String>) -> Result<Self, String> {
        let bytes: usize = arguments.iter().map(|name| name.len() + 1).sum();
        if bytes > NAMES_BYTES_MAX {
            let kib = NAMES_BYTES_MAX >> 10;
            return Err(format!("`{}` is called by more than {kib} KiB of names", function.name()));
        }
        Ok(Self { function, arguments })
    }
}

/// Answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Text, which may be Markdown.
    Text(String),
    /// The bits of a number, which JSON would not hold in every case.
    Number(u64),
}

/// Answers of one comparison to one template.
pub struct Answers<'a> {
    comparison: &'a Comparison,
    recordings: &'a [&'a Recording],
    /// Few templates ask for it, and it takes a while to collect.
    atlas: OnceCell<Result<Atlas, String>>,
    bytes: usize,
}

impl<'a> Answers<'a> {
    /// Prepares answers out of a comparison and the recordings that it compares.
    pub fn new(comparison: &'a Comparison, recordings: &'a [&'a Recording]) -> Self {
        Self { comparison, recordings, atlas: OnceCell::new(), bytes: 0 }
    }

    /// Answers a call.
    ///
    /// # Errors
    ///
    /// A sentence, when the recordings do not have the requested numbers, or they are too many.
    pub fn answer(&mut self, call: &Call) -> Result<Answer, String> {
        if self.bytes >= ANSWERS_BYTES_MAX {
            return Err(format!(
                "the template asks for more than {} MiB of tables and numbers; let it ask less often",
                ANSWERS_BYTES_MAX >> 20
            ));
        }
        let answer = self.found(call)?;
        self.bytes += match &answer {
            Answer::Text(text) => text.len().max(ANSWER_BYTES_MIN),
            Answer::Number(_) => ANSWER_BYTES_MIN,
        };
        Ok(answer)
    }

    fn found(&self, call: &Call) -> Result<Answer, String> {
        match (call.function, &call.arguments[..]) {
            (Function::Table, [group, metrics @ ..]) => {
                table(self.comparison, group, metrics).map(Answer::Text)
            }
            (Function::Table, []) => Err("`table` needs a workload".to_owned()),
            (Function::Atlas, []) => Ok(Answer::Text(atlas_markdown(self.atlas()?))),
            (Function::Atlas, _) => Err("`atlas` needs no name".to_owned()),
            (Function::Longest, [class, function, configuration]) => {
                longest(self.atlas()?, class, function, configuration).map(Answer::Text)
            }
            (function, [group, configuration, metric]) => {
                number_of(self.comparison, function, group, configuration, metric)
            }
            (function, _) => Err(format!("`{}` needs three names", function.name())),
        }
    }

    fn atlas(&self) -> Result<&Atlas, String> {
        let collected = || Atlas::new(self.recordings, None).map_err(|error| error.to_string());
        self.atlas.get_or_init(collected).as_ref().map_err(Clone::clone)
    }
}

/// Returns a number of a workload under a configuration, in the form that the function is for.
fn number_of(
    comparison: &Comparison,
    function: Function,
    group: &str,
    configuration: &str,
    metric: &str,
) -> Result<Answer, String> {
    let (group, summary) = find(comparison, group, configuration, metric)?;
    let unit = || plain::markdown(&summary.unit);
    Ok(Answer::Text(match function {
        Function::Median => format!("{} {}", number::number(summary.median), unit()),
        Function::Range => format!("{} {}", number::range(summary.min, summary.max), unit()),
        Function::Ratio => ratio(group, configuration, summary)?,
        Function::Verdict => {
            let baseline = group.baseline().and_then(|baseline| baseline.summary(&summary.name));
            verdict::word(summary, baseline, &comparison.margins).text().to_owned()
        }
        _ => return Ok(Answer::Number(summary.median.to_bits())),
    }))
}

/// Returns the length of the longest section of a class in a function under a configuration, over all loads:
/// `1194.8 us`, or `none`.
fn longest(
    atlas: &Atlas,
    class: &str,
    function: &str,
    configuration: &str,
) -> Result<String, String> {
    let names = Class::BOTH.map(|class| class.as_str().to_owned());
    let class = Class::BOTH
        .into_iter()
        .find(|known| known.as_str() == class)
        .ok_or_else(|| unknown("class of sections", class, &names))?;
    let names: Vec<String> =
        atlas.configurations.iter().map(|it| configuration_name(&it.name, it.cpus)).collect();
    let place = names.iter().position(|name| name == configuration);
    let place = place.ok_or_else(|| unknown("configuration", configuration, &names))?;
    let of_it: Vec<_> =
        atlas.of_class(class).filter(|section| section.function == function).collect();
    if of_it.is_empty() {
        return Err(format!(
            "no section of class {} is in `{function:.NAME_CHARS_MAX$}`; `atlas()` lists the functions",
            class.as_str()
        ));
    }
    let ns = of_it.iter().filter_map(|section| section.by_configuration[place]).max();
    Ok(ns.map_or_else(|| "none".to_owned(), |ns| format!("{} us", in_us(ns))))
}

fn table(comparison: &Comparison, group: &str, metrics: &[String]) -> Result<String, String> {
    let group = find_group(comparison, group)?;
    let most = group.metrics().len().max(METRICS_MAX);
    if metrics.len() > most {
        return Err(format!("a table has at most {most} metrics"));
    }
    let metrics: Vec<MetricName> = metrics.iter().map(|name| name.as_str().into()).collect();
    for metric in &metrics {
        known(group, metric)?;
    }
    let table = match metrics.is_empty() {
        true => overview::table(group, &comparison.margins),
        false => overview::of_metrics(group, metrics.iter().collect(), &comparison.margins),
    };
    Ok(table.markdown())
}

/// Returns the ratio to the baseline with its interval: `×0.97 (0.95–0.99)`; the baseline's own is
/// `×1`.
fn ratio(group: &Group, configuration: &str, summary: &Summary) -> Result<String, String> {
    let is_baseline =
        group.baseline().is_some_and(|baseline| baseline.name().to_string() == configuration);
    let ratio = match summary.ratio() {
        Some(ratio) => number::ratio(ratio),
        None if is_baseline => return Ok("×1".to_owned()),
        None => {
            let (metric, group) = (&summary.name, label::group(group));
            return Err(format!(
                "`{metric}` of `{configuration}` has no ratio to a baseline in `{group}`"
            ));
        }
    };
    Ok(match label::ratio_interval(summary).as_str() {
        "" => ratio,
        interval => format!("{ratio} ({interval})"),
    })
}

fn find<'a>(
    comparison: &'a Comparison,
    group: &str,
    configuration: &str,
    metric: &str,
) -> Result<(&'a Group, &'a Summary), String> {
    let group = find_group(comparison, group)?;
    let metric = &metric.into();
    known(group, metric)?;
    let name = |each: &Configuration| each.name().to_string();
    let found = group.configurations.iter().find(|each| name(each) == configuration);
    let found = found.ok_or_else(|| {
        let names: Vec<String> = group.configurations.iter().map(name).collect();
        unknown("configuration", configuration, &names)
    })?;
    let summary = found.summary(metric).ok_or_else(|| {
        let why = label::trouble(found).unwrap_or_else(|| "nothing was measured".to_owned());
        format!("`{configuration}` has no `{metric}` in `{}`: {why}", label::group(group))
    })?;
    Ok((group, summary))
}

/// Finds the group of a workload, with its CPUs where there are several: `build` or `build on 2
/// CPUs`.
fn find_group<'a>(comparison: &'a Comparison, name: &str) -> Result<&'a Group, String> {
    let mut named = comparison
        .groups
        .iter()
        .filter(|group| group.workload == name || label::group(group) == name);
    match (named.next(), named.next()) {
        (Some(group), None) => Ok(group),
        _ => {
            let names: Vec<String> = comparison.groups.iter().map(label::group).collect();
            Err(unknown("workload", name, &names))
        }
    }
}

fn known(group: &Group, metric: &MetricName) -> Result<(), String> {
    let metrics = group.metrics();
    if metrics.contains(&metric) {
        return Ok(());
    }
    let names: Vec<String> = metrics.into_iter().map(ToString::to_string).collect();
    Err(unknown("metric", &metric.to_string(), &names))
}

fn unknown(what: &str, name: &str, known: &[String]) -> String {
    let known = known.join(", ");
    let rest = if name.chars().nth(NAME_CHARS_MAX).is_some() { "..." } else { "" };
    format!("`{name:.NAME_CHARS_MAX$}{rest}` is no {what} here; there are {known}")
}
