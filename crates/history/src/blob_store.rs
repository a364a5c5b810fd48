//! Storage of version contents, with the same rules for both back ends.
//!
//! Versions are identified by [`ContentId`] (XXH3), for which a hostile repository can construct collisions. So the
//! BLAKE3 of every stored content is stored too, and bytes that arrive with a known id are compared with it. After two
//! contents claimed an id, the id is *contested*: it identifies no bytes for any caller, and stays so as long as a
//! record refers to it.

use std::borrow::Cow;
use std::sync::Arc;

use emendate_core::ContentId;

use crate::delta_chain::DeltaGraph;
use crate::pack::PackedBytes;
use crate::prepared::PreparedBytes;
use crate::sessions::{CONTENT_BYTES_MAX, SizeLimit};
use crate::{HistoryLimits, VersionBody, delta, pack};

/// Maximum number of changes between a version and the nearest one that is stored whole.
pub(crate) const CHAIN_DEPTH_MAX: u32 = 16;

/// Metadata of a version's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    /// BLAKE3 of the bytes, once they were available as a whole.
    pub(crate) hash: Option<[u8; 32]>,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Size of the stored data; `None` if nothing is stored.
    pub(crate) stored: Option<u64>,
    /// The stored data is a zstd frame.
    pub(crate) zstd: bool,
    /// The stored data are splices to be applied to this version.
    pub(crate) base: Option<ContentId>,
    /// Number of changes between this and a version stored whole.
    pub(crate) depth: u32,
    /// Two contents claimed this id.
    pub(crate) contested: bool,
}

/// A store of version contents.
pub(crate) trait BlobStore {
    /// Error type of the back end.
    type Error;
    /// Returns the metadata of a version.
    fn version(&self, content: ContentId) -> Result<Option<StoredVersion>, Self::Error>;
    /// Returns the stored data of a version.
    fn data(&self, content: ContentId) -> Result<Option<Vec<u8>>, Self::Error>;
    /// Adds or replaces a version; its data only if given.
    fn put(&mut self, content: ContentId, version: &StoredVersion, data: Option<&[u8]>) -> Result<(), Self::Error>;
    /// Returns the graph of the log's changes.
    fn graph(&self) -> Result<Arc<DeltaGraph>, Self::Error>;
    /// Returns the unpacked data of a change in that graph.
    fn change(&self, data: i64, limits: &HistoryLimits) -> Result<Option<Vec<u8>>, Self::Error>;
}

/// Result of storing a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepOutcome {
    /// The content matches the id; this many bytes were added.
    Agreed(u64),
    /// Two contents claim the id.
    Contested,
}

/// Stores a body under the rules above. Bytes that do not match `content` are not stored.
pub(crate) fn keep<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    body: &VersionBody<'_>,
    limits: &HistoryLimits,
) -> Result<KeepOutcome, S::Error> {
    let known = blobs.version(content)?;
    let full = match *body {
        VersionBody::Bytes(raw) => return keep_proven(blobs, content, raw, known, limits.session_content()),
        VersionBody::None if known.as_ref().is_some_and(|version| version.contested) => {
            return Ok(KeepOutcome::Contested);
        }
        VersionBody::None => return Ok(KeepOutcome::Agreed(0)),
        VersionBody::Change { base, splices, full } => {
            if known.is_none()
                && let Some(added) = keep_delta(blobs, content, base, splices, limits)?
            {
                return Ok(KeepOutcome::Agreed(added));
            }
            match full {
                Some(full) => full(),
                None => return keep(blobs, content, &VersionBody::None, limits),
            }
        }
    };
    keep_proven(blobs, content, &full, known, limits.session_content())
}

/// Stores the last copy of a content, with larger limits.
pub(crate) fn keep_last_copy<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    raw: &[u8],
    limits: &HistoryLimits,
) -> Result<KeepOutcome, S::Error> {
    let known = blobs.version(content)?;
    keep_proven(blobs, content, raw, known, limits.last_copy())
}

/// Stores bytes that match their id, with what was computed for them before.
pub(crate) fn keep_prepared<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    prepared: &PreparedBytes<'_>,
    limits: &HistoryLimits,
) -> Result<KeepOutcome, S::Error> {
    let known = blobs.version(content)?;
    let body = KeptBody { raw: prepared.raw, prepared: Some(prepared) };
    keep_body(blobs, content, body, known, limits.session_content())
}

fn keep_proven<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    raw: &[u8],
    known: Option<StoredVersion>,
    room: SizeLimit,
) -> Result<KeepOutcome, S::Error> {
    if ContentId::of(raw) != content {
        return Ok(KeepOutcome::Agreed(0));
    }
    keep_bytes(blobs, content, raw, known, room)
}

/// Stores whole bytes. For a content that is too large, stores its metadata, whose size still exposes an impostor.
pub(crate) fn keep_bytes<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    raw: &[u8],
    known: Option<StoredVersion>,
    room: SizeLimit,
) -> Result<KeepOutcome, S::Error> {
    keep_body(blobs, content, KeptBody { raw, prepared: None }, known, room)
}

/// Whole bytes, perhaps with what their storage needs.
#[derive(Clone, Copy)]
struct KeptBody<'a> {
    raw: &'a [u8],
    prepared: Option<&'a PreparedBytes<'a>>,
}

impl<'a> KeptBody<'a> {
    fn hash(self) -> [u8; 32] {
        self.prepared.map_or_else(|| *blake3::hash(self.raw).as_bytes(), |prepared| prepared.hash)
    }

    fn packed(self) -> PackedBytes<'a> {
        match self.prepared {
            Some(PreparedBytes { packed, .. }) => PackedBytes { data: Cow::Borrowed(&packed.data), zstd: packed.zstd },
            None => pack::pack(self.raw),
        }
    }
}

fn keep_body<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    body: KeptBody<'_>,
    known: Option<StoredVersion>,
    room: SizeLimit,
) -> Result<KeepOutcome, S::Error> {
    let raw = body.raw;
    let size = raw.len() as u64;
    let fits = size <= room.raw;
    // A content with a known hash is compared by it, however large.
    let hashed = fits || known.as_ref().is_some_and(|version| version.hash.is_some());
    let hash = hashed.then(|| body.hash());
    if let Some(mut version) = known {
        let (agrees, intact) = compare(blobs, content, &version, raw, hash)?;
        if !agrees || version.contested {
            if !version.contested {
                version.contested = true;
                blobs.put(content, &version, None)?;
            }
            return Ok(KeepOutcome::Contested);
        }
        if intact || !fits {
            if version.hash.is_none() && hash.is_some() {
                version.hash = hash;
                blobs.put(content, &version, None)?;
            }
            return Ok(KeepOutcome::Agreed(0));
        }
    }
    let mut version = StoredVersion { hash, size, stored: None, zstd: false, base: None, depth: 0, contested: false };
    let packed = fits.then(|| body.packed()).filter(|packed| packed.data.len() as u64 <= room.stored);
    let Some(packed) = packed else {
        blobs.put(content, &version, None)?;
        return Ok(KeepOutcome::Agreed(0));
    };
    let stored = packed.data.len() as u64;
    version.stored = Some(stored);
    version.zstd = packed.zstd;
    blobs.put(content, &version, Some(&packed.data))?;
    Ok(KeepOutcome::Agreed(stored))
}

/// Returns whether `raw` may be the content of the version, and whether the version's own data exist.
fn compare<S: BlobStore>(
    blobs: &S,
    content: ContentId,
    version: &StoredVersion,
    raw: &[u8],
    hash: Option<[u8; 32]>,
) -> Result<(bool, bool), S::Error> {
    if version.size != raw.len() as u64 {
        return Ok((false, true));
    }
    match (version.hash, hash) {
        (Some(known), Some(new)) => Ok((known == new, version.stored.is_some())),
        _ if version.stored.is_none() => Ok((true, false)),
        // A change whose bytes were never available as a whole. If it cannot be rebuilt, there is nothing to compare
        // with.
        _ => Ok(rebuild(blobs, content)?.map_or((true, false), |known| (known == raw, true))),
    }
}

/// Stores a version as a change from another, if the change is small and its base is stored. Returns the bytes used.
fn keep_delta<S: BlobStore>(
    blobs: &mut S,
    content: ContentId,
    base: ContentId,
    splices: &[(core::ops::Range<usize>, &[u8])],
    limits: &HistoryLimits,
) -> Result<Option<u64>, S::Error> {
    let Some(from) = blobs.version(base)? else { return Ok(None) };
    if from.stored.is_none() || from.contested || from.depth >= CHAIN_DEPTH_MAX || base == content {
        return Ok(None);
    }
    // The length of the texts alone can rule it out, before they are copied.
    let texts: u64 = splices.iter().map(|(_, text)| text.len() as u64).sum();
    if texts > from.size.saturating_add(texts) / 4 {
        return Ok(None);
    }
    let Some((encoded, size)) = delta::encode(splices, from.size) else { return Ok(None) };
    if encoded.len() as u64 >= size / 4 || size > limits.blob {
        return Ok(None);
    }
    let packed = pack::pack(&encoded);
    let stored = packed.data.len() as u64;
    let version = StoredVersion {
        hash: None,
        size,
        stored: Some(stored),
        zstd: packed.zstd,
        base: Some(base),
        depth: from.depth + 1,
        contested: false,
    };
    blobs.put(content, &version, Some(&packed.data))?;
    Ok(Some(stored))
}

/// Returns the bytes of a version, verified against its id; `None` if any link of its chain is missing, damaged or
/// contested.
pub(crate) fn rebuild<S: BlobStore>(blobs: &S, content: ContentId) -> Result<Option<Vec<u8>>, S::Error> {
    let mut changes = Vec::new();
    let mut at = content;
    let mut bytes = loop {
        let Some(version) = blobs.version(at)? else { return Ok(None) };
        if version.contested || version.size > CONTENT_BYTES_MAX || changes.len() > CHAIN_DEPTH_MAX as usize {
            return Ok(None);
        }
        let Some(data) = blobs.data(at)? else { return Ok(None) };
        let Some(data) = pack::unpack(data, version.zstd, version.size) else { return Ok(None) };
        match version.base {
            None => break data,
            Some(base) => {
                changes.push((data, version.size));
                at = base;
            }
        }
    };
    while let Some((splices, size)) = changes.pop() {
        let Some(after) = delta::apply(&bytes, &splices, size) else { return Ok(None) };
        bytes = after;
    }
    Ok((ContentId::of(&bytes) == content).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::{BlobStore, KeepOutcome, StoredVersion, keep, keep_bytes, rebuild};
    use crate::memory::MemoryBlobStore;
    use crate::{HistoryLimits, VersionBody};
    use emendate_core::ContentId;

    /// Real collisions cannot be constructed here, so `keep_bytes` is called past the check of the id.
    fn impostor(blobs: &mut MemoryBlobStore, content: ContentId, raw: &[u8], limits: &HistoryLimits) -> KeepOutcome {
        let known = blobs.version(content).unwrap();
        keep_bytes(blobs, content, raw, known, limits.session_content()).unwrap()
    }

    #[test]
    fn contested_id_names_no_content() {
        let (mut blobs, limits) = (MemoryBlobStore::default(), HistoryLimits::default());
        let raw = vec![b'a'; 900];
        let content = ContentId::of(&raw);
        assert_eq!(keep(&mut blobs, content, &VersionBody::Bytes(&raw), &limits), Ok(KeepOutcome::Agreed(900)));
        let mut child = raw.clone();
        child[5] = b'b';
        let change = |blobs: &mut MemoryBlobStore, child: &[u8]| {
            let body = VersionBody::Change { base: content, splices: &[(5..6, b"b")], full: Some(&|| child.to_vec()) };
            keep(blobs, ContentId::of(child), &body, &limits)
        };
        assert_eq!(change(&mut blobs, &child), Ok(KeepOutcome::Agreed(4)));
        assert_eq!(rebuild(&blobs, ContentId::of(&child)).unwrap(), Some(child.clone()));

        assert_eq!(impostor(&mut blobs, content, &vec![b'x'; 900], &limits), KeepOutcome::Contested);
        // Neither content, nor what is rebuilt from it, is available any more, for any caller.
        assert_eq!(rebuild(&blobs, content), Ok(None));
        assert_eq!(rebuild(&blobs, ContentId::of(&child)), Ok(None));
        for body in [VersionBody::Bytes(&raw), VersionBody::None] {
            assert_eq!(keep(&mut blobs, content, &body, &limits), Ok(KeepOutcome::Contested));
        }
        // A new change of it is stored whole.
        child[6] = b'c';
        assert_eq!(change(&mut blobs, &child), Ok(KeepOutcome::Agreed(900)));
        assert_eq!(rebuild(&blobs, ContentId::of(&child)).unwrap(), Some(child));
    }

    #[test]
    fn impostor_of_unstored_content_is_detected_by_hash_or_size() {
        let (mut blobs, limits) = (MemoryBlobStore::default(), HistoryLimits { blob: 100, ..HistoryLimits::default() });
        let large = vec![b'a'; 101];
        let content = ContentId::of(&large);
        assert_eq!(keep(&mut blobs, content, &VersionBody::Bytes(&large), &limits), Ok(KeepOutcome::Agreed(0)));
        assert_eq!(keep(&mut blobs, content, &VersionBody::Bytes(&large), &limits), Ok(KeepOutcome::Agreed(0)));
        assert_eq!(impostor(&mut blobs, content, b"short", &limits), KeepOutcome::Contested);
        // Evicted, but its hash is remembered.
        let gone = ContentId::of(b"gone");
        let version = StoredVersion {
            hash: Some(*blake3::hash(b"gone").as_bytes()),
            size: 4,
            stored: None,
            zstd: false,
            base: None,
            depth: 0,
            contested: false,
        };
        blobs.put(gone, &version, None).unwrap();
        assert_eq!(impostor(&mut blobs, gone, b"fake", &limits), KeepOutcome::Contested);
    }

    #[test]
    fn impostor_of_a_delta_is_detected_by_rebuilding() {
        let (mut blobs, limits) = (MemoryBlobStore::default(), HistoryLimits::default());
        let raw = vec![b'a'; 900];
        let mut child = raw.clone();
        child[5] = b'b';
        let (base, content) = (ContentId::of(&raw), ContentId::of(&child));
        keep(&mut blobs, base, &VersionBody::Bytes(&raw), &limits).unwrap();
        let change = VersionBody::Change { base, splices: &[(5..6, b"b")], full: Some(&Vec::new) };
        assert_eq!(keep(&mut blobs, content, &change, &limits), Ok(KeepOutcome::Agreed(4)));
        assert_eq!(impostor(&mut blobs, content, &vec![b'x'; 900], &limits), KeepOutcome::Contested);
        assert_eq!(rebuild(&blobs, content), Ok(None));
    }
}
