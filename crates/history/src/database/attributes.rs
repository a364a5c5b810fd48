//! Serialization of a file's owner and extended attributes as a blob.

use emendate_fs::FileAttributes;
use rusqlite::types::{FromSqlError, FromSqlResult};

use crate::varint;

pub(super) fn pack(attributes: &FileAttributes) -> Vec<u8> {
    let mut out = Vec::new();
    let FileAttributes { uid, gid, xattrs: named } = attributes;
    varint::put(&mut out, u64::from(*uid));
    varint::put(&mut out, u64::from(*gid));
    for part in named.iter().flat_map(|(name, value)| [name, value]) {
        varint::put(&mut out, part.len() as u64);
        out.extend_from_slice(part);
    }
    out
}

pub(super) fn unpack(mut blob: &[u8]) -> FromSqlResult<FileAttributes> {
    fn number(blob: &mut &[u8]) -> FromSqlResult<u64> {
        varint::take(blob).ok_or(FromSqlError::InvalidType)
    }
    fn part(blob: &mut &[u8]) -> FromSqlResult<Vec<u8>> {
        let length = usize::try_from(number(blob)?).map_err(|_| FromSqlError::InvalidType)?;
        let (part, rest) = blob.split_at_checked(length).ok_or(FromSqlError::InvalidType)?;
        *blob = rest;
        Ok(part.to_vec())
    }
    let (uid, gid) = (owner_id(number(&mut blob)?)?, owner_id(number(&mut blob)?)?);
    let mut named = Vec::new();
    while !blob.is_empty() {
        named.push((part(&mut blob)?, part(&mut blob)?));
    }
    Ok(FileAttributes { uid, gid, xattrs: named })
}

/// Converts a stored owner or group to the width of the system's ids.
fn owner_id(number: u64) -> Result<u32, FromSqlError> {
    u32::try_from(number).map_err(|_| FromSqlError::InvalidType)
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use emendate_fs::FileAttributes;

    #[test]
    fn encoding_round_trips_and_damage_is_detected() {
        let named = vec![(b"user.a".to_vec(), b"\0\xff".to_vec()), (b"user.b".to_vec(), vec![7; 300])];
        let whole = FileAttributes { uid: 0, gid: u32::MAX, xattrs: named };
        let packed = pack(&whole);
        assert_eq!(unpack(&packed).unwrap(), whole);
        let ends_of_parts = [6, 14, 17, 24, packed.len()];
        for end in (0..packed.len()).filter(|end| !ends_of_parts.contains(end)) {
            assert!(unpack(&packed[..end]).is_ok_and(|it| it != whole) || unpack(&packed[..end]).is_err(), "{end}");
        }
        assert!(unpack(&packed[..packed.len() - 1]).is_err() && unpack(&[]).is_err());
    }
}
