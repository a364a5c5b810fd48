//! The files of a snapshot: the content of each, valid as long as its metadata stay the same.

use std::collections::HashMap;

use emendate_core::ContentId;
use emendate_fs::FileMeta;

use crate::{FileKind, FileState, varint};

/// First bytes of the file; another layout gets another number.
const MAGIC: &[u8; 8] = b"EmndSta1";
/// Bytes of a content id.
const CONTENT_BYTES: usize = 16;
/// Bytes of the checksum at the end.
const CHECK_BYTES: usize = 16;

/// A file as a snapshot found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedFile {
    /// The metadata of the file.
    pub meta: FileMeta,
    /// The content of the file.
    pub content: ContentId,
    /// The metadata were too recent to prove anything when they were read.
    pub racy: bool,
}

impl CachedFile {
    /// True if a file with these metadata certainly has this content.
    pub fn proves(&self, now: &FileMeta) -> bool {
        let then = &self.meta;
        !self.racy
            && then.same_file(now)
            && (then.size, then.mtime_ns, then.ctime_ns, then.mode) == (now.size, now.mtime_ns, now.ctime_ns, now.mode)
    }

    /// The state of the file.
    pub fn state(&self) -> FileState {
        let kind = if self.meta.is_link() { FileKind::Link } else { FileKind::Regular };
        FileState { content: self.content, mode: self.meta.mode & 0o7777, kind }
    }
}

/// The files that a snapshot found, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatCache {
    /// The files, by the bytes of their canonical absolute paths.
    pub files: HashMap<Vec<u8>, CachedFile>,
}

impl StatCache {
    /// Serializes the cache.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut files: Vec<(&Vec<u8>, &CachedFile)> = self.files.iter().collect();
        files.sort_unstable_by_key(|(path, _)| *path);
        let mut out = Vec::with_capacity(64 * files.len() + 64);
        out.extend_from_slice(MAGIC);
        varint::put(&mut out, files.len() as u64);
        let mut last: &[u8] = b"";
        for (path, CachedFile { meta, content, racy }) in files {
            let shared = path.iter().zip(last).take_while(|(one, other)| one == other).count();
            let rest = path.get(shared..).unwrap_or_default();
            varint::put(&mut out, shared as u64);
            varint::put(&mut out, rest.len() as u64);
            out.extend_from_slice(rest);
            let times = [meta.mtime_ns.cast_unsigned(), meta.ctime_ns.cast_unsigned()];
            for number in [meta.dev, meta.ino, meta.size].into_iter().chain(times) {
                varint::put(&mut out, number);
            }
            varint::put(&mut out, u64::from(meta.mode) << 1 | u64::from(*racy));
            out.extend_from_slice(&content.to_bytes());
            last = path;
        }
        let check = ContentId::of(&out).to_bytes();
        out.extend_from_slice(&check);
        out
    }

    /// Decodes the result of [`StatCache::pack`]; `None` for anything else.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<StatCache> {
        let (body, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK_BYTES)?)?;
        let mut rest = body.strip_prefix(MAGIC)?;
        if ContentId::of(body).to_bytes() != check {
            return None;
        }
        let count = varint::take(&mut rest)?;
        // Each file takes more bytes than one for each of its numbers.
        let room = usize::try_from(count).ok()?.min(rest.len() / CONTENT_BYTES);
        let (mut files, mut path) = (HashMap::with_capacity(room), Vec::new());
        for _ in 0..count {
            path.truncate(usize::try_from(varint::take(&mut rest)?).ok()?);
            let length = usize::try_from(varint::take(&mut rest)?).ok()?;
            path.extend_from_slice(split(&mut rest, length)?);
            let mut number = || varint::take(&mut rest);
            let (dev, ino, size) = (number()?, number()?, number()?);
            let (mtime_ns, ctime_ns) = (number()?.cast_signed(), number()?.cast_signed());
            let mode = number()?;
            let content = ContentId::from_bytes(split(&mut rest, 16)?.try_into().ok()?);
            let meta = FileMeta {
                dev,
                ino,
                size,
                mtime_ns,
                ctime_ns,
                mode: u32::try_from(mode >> 1).ok()?,
                ..FileMeta::default()
            };
            files.insert(path.clone(), CachedFile { meta, content, racy: mode & 1 == 1 });
        }
        rest.is_empty().then_some(StatCache { files })
    }
}

/// Splits bytes off the front.
fn split<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (part, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::{CachedFile, StatCache};
    use emendate_core::ContentId;
    use emendate_fs::FileMeta;

    fn cache() -> StatCache {
        let file = |number: u64, racy| CachedFile {
            meta: FileMeta {
                dev: 1,
                ino: number,
                size: 1 << 40,
                mtime_ns: -5,
                ctime_ns: 7,
                mode: 0o100_644,
                ..FileMeta::default()
            },
            content: ContentId::of(&number.to_le_bytes()),
            racy,
        };
        let paths: [&[u8]; 4] = [b"/a/b", b"/a/bc", b"/a/\xff", b"/b"];
        let files = paths.into_iter().zip(0..).map(|(path, nth)| (path.to_vec(), file(nth, nth == 2))).collect();
        StatCache { files }
    }

    #[test]
    fn cache_round_trips_and_damage_is_detected() {
        let packed = cache().pack();
        assert_eq!(StatCache::unpack(&packed), Some(cache()));
        assert_eq!(StatCache::unpack(&StatCache::default().pack()), Some(StatCache::default()));
        for end in 0..packed.len() {
            assert_eq!(StatCache::unpack(&packed[..end]), None, "{end}");
        }
        for at in 0..packed.len() {
            let mut harmed = packed.clone();
            harmed[at] ^= 1;
            assert_eq!(StatCache::unpack(&harmed), None, "{at}");
        }
    }

    #[test]
    fn racy_or_changed_metadata_prove_nothing() {
        let cache = cache();
        let file = cache.files[&b"/b"[..]];
        assert!(file.proves(&file.meta));
        assert!(!file.proves(&FileMeta { ctime_ns: 8, ..file.meta }));
        assert!(!file.proves(&FileMeta { ino: 9, ..file.meta }));
        let racy = cache.files[&b"/a/\xff"[..]];
        assert!(!racy.proves(&racy.meta));
    }
}
