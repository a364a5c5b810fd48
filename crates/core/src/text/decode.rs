//! The decoded text of a file, and the map from its offsets back to raw bytes.

use crate::text::charset::{Charset, Codec};

/// A run of characters of one width: `unit` bytes of the decoded text correspond to `raw_unit` raw bytes. The last
/// character before the next segment may have another width (a CRLF decoded to one `\n`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    text: usize,
    raw: usize,
    unit: u8,
    raw_unit: u8,
}

/// Map between the offsets of the decoded text and of the raw bytes. Offsets must be on character boundaries.
#[derive(Clone, Debug, Default)]
pub(crate) struct OffsetMap {
    segments: Vec<Segment>,
}

impl OffsetMap {
    pub(crate) fn to_raw(&self, text: usize) -> usize {
        let at = self.segments.partition_point(|segment| segment.text <= text);
        let Some(segment) = at.checked_sub(1).and_then(|at| self.segments.get(at)) else { return text };
        segment.raw + (text - segment.text) / usize::from(segment.unit) * usize::from(segment.raw_unit)
    }

    /// Converts a raw offset to one of the decoded text; an offset inside a character maps to the end of that
    /// character.
    pub(crate) fn to_text(&self, raw: usize) -> usize {
        let at = self.segments.partition_point(|segment| segment.raw <= raw);
        let Some(segment) = at.checked_sub(1).and_then(|at| self.segments.get(at)) else { return 0 };
        let chars = (raw - segment.raw).div_ceil(usize::from(segment.raw_unit));
        let text = segment.text + chars * usize::from(segment.unit);
        self.segments.get(at).map_or(text, |next| text.min(next.text))
    }
}

/// Builds a decoded text and its map, one character at a time.
struct TextBuilder {
    text: String,
    map: OffsetMap,
    /// True if the preceding character had another width than its segment.
    broken: bool,
}

impl TextBuilder {
    fn new(capacity: usize) -> TextBuilder {
        TextBuilder { text: String::with_capacity(capacity), map: OffsetMap::default(), broken: true }
    }

    fn segment(&mut self, raw: usize, unit: u8, raw_unit: u8) {
        let fits =
            !self.broken && self.map.segments.last().is_some_and(|last| last.unit == unit && last.raw_unit == raw_unit);
        if !fits {
            self.map.segments.push(Segment { text: self.text.len(), raw, unit, raw_unit });
            self.broken = false;
        }
    }

    fn char(&mut self, ch: char, raw: usize, raw_len: u8) {
        let len = match u32::from(ch) {
            0..0x80 => 1,
            0x80..0x800 => 2,
            0x800..0x1_0000 => 3,
            _ => 4,
        };
        self.segment(raw, len, raw_len);
        self.text.push(ch);
    }

    /// Appends a run of text whose bytes are the same in the file and in the decoded text.
    fn run(&mut self, run: &str, raw: usize) {
        if !run.is_empty() {
            self.segment(raw, 1, 1);
            self.text.push_str(run);
        }
    }

    /// Appends a CRLF of `raw_len` raw bytes, decoded as one `\n`.
    fn crlf(&mut self, raw: usize, raw_len: u8) {
        if self.broken || self.map.segments.is_empty() {
            self.broken = true;
            self.segment(raw, 1, raw_len);
        }
        self.text.push('\n');
        self.broken = true;
    }

    /// Closes the map so that the end of the text maps to the end of the file.
    fn finish(mut self, raw_len: usize) -> (String, OffsetMap) {
        self.broken = true;
        self.segment(raw_len, 1, 1);
        (self.text, self.map)
    }
}

/// Decodes UTF-8 that has CRLF line ends; `text` begins `mark` bytes into the file.
pub(crate) fn decode_crlf(text: &str, mark: usize) -> (String, OffsetMap) {
    let mut out = TextBuilder::new(text.len());
    utf8(&mut out, text, mark);
    out.finish(mark + text.len())
}

fn utf8(out: &mut TextBuilder, text: &str, raw: usize) {
    let mut from = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), "\r\n") {
        out.run(&text[from..at], raw + from);
        out.crlf(raw + at, 2);
        from = at + 2;
    }
    out.run(&text[from..], raw + from);
}

/// Decodes a part of a file that begins and ends on character boundaries.
pub(crate) fn decode_chunk(raw: &[u8], codec: Codec) -> String {
    if codec.charset == Charset::Utf8
        && memchr::memchr(b'\r', raw).is_none()
        && let Ok(text) = core::str::from_utf8(raw)
    {
        return text.to_owned();
    }
    decode(raw, Codec { mark: 0, ..codec }).0
}

/// Decodes bytes that are not plain UTF-8. A malformed sequence is decoded as U+FFFD and keeps its bytes unless edited.
pub(crate) fn decode(raw: &[u8], codec: Codec) -> (String, OffsetMap) {
    let mut out = TextBuilder::new(raw.len() + raw.len() / 8);
    let body = &raw[codec.mark..];
    match codec.charset {
        Charset::Utf8 => {
            let mut at = codec.mark;
            for chunk in body.utf8_chunks() {
                utf8(&mut out, chunk.valid(), at);
                at += chunk.valid().len();
                for _ in chunk.invalid() {
                    out.char(char::REPLACEMENT_CHARACTER, at, 1);
                    at += 1;
                }
            }
        }
        Charset::Utf16Le => utf16(&mut out, body, codec.mark, u16::from_le_bytes),
        Charset::Utf16Be => utf16(&mut out, body, codec.mark, u16::from_be_bytes),
        Charset::Latin1 | Charset::Bytes => bytes(&mut out, body, codec.mark, |rest| (char::from(rest[0]), 1)),
        Charset::Legacy(encoding) => bytes(&mut out, body, codec.mark, |rest| {
            (1..=4u8)
                .find_map(|len| {
                    let sequence = rest.get(..usize::from(len))?;
                    let text = encoding.decode_without_bom_handling_and_without_replacement(sequence)?;
                    let mut chars = text.chars();
                    // Big5 has four sequences that encode two characters. The map cannot represent them, so they count
                    // as malformed.
                    chars.next().filter(|_| chars.next().is_none()).map(|ch| (ch, len))
                })
                .unwrap_or((char::REPLACEMENT_CHARACTER, 1))
        }),
    }
    out.finish(raw.len())
}

fn utf16(out: &mut TextBuilder, body: &[u8], mark: usize, unit: fn([u8; 2]) -> u16) {
    let units = body.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut at = mark;
    let mut decoded = char::decode_utf16(units).map(|ch| ch.unwrap_or(char::REPLACEMENT_CHARACTER)).peekable();
    while let Some(ch) = decoded.next() {
        if ch == '\r' && decoded.next_if_eq(&'\n').is_some() {
            out.crlf(at, 4);
            at += 4;
        } else {
            let len = if u32::from(ch) < 0x1_0000 { 2 } else { 4 };
            out.char(ch, at, len);
            at += usize::from(len);
        }
    }
    if !body.len().is_multiple_of(2) {
        out.char(char::REPLACEMENT_CHARACTER, at, 1);
    }
}

/// Decodes an encoding in which ASCII bytes at a character boundary are ASCII characters; `next` decodes one other
/// character.
fn bytes(out: &mut TextBuilder, body: &[u8], mark: usize, next: impl Fn(&[u8]) -> (char, u8)) {
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        if byte == b'\r' && body.get(at + 1) == Some(&b'\n') {
            out.crlf(mark + at, 2);
            at += 2;
        } else if byte.is_ascii() {
            out.char(char::from(byte), mark + at, 1);
            at += 1;
        } else {
            let (ch, len) = next(&body[at..]);
            out.char(ch, mark + at, len);
            at += usize::from(len);
        }
    }
}
