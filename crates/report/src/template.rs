//! A page of one's own: text with places where numbers of a comparison go.

use std::{
    io::{self, Write},
    sync::Arc,
};

use minijinja::{
    Environment, Error, ErrorKind, UndefinedBehavior, context,
    syntax::SyntaxConfig,
    value::{Rest, Value},
};
use preemptlab_model::{MetricName, plain};
use preemptlab_stats::{Comparison, Configuration, Group, Summary};

use crate::{caption, in_words, label, number, overview, verdict};

/// Largest number of executed instructions of the template's language; no page of the studies
/// repeats anything a thousand times.
const STEPS_MAX: u64 = 1_000_000;

/// Largest size of a page, in bytes.
const PAGE_BYTES_MAX: usize = 16 << 20;

/// Facts that a page may use besides numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the experiment.
    pub experiment: String,
    /// Conditions of the measurement, as Markdown.
    pub measured: String,
}

/// The template cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TemplateError {
    /// Line of the error, counting from 1.
    pub line: usize,
    /// Error, in words.
    pub reason: String,
}

/// Fills a template of the Jinja language with a comparison. `docs/template.md` describes the
/// values and functions of a template.
///
/// # Errors
///
/// [`TemplateError`] when the template is malformed, asks for something that the comparison does
/// not have, or does not end by itself.
pub fn fill(
    template: &str,
    comparison: &Comparison,
    facts: &Facts,
) -> Result<String, TemplateError> {
    let environment = environment(Arc::new(comparison.clone()));
    let said = in_words(comparison);
    let context = context! {
        experiment => &facts.experiment,
        measured => &facts.measured,
        headline => plain::markdown(&said.headline),
        points => said.points.iter().map(|point| plain::markdown(point)).collect::<Vec<_>>(),
        caption => caption(comparison),
    };
    let mut page = Page(Vec::new());
    let filled = environment
        .template_from_str(template)
        .and_then(|template| template.render_captured_to(context, &mut page).map(drop));
    filled.map_err(|error| TemplateError {
        line: error.line().unwrap_or(1),
        reason: match (error.kind(), error.detail()) {
            (ErrorKind::OutOfFuel, _) => format!(
                "the template takes more than {STEPS_MAX} steps; let its loops repeat less often"
            ),
            (ErrorKind::WriteFailure, _) => format!(
                "the page gets larger than {} MiB; let the template repeat less",
                PAGE_BYTES_MAX >> 20
            ),
            (_, Some(detail)) => detail.to_owned(),
            (_, None) => error.to_string(),
        },
    })?;
    Ok(String::from_utf8(page.0).expect("a template writes text"))
}

/// Page as far as it is filled.
struct Page(Vec<u8>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > PAGE_BYTES_MAX - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn environment(comparison: Arc<Comparison>) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(STEPS_MAX));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the syntax is the usual one"));
    let of = comparison.clone();
    environment.add_function("table", move |group: &str, metrics: Rest<String>| {
        let group = find_group(&of, group)?;
        let metrics: Vec<MetricName> = metrics.iter().map(|name| name.as_str().into()).collect();
        for metric in &metrics {
            known(group, metric)?;
        }
        let table = match metrics.is_empty() {
            true => overview::table(group, of.margin),
            false => overview::of_metrics(group, metrics.iter().collect(), of.margin),
        };
        Ok::<_, Error>(table.markdown())
    });
    add_number(&mut environment, &comparison, "value", |_, _, summary| Ok(summary.median));
    add_number(&mut environment, &comparison, "median", |_, _, summary| {
        Ok(format!("{} {}", number::number(summary.median), plain::markdown(&summary.unit)))
    });
    add_number(&mut environment, &comparison, "range", |_, _, summary| {
        Ok(format!(
            "{} {}",
            number::range(summary.min, summary.max),
            plain::markdown(&summary.unit)
        ))
    });
    add_number(&mut environment, &comparison, "ratio", ratio);
    let margin = comparison.margin;
    add_number(&mut environment, &comparison, "verdict", move |group, _, summary| {
        let baseline = group.baseline().and_then(|baseline| baseline.summary(&summary.name));
        Ok(verdict::word(summary, baseline, margin).text().to_owned())
    });
    environment
}

/// Adds a function of a workload, a configuration and a metric.
fn add_number<T: Into<Value> + 'static>(
    environment: &mut Environment<'static>,
    comparison: &Arc<Comparison>,
    name: &'static str,
    number: impl Fn(&Group, &str, &Summary) -> Result<T, Error> + Send + Sync + 'static,
) {
    let comparison = comparison.clone();
    environment.add_function(name, move |group: &str, configuration: &str, metric: &str| {
        let (group, summary) = find(&comparison, group, configuration, metric)?;
        number(group, configuration, summary)
    });
}

/// Returns the ratio to the baseline with its interval: `×0.97 (0.95–0.99)`; the baseline's own is
/// `×1`.
fn ratio(group: &Group, configuration: &str, summary: &Summary) -> Result<String, Error> {
    let is_baseline =
        group.baseline().is_some_and(|baseline| baseline.name().to_string() == configuration);
    let ratio = match summary.ratio() {
        Some(ratio) => number::ratio(ratio),
        None if is_baseline => return Ok("×1".to_owned()),
        None => {
            let (metric, group) = (&summary.name, label::group(group));
            let why =
                format!("`{metric}` of `{configuration}` has no ratio to a baseline in `{group}`");
            return Err(Error::new(ErrorKind::InvalidOperation, why));
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
) -> Result<(&'a Group, &'a Summary), Error> {
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
        Error::new(
            ErrorKind::InvalidOperation,
            format!("`{configuration}` has no `{metric}` in `{}`: {why}", label::group(group)),
        )
    })?;
    Ok((group, summary))
}

/// Finds the group of a workload, with its CPUs where there are several: `build` or `build on 2
/// CPUs`.
fn find_group<'a>(comparison: &'a Comparison, name: &str) -> Result<&'a Group, Error> {
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

fn known(group: &Group, metric: &MetricName) -> Result<(), Error> {
    let metrics = group.metrics();
    if metrics.contains(&metric) {
        return Ok(());
    }
    let names: Vec<String> = metrics.into_iter().map(ToString::to_string).collect();
    Err(unknown("metric", &metric.to_string(), &names))
}

fn unknown(what: &str, name: &str, known: &[String]) -> Error {
    let known = known.join(", ");
    Error::new(
        ErrorKind::InvalidOperation,
        format!("`{name}` is no {what} here; there are {known}"),
    )
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Direction, Factors, Metric, PreemptMode};
    use preemptlab_stats::{MeasuredCell, Rule, compare};

    use super::*;

    fn comparison() -> Comparison {
        let cell = |(preempt, replicate, value): (PreemptMode, u32, f64)| MeasuredCell {
            backend: Default::default(),
            cost: None,
            clocks: None,
            run: None,
            factors: Factors {
                workload: "build".into(),
                kernel: "debian:6.12".parse().unwrap(),
                preempt,
                machine: None,
                cpus: 2,
                settings: "threadirqs".parse().unwrap(),
                replicate,
            },
            rt: None,
            observed: Some(preempt),
            look: 0,
            result: Ok(vec![Metric {
                name: "real".into(),
                value,
                unit: "s".into(),
                direction: Direction::Lower,
                resolution: 0.0,
            }]),
            samples: Vec::new(),
            worst: None,
        };
        let cells = [(PreemptMode::None, 8.0), (PreemptMode::Full, 8.4)];
        let cells = cells.into_iter().flat_map(|(mode, real)| {
            (1..=5).map(move |replicate| (mode, replicate, real + f64::from(replicate) / 100.0))
        });
        compare(&cells.map(cell).collect::<Vec<_>>(), Rule::default()).unwrap()
    }

    fn filled(template: &str) -> Result<String, TemplateError> {
        fill(template, &comparison(), &Facts { experiment: "e".into(), measured: String::new() })
    }

    #[test]
    fn numbers_take_their_places() {
        let template = "{{ experiment }}: {% set full = 'debian:6.12/full threadirqs' %}\n\
            {{ median('build', full, 'real') }}, {{ ratio('build on 2 CPUs', full, 'real') }}, \
            {{ verdict('build', full, 'real') }}, {{ value('build', full, 'real') > 8.4 }}\n";
        assert_eq!(filled(template).unwrap(), "e: 8.43 s, ×1.05 (1.05–1.05), worse, True\n");
        let table = filled("{{ table('build', 'real') }}").unwrap();
        assert!(table.contains("real, s") && table.contains("debian:6.12 threadirqs"), "{table}");
    }

    #[test]
    fn a_template_comes_to_an_end() {
        let nested = "{% for a in [0] * 9999 %}{% for b in [0] * 9999 %}\
                      {% endfor %}{% endfor %}";
        let wide = "{% set kib = 'a' * 1024 %}{% for a in [0] * 99999 %}{{ kib }}{% endfor %}";
        for (template, reason) in [
            (nested, "more than 1000000 steps"),
            (wide, "larger than 16 MiB"),
            ("{{ 'a' * (17 * 1024 * 1024) }}", "larger than 16 MiB"),
        ] {
            let error = filled(template).unwrap_err();
            assert!(error.reason.contains(reason), "{error}");
        }
    }

    #[test]
    fn what_is_not_there_is_named_with_its_line() {
        for (template, reason) in [
            ("{{ table('bulid') }}", "`bulid` is no workload here; there are build on 2 CPUs"),
            ("{{ table('build', 'rael') }}", "`rael` is no metric here; there are real"),
            ("{{ median('build', 'debian:6.12/full', 'real') }}", "is no configuration here"),
            ("{{ nothing }}", "undefined"),
            ("{% if %}", "unexpected"),
        ] {
            let error = filled(&format!("first line\n{template}")).unwrap_err();
            assert_eq!(error.line, 2, "{error}");
            assert!(error.reason.contains(reason), "{error}");
        }
    }
}
