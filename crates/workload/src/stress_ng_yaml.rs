//! The file that stress-ng writes with `--yaml`: the part that `--metrics` adds
//! (`stress_metrics_dump` in stress-ng.c), the same from 0.15.06 to 0.19.02.

/// Result of a stressor, of all its instances together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stressed {
    /// Number of operations.
    pub ops: u64,
    /// Operations per second of [`wall_s`](Self::wall_s).
    pub ops_per_second: f64,
    /// Average time that an instance worked, in seconds. Under `SCHED_FIFO` an instance may wait
    /// for another before it begins; the wait does not count.
    pub wall_s: f64,
    /// Their user time, added up.
    pub user_s: f64,
    /// Their system time, added up.
    pub system_s: f64,
}

impl Stressed {
    /// Returns the least difference of the rate: of one operation, which are counted whole.
    pub fn rate_resolution(&self) -> f64 {
        match self.ops {
            0 => 1.0 / self.wall_s.max(TIME_RESOLUTION_S),
            ops => self.ops_per_second / ops as f64,
        }
    }
}

/// Times are written with six decimals, in seconds.
pub const TIME_RESOLUTION_S: f64 = 1e-6;

/// A rate and a time are written with six decimals, so their product is the operations but for
/// this part, and for one operation.
const ROUNDED: f64 = 1e-4;

/// Reads the results of these stressors, each once and no others, in their order.
///
/// # Errors
///
/// The mistake in the text, in words.
pub fn read(yaml: &str, stressors: &[&str]) -> Result<Vec<Stressed>, String> {
    let mut lines = yaml.lines().skip_while(|line| *line != "metrics:");
    if lines.next().is_none() {
        return Err("it has no metrics".to_owned());
    }
    let mut blocks = Vec::<(&str, Vec<&str>)>::new();
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        match (line.trim_start().strip_prefix("- stressor: "), blocks.last_mut()) {
            (Some(name), _) => blocks.push((name.trim(), Vec::new())),
            (None, Some((_, block))) => block.push(line.trim_start()),
            (None, None) => {}
        }
    }
    if let Some((other, _)) = blocks.iter().find(|(name, _)| !stressors.contains(name)) {
        return Err(format!("it has metrics of `{}`", other.escape_debug()));
    }
    let one = |stressor: &&str| {
        let mut found = blocks.iter().filter(|(name, _)| name == stressor);
        match (found.next(), found.next()) {
            (Some((_, block)), None) => read_block(block),
            (None, _) => Err(format!("it has no metrics of {stressor}")),
            _ => Err(format!("it has metrics of {stressor} twice")),
        }
    };
    stressors.iter().map(one).collect()
}

fn read_block(block: &[&str]) -> Result<Stressed, String> {
    let value = |key: &str| {
        let values = block.iter().filter_map(|line| line.split_once(": "));
        let mut values = values.filter(|(name, _)| *name == key).map(|(_, value)| value.trim());
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (None, _) => Err(format!("it has no {key}")),
            _ => Err(format!("it has several {key}")),
        }
    };
    let number = |key: &str| {
        let text = value(key)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("{key} is `{}`", text.escape_debug()))
    };
    let ops = value("bogo-ops")?;
    let ops = ops.parse().map_err(|_| format!("bogo-ops is `{}`", ops.escape_debug()))?;
    let ops_per_second = number("bogo-ops-per-second-real-time")?;
    let wall_s = number("wall-clock-time")?;
    let product = ops_per_second * wall_s;
    if (product - ops as f64).abs() > ops as f64 * ROUNDED + 1.0 {
        return Err(format!("{ops} operations in {wall_s} s are not {ops_per_second}/s"));
    }
    let (user_s, system_s) = (number("user-time")?, number("system-time")?);
    Ok(Stressed { ops, ops_per_second, wall_s, user_s, system_s })
}
