//! A template, filled with made-up numbers. `report` fills it in a process with bounds on memory and
//! stack, which ends templates that nest or multiply; here those that could are left out.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_report::{Answer, Call, Form};
use serde_json::json;

/// What multiplies: a template may have so many of each.
const MULTIPLIERS: [(&str, usize); 5] =
    [("{%", 4), ("|", 6), ("*", 2), ("namespace", 0), ("~", 16)];

fn is_tame(template: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    template.len() <= 512
        && MULTIPLIERS.iter().all(|(word, most)| template.matches(word).count() <= *most)
        && !template.as_bytes().windows(3).any(|three| str::from_utf8(three).is_ok_and(digits))
}

fuzz_target!(|template: &str| {
    if !is_tame(template) {
        return;
    }
    let form = json!({
        "template": template, "experiment": "e", "measured": "m", "headline": "h",
        "points": ["p", "q"], "caption": "c",
    });
    let form: Form = serde_json::from_value(form).expect("it is a form");
    let filled = form.fill(|call| {
        // As the process that fills and its parent speak.
        let said = serde_json::to_string(call).expect("it has a JSON form");
        assert_eq!(serde_json::from_str::<Call>(&said).as_ref().ok(), Some(call));
        match said.len() % 3 {
            0 => Ok(Answer::Number(f64::NAN.to_bits())),
            1 => Ok(Answer::Text(said)),
            _ => Err(said),
        }
    });
    if let Err(error) = filled {
        assert!(error.line > 0 && error.reason.chars().count() <= 1_003, "{error}");
    }
});
