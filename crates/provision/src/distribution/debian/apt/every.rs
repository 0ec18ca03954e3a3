use preemptlab_model::Arch;

use super::{Candidate, Trouble, chosen, fetch, lists, own, snapshot, stanza::stanzas};
use crate::distribution::debian::names;

/// Reads a text as each of the things that apt prints, for the fuzzer.
pub(crate) fn read_in_every_way(text: &str) {
    for candidate in stanzas(text).filter_map(|stanza| Candidate::from_stanza(&stanza)) {
        let name = candidate.file_name();
        assert!(!name.contains('/') && name.ends_with(".deb"), "{name}");
        let _ = fetch::trouble_of(&candidate, text);
    }
    for line in text.lines() {
        let _ = (chosen(line), fetch::percent(line), own::printed(line));
    }
    let _ = (lists::troubles(text, text), Trouble::classify(text));
    for of in Arch::ALL.map(Arch::platform) {
        let _ = snapshot::files(of, text.as_bytes());
        let _ = names::builds(text.lines(), of);
    }
}
