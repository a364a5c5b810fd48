//! Offsets into strings of JavaScript, which count units of UTF-16.

use emendate_core::ChangedSpan;
use serde_json::{Value, json};

/// Converts offsets in bytes, given in ascending order, in one pass over a text.
struct Utf16Cursor<'t> {
    text: &'t str,
    byte: usize,
    unit: usize,
}

impl<'t> Utf16Cursor<'t> {
    fn new(text: &'t str) -> Utf16Cursor<'t> {
        Utf16Cursor { text, byte: 0, unit: 0 }
    }

    /// Returns the offset in units of the character that contains a byte.
    fn floor(&mut self, mut byte: usize) -> usize {
        while !self.text.is_char_boundary(byte) && byte > self.byte {
            byte -= 1;
        }
        self.advance(byte)
    }

    /// Returns the offset in units of the next character that begins at a byte or after it.
    fn ceil(&mut self, mut byte: usize) -> usize {
        while !self.text.is_char_boundary(byte) && byte < self.text.len() {
            byte += 1;
        }
        self.advance(byte)
    }

    fn advance(&mut self, byte: usize) -> usize {
        let passed = self.text.as_bytes().get(self.byte..byte).unwrap_or_default();
        // A character is a unit, or two if it takes four bytes.
        self.unit += passed.iter().filter(|byte| !(0x80..0xC0).contains(*byte)).count();
        self.unit += passed.iter().filter(|byte| **byte >= 0xF0).count();
        self.byte = self.byte.max(byte);
        self.unit
    }
}

/// Returns the changed spans of two texts as objects.
pub(crate) fn spans(before: &str, after: &str, spans: &[ChangedSpan]) -> Vec<Value> {
    let (mut old, mut new) = (Utf16Cursor::new(before), Utf16Cursor::new(after));
    let one = |span: &ChangedSpan| {
        let (start, new_start) = (old.floor(span.before.start), new.floor(span.after.start));
        let (end, new_end) = (old.ceil(span.before.end), new.ceil(span.after.end));
        json!({ "start": start, "end": end, "newStart": new_start, "newEnd": new_end })
    };
    spans.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::spans;
    use emendate_core::ChangedSpan;
    use serde_json::json;

    #[test]
    fn a_span_inside_a_character_covers_it() {
        // `é` and `è` share their first byte.
        let span = ChangedSpan { before: 2..3, after: 2..3 };
        let expected = json!({ "start": 1, "end": 2, "newStart": 1, "newEnd": 2 });
        assert_eq!(spans("aéb", "aèb", &[span]), [expected]);
    }

    #[test]
    fn spans_behind_each_other_are_counted_from_the_beginning() {
        let all = [ChangedSpan { before: 0..4, after: 0..0 }, ChangedSpan { before: 5..5, after: 1..3 }];
        let expected = [
            json!({ "start": 0, "end": 2, "newStart": 0, "newEnd": 0 }),
            json!({ "start": 3, "end": 3, "newStart": 1, "newEnd": 2 }),
        ];
        assert_eq!(spans("😀ab", "aéb", &all), expected);
    }
}
