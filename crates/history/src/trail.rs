//! From one version to another through the log. The log keeps the change between two versions where it does not know
//! either of them whole, so that its cost does not grow with the file; the way to a version may then begin at the file as
//! it is now.

use std::collections::{HashMap, VecDeque};

use emendate_core::ContentId;

use crate::pack::{self, Packed};
use crate::shelf::{Shelf, keep, rebuild};
use crate::{Body, Change, Limits, Touched, swap};

/// Versions that a search looks at.
const STEPS: usize = 20_000;

/// A change in the log that has some version on one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Names its data.
    pub(crate) data: i64,
    /// The version on its other side.
    pub(crate) other: ContentId,
    /// That is the version after.
    pub(crate) back: bool,
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
        kept.added += added(keep(shelf, before.content, &Body::Bytes(old), limits)?);
        kept.lost = !holds(shelf, before.content)?;
    }
    let Some(after) = touched.after.map(|side| side.content) else { return Ok(kept) };
    let Some(base) = change.base else {
        if !holds(shelf, after)? {
            let whole: Vec<u8> = change.swaps.iter().flat_map(|swap| swap.new).copied().collect();
            kept.added += added(keep(shelf, after, &Body::Bytes(&whole), limits)?);
        }
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
    if known && found {
        return Ok(kept);
    }
    kept.loose = (!found).then_some(after);
    if base != after && swap::weight(change.swaps) <= limits.blob {
        let data = swap::encode(change.swaps).map(pack::owned);
        kept.link = data.map(|data| Link { base, result: after, data });
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

/// The bytes of a version, from the shelf or along the trail; `None` when no way leads to it.
pub(crate) fn content<S: Shelf>(
    shelf: &S,
    content: ContentId,
    at_hand: &[(ContentId, &[u8])],
    limits: &Limits,
) -> Result<Option<Vec<u8>>, S::Error> {
    let start = |content: ContentId| match at_hand.iter().find(|(id, _)| *id == content) {
        Some((_, bytes)) => Ok(Some(bytes.to_vec())),
        None => rebuild(shelf, content, limits),
    };
    let Some((mut bytes, way)) = search(shelf, content, start)? else { return Ok(None) };
    for step in way {
        let Some(data) = shelf.change(step.data, limits)? else { return Ok(None) };
        let Some(next) = swap::apply(&bytes, &data, step.back) else { return Ok(None) };
        bytes = next;
    }
    Ok((ContentId::of(&bytes) == content).then_some(bytes))
}

/// True when [`content`] would find a way.
pub(crate) fn reaches<S: Shelf>(shelf: &S, content: ContentId, at_hand: &[ContentId]) -> Result<bool, S::Error> {
    let start = |content: ContentId| Ok((at_hand.contains(&content) || holds(shelf, content)?).then_some(()));
    Ok(search(shelf, content, start)?.is_some())
}

/// A shortest way to `target` from a version that `start` knows: what it answered, and the steps from there.
fn search<S: Shelf, T>(
    shelf: &S,
    target: ContentId,
    start: impl Fn(ContentId) -> Result<Option<T>, S::Error>,
) -> Result<Option<(T, Vec<Step>)>, S::Error> {
    if shelf.version(target)?.is_some_and(|version| version.contested) {
        return Ok(None);
    }
    // For each version met: the step that leads from it towards the target, and where that step ends.
    let mut towards: HashMap<ContentId, Option<(Step, ContentId)>> = HashMap::from([(target, None)]);
    let mut queue = VecDeque::from([target]);
    while let Some(at) = queue.pop_front() {
        if let Some(found) = start(at)? {
            let mut way = Vec::new();
            let mut here = at;
            while let Some(&Some((step, next))) = towards.get(&here) {
                way.push(step);
                here = next;
            }
            return Ok(Some((found, way)));
        }
        for step in shelf.steps(at)? {
            if towards.len() < STEPS && !towards.contains_key(&step.other) {
                towards.insert(step.other, Some((step, at)));
                queue.push_back(step.other);
            }
        }
    }
    Ok(None)
}
