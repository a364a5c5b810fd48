//! Choice of versions to evict.

use std::cmp::Reverse;
use std::collections::HashMap;

use emendate_core::ContentId;

/// Number of records between two checks of the limits.
pub(crate) const UPKEEP_EVERY_RECORDS: u32 = 64;
/// Bytes of added contents after which the size of the database is checked at once. A process that makes one large
/// record and exits reaches it too, so with large files the limit does not depend on chance.
pub(crate) const UPKEEP_ADDED_BYTES: u64 = 64 << 10;
/// Maximum number of paths with stored anchor words.
pub(crate) const WORD_PATHS_MAX: u32 = 1024;

/// Maximum number of sessions with registers.
pub(crate) const REGISTER_SESSIONS_MAX: u32 = 64;

/// Reduces a limit for a clean-up, so that the next one is not due at once.
pub(crate) fn reduced_limit(limit: u64) -> u64 {
    limit - limit / 4
}

/// A stored version as a candidate for eviction.
#[derive(Clone, Debug)]
pub(crate) struct EvictionCandidate {
    pub(crate) content: ContentId,
    pub(crate) base: Option<ContentId>,
    pub(crate) depth: u32,
    pub(crate) stored: u64,
    /// Time of its last record.
    pub(crate) at: i64,
}

/// Chooses versions to evict so that the others take at most `bytes_max` bytes: the oldest first, where a version is as
/// young as the youngest that is rebuilt from it. So no remaining version loses its base.
pub(crate) fn versions_to_evict(mut candidates: Vec<EvictionCandidate>, bytes_max: u64) -> Vec<ContentId> {
    let mut sum: u64 = candidates.iter().map(|weight| weight.stored).sum();
    if sum <= bytes_max {
        return Vec::new();
    }
    candidates.sort_unstable_by_key(|weight| Reverse(weight.depth));
    let mut youngest: HashMap<ContentId, i64> = HashMap::new();
    for weight in &mut candidates {
        if let Some(&at) = youngest.get(&weight.content) {
            weight.at = weight.at.max(at);
        }
        if let Some(base) = weight.base {
            let at = youngest.entry(base).or_insert(weight.at);
            *at = weight.at.max(*at);
        }
    }
    candidates.sort_by_key(|weight| (weight.at, Reverse(weight.depth)));
    let mut gone = Vec::new();
    for weight in candidates {
        if sum <= bytes_max {
            break;
        }
        sum -= weight.stored;
        gone.push(weight.content);
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::{EvictionCandidate, versions_to_evict};
    use emendate_core::ContentId;

    #[test]
    fn oldest_versions_are_evicted_but_no_needed_base() {
        let id = |number: u8| ContentId::of(&[number]);
        let weight = |number: u8, base: Option<u8>, depth, stored, at| EvictionCandidate {
            content: id(number),
            base: base.map(id),
            depth,
            stored,
            at,
        };
        // 1 is the oldest, but 3 is rebuilt from it through 2.
        let all = || {
            vec![
                weight(1, None, 0, 100, 1),
                weight(2, Some(1), 1, 5, 2),
                weight(3, Some(2), 2, 5, 9),
                weight(4, None, 0, 100, 5),
                weight(5, None, 0, 100, 8),
            ]
        };
        assert_eq!(versions_to_evict(all(), 310), []);
        assert_eq!(versions_to_evict(all(), 210), [id(4)]);
        assert_eq!(versions_to_evict(all(), 110), [id(4), id(5)]);
        assert_eq!(versions_to_evict(all(), 109), [id(4), id(5), id(3)]);
        assert_eq!(versions_to_evict(all(), 0), [4, 5, 3, 2, 1].map(id));
    }
}
