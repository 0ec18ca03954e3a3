//! Foresees misses of equal distance.

use preemptlab_protocol::caches;

/// Follows instructions whose accesses miss.
pub struct Prefetcher {
    streams: Vec<Stream>,
    training: u8,
}

/// What is known of one instruction.
#[derive(Clone, Copy, Default)]
struct Stream {
    instruction: u64,
    /// The line of its last miss.
    line: u64,
    distance: u64,
    /// How often in a row that was the distance.
    seen: u8,
}

impl Prefetcher {
    pub fn new(size: caches::Prefetcher) -> Self {
        let streams = vec![Stream::default(); size.streams.get() as usize];
        Self { streams, training: size.training }
    }

    /// Learns from an instruction's miss of a line, by its address, and returns whether it was
    /// foreseen.
    pub fn foresees(&mut self, instruction: u64, line: u64) -> bool {
        let at = (instruction ^ instruction >> 12) as usize & (self.streams.len() - 1);
        let stream = &mut self.streams[at];
        if stream.instruction != instruction {
            *stream = Stream { instruction, line, ..Stream::default() };
            return false;
        }
        let distance = line.wrapping_sub(stream.line);
        stream.line = line;
        if distance == 0 || distance != stream.distance {
            stream.distance = distance;
            stream.seen = 0;
            return false;
        }
        if stream.seen < self.training {
            stream.seen += 1;
        }
        stream.seen >= self.training
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefetcher() -> Prefetcher {
        Prefetcher::new(serde_json::from_str(r#"{"streams":16,"training":2}"#).unwrap())
    }

    fn foreseen(prefetcher: &mut Prefetcher, instruction: u64, lines: &[u64]) -> Vec<bool> {
        lines.iter().map(|line| prefetcher.foresees(instruction, *line)).collect()
    }

    #[test]
    fn equal_distances_are_foreseen() {
        let mut prefetcher = prefetcher();
        let learnt = [false, false, false, true, true];
        assert_eq!(foreseen(&mut prefetcher, 1, &[10, 11, 12, 13, 14]), learnt);
        assert_eq!(foreseen(&mut prefetcher, 2, &[90, 73, 56, 39, 22]), learnt);
        assert_eq!(
            foreseen(&mut prefetcher, 1, &[15, 17, 18, 19, 20]),
            [true, false, false, false, true]
        );
    }

    #[test]
    fn neither_one_line_nor_a_random_order_is_a_stream() {
        let mut prefetcher = prefetcher();
        assert_eq!(foreseen(&mut prefetcher, 1, &[7; 9]), [false; 9]);
        assert_eq!(foreseen(&mut prefetcher, 1, &[1, 9, 4, 6, 2, 5]), [false; 6]);
    }

    #[test]
    fn another_instruction_takes_the_place() {
        let mut prefetcher = prefetcher();
        foreseen(&mut prefetcher, 1, &[1, 2, 3, 4]);
        foreseen(&mut prefetcher, 17, &[100]);
        assert!(!prefetcher.foresees(1, 5));
    }
}
