//! A version stored as the difference to another one: the replaced ranges with their replacements.

use core::ops::Range;

use crate::varint;

/// Serializes splices and returns them with the size of the result; `None` if they are unsorted, overlap or do not fit
/// a base of `base` bytes.
pub(crate) fn encode(splices: &[(Range<usize>, &[u8])], base: u64) -> Option<(Vec<u8>, u64)> {
    let mut out = Vec::new();
    let mut size = base;
    let mut at = 0;
    for (range, text) in splices {
        let gap = range.start.checked_sub(at)?;
        let gone = range.end.checked_sub(range.start)? as u64;
        if range.end as u64 > base {
            return None;
        }
        at = range.end;
        size = (size - gone).checked_add(text.len() as u64)?;
        for number in [gap as u64, gone, text.len() as u64] {
            varint::put(&mut out, number);
        }
        out.extend_from_slice(text);
    }
    Some((out, size))
}

/// Applies the result of [`encode`]; `None` if it is damaged or the result does not have `size` bytes.
pub(crate) fn apply(base: &[u8], mut splices: &[u8], size: u64) -> Option<Vec<u8>> {
    let size = usize::try_from(size).ok()?;
    // A damaged size must not cause a huge allocation.
    if size > base.len().checked_add(splices.len())? {
        return None;
    }
    let mut out = Vec::with_capacity(size);
    let mut rest = base;
    while !splices.is_empty() {
        let gap = usize::try_from(varint::take(&mut splices)?).ok()?;
        let gone = usize::try_from(varint::take(&mut splices)?).ok()?;
        let text = usize::try_from(varint::take(&mut splices)?).ok()?;
        let (kept, after) = rest.split_at_checked(gap)?;
        let (text, following) = splices.split_at_checked(text)?;
        out.extend_from_slice(kept);
        out.extend_from_slice(text);
        rest = after.get(gone..)?;
        splices = following;
    }
    out.extend_from_slice(rest);
    (out.len() == size).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{apply, encode};
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn applying_a_delta_splices(base in vec(any::<u8>(), 0..60), cuts in vec((0_usize..60, vec(any::<u8>(), 0..5)), 0..8)) {
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.0.min(base.len())).collect();
            ends.sort_unstable();
            let texts = cuts.iter().map(|cut| &cut.1[..]);
            let splices: Vec<_> = ends.chunks_exact(2).map(|pair| pair[0]..pair[1]).zip(texts).collect();
            let mut after = base.clone();
            for (range, text) in splices.iter().rev() {
                after.splice(range.clone(), text.iter().copied());
            }
            let (encoded, size) = encode(&splices, base.len() as u64).unwrap();
            prop_assert_eq!(size, after.len() as u64);
            prop_assert_eq!(apply(&base, &encoded, size), Some(after));
            prop_assert_eq!(apply(&base, &encoded, size + 1), None);
        }

        #[test]
        fn damage_is_refused_or_harmless(base in vec(any::<u8>(), 0..40), junk in vec(any::<u8>(), 0..40), size in any::<u64>()) {
            let _ = apply(&base, &junk, size);
            let _ = apply(&base, &junk, size % 64);
        }
    }
}
