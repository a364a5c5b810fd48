//! Positions: lines and characters of the protocol, byte offsets, and the lines and columns that people count.

use serde_json::{Value, json};

/// Unit in which a server counts the characters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PositionEncoding {
    Utf8,
    /// The default of the protocol.
    #[default]
    Utf16,
}

/// Starts of the lines as the protocol counts them: `\n`, `\r\n` and `\r` end one.
pub(crate) struct LineStarts<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineStarts<'t> {
    pub(crate) fn new(text: &'t str) -> LineStarts<'t> {
        let bytes = text.as_bytes();
        let ends = line_ends(bytes).map(|at| at + 1);
        LineStarts { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the start and end of a line, including its line end.
    fn line(&self, number: usize) -> (usize, usize) {
        let end = self.text.len();
        let start = self.starts.get(number).copied().unwrap_or(end);
        (start, self.starts.get(number + 1).copied().unwrap_or(end))
    }

    /// Returns the offset of a position. Beyond the end of its line, that end; beyond the last line, the end of the
    /// text.
    pub(crate) fn offset(&self, line: usize, character: usize, encoding: PositionEncoding) -> usize {
        let (start, end) = self.line(line);
        let text = self.text.get(start..end).unwrap_or_default();
        let content = text.trim_end_matches(['\r', '\n']);
        let mut counted = 0;
        for (at, char) in content.char_indices() {
            if counted >= character {
                return start + at;
            }
            counted += match encoding {
                PositionEncoding::Utf8 => char.len_utf8(),
                PositionEncoding::Utf16 => char.len_utf16(),
            };
        }
        start + content.len()
    }

    /// Returns the position of an offset at a character boundary.
    pub(crate) fn position(&self, offset: usize, encoding: PositionEncoding) -> Value {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let before = self.text.get(self.line(line).0..offset).unwrap_or_default();
        let character = match encoding {
            PositionEncoding::Utf8 => before.len(),
            PositionEncoding::Utf16 => before.encode_utf16().count(),
        };
        json!({ "line": line, "character": character })
    }
}

/// Returns the offset of the last byte of each line end.
fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter_map(move |(at, byte)| match byte {
        b'\n' => Some(at),
        b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at),
        _ => None,
    })
}

/// Lines and columns for people: lines end with `\n` only, as in all replies, and columns count characters; both from
/// 1.
pub(crate) struct LineColumns<'t> {
    text: &'t str,
    ends: Vec<usize>,
}

impl<'t> LineColumns<'t> {
    pub(crate) fn new(text: &'t str) -> LineColumns<'t> {
        let ends = text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at));
        LineColumns { text, ends: ends.collect() }
    }

    pub(crate) fn of(&self, offset: usize) -> (usize, usize) {
        let line = self.ends.partition_point(|end| *end < offset);
        let start = line.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| end + 1);
        let before = self.text.get(start..offset).unwrap_or_default();
        (line + 1, before.chars().count() + 1)
    }
}

/// Returns the lengths of the common start and end of two texts. Neither splits a character or a line end.
pub(crate) fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let head = (0..=head).rev().find(|at| is_border(old, *at) && is_border(new, *at)).unwrap_or(0);
    let most = old.len().min(new.len()) - head;
    let tail = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
    (
        head,
        (0..=tail).rev().find(|tail| is_border(old, old.len() - tail) && is_border(new, new.len() - tail)).unwrap_or(0),
    )
}

fn is_border(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let in_line_end = at > 0 && bytes.get(at - 1) == Some(&b'\r') && bytes.get(at) == Some(&b'\n');
    text.is_char_boundary(at) && !in_line_end
}

#[cfg(test)]
mod tests {
    use super::{LineColumns, LineStarts, PositionEncoding, common_ends};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn positions_are_converted_in_both_encodings() {
        let text = "a\r\nä😀b\rc\n";
        let lines = LineStarts::new(text);
        assert_eq!(lines.offset(1, 3, PositionEncoding::Utf16), text.find('b').unwrap());
        assert_eq!(lines.offset(1, 6, PositionEncoding::Utf8), text.find('b').unwrap());
        assert_eq!(lines.offset(2, 0, PositionEncoding::Utf16), text.find('c').unwrap());
        assert_eq!(
            lines.position(text.find('b').unwrap(), PositionEncoding::Utf16),
            json!({ "line": 1, "character": 3 })
        );
        assert_eq!(lines.position(text.len(), PositionEncoding::Utf8), json!({ "line": 3, "character": 0 }));
        // Outside the text, and inside a character.
        assert_eq!(lines.offset(0, 99, PositionEncoding::Utf16), 1);
        assert_eq!(lines.offset(99, 99, PositionEncoding::Utf16), text.len());
        assert!(text.is_char_boundary(lines.offset(1, 2, PositionEncoding::Utf16)));
    }

    #[test]
    fn line_columns_count_lines_as_reads_do() {
        let text = "a\r\nä😀b\rc\n";
        let places = LineColumns::new(text);
        let of = |what: char| places.of(text.find(what).unwrap());
        assert_eq!((of('a'), of('b'), of('c')), ((1, 1), (2, 3), (2, 5)));
        assert_eq!(places.of(text.len()), (3, 1));
    }

    proptest! {
        #[test]
        fn positions_round_trip(text in "[a\r\nä😀]{0,12}", at in any::<proptest::sample::Index>()) {
            let lines = LineStarts::new(&text);
            let borders: Vec<usize> = (0..=text.len()).filter(|at| super::is_border(&text, *at)).collect();
            let offset = borders[at.index(borders.len())];
            for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16] {
                let position = lines.position(offset, encoding);
                let number = |key: &str| usize::try_from(position[key].as_u64().unwrap()).unwrap();
                prop_assert_eq!(lines.offset(number("line"), number("character"), encoding), offset);
            }
        }

        #[test]
        fn any_position_maps_to_a_character_boundary(text in "[a\r\nä😀]{0,12}", line in 0usize..9, character in 0usize..9) {
            let offset = LineStarts::new(&text).offset(line, character, PositionEncoding::Utf16);
            prop_assert!(text.is_char_boundary(offset));
            LineColumns::new(&text).of(offset);
        }

        #[test]
        fn common_ends_are_preserved(old in "[ab\r\nä😀é]{0,9}", new in "[ab\r\nä😀é]{0,9}") {
            let (head, tail) = common_ends(&old, &new);
            let changed = format!("{}{}{}", &old[..head], &new[head..new.len() - tail], &old[old.len() - tail..]);
            prop_assert_eq!(changed, new);
            prop_assert!(super::is_border(&old, head) && super::is_border(&old, old.len() - tail));
        }
    }
}
