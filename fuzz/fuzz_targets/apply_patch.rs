//! Any text as a Codex patch: a parsed request can be printed, and parsing the result gives the same request.
#![no_main]
use emendate_core::formats::apply_patch::{ApplyPatch, print};
use emendate_core::formats::{Format, FormatInput};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: String| {
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
    }
});
