//! Lines of several CPUs in the order of their times.

use std::{
    collections::VecDeque,
    io::{self, BufWriter, Write},
};

use crate::decode::BEHIND_NS_MAX;

const BUFFER_BYTES: usize = 1 << 18;

/// Largest number of lines that wait. CPUs make some hundred in the time by which their clocks differ; a
/// trace with more is not a kernel's, and is refused.
const WAITING_MAX: usize = 1 << 16;

/// Writer of lines that come in the order of execution. A line waits until no CPU can be behind it.
pub struct InOrder<W: Write> {
    out: BufWriter<W>,
    /// Times and lines, in order.
    waiting: VecDeque<(u64, Vec<u8>)>,
    /// Lines that were written, kept for their memory.
    spare: Vec<Vec<u8>>,
}

impl<W: Write> InOrder<W> {
    /// Creates a writer whose text begins with a header.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn new(out: W, header: &str) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        out.write_all(header.as_bytes())?;
        Ok(Self { out, waiting: VecDeque::new(), spare: Vec::new() })
    }

    /// Takes a line of an instant and leaves an empty one. Lines of one instant stay in their order.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn push(&mut self, ns: u64, line: &mut Vec<u8>) -> io::Result<()> {
        let line = std::mem::replace(line, self.spare.pop().unwrap_or_default());
        let later = self.waiting.iter().rev().take_while(|(other_ns, _)| *other_ns > ns).count();
        self.waiting.insert(self.waiting.len() - later, (ns, line));
        while let Some((first_ns, _)) = self.waiting.front()
            && first_ns.saturating_add(BEHIND_NS_MAX) < ns
        {
            self.write_first()?;
        }
        match self.waiting.len() > WAITING_MAX {
            true => Err(io::Error::other(format!(
                "the trace has more than {WAITING_MAX} lines within {BEHIND_NS_MAX} ns, as no kernel's has"
            ))),
            false => Ok(()),
        }
    }

    /// Writes the lines that still wait.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn finish(mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_first()?;
        }
        self.out.flush()
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some((_, mut line)) = self.waiting.pop_front() else { return Ok(()) };
        self.out.write_all(&line)?;
        self.out.write_all(b"\n")?;
        line.clear();
        self.spare.push(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &[(u64, &str)]) -> String {
        let mut bytes = Vec::new();
        let mut out = InOrder::new(&mut bytes, "").unwrap();
        for (ns, line) in lines {
            out.push(*ns, &mut line.as_bytes().to_vec()).unwrap();
        }
        out.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_of_a_cpu_that_is_behind_come_first() {
        let lines = [(1_000, "a"), (1_500, "c"), (1_200, "b"), (1_500, "d"), (1_500, "e")];
        assert_eq!(written(&lines), "a\nb\nc\nd\ne\n");
    }

    /// Memory is bounded whatever a hostile trace holds, and no line comes where it does not belong.
    #[test]
    fn too_many_lines_at_once_are_refused() {
        let mut out = InOrder::new(std::io::sink(), "").unwrap();
        for _ in 0..WAITING_MAX {
            out.push(7, &mut b"x".to_vec()).unwrap();
        }
        let error = out.push(8, &mut b"y".to_vec()).unwrap_err();
        assert!(error.to_string().contains("more than 65536 lines within 10000 ns"), "{error}");
        out.push(7 + BEHIND_NS_MAX + 1, &mut b"z".to_vec()).unwrap();
    }
}
