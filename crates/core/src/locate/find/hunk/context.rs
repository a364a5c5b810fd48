//! Hunks with less context than they have, if the call says how much of it must match (`-C` of git apply). They are
//! tried only if the hunk fits nowhere as it is; the rest of the hunk must still fit at one place only.

use crate::locate::op::{Hunk, HunkLineKind};

/// Returns the hunk with less and less context, down to `least` lines on each side, each with a note. As in git, the
/// side with more context loses a line first.
pub(super) fn reduced(hunk: &Hunk, least: usize) -> Vec<(Hunk, String)> {
    let lines = &hunk.lines;
    let head = lines.iter().take_while(|line| line.kind == HunkLineKind::Context).count();
    if head == lines.len() {
        return Vec::new();
    }
    let tail = lines.iter().rev().take_while(|line| line.kind == HunkLineKind::Context).count();
    let (mut front, mut back) = (head, tail);
    let mut out = Vec::new();
    while front > least || back > least {
        if front >= back {
            front -= 1;
        }
        if back > front {
            back -= 1;
        }
        let kept = lines[head - front..lines.len() - (tail - back)].to_vec();
        // Without an old line, only a number would show the position of the new ones.
        if kept.iter().all(|line| line.kind == HunkLineKind::Added) {
            break;
        }
        let (above, below) = (head - front, tail - back);
        // If context was removed on both sides, the number is no longer confirmed by anything and is dropped.
        let first = hunk.first.filter(|_| above == 0 || below == 0).map(|first| first + above);
        let open = if below == 0 { hunk.open } else { (false, false) };
        out.push((
            Hunk { lines: kept, first, open, at_end: hunk.at_end && below == 0, ..hunk.clone() },
            format!("Context that the call allows to differ was ignored: {above} lines above, {below} below."),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::reduced;
    use crate::locate::op::{Hunk, HunkLine, HunkLineKind};

    fn hunk(lines: &[&str]) -> Hunk {
        let line = |line: &&str| {
            let kind = match line.as_bytes()[0] {
                b'+' => HunkLineKind::Added,
                b'-' => HunkLineKind::Removed,
                _ => HunkLineKind::Context,
            };
            HunkLine { kind, text: line[1..].to_owned() }
        };
        Hunk { lines: lines.iter().map(line).collect(), first: Some(10), ..Hunk::default() }
    }

    #[test]
    fn longer_context_side_is_shortened_first() {
        let hunk = hunk(&[" a", " b", "-c", "+C", " d"]);
        let all = reduced(&hunk, 0);
        let shape: Vec<(usize, Option<usize>)> = all.iter().map(|(hunk, _)| (hunk.lines.len(), hunk.first)).collect();
        assert_eq!(shape, [(4, Some(11)), (2, None)]);
        assert_eq!(reduced(&hunk, 1).len(), 1);
        assert!(reduced(&hunk, 3).is_empty());
    }

    #[test]
    fn removed_lines_are_never_dropped() {
        assert!(reduced(&hunk(&[" a", "+b"]), 0).is_empty());
        assert_eq!(reduced(&hunk(&[" a", "+b", " c"]), 0).len(), 0);
        assert_eq!(reduced(&hunk(&[" a", "-b"]), 0).len(), 1);
    }
}
