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
use preemptlab_model::plain;
use preemptlab_stats::Comparison;
use serde::{Deserialize, Serialize};

use crate::{
    caption, in_words,
    template_numbers::{Answer, Call, Function},
};

/// Largest number of executed instructions of the template's language; no page of the studies
/// repeats anything a thousand times.
const STEPS_MAX: u64 = 1_000_000;

/// Largest size of a page, in bytes.
pub const PAGE_BYTES_MAX: usize = 16 << 20;

/// Most characters of a reason: a template's own words are in some, and they have no end.
const REASON_CHARS_MAX: usize = 1_000;

/// Facts that a page may use besides numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the experiment.
    pub experiment: String,
    /// Conditions of the measurement, as Markdown.
    pub measured: String,
}

/// Template with the words that it may use; its numbers are asked for one by one. A process that
/// fills it needs nothing else of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    template: String,
    experiment: String,
    measured: String,
    headline: String,
    points: Vec<String>,
    caption: String,
}

/// The template cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TemplateError {
    /// Line of the error, counting from 1.
    pub line: usize,
    /// Error, in words.
    pub reason: String,
}

impl Form {
    /// Puts the words of a comparison beside a template.
    pub fn new(template: String, comparison: &Comparison, facts: Facts) -> Self {
        let said = in_words(comparison);
        Self {
            template,
            experiment: facts.experiment,
            measured: facts.measured,
            headline: plain::markdown(&said.headline),
            points: said.points.iter().map(|point| plain::markdown(point)).collect(),
            caption: caption(comparison),
        }
    }

    /// Fills the template, which is in the Jinja language; `ask` answers each of its calls.
    /// `docs/template.md` describes the values and functions of a template.
    ///
    /// A stranger's template can nest until the stack overflows, and take memory without bound in
    /// one step, so only a process that has limits and nothing else to do may call this.
    ///
    /// # Errors
    ///
    /// [`TemplateError`] when the template is malformed, asks for something that the comparison does
    /// not have, or does not end by itself.
    pub fn fill(
        &self,
        ask: impl Fn(&Call) -> Result<Answer, String> + Send + Sync + 'static,
    ) -> Result<String, TemplateError> {
        let environment = environment(Arc::new(ask));
        let context = context! {
            experiment => &self.experiment,
            measured => &self.measured,
            headline => &self.headline,
            points => &self.points,
            caption => &self.caption,
        };
        let mut page = Page(Vec::new());
        let filled = environment
            .template_from_str(&self.template)
            .and_then(|template| template.render_captured_to(context, &mut page).map(drop));
        filled.map_err(|error| refused(&error))?;
        Ok(String::from_utf8(page.0).expect("a template writes text"))
    }
}

fn refused(error: &Error) -> TemplateError {
    let reason = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => format!(
            "the template takes more than {STEPS_MAX} steps; let its loops repeat less often"
        ),
        (ErrorKind::WriteFailure, _) => format!(
            "the page gets larger than {} MiB; let the template repeat less",
            PAGE_BYTES_MAX >> 20
        ),
        (_, Some(detail)) => detail.to_owned(),
        (_, None) => error.to_string(),
    };
    TemplateError { line: error.line().unwrap_or(1), reason: shortened(reason) }
}

/// Leaves out the middle of a long reason: its last words name the cause.
fn shortened(reason: String) -> String {
    let chars = reason.chars().count();
    if chars <= REASON_CHARS_MAX {
        return reason;
    }
    let half = REASON_CHARS_MAX / 2;
    let first: String = reason.chars().take(half).collect();
    let last: String = reason.chars().skip(chars - half).collect();
    format!("{first}...{last}")
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

type Ask = Arc<dyn Fn(&Call) -> Result<Answer, String> + Send + Sync>;

fn environment(ask: Ask) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(STEPS_MAX));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the syntax is the usual one"));
    let table = ask.clone();
    environment.add_function("table", move |group: &str, metrics: Rest<String>| {
        let arguments = [group.to_owned()].into_iter().chain(metrics.0).collect();
        asked(&table, Function::Table, arguments)
    });
    let atlas = ask.clone();
    environment.add_function("atlas", move || asked(&atlas, Function::Atlas, Vec::new()));
    for function in Function::OF_THREE {
        let ask = ask.clone();
        let of_three = move |first: &str, second: &str, third: &str| {
            asked(&ask, function, [first, second, third].map(str::to_owned).into())
        };
        environment.add_function(function.name(), of_three);
    }
    environment
}

fn asked(ask: &Ask, function: Function, arguments: Vec<String>) -> Result<Value, Error> {
    let refused = |reason| Error::new(ErrorKind::InvalidOperation, reason);
    let call = Call::new(function, arguments).map_err(refused)?;
    match ask(&call).map_err(refused)? {
        Answer::Text(text) => Ok(text.into()),
        Answer::Number(bits) => Ok(f64::from_bits(bits).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use preemptlab_model::{BackendKind, Direction, Factors, MeasuredCell, Metric, PreemptMode};
    use preemptlab_stats::{Rule, compare};

    use super::*;
    use crate::Answers;

    fn comparison() -> Comparison {
        let cell = |(preempt, replicate, value): (PreemptMode, u32, f64)| MeasuredCell {
            observed: Some(preempt),
            ..MeasuredCell::new(
                BackendKind::Vm,
                Factors {
                    workload: "build".into(),
                    kernel: "debian:6.12".parse().unwrap(),
                    preempt,
                    machine: None,
                    cpus: 2,
                    settings: "threadirqs".parse().unwrap(),
                    replicate,
                },
                Ok(vec![Metric {
                    name: "real".into(),
                    value,
                    unit: "s".into(),
                    direction: Direction::Lower,
                    resolution: 0.0,
                }]),
            )
        };
        let cells = [(PreemptMode::None, 8.0), (PreemptMode::Full, 8.4)];
        let cells = cells.into_iter().flat_map(|(mode, real)| {
            (1..=5).map(move |replicate| (mode, replicate, real + f64::from(replicate) / 100.0))
        });
        compare(&cells.map(cell).collect::<Vec<_>>(), Rule::default()).unwrap()
    }

    fn filled(template: &str) -> Result<String, TemplateError> {
        let comparison = comparison();
        let facts = Facts { experiment: "e".into(), measured: String::new() };
        let form = Form::new(template.to_owned(), &comparison, facts);
        let comparison = Box::leak(Box::new(comparison));
        let answers = Mutex::new(Answers::new(comparison, &[]));
        form.fill(move |call| answers.lock().unwrap().answer(call))
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
            (
                "{% for a in [0] * 99999 %}{% set b = value('build', 'debian:6.12/none threadirqs', 'real') %}{% endfor %}",
                "asks for more than 64 MiB",
            ),
            ("{{ table('a' * 99999) }}", "by more than 64 KiB of names"),
            ("{{ table('build', *(['real'] * 101)) }}", "has at most 100 metrics"),
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
            ("{{ atlas() }}", "no cell has sections"),
            ("{{ longest('N', 'dup_fd', 'debian:6.12/full') }}", "no cell has sections"),
            ("{{ nothing }}", "undefined"),
            ("{% if %}", "unexpected"),
        ] {
            let error = filled(&format!("first line\n{template}")).unwrap_err();
            assert_eq!(error.line, 2, "{error}");
            assert!(error.reason.contains(reason), "{error}");
        }
    }
}
