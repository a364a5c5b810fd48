//! The anchors of a file that takes on texts made of few different lines: nothing panics or hangs, every line has a
//! word of its own, no word is transferred to another text, a text that returns has its former words, and a
//! deserialized map is equal to the serialized one. Edits by words never panic.
#![no_main]
use arbitrary::Arbitrary;
use emendate_core::anchor_map::{AnchorMap, AnchorPage};
use emendate_core::formats::anchors::WordAnchors;
use emendate_core::formats::{Format, FormatInput};
use emendate_core::{FileAction, OpOrder, ResolveSettings, Snapshot, resolve};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;

#[derive(Arbitrary, Debug)]
struct Edit {
    from: u8,
    to: u8,
    kind: u8,
    text: String,
}

fn text(lines: &[u8]) -> String {
    lines.iter().map(|line| format!("{}\n", line % 12)).collect()
}

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<Edit>, Vec<u8>)| {
    let (texts, edits, bytes) = input;
    let _ = AnchorMap::from_bytes(&bytes);
    let Some(mut words) = AnchorMap::new("") else { return };
    let (mut named, mut last) = (HashMap::new(), String::new());
    // The number of lines is small enough that no retired word can have been reused.
    for lines in texts.iter().take(8) {
        let now = text(&lines[..lines.len().min(60)]);
        let before = words.words().to_vec();
        words.follow(&now).unwrap();
        assert_eq!(words.words().len(), now.lines().count());
        for (word, line) in words.words().iter().zip(now.lines()) {
            assert_eq!(*named.entry(*word).or_insert_with(|| line.to_owned()), line);
        }
        let mut back = words.clone();
        back.follow(&last).unwrap();
        assert_eq!(back.words(), before);
        assert_eq!(AnchorMap::from_bytes(&words.to_bytes()).as_ref(), Some(&words));
        last = now;
    }
    let base = Snapshot::from_text(&last);
    let page = AnchorPage::new(&base, words.words());
    let name = |at: u8| words.words().get(usize::from(at)).map_or("Nobody".to_owned(), ToString::to_string);
    let kinds = ["replace", "insert_before", "insert_after", "delete"];
    let edits: Vec<_> = edits
        .iter()
        .map(|edit| {
            serde_json::json!({
                "anchor": name(edit.from), "end_anchor": name(edit.to), "edit_type": kinds[usize::from(edit.kind % 4)],
                "text": if edit.kind % 4 == 3 { "" } else { &edit.text },
            })
        })
        .collect();
    let Ok(request) = WordAnchors.parse(FormatInput::Json(serde_json::json!({ "path": "/f", "edits": edits }))) else {
        return;
    };
    let Some(FileAction::Edit { ops, .. }) = request.files.first().map(|file| &file.action) else { return };
    let Ok(ops) = ops.iter().map(|op| page.to_line_edit(op, |_| false)).collect::<Result<Vec<_>, _>>() else { return };
    if let Ok(resolved) = resolve(&base, &ops, OpOrder::Together, ResolveSettings::default()) {
        resolved.changes.apply(&base);
    }
});
