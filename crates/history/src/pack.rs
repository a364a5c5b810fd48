//! Compression of stored bytes.

use std::borrow::Cow;

/// Below this many bytes, compression costs more than it saves.
const WORTH: usize = 1024;

/// Bytes in stored form.
pub(crate) struct Packed<'a> {
    /// The bytes to store.
    pub(crate) data: Cow<'a, [u8]>,
    /// True if they are a zstd frame.
    pub(crate) zstd: bool,
}

/// Packs `raw`.
pub(crate) fn pack(raw: &[u8]) -> Packed<'_> {
    if raw.len() > WORTH
        && let Ok(data) = zstd::bulk::compress(raw, 1)
        && data.len() < raw.len()
    {
        return Packed { data: data.into(), zstd: true };
    }
    Packed { data: raw.into(), zstd: false }
}

/// Packs bytes that are not needed any more.
pub(crate) fn owned(raw: Vec<u8>) -> Packed<'static> {
    let Packed { data, zstd } = pack(&raw);
    if zstd { Packed { data: data.into_owned().into(), zstd } } else { Packed { data: raw.into(), zstd } }
}

/// Unpacks the result of [`pack`]; `None` if it is damaged or larger than `at_most`, which also bounds the allocation.
pub(crate) fn unpack(data: Vec<u8>, zstd: bool, at_most: u64) -> Option<Vec<u8>> {
    if zstd {
        // Allocates the size in the frame, not the maximum.
        let size = zstd::zstd_safe::get_frame_content_size(&data).ok()?.filter(|size| *size <= at_most)?;
        return zstd::bulk::decompress(&data, usize::try_from(size).ok()?).ok();
    }
    (data.len() as u64 <= at_most).then_some(data)
}
