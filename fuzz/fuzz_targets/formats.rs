//! Any text through every parser, and what parses against a small file: no panic, no hang.
#![no_main]
use emendate_core::formats::{FORMATS, Input};
use emendate_core::{Ask, Settings, Snapshot, resolve};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, String, String)| {
    let (pick, text, file) = input;
    let format = FORMATS[usize::from(pick) % FORMATS.len()];
    let Ok(request) = format.parse(Input::Text(text)) else { return };
    let base = Snapshot::from_text(&file);
    for file in request.files {
        if let Ask::Edit { ops, order } = file.ask {
            if let Ok(resolved) = resolve(&base, &ops, order, Settings::default()) {
                resolved.changes.apply(&base);
            }
        }
    }
});
