//! The encoding of new text in reports. An undo may restore bytes of an encoding that the present version does not
//! have.

use crate::text::change::ChangeSet;
use crate::text::charset::{Charset, Codec, EncodingEvidence};
use crate::text::decode::decode_chunk;
use crate::text::snapshot::Snapshot;
use std::cell::OnceCell;

/// Decodes the new text of a change.
pub(super) struct NewTextDecoder<'a> {
    base: &'a Snapshot,
    changes: &'a ChangeSet,
    /// The encoding of the new version, determined on first use.
    codec: OnceCell<Codec>,
}

impl<'a> NewTextDecoder<'a> {
    pub(super) fn new(base: &'a Snapshot, changes: &'a ChangeSet) -> NewTextDecoder<'a> {
        NewTextDecoder { base, changes, codec: OnceCell::new() }
    }

    /// Decodes bytes of the new version, as a read of that version would.
    pub(super) fn decode(&self, raw: &[u8]) -> String {
        let codec = self.base.codec();
        let is_certain = match (codec.charset, codec.evidence) {
            (Charset::Utf8, _) => self.base.is_sparse() || core::str::from_utf8(raw).is_ok(),
            (_, EncodingEvidence::Guessed) => raw.is_ascii(),
            _ => true,
        };
        if is_certain {
            return decode_chunk(raw, codec);
        }
        let new_codec = || {
            let all = self.changes.apply(self.base);
            Codec::detect(&all, core::str::from_utf8(&all).is_ok(), None).unwrap_or(codec)
        };
        decode_chunk(raw, *self.codec.get_or_init(new_codec))
    }
}

#[cfg(test)]
mod tests {
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::explain::{LineKind, hunks};
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;

    fn added(base: &[u8], span: Span, new: &[u8]) -> Vec<String> {
        let base = Snapshot::open(base.to_vec(), None).unwrap();
        let changes = ChangeSet::new(&base, [Splice::new(span, new.to_vec(), 0)]).unwrap();
        let lines = hunks(&base, &changes, 0).into_iter().flat_map(|hunk| hunk.lines);
        lines.filter(|line| line.kind == LineKind::Added).map(|line| line.text).collect()
    }

    #[test]
    fn restored_text_is_decoded_as_the_new_version_is() {
        assert_eq!(added(b"cafe\n", Span::new(3, 4), b"\xE9"), ["caf\u{e9}"]);
        assert_eq!(added(b"caf\xE9 a\n", Span::new(3, 6), "\u{e9} b".as_bytes()), ["caf\u{e9} b"]);
        assert_eq!(added(b"caf\xE9\n", Span::new(3, 4), "\u{e9}".as_bytes()), ["caf\u{c3}\u{a9}"]);
        assert_eq!(added(b"na\xEFve\ncafe\n", Span::new(9, 10), b"\xE9"), ["caf\u{e9}"]);
        assert_eq!(added("na\u{ef}ve\ncafe\n".as_bytes(), Span::new(10, 11), "\u{e9}".as_bytes()), ["caf\u{e9}"]);
    }
}
