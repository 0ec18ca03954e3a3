//! Output and log of sockperf's client (`stream_statistics`, `client_statistics` and `dumpFullLog`
//! in client.cpp), the same in 3.7 and 3.10, and the kernel's counts of its messages.

use std::collections::BTreeMap;

use preemptlab_model::Histogram;

/// Messages that the client sent in the throughput mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Number of all messages.
    pub messages: u64,
    /// Per second of the client's work.
    pub per_second: f64,
}

/// Reads the client's output of the throughput mode.
///
/// # Errors
///
/// The cause, when a total is missing, no number, or contradicts another.
pub fn sent(stdout: &str) -> Result<Sent, String> {
    // Total of 319763 messages sent in 1.000 sec
    let total = after(stdout, "Total of ")?;
    let (messages, rest) = total.split_once(" messages sent in ").ok_or_else(|| refuse(total))?;
    let messages: u64 = messages.parse().map_err(|_| refuse(total))?;
    let seconds = positive(rest.split(' ').next().unwrap_or_default())?;
    // Summary: Message Rate is 319613 [msg/sec]
    let rate = after(stdout, "Summary: Message Rate is ")?;
    let per_second = positive(rest_until(rate, " [msg/sec]")?)?;
    // The time is written with three decimals and the rate with none.
    let product = per_second * seconds;
    if (product - messages as f64).abs() > 0.001 * per_second + seconds {
        return Err(format!("{messages} messages in {seconds} s are not {per_second}/s"));
    }
    Ok(Sent { messages, per_second })
}

/// Counts of received and sent datagrams, from `/proc/net/snmp`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagrams {
    received: u64,
    sent: u64,
}

/// Largest relative difference between the client's count and the kernel's, besides the messages
/// that were under way at the end.
const COUNTS_DIFFER: f64 = 0.001;

impl Datagrams {
    /// Reads the counters after a client sent `messages`.
    ///
    /// # Errors
    ///
    /// The cause, when the text is not that of `/proc/net/snmp`, or contradicts the client's count.
    pub fn read(counters: &str, messages: u64) -> Result<Self, String> {
        let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
            return Err("it counts no datagrams".to_owned());
        };
        let value = |name: &str| {
            let mut columns = names.split(' ').zip(values.split(' '));
            let (_, value) = columns.find(|(column, _)| *column == name)?;
            value.parse::<u64>().ok()
        };
        let (Some(received), Some(sent)) = (value("InDatagrams"), value("OutDatagrams")) else {
            return Err("it has no InDatagrams or no OutDatagrams".to_owned());
        };
        if sent.abs_diff(messages) as f64 > 1.0 + COUNTS_DIFFER * messages as f64 {
            return Err(format!("the kernel sent {sent} datagrams for {messages} messages"));
        }
        if sent == 0 || received == 0 || received > sent {
            return Err(format!("of {sent} datagrams {received} were received"));
        }
        Ok(Self { received, sent })
    }

    /// Returns the share of the sent datagrams that the server has read.
    pub fn arrived(&self) -> f64 {
        self.received as f64 / self.sent as f64
    }
}

/// Response times that the client measured in the ping-pong mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchanged {
    /// Half of each round trip.
    pub latencies_us: Histogram,
    /// Mean of the response times, in microseconds.
    pub avg_us: f64,
    /// Round trips per second.
    pub per_second: f64,
    /// The part of the messages that was never answered.
    pub lost: f64,
}

const HEAD: &str = "packet, txTime(sec), rxTime(sec), latency(usec)";

/// Times are written with nine decimals, latencies with three.
const ROUNDED_US: f64 = 0.002;

/// Reads the client's full log.
///
/// # Errors
///
/// The cause, when the log is not whole or contradicts itself.
pub fn exchanged(log: &str) -> Result<Exchanged, String> {
    // [Valid Duration] RunTime=0.550 sec; SentMessages=31060; ReceivedMessages=31060
    let valid = after(log, "[Valid Duration] ")?;
    let sent = counted(valid, "SentMessages=")?;
    let received = counted(valid, "ReceivedMessages=")?;
    let dropped = counted(after(log, "# dropped messages = ")?, "")?;
    let mut rows = log.lines().skip_while(|line| *line != HEAD).skip(1);
    let mut counts = BTreeMap::<u64, u64>::new();
    let (mut first_s, mut last_s, mut sum_us, mut number) = (f64::INFINITY, 0.0, 0.0, 0u64);
    let ended = rows.by_ref().map(|row| (row, row.starts_with("---"))).find_map(|(row, is_end)| {
        if is_end {
            return Some(Ok(()));
        }
        match Row::read(row, number) {
            Some(Row { tx_s, rx_s, latency_us }) => {
                *counts.entry(latency_us as u64).or_default() += 1;
                (first_s, last_s) = (f64::min(first_s, tx_s), f64::max(last_s, rx_s));
                sum_us += latency_us;
                number += 1;
                None
            }
            None => Some(Err(refuse(row))),
        }
    });
    match ended {
        Some(result) => result?,
        None => return Err(format!("its end is missing after {number} messages")),
    }
    if number != received || number == 0 || sent < received || dropped > sent {
        return Err(format!(
            "{number} messages are logged, {received} of {sent} were answered, {dropped} dropped"
        ));
    }
    if last_s <= first_s {
        return Err("its messages took no time".to_owned());
    }
    Ok(Exchanged {
        latencies_us: Histogram::new(counts),
        avg_us: sum_us / number as f64,
        per_second: number as f64 / (last_s - first_s),
        lost: dropped as f64 / sent as f64,
    })
}

struct Row {
    tx_s: f64,
    rx_s: f64,
    latency_us: f64,
}

impl Row {
    /// Reads one line of the log, such as `6, 2.488120500, 2.488148712, 14.106`.
    fn read(text: &str, number: u64) -> Option<Self> {
        let mut columns = text.split(", ");
        let mut next =
            || columns.next()?.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let (index, tx_s, rx_s, latency_us) = (next()?, next()?, next()?, next()?);
        let half_us = (rx_s - tx_s) * 1e6 / 2.0;
        let agrees = index == number as f64 && (half_us - latency_us).abs() < ROUNDED_US;
        (columns.next().is_none() && agrees).then_some(Self { tx_s, rx_s, latency_us })
    }
}

/// Returns the text that follows a marker on the first line that has it.
fn after<'a>(text: &'a str, marker: &str) -> Result<&'a str, String> {
    let mut found = text.lines().filter_map(|line| Some(line.split_once(marker)?.1));
    found.next().ok_or_else(|| format!("it has no `{}`", marker.trim()))
}

fn rest_until<'a>(text: &'a str, marker: &str) -> Result<&'a str, String> {
    text.split_once(marker).map(|(before, _)| before).ok_or_else(|| refuse(text))
}

/// Returns the whole number after a key.
fn counted(text: &str, key: &str) -> Result<u64, String> {
    let (_, value) = text.split_once(key).ok_or_else(|| refuse(text))?;
    let digits = value.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().map_err(|_| refuse(text))
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| refuse(text))
}

fn refuse(text: &str) -> String {
    let shown: String = text.chars().take(80).collect();
    format!("`{}` is not what sockperf writes", shown.escape_debug())
}
