//! Delta chains: paths from one version to another through the log. The log stores the change between two versions if
//! neither is stored whole, so that its cost does not grow with the file; a chain may then begin at the current file.

use std::collections::{HashMap, HashSet, VecDeque};

use emendate_core::ContentId;

use crate::blob_store::{BlobStore, keep, keep_last_copy, rebuild};
use crate::pack::{self, PackedBytes};
use crate::{
    CONTENT_BYTES_MAX, ChangeContent, FileChange, HistoryLimits, KnownContent, OwnedByteReplacement, VersionBody,
    replacement,
};

/// A logged change from one version to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeltaEdge {
    /// Key of its data.
    pub(crate) data: i64,
    pub(crate) base: ContentId,
    pub(crate) result: ContentId,
}

/// The logged changes by the versions at both ends. The flag is true if the change has to be reverted to get here from
/// the other end.
#[derive(Debug, Default)]
pub(crate) struct DeltaGraph(HashMap<ContentId, Vec<(DeltaEdge, bool)>>);

impl DeltaGraph {
    pub(crate) fn of(steps: impl Iterator<Item = DeltaEdge>) -> DeltaGraph {
        let mut ends: HashMap<ContentId, Vec<(DeltaEdge, bool)>> = HashMap::new();
        for step in steps {
            ends.entry(step.base).or_default().push((step, true));
            ends.entry(step.result).or_default().push((step, false));
        }
        DeltaGraph(ends)
    }

    fn at(&self, content: ContentId) -> &[(DeltaEdge, bool)] {
        self.0.get(&content).map_or(&[], Vec::as_slice)
    }
}

/// Result of storing both states of a file.
#[derive(Default)]
pub(crate) struct KeptSides {
    /// Bytes added to the store.
    pub(crate) added: u64,
    /// The change between two versions, ready to be stored, if the store does not have both.
    pub(crate) delta: Option<NewDelta>,
    /// The version that must be stored whole when idle.
    pub(crate) unstored: Option<ContentId>,
    /// The old content cannot be stored.
    pub(crate) lost: bool,
    /// The new version is certainly stored.
    pub(crate) stored: bool,
}

/// A change between two versions.
pub(crate) struct NewDelta {
    pub(crate) base: ContentId,
    pub(crate) result: ContentId,
    pub(crate) data: PackedBytes<'static>,
}

/// Ensures that both states of a file can be restored later.
pub(crate) fn keep_sides<S: BlobStore>(
    blobs: &mut S,
    touched: &FileChange,
    change: &ChangeContent<'_>,
    limits: &HistoryLimits,
) -> Result<KeptSides, S::Error> {
    let mut kept = KeptSides::default();
    if let (Some(before), Some(old)) = (touched.before, change.old_bytes)
        && !is_stored(blobs, before.content)?
    {
        kept.added += added(keep_last_copy(blobs, before.content, old, limits)?);
        kept.lost = !is_stored(blobs, before.content)?;
    }
    let Some(after) = touched.after.map(|side| side.content) else { return Ok(kept) };
    let Some(base) = change.base else {
        if !is_stored(blobs, after)? {
            let whole: Vec<u8> = change.replacements.iter().flat_map(|swap| swap.new).copied().collect();
            kept.added += added(keep(blobs, after, &VersionBody::Bytes(&whole), limits)?);
        }
        kept.stored = is_stored(blobs, after)?;
        return Ok(kept);
    };
    let known = is_stored(blobs, base)?;
    if known && base != after {
        let splices: Vec<_> =
            change.replacements.iter().map(|swap| (swap.at..swap.at + swap.old.len(), swap.new)).collect();
        let body = VersionBody::Change { base, splices: &splices, full: None };
        kept.added += added(keep(blobs, after, &body, limits)?);
    } else if let Some(new) = change.new_bytes.filter(|_| !known) {
        kept.added += added(keep(blobs, after, &VersionBody::Bytes(&new()), limits)?);
    }
    let found = is_stored(blobs, after)?;
    kept.stored = found;
    if known && found {
        return Ok(kept);
    }
    kept.unstored = (!found).then_some(after);
    if base == after {
        return Ok(kept);
    }
    let weight = replacement::text_bytes(change.replacements);
    let usual = weight <= limits.delta_texts_max();
    // A larger change is stored if nothing else leads back and it compresses well.
    if usual || (!known && change.base_bytes.is_none() && limits.blob > 0 && weight <= CONTENT_BYTES_MAX) {
        let data = replacement::encode(change.replacements).map(pack::pack_owned);
        let data = data.filter(|data| usual || data.data.len() as u64 <= limits.total / 4);
        kept.delta = data.map(|data| NewDelta { base, result: after, data });
        kept.lost |= kept.delta.is_none() && !known;
    } else if !known {
        // This change will not lead back from the new version; an earlier one does if this one takes it back.
        if let Some(from) = change.base_bytes {
            kept.added += added(keep_last_copy(blobs, base, from, limits)?);
        }
        kept.lost |= !can_rebuild(blobs, base, &[after])?;
    }
    Ok(kept)
}

/// Returns the bytes that were added to the store.
pub(crate) fn added(kept: crate::blob_store::KeepOutcome) -> u64 {
    match kept {
        crate::blob_store::KeepOutcome::Agreed(added) => added,
        crate::blob_store::KeepOutcome::Contested => 0,
    }
}

/// True if the version itself is stored.
pub(crate) fn is_stored<S: BlobStore>(blobs: &S, content: ContentId) -> Result<bool, S::Error> {
    Ok(blobs.version(content)?.is_some_and(|version| version.stored.is_some() && !version.contested))
}

/// Returns those of the versions that are not stored.
pub(crate) fn not_stored<S: BlobStore>(blobs: &S, contents: &[ContentId]) -> Result<HashSet<ContentId>, S::Error> {
    let mut lacking = HashSet::new();
    for &content in contents {
        if !is_stored(blobs, content)? {
            lacking.insert(content);
        }
    }
    Ok(lacking)
}

/// Returns the bytes of a version, from the store or through a delta chain; `None` if no chain leads to it.
pub(crate) fn content<S: BlobStore>(
    blobs: &S,
    content: ContentId,
    at_hand: &[KnownContent<'_>],
    limits: &HistoryLimits,
) -> Result<Option<Vec<u8>>, S::Error> {
    let Some((mut bytes, way)) = search(blobs, content, |content| start_content(content, at_hand, blobs))? else {
        return Ok(None);
    };
    for (step, back) in way {
        let Some(data) = blobs.change(step.data, limits)? else { return Ok(None) };
        let Some(next) = replacement::apply(&bytes, &data, back) else { return Ok(None) };
        bytes = next;
    }
    Ok((ContentId::of(&bytes) == content).then_some(bytes))
}

/// Returns a content that is at hand or can be rebuilt.
fn start_content<S: BlobStore>(
    content: ContentId,
    at_hand: &[KnownContent<'_>],
    blobs: &S,
) -> Result<Option<Vec<u8>>, S::Error> {
    match at_hand.iter().find(|known| known.id == content) {
        Some(known) => Ok(Some(known.bytes.to_vec())),
        None => rebuild(blobs, content),
    }
}

/// Returns the single change that leads from one version to another, if there is one.
pub(crate) fn replacements<S: BlobStore>(
    blobs: &S,
    from: ContentId,
    to: ContentId,
    limits: &HistoryLimits,
) -> Result<Option<Vec<OwnedByteReplacement>>, S::Error> {
    let graph = blobs.graph()?;
    let Some((step, _)) =
        graph.at(from).iter().find(|(step, back)| if *back { step.result == to } else { step.base == to })
    else {
        return Ok(None);
    };
    let back = (step.result, step.base) == (from, to);
    Ok(blobs.change(step.data, limits)?.and_then(|data| replacement::decode_directed(&data, back)))
}

/// True if [`content`] would find a chain.
pub(crate) fn can_rebuild<S: BlobStore>(
    blobs: &S,
    content: ContentId,
    at_hand: &[ContentId],
) -> Result<bool, S::Error> {
    Ok(search(blobs, content, |content| Ok((at_hand.contains(&content) || is_stored(blobs, content)?).then_some(())))?
        .is_some())
}

/// Returns other versions from which the changes lead to this one, or back, the nearest first, at most `limit`.
pub(crate) fn linked_versions<S: BlobStore>(
    blobs: &S,
    content: ContentId,
    limit: usize,
) -> Result<Vec<ContentId>, S::Error> {
    let graph = blobs.graph()?;
    let (mut linked, mut met) = (vec![content], HashSet::from([content]));
    let mut index = 0;
    while let Some(&at) = linked.get(index).filter(|_| linked.len() <= limit) {
        let others = graph.at(at).iter().map(|(step, back)| if *back { step.result } else { step.base });
        linked.extend(others.filter(|other| met.insert(*other)));
        index += 1;
    }
    linked.truncate(limit.saturating_add(1));
    linked.remove(0);
    Ok(linked)
}

/// The start of a chain, and its changes, each with a flag for reverting it.
type DeltaPath<T> = (T, Vec<(DeltaEdge, bool)>);

/// Finds a shortest chain to `target` from a version that `start` accepts.
fn search<S: BlobStore, T>(
    blobs: &S,
    target: ContentId,
    start: impl Fn(ContentId) -> Result<Option<T>, S::Error>,
) -> Result<Option<DeltaPath<T>>, S::Error> {
    if blobs.version(target)?.is_some_and(|version| version.contested) {
        return Ok(None);
    }
    if let Some(found) = start(target)? {
        return Ok(Some((found, Vec::new())));
    }
    let graph = blobs.graph()?;
    // For each visited version: the step that leads from it towards the target.
    let mut towards: HashMap<ContentId, Option<(DeltaEdge, bool)>> = HashMap::from([(target, None)]);
    let mut queue = VecDeque::from([target]);
    while let Some(at) = queue.pop_front() {
        for &(step, back) in graph.at(at) {
            let other = if back { step.result } else { step.base };
            if towards.contains_key(&other) {
                continue;
            }
            towards.insert(other, Some((step, back)));
            if let Some(found) = start(other)? {
                return Ok(Some((found, path_to_target(&towards, other))));
            }
            queue.push_back(other);
        }
    }
    Ok(None)
}

/// Returns the steps from a version to the target of a search.
fn path_to_target(
    towards: &HashMap<ContentId, Option<(DeltaEdge, bool)>>,
    mut here: ContentId,
) -> Vec<(DeltaEdge, bool)> {
    let mut way = Vec::new();
    while let Some(&Some((step, back))) = towards.get(&here) {
        way.push((step, back));
        here = if back { step.base } else { step.result };
    }
    way
}
