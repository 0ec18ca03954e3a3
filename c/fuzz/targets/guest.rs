//! What a guest says: as it is, and as a message in a sound frame, which nothing random finds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_protocol::frame::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let mut frame = b"PLAB".to_vec();
    frame.extend((bytes.len() as u32).to_le_bytes());
    frame.extend(crc32fast::hash(bytes).to_le_bytes());
    frame.extend(bytes);
    for said in [bytes, &frame] {
        let Ok(messages) = decode(said) else { continue };
        let again: Vec<u8> =
            messages.iter().flat_map(|message| encode(message).expect("it was decoded")).collect();
        assert_eq!(decode(&again).as_ref(), Ok(&messages));
    }
});
