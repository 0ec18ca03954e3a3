//! A client for QEMU's monitor (QEMU `docs/interop/qmp-spec.rst`): JSON objects, one per line.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use serde::Deserialize;
use serde_json::{Value, json};

/// The longest line that is accepted; QEMU's answers to the commands used here have below 4 KiB.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Largest number of events before one answer.
const EVENTS_MAX: usize = 1000;

/// Message of QEMU.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Message {
    /// Sent once, at first.
    Greeting {
        /// Version and capabilities.
        #[serde(rename = "QMP")]
        qmp: Value,
    },
    /// The answer to a command.
    Return {
        /// The command's result.
        #[serde(rename = "return")]
        result: Value,
    },
    /// The refusal of a command.
    Error {
        /// Reason of the refusal.
        error: Refusal,
    },
    /// Something that happened by itself.
    Event(Event),
}

/// Reason why a command was refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Refusal {
    /// Description in words.
    pub(crate) desc: String,
}

/// Something that happened in QEMU.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Event {
    /// Name of the event, as in QEMU `qapi/*.json`.
    pub(crate) event: String,
    /// Data of the event.
    #[serde(default)]
    pub(crate) data: Value,
}

impl Event {
    /// Returns a text in the event's data; empty where there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.data[key].as_str().unwrap_or_default()
    }
}

/// Reason why no conversation is possible.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QmpError {
    #[error("it says `{0}`, which is no QMP message")]
    Garbage(String),
    #[error("it sends a line of more than {LINE_BYTES_MAX} bytes")]
    LineTooLong,
    #[error("it sends more than {EVENTS_MAX} events and no answer")]
    TooManyEvents,
    #[error("it refuses `{command}`: {reason}")]
    Refused { command: String, reason: String },
    #[error("it answers nothing that was asked: {0:?}")]
    Unexpected(Box<Message>),
    #[error("its monitor fails: {0}")]
    Io(#[from] io::Error),
}

/// Client's end of a monitor. It never blocks; [`Qemu`](crate::qemu::Qemu) does the waiting.
#[derive(Debug)]
pub(crate) struct Qmp {
    stream: UnixStream,
    received: Vec<u8>,
    events: VecDeque<Event>,
    closed: bool,
}

impl Qmp {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, received: Vec::new(), events: VecDeque::new(), closed: false })
    }

    /// Sends a command. A closed monitor is not an error here: the end of the process tells more.
    pub(crate) fn send(&mut self, command: &str, arguments: &Value) -> Result<(), QmpError> {
        let mut line = json!({ "execute": command, "arguments": arguments }).to_string();
        line.push('\n');
        match self.stream.write_all(line.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        }
    }

    /// Reads the bytes that QEMU has sent since, and returns their number.
    pub(crate) fn fill(&mut self) -> Result<usize, QmpError> {
        let mut chunk = [0; 4096];
        let mut taken = 0;
        while self.received.len() <= LINE_BYTES_MAX {
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    self.closed = true;
                    break;
                }
                Ok(count) => {
                    self.received.extend_from_slice(&chunk[..count]);
                    taken += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    self.closed = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(taken)
    }

    /// Returns whether QEMU has closed the monitor.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns the next whole message.
    pub(crate) fn message(&mut self) -> Result<Option<Message>, QmpError> {
        let Some(end) = self.received.iter().position(|byte| *byte == b'\n') else {
            return if self.received.len() > LINE_BYTES_MAX {
                Err(QmpError::LineTooLong)
            } else {
                Ok(None)
            };
        };
        let line: Vec<u8> = self.received.drain(..=end).collect();
        match serde_json::from_slice(&line) {
            Ok(message) => Ok(Some(message)),
            Err(_) => {
                let line = String::from_utf8_lossy(&line);
                Err(QmpError::Garbage(line.trim().chars().take(200).collect()))
            }
        }
    }

    /// Keeps an event that came while something else was waited for.
    pub(crate) fn keep(&mut self, event: Event) -> Result<(), QmpError> {
        if self.events.len() == EVENTS_MAX {
            return Err(QmpError::TooManyEvents);
        }
        self.events.push_back(event);
        Ok(())
    }

    /// Returns the first event that was kept.
    pub(crate) fn kept_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

/// Reads a monitor's bytes to their end, for the fuzzer.
#[doc(hidden)]
pub fn hostile_monitor(bytes: &[u8]) {
    let Ok((ours, mut theirs)) = UnixStream::pair() else { return };
    let Ok(mut qmp) = Qmp::new(ours) else { return };
    for piece in bytes.chunks(4096) {
        if theirs.write_all(piece).is_err() || qmp.fill().is_err() {
            return;
        }
        loop {
            match qmp.message() {
                Ok(Some(Message::Event(event))) => {
                    let _ = (event.text("action"), event.text("reason"));
                    if qmp.keep(event).is_err() {
                        return;
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    while qmp.kept_event().is_some() {}
}

impl AsFd for Qmp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a client, and QEMU's end of its monitor.
    fn monitor() -> (Qmp, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Qmp::new(ours).unwrap(), theirs)
    }

    fn next(qmp: &mut Qmp) -> Result<Option<Message>, QmpError> {
        qmp.fill()?;
        qmp.message()
    }

    #[test]
    fn reads_what_qemu_says() {
        let (mut qmp, mut qemu) = monitor();
        qemu.write_all(
            b"{\"QMP\": {\"version\": {}, \"capabilities\": [\"oob\"]}}\r\n\
              {\"timestamp\": {\"seconds\": 1, \"microseconds\": 2}, \"event\": \"RESUME\"}\r\n\
              {\"return\": {}}\r\n\
              {\"timestamp\": {}, \"event\": \"WATCHDOG\", \"data\": {\"action\": \"pause\"}}\r\n\
              {\"error\": {\"class\": \"GenericError\", \"desc\": \"no\"}}\r\n",
        )
        .unwrap();
        assert!(matches!(next(&mut qmp), Ok(Some(Message::Greeting { .. }))));
        let Ok(Some(Message::Event(resume))) = next(&mut qmp) else { panic!() };
        assert_eq!((resume.event.as_str(), resume.text("action")), ("RESUME", ""));
        assert!(matches!(next(&mut qmp), Ok(Some(Message::Return { .. }))));
        let Ok(Some(Message::Event(watchdog))) = next(&mut qmp) else { panic!() };
        assert_eq!((watchdog.event.as_str(), watchdog.text("action")), ("WATCHDOG", "pause"));
        let Ok(Some(Message::Error { error })) = next(&mut qmp) else { panic!() };
        assert_eq!(error.desc, "no");
        assert!(matches!(next(&mut qmp), Ok(None)));
        assert!(!qmp.is_closed());
    }

    #[test]
    fn a_line_may_come_in_pieces() {
        let (mut qmp, mut qemu) = monitor();
        for piece in ["{\"ret", "urn\": ", "{}}"] {
            qemu.write_all(piece.as_bytes()).unwrap();
            assert!(matches!(next(&mut qmp), Ok(None)), "{piece}");
        }
        qemu.write_all(b"\n").unwrap();
        assert!(matches!(next(&mut qmp), Ok(Some(Message::Return { .. }))));
    }

    #[test]
    fn garbage_is_quoted() {
        let (mut qmp, mut qemu) = monitor();
        qemu.write_all(b"\x1b[1mhello\n").unwrap();
        let error = next(&mut qmp).unwrap_err();
        assert!(matches!(error, QmpError::Garbage(text) if text.contains("hello")));
    }

    #[test]
    fn a_line_has_a_longest_length() {
        let (mut qmp, mut qemu) = monitor();
        let mut sent = 0;
        let error = loop {
            qemu.write_all(&[b'x'; 4096]).unwrap();
            sent += 4096;
            match next(&mut qmp) {
                Ok(message) => assert_eq!(message, None),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, QmpError::LineTooLong));
        assert!(sent <= LINE_BYTES_MAX + 4096);
    }

    #[test]
    fn the_end_of_the_stream_is_seen_after_the_last_message() {
        let (mut qmp, mut qemu) = monitor();
        qemu.write_all(b"{\"return\": {}}\nrest").unwrap();
        drop(qemu);
        assert!(matches!(next(&mut qmp), Ok(Some(Message::Return { .. }))));
        assert!(matches!(next(&mut qmp), Ok(None)));
        assert!(qmp.is_closed());
        qmp.send("cont", &json!({})).unwrap();
    }

    #[test]
    fn events_are_kept_in_order_and_not_without_end() {
        let (mut qmp, _qemu) = monitor();
        let event = |number: usize| Event { event: number.to_string(), data: Value::Null };
        for number in 0..EVENTS_MAX {
            qmp.keep(event(number)).unwrap();
        }
        assert!(matches!(qmp.keep(event(0)), Err(QmpError::TooManyEvents)));
        assert_eq!(qmp.kept_event(), Some(event(0)));
        assert_eq!(qmp.kept_event(), Some(event(1)));
    }
}
