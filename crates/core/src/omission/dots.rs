//! Lines of only dots in a whole text: they are placeholders if lines of the old text would be lost in their place.

use super::is_elision;
use std::collections::{HashMap, HashSet};

/// Lines on either side of the dots that are searched for a line of the old text.
const CONTEXT_LINES: usize = 8;

/// Returns the dot lines in `new`, with their zero-based numbers, that replace lines of `old`: between the nearest
/// common lines around them, more old lines disappear than new lines appear.
pub(super) fn placeholders<'a>(old: &str, new: &'a str) -> Vec<(usize, &'a str)> {
    let lines: Vec<&str> = new.lines().collect();
    let dots: Vec<usize> = (0..lines.len()).filter(|&at| is_elision(lines[at])).collect();
    if dots.is_empty() {
        return Vec::new();
    }
    let before: Vec<&str> = old.lines().map(str::trim).collect();
    let texts = ComparedTexts {
        lines: &lines,
        new: lines.iter().map(|line| line.trim()).collect(),
        places: places(&before),
        old: before,
    };
    let fenced = fenced(&lines);
    let stands = |at: &usize| !fenced[*at] && !texts.is_code(*at) && texts.stands_for_lines(*at);
    dots.into_iter().filter(stands).map(|at| (at, lines[at])).collect()
}

/// Two texts, by lines.
struct ComparedTexts<'a> {
    lines: &'a [&'a str],
    old: Vec<&'a str>,
    new: HashSet<&'a str>,
    /// The positions of each line of the old text.
    places: HashMap<&'a str, Vec<usize>>,
}

fn places<'a>(lines: &[&'a str]) -> HashMap<&'a str, Vec<usize>> {
    let mut out: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        out.entry(line).or_default().push(at);
    }
    out
}

/// Marks the lines inside fences, which are examples.
fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut open = false;
    let is_fence = |line: &str| ["```", "~~~"].iter().any(|sign| line.trim_start().starts_with(sign));
    let inside = |line: &&str| {
        open ^= is_fence(line);
        open
    };
    lines.iter().map(inside).collect()
}

impl ComparedTexts<'_> {
    /// True for dots with a meaning in the language: the body of a stub, a prompt in an example, the end of a document.
    fn is_code(&self, at: usize) -> bool {
        let line = self.lines[at];
        if !matches!(line.trim(), "..." | "…") || self.old.contains(&line.trim()) {
            return self.old.contains(&line.trim());
        }
        let above = self.lines[..at].iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
        let below = self.lines[at + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
        let stub = |above: &str| {
            let bare = above.split(" #").next().unwrap_or(above).trim_end();
            bare.ends_with(':') || above.ends_with("\"\"\"") || above.ends_with("'''")
        };
        let example = |above: &str| above.starts_with(">>>") || above.starts_with("...");
        let yaml = !line.starts_with([' ', '\t']) && below == Some("---");
        yaml || above.is_some_and(|above| example(above) || stub(above) && line.starts_with([' ', '\t']))
    }

    fn stands_for_lines(&self, at: usize) -> bool {
        let (first, fresh_above) = match self.above(at) {
            Some((place, fresh)) => (place + 1, fresh),
            None if at <= CONTEXT_LINES => (0, at),
            None => return false,
        };
        let (last, fresh_below) = match self.below(at, first) {
            Some(found) => found,
            None if self.lines.len() - at <= CONTEXT_LINES => (self.old.len(), self.lines.len() - at - 1),
            None => return false,
        };
        let gone = self.old[first..last].iter().filter(|line| !line.is_empty() && !self.new.contains(*line)).count();
        gone > fresh_above + fresh_below
    }

    /// Returns the old position of the nearest common line above, and the number of new lines in between.
    fn above(&self, at: usize) -> Option<(usize, usize)> {
        let lines = self.lines[..at].iter().rev().map(|line| line.trim()).filter(|line| !line.is_empty());
        lines.take(CONTEXT_LINES).enumerate().find_map(|(fresh, line)| Some((*self.places.get(line)?.first()?, fresh)))
    }

    /// Returns the same for the nearest common line below, at an old position from `first` on.
    fn below(&self, at: usize, first: usize) -> Option<(usize, usize)> {
        let lines = self.lines[at + 1..].iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        let place = |line: &str| {
            let places = self.places.get(line)?;
            places.get(places.partition_point(|place| *place < first)).copied()
        };
        lines.take(CONTEXT_LINES).enumerate().find_map(|(fresh, line)| Some((place(line)?, fresh)))
    }
}

#[cfg(test)]
mod tests {
    use super::placeholders;

    #[test]
    fn dots_that_are_code_are_not_placeholders() {
        let old = "a = 1\nb = 2\nc = 3\n";
        for new in [
            "a = 1\ndef f():\n    ...\n",
            "a = 1\nclass A:\n    \"\"\"Docs.\"\"\"\n    ...\nc = 3\n",
            "a = 1\ndef f() -> int:  # a stub\n    ...\nc = 3\n",
            "a = 1\n>>> for x in y:\n...\nc = 3\n",
            "a: 1\n...\n---\nb: 2\n",
            "a = 1\n```\n...\n```\nc = 3\n",
            "a = [...rest]\nc = 3\n",
            "a = 1\nx = 2\n// ...\nc = 3\n",
        ] {
            assert_eq!(placeholders(old, new), [], "{new}");
        }
        assert_eq!(placeholders("a\n...\nb\n", "a\n...\n"), []);
        assert_eq!(placeholders(old, "a = 1\n# ...\nc = 3\n"), [(1, "# ...")]);
        assert_eq!(placeholders(old, "...\nc = 3\n"), [(0, "...")]);
        assert_eq!(placeholders(old, "a = 1\n...\n"), [(1, "...")]);
    }
}
