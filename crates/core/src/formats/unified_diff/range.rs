//! Hunk headers: `@@ -l,c +l,c @@ section`, and all variants in use.

/// The smallest number that is not a line number, because no file has this many lines.
const LINE_NUMBER_END: u64 = 1 << 40;

/// A hunk header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HunkHeader {
    /// The number of the first line on the old and on the new side, if there is a valid one.
    pub(super) first: (Option<usize>, Option<usize>),
    /// Announced numbers of lines on both sides; `None` if they are not given.
    pub(super) counts: Option<(usize, usize)>,
    /// True if a number is too large.
    pub(super) overflow: bool,
    /// The text after the second `@@`.
    pub(super) section: Option<String>,
}

/// True for a line that begins a hunk.
pub(super) fn is_header(line: &str) -> bool {
    line.strip_prefix("@@").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '-', '\t']))
}

/// True for a hunk of a combined diff, with several parents.
pub(super) fn is_combined(line: &str) -> bool {
    line.starts_with("@@@ ") || line.starts_with("@@@@")
}

/// Parses a hunk header.
pub(super) fn read(line: &str) -> Option<HunkHeader> {
    let rest = is_header(line).then(|| line.trim_start_matches('@').trim())?;
    // The section begins after the numbers, with or without a second `@@`.
    let Some((old, tail)) = side(rest, '-') else { return Some(unnumbered(rest)) };
    let (new, tail) = side(tail.trim_start(), '+').map_or((None, tail), |(new, tail)| (Some(new), tail));
    let tail = tail.trim_start();
    let section = tail.strip_prefix("@@").unwrap_or(tail).trim();
    let section = (!section.is_empty()).then(|| section.to_owned());
    let mut header = HunkHeader { first: (old.first, new.and_then(|new| new.first)), section, ..HunkHeader::default() };
    let Some(new) = new else { return Some(header) };
    header.overflow = old.overflow || new.overflow;
    if !header.overflow {
        header.counts = Some((old.count.unwrap_or(1), new.count.unwrap_or(1)));
    }
    Some(header)
}

/// Parses `@@`, `@@ @@`, `@@ ... @@`, `@@ -,+ @@ section`, `@@ section`, `@@ section @@`.
fn unnumbered(rest: &str) -> HunkHeader {
    let (before, after) = rest.split_once("@@").unwrap_or((rest, ""));
    let section = if after.trim().is_empty() { before } else { after }.trim();
    let is_section = section.chars().any(char::is_alphanumeric) && !section.starts_with(['-', '+', '.']);
    HunkHeader { section: is_section.then(|| section.to_owned()), ..HunkHeader::default() }
}

#[derive(Clone, Copy)]
struct RangeNumbers {
    first: Option<usize>,
    count: Option<usize>,
    overflow: bool,
}

/// Parses `-l,c` or `-l`. Also returns the rest of the text.
fn side(text: &str, sign: char) -> Option<(RangeNumbers, &str)> {
    let (first, rest) = number(text.strip_prefix(sign)?)?;
    let (count, rest) = match rest.strip_prefix(',').and_then(number) {
        Some((count, rest)) => (Some(count), rest),
        None => (None, rest),
    };
    let overflow = first.is_none() || count == Some(None);
    Some((RangeNumbers { first, count: count.flatten(), overflow }, rest))
}

/// Parses digits. Also returns the rest of the text. The number is `None` if it exceeds the length of any file.
fn number(text: &str) -> Option<(Option<usize>, &str)> {
    let rest = text.trim_start_matches(|ch: char| ch.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    (!digits.is_empty()).then(|| (digits.parse().ok().and_then(line_number), rest))
}

/// Returns the number if a file on this platform can have that many lines.
fn line_number(value: u64) -> Option<usize> {
    usize::try_from(value).ok().filter(|_| value < LINE_NUMBER_END)
}

#[cfg(test)]
mod tests {
    use super::{is_combined, is_header, read};

    #[test]
    fn numbers_counts_and_sections_are_parsed() {
        let all = |line: &str| {
            let it = read(line).unwrap();
            (it.first, it.counts, it.section.unwrap_or_default())
        };
        let text = str::to_owned;
        assert_eq!(all("@@ -34,6 +35,7 @@ class A:"), ((Some(34), Some(35)), Some((6, 7)), text("class A:")));
        assert_eq!(all("@@ -3 +3 @@"), ((Some(3), Some(3)), Some((1, 1)), text("")));
        assert_eq!(all("@@ -3 +3,2 @@"), ((Some(3), Some(3)), Some((1, 2)), text("")));
        assert_eq!(all("@@ -10,0 +11,2 @@"), ((Some(10), Some(11)), Some((0, 2)), text("")));
        assert_eq!(all("@@ -1,2 +1,2"), ((Some(1), Some(1)), Some((2, 2)), text("")));
        assert_eq!(all("@@-1,2 +1,2@@ f"), ((Some(1), Some(1)), Some((2, 2)), text("f")));
        assert_eq!(all("@@ -7,2 @@"), ((Some(7), None), None, text("")));
        for line in ["@@", "@@ @@", "@@ ... @@", "@@ -... +... @@", "@@ -,+ @@", "@@ -X,Y +X,Y @@"] {
            assert_eq!(all(line), ((None, None), None, text("")), "{line}");
        }
        assert_eq!(all("@@ ... @@ def f():").2, "def f():");
        assert_eq!(all("@@ def f():").2, "def f():");
        assert_eq!(all("@@ def f(): @@").2, "def f():");
        let huge = read("@@ -99999999999999999999999,3 +1,3 @@").unwrap();
        assert!(huge.overflow && huge.counts.is_none() && huge.first.0.is_none());
        assert!(is_combined("@@@ -1,2 -1,2 +1,3 @@@") && !is_header("@@@ -1 -1 +1 @@@") && !is_header("@@foo"));
    }
}
