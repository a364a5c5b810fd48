//! From one version to another through the log. The log keeps the change between two versions where it does not know
//! either of them whole, so that its cost does not grow with the file; the way to a version may then begin at the file as
//! it is now.

use std::collections::{HashMap, HashSet, VecDeque};

use emendate_core::ContentId;

use crate::pack::{self, Packed};
use crate::shelf::{Shelf, keep, keep_last, rebuild};
use crate::{Body, Change, LARGEST, Limits, OwnedSwap, Touched, swap};

/// A change in the log, from one version to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Names its data.
    pub(crate) data: i64,
    pub(crate) base: ContentId,
    pub(crate) result: ContentId,
}

/// The changes of the log by the versions at their ends, each with whether it is gone backwards from its other end.
#[derive(Debug, Default)]
pub(crate) struct Graph(HashMap<ContentId, Vec<(Step, bool)>>);

impl Graph {
    pub(crate) fn of(steps: impl Iterator<Item = Step>) -> Graph {
        let mut ends: HashMap<ContentId, Vec<(Step, bool)>> = HashMap::new();
        for step in steps {
            ends.entry(step.base).or_default().push((step, true));
            ends.entry(step.result).or_default().push((step, false));
        }
        Graph(ends)
    }

    fn at(&self, content: ContentId) -> &[(Step, bool)] {
        self.0.get(&content).map_or(&[], Vec::as_slice)
    }
}

/// What was kept of one file of an operation.
#[derive(Default)]
pub(crate) struct Kept {
    /// Bytes that were added to the shelf.
    pub(crate) added: u64,
    /// The change between two versions, ready to be stored, where the shelf alone does not lead to both.
    pub(crate) link: Option<Link>,
    /// The version that has to be kept whole when there is time.
    pub(crate) loose: Option<ContentId>,
    /// What stood there before cannot be kept.
    pub(crate) lost: bool,
    /// The version that stands there now is on the shelf for certain.
    pub(crate) held: bool,
}

/// A change between two versions.
pub(crate) struct Link {
    pub(crate) base: ContentId,
    pub(crate) result: ContentId,
    pub(crate) data: Packed<'static>,
}

/// Sees to it that both sides of a file can be had later.
pub(crate) fn keep_sides<S: Shelf>(
    shelf: &mut S,
    touched: &Touched,
    change: &Change<'_>,
    limits: &Limits,
) -> Result<Kept, S::Error> {
    let mut kept = Kept::default();
    if let (Some(before), Some(old)) = (touched.before, change.old)
        && !holds(shelf, before.content)?
    {
        kept.added += added(keep_last(shelf, before.content, old, limits)?);
        kept.lost = !holds(shelf, before.content)?;
    }
    let Some(after) = touched.after.map(|side| side.content) else { return Ok(kept) };
    let Some(base) = change.base else {
        if !holds(shelf, after)? {
            let whole: Vec<u8> = change.swaps.iter().flat_map(|swap| swap.new).copied().collect();
            kept.added += added(keep(shelf, after, &Body::Bytes(&whole), limits)?);
        }
        kept.held = holds(shelf, after)?;
        return Ok(kept);
    };
    let known = holds(shelf, base)?;
    if known && base != after {
        let splices: Vec<_> = change.swaps.iter().map(|swap| (swap.at..swap.at + swap.old.len(), swap.new)).collect();
        let body = Body::Change { base, splices: &splices, full: None };
        kept.added += added(keep(shelf, after, &body, limits)?);
    } else if let Some(new) = change.new.filter(|_| !known) {
        kept.added += added(keep(shelf, after, &Body::Bytes(&new()), limits)?);
    }
    let found = holds(shelf, after)?;
    kept.held = found;
    if known && found {
        return Ok(kept);
    }
    kept.loose = (!found).then_some(after);
    if base == after {
        return Ok(kept);
    }
    let weight = swap::weight(change.swaps);
    let usual = weight <= limits.link();
    // A larger one is kept where nothing else leads back, and it packs well.
    if usual || (!known && change.from.is_none() && limits.blob > 0 && weight <= LARGEST) {
        let data = swap::encode(change.swaps).map(pack::owned);
        let data = data.filter(|data| usual || data.data.len() as u64 <= limits.total / 4);
        kept.link = data.map(|data| Link { base, result: after, data });
        kept.lost |= kept.link.is_none() && !known;
    } else if !known {
        // Nothing will lead back from what stands there now.
        if let Some(from) = change.from {
            kept.added += added(keep_last(shelf, base, from, limits)?);
        }
        kept.lost |= !reaches(shelf, base, &[])?;
    }
    Ok(kept)
}

fn added(kept: crate::shelf::Kept) -> u64 {
    match kept {
        crate::shelf::Kept::Agreed(added) => added,
        crate::shelf::Kept::Contested => 0,
    }
}

/// True when the shelf has the version itself.
pub(crate) fn holds<S: Shelf>(shelf: &S, content: ContentId) -> Result<bool, S::Error> {
    Ok(shelf.version(content)?.is_some_and(|version| version.stored.is_some() && !version.contested))
}

/// Those of the versions that the shelf has not.
pub(crate) fn lacking<S: Shelf>(shelf: &S, contents: &[ContentId]) -> Result<HashSet<ContentId>, S::Error> {
    let mut lacking = HashSet::new();
    for &content in contents {
        if !holds(shelf, content)? {
            lacking.insert(content);
        }
    }
    Ok(lacking)
}

/// The bytes of a version, from the shelf or along the trail; `None` when no way leads to it.
pub(crate) fn content<S: Shelf>(
    shelf: &S,
    content: ContentId,
    at_hand: &[(ContentId, &[u8])],
    limits: &Limits,
) -> Result<Option<Vec<u8>>, S::Error> {
    let start = |content: ContentId| match at_hand.iter().find(|(id, _)| *id == content) {
        Some((_, bytes)) => Ok(Some(bytes.to_vec())),
        None => rebuild(shelf, content),
    };
    let Some((mut bytes, way)) = search(shelf, content, start)? else { return Ok(None) };
    for (step, back) in way {
        let Some(data) = shelf.change(step.data, limits)? else { return Ok(None) };
        let Some(next) = swap::apply(&bytes, &data, back) else { return Ok(None) };
        bytes = next;
    }
    Ok((ContentId::of(&bytes) == content).then_some(bytes))
}

/// The one change that leads from one version to another, if there is such a one.
pub(crate) fn swaps<S: Shelf>(
    shelf: &S,
    from: ContentId,
    to: ContentId,
    limits: &Limits,
) -> Result<Option<Vec<OwnedSwap>>, S::Error> {
    let graph = shelf.graph()?;
    let other = |(step, back): &&(Step, bool)| if *back { step.result == to } else { step.base == to };
    let Some((step, _)) = graph.at(from).iter().find(other) else { return Ok(None) };
    let back = (step.result, step.base) == (from, to);
    Ok(shelf.change(step.data, limits)?.and_then(|data| swap::turned(&data, back)))
}

/// True when [`content`] would find a way.
pub(crate) fn reaches<S: Shelf>(shelf: &S, content: ContentId, at_hand: &[ContentId]) -> Result<bool, S::Error> {
    let start = |content: ContentId| Ok((at_hand.contains(&content) || holds(shelf, content)?).then_some(()));
    Ok(search(shelf, content, start)?.is_some())
}

/// What a search found to begin with, and the changes from there, each with whether it is gone backwards.
type Way<T> = (T, Vec<(Step, bool)>);

/// A shortest way to `target` from a version that `start` knows.
fn search<S: Shelf, T>(
    shelf: &S,
    target: ContentId,
    start: impl Fn(ContentId) -> Result<Option<T>, S::Error>,
) -> Result<Option<Way<T>>, S::Error> {
    if shelf.version(target)?.is_some_and(|version| version.contested) {
        return Ok(None);
    }
    if let Some(found) = start(target)? {
        return Ok(Some((found, Vec::new())));
    }
    let graph = shelf.graph()?;
    // For each version met: the step that leads from it towards the target.
    let mut towards: HashMap<ContentId, Option<(Step, bool)>> = HashMap::from([(target, None)]);
    let mut queue = VecDeque::from([target]);
    while let Some(at) = queue.pop_front() {
        for &(step, back) in graph.at(at) {
            let other = if back { step.result } else { step.base };
            if towards.contains_key(&other) {
                continue;
            }
            towards.insert(other, Some((step, back)));
            if let Some(found) = start(other)? {
                return Ok(Some((found, way(&towards, other))));
            }
            queue.push_back(other);
        }
    }
    Ok(None)
}

/// The steps from a version to the target of a search.
fn way(towards: &HashMap<ContentId, Option<(Step, bool)>>, mut here: ContentId) -> Vec<(Step, bool)> {
    let mut way = Vec::new();
    while let Some(&Some((step, back))) = towards.get(&here) {
        way.push((step, back));
        here = if back { step.base } else { step.result };
    }
    way
}
