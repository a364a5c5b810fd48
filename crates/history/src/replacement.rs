//! Changes that can be applied in both directions: old and new bytes of each range.

use emendate_core::explain::ReplacedSpan;

use crate::varint;

/// One replaced range of a change, with both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteReplacement<'a> {
    /// Offset in the old version.
    pub at: usize,
    /// The old bytes.
    pub old: &'a [u8],
    /// The new bytes.
    pub new: &'a [u8],
}

/// A [`ByteReplacement`] that owns its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedByteReplacement {
    /// Offset in the old version.
    pub at: usize,
    /// The old bytes.
    pub old: Box<[u8]>,
    /// The new bytes.
    pub new: Box<[u8]>,
}

/// Bytes of the spans of one file in one operation. A change of more parts has none.
const SPANS_BYTES_MAX: usize = 4096;

/// Serializes the ranges of a change without their texts; `None` if there are none or too many, or they are unsorted.
pub(crate) fn encode_spans(swaps: &[ByteReplacement<'_>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    for ByteReplacement { at: start, old, new } in swaps {
        for number in [start.checked_sub(at)?, old.len(), new.len()] {
            varint::put(&mut out, number as u64);
        }
        if out.len() > SPANS_BYTES_MAX {
            return None;
        }
        at = start.checked_add(old.len())?;
    }
    (!out.is_empty()).then_some(out)
}

/// Decodes the result of [`encode_spans`]; `None` if it is damaged.
pub(crate) fn decode_spans(mut data: &[u8]) -> Option<Vec<ReplacedSpan>> {
    let (mut spans, mut at) = (Vec::new(), 0_usize);
    while !data.is_empty() {
        let (gap, old, new) = (take_size(&mut data)?, take_size(&mut data)?, take_size(&mut data)?);
        at = at.checked_add(gap)?;
        spans.push(ReplacedSpan { at, old, new });
        at = at.checked_add(old)?;
    }
    Some(spans)
}

/// Decodes a change made by [`encode`], in its direction or `back`; `None` if it is damaged.
pub(crate) fn decode_directed(data: &[u8], back: bool) -> Option<Vec<OwnedByteReplacement>> {
    let (mut directed, mut moved) = (Vec::new(), 0_isize);
    for ByteReplacement { at, old, new } in decode(data)? {
        let here = if back { at.checked_add_signed(moved)? } else { at };
        moved = moved.checked_add_unsigned(new.len())?.checked_sub_unsigned(old.len())?;
        let (old, new) = if back { (new, old) } else { (old, new) };
        directed.push(OwnedByteReplacement { at: here, old: old.into(), new: new.into() });
    }
    Some(directed)
}

/// Total length of all texts.
pub(crate) fn text_bytes(swaps: &[ByteReplacement<'_>]) -> u64 {
    swaps.iter().map(|swap| (swap.old.len() + swap.new.len()) as u64).sum()
}

/// Serializes a change; `None` if it is unsorted or overlaps.
pub(crate) fn encode(swaps: &[ByteReplacement<'_>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    for ByteReplacement { at: start, old, new } in swaps {
        for number in [start.checked_sub(at)?, old.len(), new.len()] {
            varint::put(&mut out, number as u64);
        }
        out.extend_from_slice(old);
        out.extend_from_slice(new);
        at = start.checked_add(old.len())?;
    }
    Some(out)
}

/// Decodes a change made by [`encode`]; `None` if it is damaged.
pub(crate) fn decode(mut data: &[u8]) -> Option<Vec<ByteReplacement<'_>>> {
    let (mut swaps, mut at) = (Vec::new(), 0_usize);
    while !data.is_empty() {
        let (gap, old, new) = (take_size(&mut data)?, take_size(&mut data)?, take_size(&mut data)?);
        let (old, after) = data.split_at_checked(old)?;
        let (new, following) = after.split_at_checked(new)?;
        at = at.checked_add(gap)?;
        swaps.push(ByteReplacement { at, old, new });
        at = at.checked_add(old.len())?;
        data = following;
    }
    Some(swaps)
}

/// Applies a change to `from`, or reverts it with `back`. `None` if `from` does not match the change, or the data are
/// damaged.
pub(crate) fn apply(from: &[u8], mut data: &[u8], back: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(from.len().checked_add(data.len())?);
    let mut rest = from;
    while !data.is_empty() {
        let (gap, old, new) = (take_size(&mut data)?, take_size(&mut data)?, take_size(&mut data)?);
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

/// Removes an offset or a length from the front; `None` if it is damaged.
fn take_size(data: &mut &[u8]) -> Option<usize> {
    usize::try_from(varint::take(data)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{ByteReplacement, apply, decode, decode_directed, decode_spans, encode, encode_spans};
    use emendate_core::explain::ReplacedSpan;
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn replacements_apply_in_both_directions(base in vec(any::<u8>(), 0..60), cuts in vec((0_usize..60, vec(any::<u8>(), 0..5)), 0..8)) {
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.0.min(base.len())).collect();
            ends.sort_unstable();
            let pairs = ends.chunks_exact(2).zip(&cuts);
            let swaps: Vec<ByteReplacement<'_>> = pairs
                .map(|(ends, (_, new))| ByteReplacement { at: ends[0], old: &base[ends[0]..ends[1]], new })
                .collect();
            let mut after = base.clone();
            for swap in swaps.iter().rev() {
                after.splice(swap.at..swap.at + swap.old.len(), swap.new.iter().copied());
            }
            let data = encode(&swaps).unwrap();
            prop_assert_eq!(decode(&data).unwrap(), swaps.clone());
            let spans = swaps.iter().map(|swap| ReplacedSpan { at: swap.at, old: swap.old.len(), new: swap.new.len() });
            let spans: Vec<ReplacedSpan> = spans.collect();
            prop_assert_eq!(encode_spans(&swaps).map_or(Some(Vec::new()), |data| decode_spans(&data)), Some(spans));
            prop_assert_eq!(apply(&base, &data, false), Some(after.clone()));
            prop_assert_eq!(apply(&after, &data, true), Some(base.clone()));
            for (text, back) in [(&base, false), (&after, true)] {
                let there = |swap: &super::OwnedByteReplacement| text[swap.at..].starts_with(&swap.old);
                prop_assert!(decode_directed(&data, back).unwrap().iter().all(there));
            }
            // A text other than the changed one is detected.
            if let Some(swap) = swaps.iter().find(|swap| !swap.old.is_empty()) {
                let mut other = base.clone();
                other[swap.at] ^= 1;
                prop_assert!(apply(&other, &data, false).is_none());
            }
        }

        #[test]
        fn damage_is_refused_or_harmless(base in vec(any::<u8>(), 0..40), junk in vec(any::<u8>(), 0..40), back in any::<bool>()) {
            let _ = (apply(&base, &junk, back), decode(&junk), decode_spans(&junk));
        }
    }

    #[test]
    fn unsorted_replacements_are_rejected() {
        let swap = |at, old| ByteReplacement { at, old, new: b"x" };
        assert!(encode(&[swap(4, b"ab"), swap(5, b"c")]).is_none());
        assert!(encode(&[swap(4, b"ab"), swap(6, b"c")]).is_some());
    }
}
