//! A change that can be gone in both directions: what stood there, and what stands there now.

use crate::varint;

/// One range of a change, in both versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap<'a> {
    /// Where it begins in the version before.
    pub at: usize,
    /// What stood there.
    pub old: &'a [u8],
    /// What stands there now.
    pub new: &'a [u8],
}

/// A [`Swap`] with texts of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedSwap {
    /// Where it begins in the version before.
    pub at: usize,
    /// What stands there.
    pub old: Box<[u8]>,
    /// What stands there in the version after.
    pub new: Box<[u8]>,
}

/// The change that [`encode`] made, in this direction or `back`; `None` when it is damaged.
pub(crate) fn turned(data: &[u8], back: bool) -> Option<Vec<OwnedSwap>> {
    let mut moved = 0_isize;
    let turn = |Swap { at, old, new }: Swap<'_>| {
        let here = if back { at.checked_add_signed(moved)? } else { at };
        moved = moved.checked_add_unsigned(new.len())?.checked_sub_unsigned(old.len())?;
        let (old, new) = if back { (new, old) } else { (old, new) };
        Some(OwnedSwap { at: here, old: old.into(), new: new.into() })
    };
    decode(data)?.into_iter().map(turn).collect()
}

/// Bytes of all texts together.
pub(crate) fn weight(swaps: &[Swap<'_>]) -> u64 {
    swaps.iter().map(|swap| (swap.old.len() + swap.new.len()) as u64).sum()
}

/// The serialised change; `None` when it is not sorted or overlaps.
pub(crate) fn encode(swaps: &[Swap<'_>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    for Swap { at: start, old, new } in swaps {
        for number in [start.checked_sub(at)?, old.len(), new.len()] {
            varint::put(&mut out, number as u64);
        }
        out.extend_from_slice(old);
        out.extend_from_slice(new);
        at = start.checked_add(old.len())?;
    }
    Some(out)
}

/// The change that [`encode`] made; `None` when it is damaged.
pub(crate) fn decode(mut data: &[u8]) -> Option<Vec<Swap<'_>>> {
    let (mut swaps, mut at) = (Vec::new(), 0_usize);
    while !data.is_empty() {
        let mut number = || usize::try_from(varint::take(&mut data)?).ok();
        let (gap, old, new) = (number()?, number()?, number()?);
        let (old, after) = data.split_at_checked(old)?;
        let (new, following) = after.split_at_checked(new)?;
        at = at.checked_add(gap)?;
        swaps.push(Swap { at, old, new });
        at = at.checked_add(old.len())?;
        data = following;
    }
    Some(swaps)
}

/// The other side of `from`: the version after, or the one before where `back`. `None` when `from` does not hold what the
/// change says, or the data are damaged.
pub(crate) fn apply(from: &[u8], mut data: &[u8], back: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(from.len().checked_add(data.len())?);
    let mut rest = from;
    while !data.is_empty() {
        let mut number = || usize::try_from(varint::take(&mut data)?).ok();
        let (gap, old, new) = (number()?, number()?, number()?);
        let (old, after) = data.split_at_checked(old)?;
        let (new, following) = after.split_at_checked(new)?;
        let (gone, come) = if back { (new, old) } else { (old, new) };
        let (kept, here) = rest.split_at_checked(gap)?;
        rest = here.strip_prefix(gone)?;
        out.extend_from_slice(kept);
        out.extend_from_slice(come);
        data = following;
    }
    out.extend_from_slice(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{Swap, apply, decode, encode, turned};
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn there_and_back(base in vec(any::<u8>(), 0..60), cuts in vec((0_usize..60, vec(any::<u8>(), 0..5)), 0..8)) {
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.0.min(base.len())).collect();
            ends.sort_unstable();
            let pairs = ends.chunks_exact(2).zip(&cuts);
            let swaps: Vec<Swap<'_>> = pairs
                .map(|(ends, (_, new))| Swap { at: ends[0], old: &base[ends[0]..ends[1]], new })
                .collect();
            let mut after = base.clone();
            for swap in swaps.iter().rev() {
                after.splice(swap.at..swap.at + swap.old.len(), swap.new.iter().copied());
            }
            let data = encode(&swaps).unwrap();
            prop_assert_eq!(decode(&data).unwrap(), swaps.clone());
            prop_assert_eq!(apply(&base, &data, false), Some(after.clone()));
            prop_assert_eq!(apply(&after, &data, true), Some(base.clone()));
            for (text, back) in [(&base, false), (&after, true)] {
                let there = |swap: &super::OwnedSwap| text[swap.at..].starts_with(&swap.old);
                prop_assert!(turned(&data, back).unwrap().iter().all(there));
            }
            // Another text than the one that was changed is noticed.
            if let Some(swap) = swaps.iter().find(|swap| !swap.old.is_empty()) {
                let mut other = base.clone();
                other[swap.at] ^= 1;
                prop_assert!(apply(&other, &data, false).is_none());
            }
        }

        #[test]
        fn damage_is_refused_or_harmless(base in vec(any::<u8>(), 0..40), junk in vec(any::<u8>(), 0..40), back in any::<bool>()) {
            let _ = (apply(&base, &junk, back), decode(&junk));
        }
    }

    #[test]
    fn what_is_not_in_order_cannot_be_kept() {
        let swap = |at, old| Swap { at, old, new: b"x" };
        assert!(encode(&[swap(4, b"ab"), swap(5, b"c")]).is_none());
        assert!(encode(&[swap(4, b"ab"), swap(6, b"c")]).is_some());
    }
}
