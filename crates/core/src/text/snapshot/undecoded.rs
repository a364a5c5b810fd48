//! Bytes that are not characters of the encoding: the decoded text has U+FFFD in their place, and so has new text that
//! was made from it.

use super::Snapshot;
use crate::error::Result;
use crate::text::charset::{Charset, unencodable};
use crate::text::span::Span;

const REPLACEMENT: &str = "\u{FFFD}";

impl Snapshot {
    /// Encodes new text in place of a span of the decoded text. If U+FFFD of the old text is in place of bytes that are
    /// not characters, the U+FFFD of the new text keeps these bytes.
    ///
    /// Errors: [`ContentUnencodable`](crate::Code::ContentUnencodable), also if it is not certain which bytes are kept.
    pub(super) fn encode_in_place_of(&self, span: Span, new: &str) -> Result<Vec<u8>> {
        let codec = self.codec();
        let is_text = codec.charset == Charset::Utf8 && self.raw_text().is_some();
        if is_text || !new.contains(REPLACEMENT) {
            return codec.encode(new);
        }
        let old = self.undecoded(span);
        let [first, rest @ ..] = &*old else {
            // Text copied from another part of the file would lose its bytes.
            if self.undecoded(Span::new(0, self.text().len())).is_empty() {
                return codec.encode(new);
            }
            return Err(uncertain());
        };
        let all = self.text()[span.range()].matches(REPLACEMENT).count();
        if new.matches(REPLACEMENT).count() != old.len() || all != old.len() || rest.iter().any(|it| it != first) {
            return Err(uncertain());
        }
        let parts = new.split(REPLACEMENT).map(|part| codec.encode(part)).collect::<Result<Vec<_>>>()?;
        Ok(parts.join(*first))
    }

    /// Returns the bytes in a span of the decoded text that are not characters, as far as they are decoded one by one.
    fn undecoded(&self, span: Span) -> Vec<&[u8]> {
        let genuine = self.codec().charset.encode(REPLACEMENT).ok();
        let places = self.text()[span.range()].match_indices(REPLACEMENT);
        let places = places.map(|(at, _)| Span::new(span.start() + at, span.start() + at + REPLACEMENT.len()));
        let bytes = places.map(|place| &self.raw()[self.raw_span(place).range()]);
        bytes.filter(|bytes| genuine.as_deref() != Some(*bytes)).collect()
    }
}

/// Creates the error for U+FFFD in new text that cannot be paired with bytes of the file.
fn uncertain() -> crate::Error {
    unencodable(
        vec!['\u{FFFD}'],
        "The file has bytes that are not characters, which are shown as U+FFFD, and it is not certain which of them the new text keeps.".to_owned(),
        "Replace only text beside these characters, or repeat the call with the encoding in which they are characters."
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::{Snapshot, Span};
    use crate::code::Code;
    use crate::text::charset::{Charset, DeclaredEncoding};

    fn utf8(raw: &[u8]) -> Snapshot {
        Snapshot::open(raw.to_vec(), Some(DeclaredEncoding { charset: Charset::Utf8, by_call: true })).unwrap()
    }

    fn replaced(base: &Snapshot, new: &str) -> Result<Vec<u8>, Code> {
        base.encode_for(Span::new(0, base.text().len()), new).map_err(|error| error.code())
    }

    #[test]
    fn bytes_that_are_no_characters_are_kept() {
        assert_eq!(replaced(&utf8(b"key \xE9t"), "name \u{FFFD}t!").unwrap(), b"name \xE9t!");
        assert_eq!(replaced(&utf8(b"\xE9 \xE9"), "a\u{FFFD}b\u{FFFD}\u{e9}").unwrap(), b"a\xE9b\xE9\xC3\xA9");
        assert_eq!(replaced(&utf8(b"key \xE9t"), "name").unwrap(), b"name");
        let wide = Snapshot::open(b"\xFF\xFEa\0\0\xD8b\0".to_vec(), None).unwrap();
        assert_eq!(replaced(&wide, "x\u{FFFD}y").unwrap(), b"x\0\0\xD8y\0");
    }

    #[test]
    fn uncertain_bytes_are_refused() {
        for (raw, new) in [
            (&b"\xE9 \xE8"[..], "\u{FFFD}-\u{FFFD}"),
            (b"\xE9 a", "\u{FFFD} \u{FFFD}"),
            (b"\xE9 \xEF\xBF\xBD", "\u{FFFD}\u{FFFD}"),
            (b"\xE9 \xEF\xBF\xBD", "\u{FFFD}"),
        ] {
            assert_eq!(replaced(&utf8(raw), new), Err(Code::ContentUnencodable), "{raw:?}");
        }
        let base = utf8(b"a \xE9");
        assert_eq!(base.encode_for(Span::new(0, 1), "\u{FFFD}").unwrap_err().code(), Code::ContentUnencodable);
        // A file that has the character itself may get it anywhere.
        assert_eq!(replaced(&utf8("a \u{FFFD}".as_bytes()), "\u{FFFD}!").unwrap(), "\u{FFFD}!".as_bytes());
    }
}
