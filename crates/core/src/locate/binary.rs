//! Binary changes as git writes them: its delta format, and the object ids that show whether a change applies.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{BinaryChange, BinaryPayload};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::fmt::Write as _;

/// Maximum number of bytes of a changed file.
pub const BINARY_RESULT_BYTES_MAX: usize = 256 << 20;

/// Hexadecimal digits of a full SHA-1 id; a longer id is SHA-256.
const SHA1_DIGITS: usize = 40;

/// Applies `change` to `old`.
///
/// Errors: [`Code::StaleChanged`] if the change was made for other content; [`Code::EditUnparsable`] for a delta that
/// is malformed or does not lead to the bytes of its id; [`Code::CallTooLarge`] above [`BINARY_RESULT_BYTES_MAX`].
pub fn apply_binary(old: &[u8], change: &BinaryChange) -> Result<Vec<u8>> {
    if change.before.as_deref().is_some_and(|id| !is_object(old, id)) {
        return Err(Error::new(Code::StaleChanged, "The file is not the one that the binary patch was made for.")
            .evidence(format!("the patch says {}", change.before.as_deref().unwrap_or_default()))
            .evidence(format!("the file is    {}", object_id::<Sha1>(old)))
            .next("Make the patch again from the file as it is now."));
    }
    let new = match &change.payload {
        BinaryPayload::Literal(bytes) => bytes.clone(),
        BinaryPayload::Delta(delta) => patched(old, delta)?,
    };
    if change.after.as_deref().is_some_and(|id| !is_object(&new, id)) {
        return Err(broken("its result does not match its `index` line"));
    }
    Ok(new)
}

/// True if `id` is a prefix of the object id of these bytes.
pub fn is_object(bytes: &[u8], id: &str) -> bool {
    let whole = if id.len() > SHA1_DIGITS { object_id::<Sha256>(bytes) } else { object_id::<Sha1>(bytes) };
    whole.starts_with(id)
}

/// Returns the object id that git gives a blob with these bytes.
pub(crate) fn git_object_id(bytes: &[u8]) -> String {
    object_id::<Sha1>(bytes)
}

fn object_id<D: Digest>(bytes: &[u8]) -> String {
    let hash = D::new().chain_update(format!("blob {}\0", bytes.len())).chain_update(bytes).finalize();
    hash.iter().fold(String::new(), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn broken(why: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("The binary patch is broken: {why}."))
        .next("Make it again with git diff --binary, and send it whole.")
}

/// A cursor over a delta.
struct Delta<'a> {
    rest: &'a [u8],
}

impl<'a> Delta<'a> {
    fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or_else(|| broken("its delta ends too early"))?;
        self.rest = rest;
        Ok(first)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or_else(|| broken("its delta ends too early"))?;
        self.rest = rest;
        Ok(head)
    }

    /// Reads a number in groups of seven bits, the lowest group first.
    fn size(&mut self) -> Result<usize> {
        let (mut size, mut shift) = (0_usize, 0_u32);
        loop {
            let byte = self.byte()?;
            let bits = usize::from(byte & 0x7f);
            if shift >= usize::BITS || (bits << shift) >> shift != bits {
                return Err(broken("its delta names an impossible size"));
            }
            size |= bits << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(size);
            }
        }
    }

    /// Reads a number of which only the bytes marked in `present` are written, the lowest byte first.
    fn sparse(&mut self, present: u8, count: u32) -> Result<usize> {
        let mut value = 0;
        for index in 0..count {
            if present & (1 << index) != 0 {
                value |= usize::from(self.byte()?) << (8 * index);
            }
        }
        Ok(value)
    }
}

fn patched(old: &[u8], delta: &[u8]) -> Result<Vec<u8>> {
    let mut delta = Delta { rest: delta };
    if delta.size()? != old.len() {
        return Err(broken("its delta was made from a file of another size"));
    }
    let size = delta.size()?;
    if size > BINARY_RESULT_BYTES_MAX {
        let what = format!(
            "The binary patch makes {size} bytes, more than the {BINARY_RESULT_BYTES_MAX} that a file may have."
        );
        return Err(Error::new(Code::CallTooLarge, what).next("Write the file in another way."));
    }
    let mut new = Vec::new();
    while !delta.rest.is_empty() {
        let order = delta.byte()?;
        let part = match order {
            0 => return Err(broken("its delta contains an unknown instruction")),
            1..=0x7f => delta.bytes(usize::from(order))?,
            _ => {
                let from = delta.sparse(order & 0x0f, 4)?;
                let count = delta.sparse((order >> 4) & 0x07, 3)?;
                let count = if count == 0 { 0x10000 } else { count };
                old.get(from..from.saturating_add(count)).ok_or_else(|| broken("its delta copies past the end"))?
            }
        };
        if new.len() + part.len() > size {
            return Err(broken("its delta makes more bytes than it says"));
        }
        new.extend_from_slice(part);
    }
    if new.len() == size { Ok(new) } else { Err(broken("its delta makes fewer bytes than it says")) }
}

#[cfg(test)]
mod tests {
    use super::apply_binary;
    use crate::code::Code;
    use crate::locate::op::{BinaryChange, BinaryPayload};

    fn change(before: Option<&str>, after: Option<&str>, how: BinaryPayload) -> BinaryChange {
        BinaryChange { before: before.map(str::to_owned), after: after.map(str::to_owned), payload: how }
    }

    #[test]
    fn full_and_shortened_ids_of_both_kinds_match() {
        let literal = || BinaryPayload::Literal(b"hello\n".to_vec());
        let sha256 = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4";
        for after in [Some("ce013625030ba8dba906f756967f9e9ca394464a"), Some("ce01362"), Some(sha256), None] {
            let made = apply_binary(b"", &change(Some("e69de29"), after, literal())).unwrap();
            assert_eq!(made, b"hello\n");
        }
        let stale = apply_binary(b"x", &change(Some("e69de29"), None, literal())).unwrap_err();
        assert_eq!(stale.code(), Code::StaleChanged);
        let wrong = apply_binary(b"", &change(None, Some("abcdef0"), literal())).unwrap_err();
        assert_eq!(wrong.code(), Code::EditUnparsable);
    }

    #[test]
    fn deltas_copy_and_insert_within_bounds() {
        let apply = |delta: &[u8]| apply_binary(b"abcdef", &change(None, None, BinaryPayload::Delta(delta.to_vec())));
        assert_eq!(apply(&[6, 5, 0x91, 2, 3, 2, b'X', b'Y']).unwrap(), b"cdeXY");
        assert_eq!(apply(&[6, 0]).unwrap(), b"");
        let bad: [&[u8]; 9] = [
            &[],
            &[5, 1, 1, b'x'],
            &[6, 2, 1, b'x'],
            &[6, 1, 2, b'x', b'y'],
            &[6, 1, 0],
            &[6, 9, 0x91, 2, 9],
            &[6, 1, 0x80],
            &[6, 1, 3, b'x'],
            &[6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ];
        for delta in bad {
            assert_eq!(apply(delta).unwrap_err().code(), Code::EditUnparsable, "{delta:?}");
        }
        assert_eq!(apply(&[6, 0xff, 0xff, 0xff, 0xff, 0x7f]).unwrap_err().code(), Code::CallTooLarge);
    }
}
