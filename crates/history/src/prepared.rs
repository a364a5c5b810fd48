//! Contents of many files, hashed and compressed on several threads.

use std::panic::resume_unwind;
use std::thread;

use emendate_core::ContentId;

use crate::pack::{PackedBytes, Packer};
use crate::{HistoryLimits, NewlyKnown};

/// Bytes per thread below which a further one does not pay.
const THREAD_BYTES_MIN: usize = 256 << 10;
/// Threads of one call.
const THREADS_MAX: usize = 8;

/// A content with what its storage needs.
pub(crate) struct PreparedBytes<'a> {
    pub(crate) raw: &'a [u8],
    /// BLAKE3 of the bytes.
    pub(crate) hash: [u8; 32],
    pub(crate) packed: PackedBytes<'a>,
}

/// Prepares the contents of files that a snapshot found.
pub(crate) fn of_found<'a>(found: &[NewlyKnown<'a>], limits: &HistoryLimits) -> Vec<Option<PreparedBytes<'a>>> {
    let contents: Vec<_> = found.iter().map(|new| (new.state.content, new.bytes)).collect();
    prepare(&contents, limits.session_content().raw)
}

/// Prepares contents; those that are missing, larger than `bytes_max`, or of another id, are `None`.
fn prepare<'a>(contents: &[(ContentId, Option<&'a [u8]>)], bytes_max: u64) -> Vec<Option<PreparedBytes<'a>>> {
    let bytes: usize = contents.iter().filter_map(|(_, raw)| raw.map(<[u8]>::len)).sum();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let threads = threads.min(bytes / THREAD_BYTES_MIN).max(1);
    if threads == 1 {
        return prepare_part(contents, bytes_max);
    }
    thread::scope(|scope| {
        let parts = contents.chunks(contents.len().div_ceil(threads));
        let started: Vec<_> = parts.map(|part| scope.spawn(move || prepare_part(part, bytes_max))).collect();
        let ended = started.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect()
    })
}

/// Prepares contents on this thread.
fn prepare_part<'a>(part: &[(ContentId, Option<&'a [u8]>)], bytes_max: u64) -> Vec<Option<PreparedBytes<'a>>> {
    let mut packer = Packer::default();
    part.iter().map(|&(id, raw)| one(&mut packer, id, raw?, bytes_max)).collect()
}

fn one<'a>(packer: &mut Packer, id: ContentId, raw: &'a [u8], bytes_max: u64) -> Option<PreparedBytes<'a>> {
    if raw.len() as u64 > bytes_max || ContentId::of(raw) != id {
        return None;
    }
    Some(PreparedBytes { raw, hash: *blake3::hash(raw).as_bytes(), packed: packer.pack(raw) })
}

#[cfg(test)]
mod tests {
    use super::prepare;
    use crate::pack;
    use emendate_core::ContentId;

    #[test]
    fn many_contents_are_prepared_in_order() {
        let texts: Vec<Vec<u8>> =
            (0..3000_usize).map(|nth| format!("line {nth}\n").repeat(nth % 200).into_bytes()).collect();
        let mut contents: Vec<(ContentId, Option<&[u8]>)> =
            texts.iter().map(|text| (ContentId::of(text), Some(&**text))).collect();
        contents[7].0 = ContentId::of(b"another");
        contents[8].1 = None;
        let prepared = prepare(&contents, 2000);
        assert_eq!(prepared.len(), texts.len());
        for (nth, (text, made)) in texts.iter().zip(prepared).enumerate() {
            let Some(made) = made else {
                assert!(nth == 7 || nth == 8 || text.len() > 2000, "{nth}");
                continue;
            };
            assert_eq!((made.raw, made.hash), (&**text, *blake3::hash(text).as_bytes()));
            let back = pack::unpack(made.packed.data.into_owned(), made.packed.zstd, 2000);
            assert_eq!(back.as_deref(), Some(&**text));
        }
    }
}
