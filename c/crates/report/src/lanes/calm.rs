//! Spans that are too short to mean anything on an axis.

use super::{look::Look, span::Span};

/// Length from which on a section or an interrupt has a place on any axis, in nanoseconds: the
/// kernel's own are shorter, and there are hundreds of thousands of them a second.
const LONG_NS: u64 = 100_000;

/// Returns whether a section or an interrupt is shown on an axis whose cells have this length.
pub fn is_long(len_ns: u64, cell_ns: u64) -> bool {
    len_ns >= LONG_NS || len_ns >= cell_ns / 4
}

/// Joins a short interruption, or a short wait for the CPU, with the span that it interrupts, and
/// every span with an equal neighbour. Otherwise every tick of the timer would be a cell of the
/// picture.
pub fn calm(spans: Vec<Span>, cell_ns: u64) -> Vec<Span> {
    let mut calmed: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        let is_short = match span.look {
            Look::Interrupted => !is_long(span.len_ns(), cell_ns),
            Look::Waiting => span.len_ns() < cell_ns / 10,
            _ => false,
        };
        match calmed.last_mut().filter(|last| last.end_ns == span.start_ns) {
            Some(last) if is_short && matches!(last.look, Look::User | Look::Kernel) => {
                last.end_ns = span.end_ns;
            }
            Some(last) if (last.look, &last.what) == (span.look, &span.what) => {
                last.end_ns = span.end_ns;
            }
            _ => calmed.push(span),
        }
    }
    calmed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_cut_a_stretch() {
        let span = |start_ns, end_ns, look| Span { start_ns, end_ns, look, what: String::new() };
        let spans = vec![
            span(0, 1_000, Look::Kernel),
            span(1_000, 1_010, Look::Interrupted),
            span(1_010, 2_000, Look::Kernel),
            span(2_000, 2_005, Look::Waiting),
            span(2_005, 3_000, Look::Kernel),
            span(3_000, 3_600, Look::Waiting),
            span(3_600, 4_000, Look::Kernel),
        ];
        assert_eq!(
            calm(spans, 100),
            [
                span(0, 3_000, Look::Kernel),
                span(3_000, 3_600, Look::Waiting),
                span(3_600, 4_000, Look::Kernel),
            ]
        );
    }
}
