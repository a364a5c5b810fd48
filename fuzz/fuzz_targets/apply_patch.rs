//! Any text as a Codex patch: what is read prints and is read again alike; the emulation of the tool ends on any file.
#![no_main]
use emendate_core::formats::apply_patch::{ApplyPatch, codex, print};
use emendate_core::formats::{Format, FormatInput};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, String, bool)| {
    let (text, file, overwrite) = input;
    for text in [text.clone(), format!("*** Begin Patch\n{text}\n*** End Patch")] {
        let claims = ApplyPatch.detected_ranges(&text);
        assert!(claims.iter().all(|range| range.start < range.end && range.end <= text.lines().count()));
        if let Ok(request) = ApplyPatch.parse(FormatInput::Text(text.clone())) {
            assert!(!claims.is_empty());
            if let Some(again) = print(&request) {
                let again = ApplyPatch.parse(FormatInput::Text(again)).expect("what is printed is read");
                assert_eq!(again.files.len(), request.files.len());
            }
        }
        let look = |path: &str| match path {
            "/w" => codex::CodexPathState::Directory,
            "/w/f" => codex::CodexPathState::File(file.clone().into_bytes()),
            _ => codex::CodexPathState::Missing,
        };
        if let Ok(outcome) = codex::apply(&text, "/w", overwrite, look) {
            assert!(!outcome.changes.is_empty());
        }
    }
});
