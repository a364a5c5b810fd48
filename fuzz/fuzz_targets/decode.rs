//! Any bytes: opening a snapshot, the map between raw and decoded text, and the difference of two versions.
#![no_main]
use emendate_core::{ChangeSet, Charset, DeclaredEncoding, Snapshot};
use libfuzzer_sys::fuzz_target;

const CHARSETS: [&str; 8] = ["utf-8", "utf-16le", "utf-16be", "latin1", "shift_jis", "gbk", "big5", "euc-kr"];

fuzz_target!(|input: (u8, Vec<u8>, Vec<u8>)| {
    let (pick, a, b) = input;
    let declared = CHARSETS
        .get(usize::from(pick))
        .and_then(|name| Charset::for_label(name))
        .map(|charset| DeclaredEncoding { charset, by_call: true });
    let Ok(a) = Snapshot::open(a, declared) else { return };
    let mut last = 0;
    for (at, _) in a.text().char_indices() {
        let raw = a.to_raw(at);
        assert!(raw >= last && a.to_text(raw) == at && a.is_border(raw));
        last = raw;
    }
    assert_eq!(a.to_raw(a.text().len()), a.raw().len());
    if let Ok(b) = Snapshot::open(b, declared) {
        assert_eq!(ChangeSet::diff(&a, &b).apply(&a), b.raw());
    }
});
