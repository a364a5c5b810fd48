//! Random old and new text on random text: nothing panics or hangs, and the laws of the format page hold.
#![no_main]
use arbitrary::Arbitrary;
use emendate_core::formats::replace::Replacement;
use emendate_core::{Matching, OpOrder, ResolveSettings, Snapshot, resolve};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    text: String,
    old: String,
    new: String,
    /// Part of the file that is used as the old text, so that something is found.
    cut: Option<(u16, u16)>,
    all: bool,
    strictness: u8,
    stale: bool,
}

fuzz_target!(|input: Input| {
    let base = Snapshot::from_text(&input.text);
    let mut old = input.old;
    if let Some((from, len)) = input.cut {
        let borders: Vec<usize> = input.text.char_indices().map(|(at, _)| at).chain([input.text.len()]).collect();
        let from = usize::from(from) % borders.len();
        let to = (from + usize::from(len)).min(borders.len() - 1);
        old.push_str(&input.text[borders[from]..borders[to]]);
    }
    let edit = Replacement {
        old_string: old,
        new_string: input.new,
        replace_all: input.all.then_some(true),
        ..Replacement::default()
    };
    let Ok(op) = edit.to_op() else { return };
    let matching = [Matching::Exact, Matching::Strict, Matching::Standard][usize::from(input.strictness % 3)];
    let settings = ResolveSettings { matching, stale: input.stale, ..ResolveSettings::default() };
    let Ok(resolved) = resolve(&base, &[op], OpOrder::Together, settings) else { return };
    let out = resolved.changes.apply(&base);
    assert!(std::str::from_utf8(&out).is_ok());
    let (mut from, mut at) = (0, 0);
    for splice in resolved.changes.splices() {
        let kept = splice.span.start() - from;
        assert_eq!(&out[at..at + kept], &base.raw()[from..splice.span.start()]);
        at += kept + splice.text.len();
        from = splice.span.end();
    }
    assert_eq!(&out[at..], &base.raw()[from..]);
});
