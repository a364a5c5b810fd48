//! Alignment of lines by their keys: the heaviest common subsequence, in its earliest and its latest form.

/// Pairs (line of the old text, line of the file) of an alignment, increasing on both sides.
pub(super) type LinePairs = Vec<(usize, usize)>;

/// Computes the heaviest alignment of `old` with `file` twice: as early as possible and as late as possible in the
/// file. Costs `old.len() * file.len()` cells.
pub(super) fn align(old: &[u64], file: &[u64], weight: impl Fn(usize) -> u32) -> (LinePairs, LinePairs) {
    let width = file.len() + 1;
    // best[i][j]: the weight of aligning old[i..] with file[j..].
    let mut best = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..file.len()).rev() {
            let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let take = if old[i] == file[j] { weight(i) + best[(i + 1) * width + j + 1] } else { 0 };
            best[i * width + j] = skip.max(take);
        }
    }
    (walk(old, file, &best, width, &weight, false), walk(old, file, &best, width, &weight, true))
}

/// Follows the best pairs, as early or as late in the file as possible.
fn walk(
    old: &[u64],
    file: &[u64],
    best: &[u32],
    width: usize,
    weight: &impl Fn(usize) -> u32,
    late: bool,
) -> Vec<(usize, usize)> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while i < old.len() && j < file.len() {
        let here = best[i * width + j];
        let takes = old[i] == file[j] && here == weight(i) + best[(i + 1) * width + j + 1];
        let skips_file = here == best[i * width + j + 1];
        if takes && !(late && skips_file) {
            out.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if skips_file {
            j += 1;
        } else {
            i += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::align;

    #[test]
    fn early_and_late_alignments_differ_for_repeated_lines() {
        let (early, late) = align(&[1, 2, 3], &[1, 2, 2, 3], |_| 1);
        assert_eq!(early, [(0, 0), (1, 1), (2, 3)]);
        assert_eq!(late, [(0, 0), (1, 2), (2, 3)]);
        let (early, late) = align(&[1, 9, 3], &[1, 7, 3], |_| 1);
        assert_eq!((&*early, &*late), (&[(0, 0), (2, 2)][..], &[(0, 0), (2, 2)][..]));
        assert!(align(&[], &[1], |_| 1).0.is_empty());
    }

    #[test]
    fn alignment_maximizes_the_weight() {
        let weights = [1, 5, 2];
        assert_eq!(align(&[1, 2, 1], &[2, 1, 2], |at| weights[at]).0, [(1, 0), (2, 1)]);
    }
}
