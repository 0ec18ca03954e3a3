//! Small computations as compilers write them.

use alloc::{
    collections::{BTreeMap, BinaryHeap},
    format,
    string::String,
    vec,
    vec::Vec,
};
use core::hint::black_box;

use rustix::io;

use crate::meter::Meter;

/// Numbers that look like random ones.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 4
    }
}

/// Sorts numbers.
pub fn sort(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut values = vec![0_u32; 1024];
    meter.measure(|| {
        let mut numbers = Numbers(1);
        for _ in 0..times {
            values.iter_mut().for_each(|value| *value = numbers.next());
            values.sort_unstable();
            black_box(&mut values);
        }
        Ok(())
    })
}

/// Computes a hash, byte after byte.
pub fn hash(meter: &mut Meter, times: u32) -> io::Result<()> {
    let bytes = vec![7_u8; 4096];
    meter.measure(|| {
        for _ in 0..times {
            let hash = black_box(&bytes).iter().fold(2_166_136_261_u32, |hash, byte| {
                (hash ^ u32::from(*byte)).wrapping_mul(16_777_619)
            });
            black_box(hash);
        }
        Ok(())
    })
}

/// Formats numbers and words, and gives the memory back.
pub fn format_text(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for number in 0..times {
            black_box(format!("{number} key:{} {:x}", black_box("abcdefgh"), number % 977));
        }
        Ok(())
    })
}

/// Looks up numbers in a tree.
pub fn tree(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut numbers = Numbers(1);
    let keys: Vec<u32> = (0..1024).map(|_| numbers.next()).collect();
    let tree: BTreeMap<u32, u32> = keys.iter().map(|key| (*key, *key)).collect();
    meter.measure(|| {
        let mut place = 0_usize;
        for _ in 0..times {
            place = (place + 389) % keys.len();
            black_box(tree.get(&keys[place]));
        }
        Ok(())
    })
}

/// Sums products of numbers in floating point.
pub fn dot_product(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (left, right) = (vec![1.5_f64; 512], vec![0.5_f64; 512]);
    meter.measure(|| {
        for _ in 0..times {
            let pairs = black_box(&left).iter().zip(black_box(&right));
            black_box(pairs.map(|(left, right)| left * right).sum::<f64>());
        }
        Ok(())
    })
}

/// Reads numbers from a text.
pub fn parse(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut numbers = Numbers(1);
    let text: String = (0..64).map(|_| format!("{},", numbers.next() % 100_000)).collect();
    meter.measure(|| {
        for _ in 0..times {
            let numbers = black_box(&*text).split(',').filter_map(|word| word.parse::<u32>().ok());
            black_box(numbers.fold(0, u32::wrapping_add));
        }
        Ok(())
    })
}

/// Computes a checksum with a table.
pub fn checksum(meter: &mut Meter, times: u32) -> io::Result<()> {
    let bytes: Vec<u8> = (0..4096_u32).map(|number| (number * 7) as u8).collect();
    let table: Vec<u32> = (0..256_u32).map(|number| number.wrapping_mul(0x9e37_79b9)).collect();
    meter.measure(|| {
        for _ in 0..times {
            let sum = black_box(&bytes)
                .iter()
                .fold(0_u32, |sum, byte| (sum >> 8) ^ table[usize::from(sum as u8 ^ byte)]);
            black_box(sum);
        }
        Ok(())
    })
}

/// Puts numbers into a heap and takes the largest.
pub fn heap(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut numbers = Numbers(1);
    let mut heap: BinaryHeap<u32> = (0..1024).map(|_| numbers.next()).collect();
    meter.measure(|| {
        for _ in 0..times {
            heap.push(numbers.next());
            black_box(heap.pop());
        }
        Ok(())
    })
}

/// Searches a word in a text.
pub fn search(meter: &mut Meter, times: u32) -> io::Result<()> {
    let text = "a long text in which the word is at the very end, after many others: here";
    meter.measure(|| {
        for _ in 0..times {
            black_box(black_box(text).find(black_box("here")));
        }
        Ok(())
    })
}
