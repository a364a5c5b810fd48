//! Identities of file versions: the full content hash, and the short tag for callers.

use core::fmt;
use core::str::FromStr;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};
use xxhash_rust::xxh32::Xxh32;

/// Identity of a version by its raw bytes (XXH3, 128 bits), by which staleness is decided. A collision would harm only
/// the person who constructed it. Where a hash names *stored* content, the history crate uses BLAKE3 instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId(u128);

impl ContentId {
    /// Hashes raw bytes.
    pub fn of(raw: &[u8]) -> ContentId {
        ContentId(xxh3_128(raw))
    }

    /// Hashes the concatenation of `pieces`, without joining them.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> ContentId {
        let mut hash = ContentHash::default();
        for piece in pieces {
            hash.update(piece);
        }
        hash.id()
    }

    /// The 16 bytes for storage, most significant first.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Converts back from [`ContentId::to_bytes`].
    pub const fn from_bytes(bytes: [u8; 16]) -> ContentId {
        ContentId(u128::from_be_bytes(bytes))
    }

    /// The short handle for callers.
    pub fn tag(self) -> Tag {
        let [a, b, c, d, ..] = self.0.to_be_bytes();
        Tag(u32::from_be_bytes([a, b, c, d]))
    }
}

/// Incremental computation of a [`ContentId`].
#[derive(Clone, Default)]
pub struct ContentHash(Xxh3);

impl ContentHash {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The identity of all bytes so far.
    pub fn id(&self) -> ContentId {
        ContentId(self.0.digest128())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContentHash")
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentId({:032x})", self.0)
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A handle for one version of one file: eight hexadecimal digits. It is not an identity: the engine resolves it to a
/// stored version and compares contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u32);

impl Tag {
    /// The number for storage.
    pub const fn to_u32(self) -> u32 {
        self.0
    }

    /// Converts back from [`Tag::to_u32`].
    pub const fn from_u32(bits: u32) -> Tag {
        Tag(bits)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl FromStr for Tag {
    type Err = ();

    fn from_str(text: &str) -> Result<Tag, ()> {
        let digits = text.trim().trim_start_matches('#');
        if digits.len() != 8 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        u32::from_str_radix(digits, 16).map(Tag).map_err(|_| ())
    }
}

/// The handle that hashline prints: four hexadecimal digits of the *text*, regardless of line ends, byte order mark and
/// trailing whitespace. Two versions may have the same handle; their contents then distinguish the known versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortTag(u16);

impl ShortTag {
    /// Computes the tag of a decoded text: the low half of its XXH32, without the whitespace (space, TAB, CR) at line
    /// ends. Takes one pass.
    pub fn of(text: &str) -> ShortTag {
        ShortTag::of_pieces([text.as_bytes()])
    }

    /// Computes the tag of the concatenation of `pieces`, without joining them. A CR before a line end counts as
    /// whitespace, so that raw UTF-8 without its byte order mark has the tag of its decoded text.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> ShortTag {
        let mut hash = ShortHash::default();
        for piece in pieces {
            hash.update(piece);
        }
        hash.tag()
    }

    /// Parses four digits in either case; `None` for anything else.
    pub fn parse(digits: &str) -> Option<ShortTag> {
        let hex = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| hex).map(ShortTag)
    }
}

impl fmt::Display for ShortTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04X}", self.0)
    }
}

/// Bytes of text processed together.
const BLOCK_BYTES: usize = 4096;

/// Incremental computation of a [`ShortTag`]: the hash of the text without whitespace at line ends.
#[derive(Clone)]
pub struct ShortHash {
    hash: Xxh32,
    /// The hash including the whitespace at the end of the input so far: the next byte decides whether it ends a line.
    held: Option<Xxh32>,
}

impl Default for ShortHash {
    fn default() -> ShortHash {
        ShortHash { hash: Xxh32::new(0), held: None }
    }
}

impl fmt::Debug for ShortHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShortHash({})", self.tag())
    }
}

impl ShortHash {
    /// The tag of the input so far.
    pub fn tag(&self) -> ShortTag {
        ShortTag((self.hash.digest() & 0xFFFF) as u16)
    }

    /// Adds the next bytes of the decoded text, or of raw UTF-8 without its byte order mark.
    pub fn update(&mut self, bytes: &[u8]) {
        let Some(first) = bytes.iter().position(|byte| !is_blank(*byte)) else {
            self.hold_whitespace(bytes);
            return;
        };
        let ends = bytes[first] == b'\n';
        let held = self.held.take();
        if let (Some(held), false) = (held, ends) {
            self.hash = held;
        }
        let mut done = if ends { first } else { 0 };
        let mut stop = done;
        while stop < bytes.len() {
            stop = (stop + BLOCK_BYTES).min(bytes.len());
            // Includes the byte after the block, which decides whether whitespace at the end of the block ends a line.
            if has_trailing_whitespace(&bytes[done..(stop + 1).min(bytes.len())]) {
                while let Some(at) = memchr::memchr(b'\n', &bytes[done..stop]) {
                    let end = done + at;
                    self.hash.update(&bytes[done..trimmed(bytes, done, end)]);
                    self.hash.update(b"\n");
                    done = end + 1;
                }
            }
            let kept = trimmed(bytes, done, stop);
            self.hash.update(&bytes[done..kept]);
            done = kept;
        }
        self.hold_whitespace(&bytes[done..]);
    }

    /// Adds whitespace, possibly a lot of it.
    fn hold_whitespace(&mut self, whitespace: &[u8]) {
        if !whitespace.is_empty() {
            self.held.get_or_insert_with(|| self.hash.clone()).update(whitespace);
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Returns the end of `bytes[from..to]` without trailing whitespace.
fn trimmed(bytes: &[u8], from: usize, to: usize) -> usize {
    bytes[from..to].iter().rposition(|byte| !is_blank(*byte)).map_or(from, |at| from + at + 1)
}

/// True if whitespace precedes a line end. Written so that the compiler vectorizes it.
fn has_trailing_whitespace(bytes: &[u8]) -> bool {
    let next = bytes.get(1..).unwrap_or_default();
    bytes.iter().zip(next).fold(0, |found, (&byte, &next)| {
        found | ((is_byte(byte, b' ') | is_byte(byte, b'\t') | is_byte(byte, b'\r')) & is_byte(next, b'\n'))
    }) > 0
}

/// Returns 1 if the byte is `what`, else 0.
fn is_byte(byte: u8, what: u8) -> u8 {
    u8::from(byte == what)
}

/// Syntax of the header that hashline prints above lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderStyle {
    /// `¶PATH#TAG`
    Pilcrow,
    /// `[PATH#TAG]`
    Brackets,
}

impl HeaderStyle {
    /// Formats the header line, without a line end.
    pub fn line(self, path: &str, tag: impl fmt::Display) -> String {
        match self {
            HeaderStyle::Pilcrow => format!("¶{path}#{tag}"),
            HeaderStyle::Brackets => format!("[{path}#{tag}]"),
        }
    }
}

/// A caller's reference to the version that it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// The tag of a read or edit reply.
    Tag(Tag),
    /// The short tag in the header above the lines that were shown.
    Lines(HeaderStyle, ShortTag),
    /// The tag of a reply, in a header of this style.
    Headed(HeaderStyle, Tag),
}

#[cfg(test)]
mod tests {
    use super::{ContentId, ShortTag, Tag};

    #[test]
    fn short_tags_equal_those_of_the_reference() {
        for (text, tag) in [
            ("", "5D05"),
            ("a", "7456"),
            ("a\n", "9585"),
            ("a\nb\nc\nd\ne\n", "25F0"),
            ("a  \nb\t\n", "9A46"),
            ("x\ny\n", "141E"),
            ("x\r\ny\r\n", "141E"),
            ("é—😀\n", "8866"),
            ("a\n\n", "4F66"),
            ("line one 263\nline two 4471\n", "1D84"),
            ("line one 410\nline two 6970\n", "1D84"),
        ] {
            assert_eq!(ShortTag::of(text).to_string(), tag, "{text:?}");
            assert_eq!(ShortTag::parse(&tag.to_lowercase()), Some(ShortTag::of(text)));
        }
        for bad in ["", "1A2", "1A2G", "1A2B5", "+1A2", "é1A"] {
            assert_eq!(ShortTag::parse(bad), None, "{bad}");
        }
    }

    /// Computes the tag by the rule of the format, as specified.
    fn plainly(text: &str) -> ShortTag {
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches([' ', '\t', '\r'])).collect();
        ShortTag((xxhash_rust::xxh32::xxh32(lines.join("\n").as_bytes(), 0) & 0xFFFF) as u16)
    }

    proptest::proptest! {
        #[test]
        fn short_tags_follow_the_rule_for_any_chunking(
            pieces in proptest::collection::vec("[ \t\r\n\naé]{0,9}", 0..40),
            long in 0..3_usize,
        ) {
            // The text is longer than the blocks, and has whitespace across block boundaries.
            let pieces: Vec<String> = pieces.iter().map(|piece| format!("{piece}{}", " x".repeat(long * 700))).collect();
            let whole = pieces.concat();
            assert_eq!(ShortTag::of(&whole), plainly(&whole));
            assert_eq!(ShortTag::of_pieces(pieces.iter().map(String::as_bytes)), plainly(&whole));
        }
    }

    #[test]
    fn chunks_hash_like_the_whole() {
        let whole = ContentId::of(b"alpha beta");
        assert_eq!(ContentId::of_pieces([&b"alpha"[..], b"", b" beta"]), whole);
        assert_eq!(ContentId::from_bytes(whole.to_bytes()), whole);
    }

    #[test]
    fn only_valid_tags_parse_and_they_round_trip() {
        let tag = ContentId::of(b"x").tag();
        assert_eq!(tag.to_string().parse(), Ok(tag));
        assert_eq!(format!("#{tag}").parse(), Ok(tag));
        for bad in ["", "12", "xyzw1234", "123456789", "+1234567"] {
            assert_eq!(bad.parse::<Tag>(), Err(()), "{bad}");
        }
    }
}
