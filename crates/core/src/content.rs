//! Names for versions of a file: the full content hash, and the short tag a caller may carry.

use core::fmt;
use core::str::FromStr;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};
use xxhash_rust::xxh32::Xxh32;

/// Identity of a version by its raw bytes (XXH3, 128 bits). Decides staleness: nobody gains by colliding with
/// himself. Where a hash names *stored* content, the history crate uses BLAKE3 instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId(u128);

impl ContentId {
    /// The identity of these raw bytes.
    pub fn of(raw: &[u8]) -> ContentId {
        ContentId(xxh3_128(raw))
    }

    /// The identity of the concatenation of `pieces`, without joining them.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> ContentId {
        let mut hash = Xxh3::new();
        for piece in pieces {
            hash.update(piece);
        }
        ContentId(hash.digest128())
    }

    /// The 16 bytes, most significant first, for storage.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Back from [`ContentId::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> ContentId {
        ContentId(u128::from_be_bytes(bytes))
    }

    /// The short handle for callers.
    pub fn tag(self) -> Tag {
        let [a, b, c, d, ..] = self.0.to_be_bytes();
        Tag(u32::from_be_bytes([a, b, c, d]))
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

/// A handle for one version of one file: eight hexadecimal digits. Never an identity: the engine resolves it to a
/// stored version and compares contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u32);

impl Tag {
    /// For storage.
    pub const fn to_u32(self) -> u32 {
        self.0
    }

    /// Back from [`Tag::to_u32`].
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

/// The handle that hashline writes: four hexadecimal digits of the *text*, whatever its line ends, byte order mark and
/// trailing blanks. So short that two versions may share one: among known versions the contents decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortTag(u16);

impl ShortTag {
    /// The handle of a reading: the low half of its XXH32, without the blanks (space, TAB, CR) at line ends. One pass.
    pub fn of(text: &str) -> ShortTag {
        let bytes = text.as_bytes();
        let mut hash = Xxh32::new(0);
        let mut from = 0;
        // Runs of lines without trailing blanks are hashed in one go.
        for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
            let kept =
                bytes[from..end].iter().rposition(|byte| !b" \t\r".contains(byte)).map_or(from, |at| from + at + 1);
            if kept < end {
                hash.update(&bytes[from..kept]);
                from = end;
            }
        }
        hash.update(&bytes[from..]);
        ShortTag((hash.digest() & 0xFFFF) as u16)
    }

    /// The four digits, in either case; `None` for anything else.
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

/// How hashline writes the header above lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Header {
    /// `¶PATH#TAG`
    Pilcrow,
    /// `[PATH#TAG]`
    Brackets,
}

impl Header {
    /// The header line, without a line end.
    pub fn line(self, path: &str, tag: impl fmt::Display) -> String {
        match self {
            Header::Pilcrow => format!("¶{path}#{tag}"),
            Header::Brackets => format!("[{path}#{tag}]"),
        }
    }
}

/// How a caller names the version it was looking at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// By the tag of a read or edit reply.
    Tag(Tag),
    /// By the header above the lines it was shown.
    Lines(Header, ShortTag),
}

#[cfg(test)]
mod tests {
    use super::{ContentId, ShortTag, Tag};

    #[test]
    fn short_tags_are_those_of_the_reference() {
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

    #[test]
    fn pieces_hash_like_the_whole() {
        let whole = ContentId::of(b"alpha beta");
        assert_eq!(ContentId::of_pieces([&b"alpha"[..], b"", b" beta"]), whole);
        assert_eq!(ContentId::from_bytes(whole.to_bytes()), whole);
    }

    #[test]
    fn a_tag_reads_back_and_nothing_else_does() {
        let tag = ContentId::of(b"x").tag();
        assert_eq!(tag.to_string().parse(), Ok(tag));
        assert_eq!(format!("#{tag}").parse(), Ok(tag));
        for bad in ["", "12", "xyzw1234", "123456789", "+1234567"] {
            assert_eq!(bad.parse::<Tag>(), Err(()), "{bad}");
        }
    }
}
