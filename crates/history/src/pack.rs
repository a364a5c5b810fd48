//! Compression of stored bytes.

use std::borrow::Cow;

/// Below this many bytes, compression costs more than it saves.
const COMPRESS_BYTES_MIN: usize = 1024;

/// Level of the compression: the fastest of zstd's usual ones.
const COMPRESSION_LEVEL: i32 = 1;

/// Bytes in stored form.
pub(crate) struct PackedBytes<'a> {
    /// The bytes to store.
    pub(crate) data: Cow<'a, [u8]>,
    /// True if they are a zstd frame.
    pub(crate) zstd: bool,
}

/// Packs `raw`.
pub(crate) fn pack(raw: &[u8]) -> PackedBytes<'_> {
    Packer::default().pack(raw)
}

/// Packs many contents with one compressor: to make one takes longer than to compress a short text.
#[derive(Default)]
pub(crate) struct Packer(Option<zstd::bulk::Compressor<'static>>);

impl Packer {
    /// Packs `raw`, like [`pack`].
    pub(crate) fn pack<'a>(&mut self, raw: &'a [u8]) -> PackedBytes<'a> {
        if raw.len() > COMPRESS_BYTES_MIN {
            if self.0.is_none() {
                self.0 = zstd::bulk::Compressor::new(COMPRESSION_LEVEL).ok();
            }
            if let Some(data) = self.0.as_mut().and_then(|compressor| compressor.compress(raw).ok())
                && data.len() < raw.len()
            {
                return PackedBytes { data: data.into(), zstd: true };
            }
        }
        PackedBytes { data: raw.into(), zstd: false }
    }
}

/// Packs bytes that are not needed any more.
pub(crate) fn pack_owned(raw: Vec<u8>) -> PackedBytes<'static> {
    let PackedBytes { data, zstd } = pack(&raw);
    if zstd { PackedBytes { data: data.into_owned().into(), zstd } } else { PackedBytes { data: raw.into(), zstd } }
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
