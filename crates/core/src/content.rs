//! Names for versions of a file: the full content hash, and the short tag a caller may carry.

use core::fmt;
use core::str::FromStr;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

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

#[cfg(test)]
mod tests {
    use super::{ContentId, Tag};

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
