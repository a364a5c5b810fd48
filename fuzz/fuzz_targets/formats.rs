//! Any text through every parser, and parsed requests against a small file: nothing panics or hangs.
#![no_main]
use emendate_core::formats::{FORMATS, FormatInput};
use emendate_core::{FileAction, ResolveSettings, Snapshot, resolve};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, String, String)| {
    let (pick, text, file) = input;
    let format = FORMATS[usize::from(pick) % FORMATS.len()];
    let Ok(request) = format.parse(FormatInput::Text(text)) else { return };
    let base = Snapshot::from_text(&file);
    for file in request.files {
        if let FileAction::Edit { ops, order } = file.action {
            if let Ok(resolved) = resolve(&base, &ops, order, ResolveSettings::default()) {
                resolved.changes.apply(&base);
            }
        }
    }
});
