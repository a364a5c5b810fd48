//! Three texts into one, with conflict markers: only where a caller asks for markers.

use similar::{ConflictStyle, TextMerge};

/// Merges two texts made from `base` by lines; where both changed the same lines, both versions are kept between
/// conflict markers (`<<<<<<< your edit`, `||||||| as read`, `=======`, `>>>>>>> on disk`).
pub fn merge_with_markers(base: &str, ours: &str, theirs: &str) -> String {
    let mut merge = TextMerge::from_lines(base, ours, theirs);
    merge.conflict_style(ConflictStyle::Diff3).labels("as read", "your edit", "on disk");
    merge.to_string()
}

#[cfg(test)]
mod tests {
    use super::merge_with_markers;

    #[test]
    fn only_what_both_changed_is_marked() {
        let merged = merge_with_markers("a\nb\nc\nd\ne\n", "A\nb\nC1\nd\ne\n", "a\nb\nC2\nd\nE\n");
        let marked = "<<<<<<< your edit\nC1\n||||||| as read\nc\n=======\nC2\n>>>>>>> on disk\n";
        assert_eq!(merged, format!("A\nb\n{marked}d\nE\n"));
    }
}
