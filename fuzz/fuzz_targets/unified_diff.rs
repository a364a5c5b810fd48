//! Any text through the unified diff parser, with all options, whole and line by line: nothing panics or hangs, and the
//! results are equal. Binary changes that it parses are applied to any bytes.
#![no_main]
use emendate_core::formats::line_parser::{ParseOptions, TextEncoding, parse_text};
use emendate_core::formats::unified_diff::UnifiedDiff;
use emendate_core::formats::{Format, FormatInput};
use emendate_core::{BinaryChange, BinaryPayload, FileAction, apply_binary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, String, Vec<u8>)| {
    let (how, text, old) = input;
    let lines = text.lines().count();
    assert!(UnifiedDiff.detected_ranges(&text).iter().all(|claim| claim.start < claim.end && claim.end <= lines));
    let manner = ParseOptions {
        strip: (how & 1 != 0).then_some(usize::from(how >> 6)),
        file: (how & 2 != 0).then(|| "file".to_owned()),
        reverse: how & 4 != 0,
        encoding: if how & 8 == 0 { TextEncoding::Utf8 } else { TextEncoding::Bytes },
    };
    let Some(machine) = UnifiedDiff.line_parser(&manner) else { return };
    let _ = parse_text(machine, &text);
    let change = BinaryChange { before: None, after: None, payload: BinaryPayload::Delta(text.clone().into_bytes()) };
    let _ = apply_binary(&old, &change);
    let whole = UnifiedDiff.parse(FormatInput::Text(text.clone()));

    // Feeding the same lines to the parser by hand must have the same result.
    let Some(mut machine) = UnifiedDiff.line_parser(&ParseOptions::default()) else { return };
    let mut events = Vec::new();
    let body = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    for line in body.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        machine.line(line.strip_suffix('\r').unwrap_or(line), &mut events);
    }
    let cut = !body.is_empty() && !body.ends_with('\n');
    assert_eq!(machine.finish(cut, &mut events), whole);
    let Ok(request) = whole else { return };
    for file in request.files {
        if let FileAction::Binary(change) = file.action {
            let _ = apply_binary(&old, &change);
        }
    }
});
