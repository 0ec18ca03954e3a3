//! Pages and letters of a comparison: `compare -o FILE`, and templates.

use std::process::ExitCode;

use preemptlab_analysis::{Keep, advice::advise, meant};
use preemptlab_lab::Config;
use preemptlab_report::{
    Answers, form, in_words, letter,
    page::{html, page_data},
    recommendation_in_words,
};

use super::options::Compare;
use crate::{
    apart,
    compared::open,
    exit,
    output::Output,
    writable::{self, GENERATOR},
};

/// Forms of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One HTML file that needs nothing else, with pictures.
    Page,
    /// Markdown, for a pull request or a mailing list.
    Letter,
}

/// Writes a page in a form, or fills the template.
pub fn execute(
    args: &Compare,
    form_of: Option<Form>,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    args.check_file("a page holds all of it")?;
    let compared = open(&args.recordings, Keep::Distributions, &args.rule, config, output)?;
    compared.check_recordings("a report")?;
    let comparison = compared.comparison()?;
    let said = match args.question.is_asked() {
        true => {
            let question = args.question.question();
            recommendation_in_words(&advise(&compared, &question, &[])?)
        }
        false => in_words(&comparison),
    };
    let data = page_data(&compared, &comparison, said, GENERATOR)?;
    let text = match (&args.template, form_of) {
        (Some(path), _) => {
            let template = preemptlab_lab::read(path, meant::Kind::Other)?;
            let recordings = compared.recordings();
            let answers = Answers::new(&comparison, &recordings);
            apart::fill(path, &form(template, &data, &comparison), answers)?
        }
        (None, Some(Form::Letter)) => letter(&data, &comparison),
        (None, _) => html(&data),
    };
    match &args.out {
        Some(out) => writable::write(out, text.as_bytes(), output)?,
        None => return output.data(&text),
    }
    Ok(ExitCode::from(exit::OK))
}
