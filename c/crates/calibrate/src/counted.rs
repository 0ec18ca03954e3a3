//! The instructions of the benchmarks, counted in a guest.

use std::collections::BTreeMap;

use preemptlab_protocol::{counts::Counts, prices::Class};

use crate::{
    CalibrateError,
    line::{self, LINES_MAX},
};

/// Instructions of each class that an operation of a benchmark executes.
pub type PerOperation = [f64; Class::COUNT];

/// Instructions of every benchmark.
#[derive(Clone, Debug, Default)]
pub struct Counted(BTreeMap<String, PerOperation>);

impl Counted {
    /// Reads the program's output in the guest, a line a benchmark, and the counts of the
    /// plugin meanwhile, a line a benchmark too.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Line`] and [`CalibrateError::Guest`].
    pub fn parse(printed: &str, counts: &str) -> Result<Self, CalibrateError> {
        let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
        if printed.lines().count() > LINES_MAX {
            return Err(unreadable("more lines than there are benchmarks"));
        }
        let name = |line: &str| {
            let (name, operations) = line.split_once(' ')?;
            Some((line::name(name)?, line::number(operations)?))
        };
        let named = printed.lines().map(|line| name(line).ok_or_else(|| unreadable(line)));
        let named: Vec<_> = named.collect::<Result<_, _>>()?;
        let counts = counts
            .lines()
            .map(|line| serde_json::from_str::<Counts>(line).map_err(|_| unreadable(line)));
        let counts: Vec<_> = counts.collect::<Result<_, _>>()?;
        if named.len() != counts.len() {
            let (printed, counted) = (named.len(), counts.len());
            let reason = format!("it executed {printed} benchmarks, {counted} were counted");
            return Err(CalibrateError::Guest(reason));
        }
        let each = named.into_iter().zip(counts).map(|((name, operations), counts)| {
            let of = |class: &Class| counts.get(class).copied().unwrap_or(0);
            let per_operation =
                std::array::from_fn(|index| of(&Class::ALL[index]) as f64 / operations as f64);
            (name, per_operation)
        });
        let all: BTreeMap<_, _> = each.collect();
        match all.len() == printed.lines().count() {
            true => Ok(Self(all)),
            false => Err(unreadable("a benchmark twice")),
        }
    }

    /// Adds the counts of other benchmarks.
    #[must_use]
    pub fn with(mut self, Self(other): Self) -> Self {
        self.0.extend(other);
        self
    }

    /// Returns the instructions of an operation of each benchmark.
    pub fn of_operations(&self) -> &BTreeMap<String, PerOperation> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_belong_together() {
        let counted = Counted::parse("a 10\nb 4\n", "{\"syscall\":10,\"halt\":5}\n{\"x87\":8}\n");
        let counted = counted.unwrap();
        let of = |name: &str, class: Class| counted.of_operations()[name][class.index()];
        assert_eq!(of("a", Class::Syscall), 1.0);
        assert_eq!(of("a", Class::Halt), 0.5);
        assert_eq!(of("b", Class::X87), 2.0);
        assert_eq!(of("b", Class::Halt), 0.0);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let said =
            |printed: &str, counts: &str| Counted::parse(printed, counts).unwrap_err().to_string();
        assert!(said("a 10\n", "").contains("it executed 1 benchmarks, 0 were counted"));
        assert!(said("a 0\n", "{}").contains("cannot be read: \"a 0\""));
        assert!(said("a 1\na 1\n", "{}\n{}\n").contains("twice"));
        assert!(said("../a 1\n", "{}").contains("cannot be read"));
        assert!(said("a 1\n", "{\"sleep\":1}").contains("cannot be read"));
        assert!(said("a 1\n", "{\"halt\":-1}").contains("cannot be read"));
    }
}
