//! Indentation maps: from the depths of the caller's text to those of the file.

use super::INSERTED_BYTES_MAX;
use super::refusal::{MatchRefusal, RefusalReason};
use crate::text::fold::{indent_of, is_blank};
use std::collections::{BTreeMap, BTreeSet};

/// The number of spaces that a level of indentation has at most.
const INDENT_WIDTH_MAX: usize = 8;

/// A map from indentation of the caller's text to indentation of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IndentMap {
    /// The caller's indentation is used as it is.
    Verbatim,
    /// Adds this prefix, which every line of the caller's text lacks.
    Add(String),
    /// Removes this prefix, which every line of the caller's text has in addition.
    Remove(String),
    /// Converts between indentation widths, or between tabs and spaces.
    Widths(Widths),
    /// The caller's first line lost its indentation; the others follow `rest`.
    FirstLine { first: String, rest: Box<IndentMap> },
}

/// Corresponding depths on both sides, and the steps from which further ones are derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    seen: BTreeMap<String, String>,
    base: (String, String),
    steps: Option<IndentSteps>,
    /// True if the depths show how the steps correspond. Otherwise no further depth is derived.
    has_ratio: bool,
    odd: OddDepths,
}

/// The indentation of one level in the caller's text and in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndentSteps {
    pub(super) old: IndentStep,
    pub(super) file: String,
}

/// The indentation of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndentStep {
    pub(super) text: String,
    /// True for a tab, and for spaces by which a line is deeper than the one above. Other spaces may be several levels:
    /// a line may close some at once.
    pub(super) is_single: bool,
}

/// Depths that are no multiple of a step: they have some spaces more than one, on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OddDepths {
    /// Numbers of spaces beyond the last step, each less than a step, as before the `*` of a comment.
    rests: BTreeSet<usize>,
    /// Depths of lines that are aligned with something in the line above. Of what depth a new line of that indentation
    /// is, nothing shows.
    aligned: BTreeSet<String>,
}

/// Indentation of a line in the caller's text and in the file.
pub(super) type IndentPair<'a> = (&'a str, &'a str);

impl IndentMap {
    /// Returns the map that adds one prefix to every line, or removes one, if there is one.
    pub(super) fn shift(pairs: &[IndentPair<'_>]) -> Option<IndentMap> {
        let &(old, file) = pairs.first()?;
        if let Some(add) = file.strip_suffix(old) {
            let map = if add.is_empty() { IndentMap::Verbatim } else { IndentMap::Add(add.to_owned()) };
            pairs.iter().all(|(old, file)| file.strip_prefix(add) == Some(old)).then_some(map)
        } else {
            let take = old.strip_suffix(file)?;
            pairs
                .iter()
                .all(|(old, file)| old.strip_prefix(take) == Some(file))
                .then(|| IndentMap::Remove(take.to_owned()))
        }
    }

    /// Returns a one-to-one, order-preserving map of depths with consistent steps on both sides, if there is one.
    /// `steps` is called only once the depths form a map, because finding the step of the file takes all of its lines.
    pub(super) fn widths(pairs: &[IndentPair<'_>], steps: impl FnOnce() -> Option<IndentSteps>) -> Option<IndentMap> {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for &(old, file) in pairs {
            if *seen.entry(old).or_insert(file) != file {
                return None;
            }
        }
        let mut order: Vec<IndentPair<'_>> = seen.into_iter().collect();
        order.sort_by_key(|(old, _)| old.len());
        // A deeper indentation is longer on both sides and extends the shallower one: tabs and spaces are not mixed.
        if !order.windows(2).all(|pair| is_deeper(pair[0].0, pair[1].0) && is_deeper(pair[0].1, pair[1].1)) {
            return None;
        }
        let &base = order.first()?;
        let mut steps = steps();
        let ratio = steps.as_ref().and_then(|steps| steps.ratio(&order));
        // Several depths that no ratio fits have no common map.
        if steps.is_some() && ratio.is_none() && order.len() > 1 {
            return None;
        }
        if let (Some(steps), Some(width)) = (&mut steps, ratio) {
            steps.old.text = steps.old.text[..1].repeat(width);
        }
        let seen = order.iter().map(|(old, file)| ((*old).to_owned(), (*file).to_owned())).collect();
        let base = (base.0.to_owned(), base.1.to_owned());
        let has_ratio = ratio.is_some();
        Some(IndentMap::Widths(Widths { seen, base, steps, has_ratio, odd: OddDepths::default() }))
    }

    /// Returns the map of the depths that are multiples of these steps, if all others have the same spaces in addition
    /// on both sides.
    pub(super) fn widths_beside_odd(
        pairs: &[IndentPair<'_>],
        steps: impl FnOnce() -> Option<IndentSteps>,
    ) -> Option<IndentMap> {
        let steps = steps()?;
        let is_even =
            |(old, file): &IndentPair<'_>| times(old, &steps.old.text).and(times(file, &steps.file)).is_some();
        let (even, odd): (Vec<IndentPair<'_>>, Vec<IndentPair<'_>>) = pairs.iter().copied().partition(is_even);
        let Some(IndentMap::Widths(mut widths)) = IndentMap::widths(&even, || Some(steps)) else { return None };
        for (old, file) in odd {
            let rest = widths.rest(old, file)?;
            if rest < widths.rest_end() {
                widths.odd.rests.insert(rest);
            } else {
                widths.odd.aligned.insert(old.to_owned());
            }
        }
        Some(IndentMap::Widths(widths))
    }

    /// Returns the indentation for one line of the new text; `first` is true for its first line.
    fn depth(&self, indent: &str, first: bool) -> Result<String, MatchRefusal> {
        match self {
            IndentMap::Verbatim => Ok(indent.to_owned()),
            IndentMap::Add(add) => Ok(format!("{add}{indent}")),
            IndentMap::Remove(take) => indent.strip_prefix(&**take).map(str::to_owned).ok_or_else(|| {
                misindent("a line of the new text is indented less than the extra indentation of the old text")
            }),
            IndentMap::Widths(widths) => widths.depth(indent),
            IndentMap::FirstLine { first: own, .. } if first => Ok(own.clone()),
            IndentMap::FirstLine { rest, .. } => rest.depth(indent, false),
        }
    }

    /// Returns lines of the new text at the file's depth, like [`IndentMap::apply`]; none of them is the first line of
    /// the text.
    pub(super) fn apply_all(&self, lines: &[&str]) -> Result<Vec<String>, MatchRefusal> {
        let mut room = INSERTED_BYTES_MAX;
        lines.iter().map(|line| self.apply(line, false, &mut room)).collect()
    }

    /// Returns a line of the new text at the file's depth; blank lines become empty. `room` is the number of bytes that
    /// further lines may have together: a deep indentation of many lines would multiply their size.
    pub(super) fn apply(&self, line: &str, first: bool, room: &mut usize) -> Result<String, MatchRefusal> {
        if *self == IndentMap::Verbatim {
            return Ok(line.to_owned());
        }
        if is_blank(line) {
            return Ok(String::new());
        }
        let indent = indent_of(line);
        let placed = self.depth(indent, first)? + &line[indent.len()..];
        *room = room.checked_sub(placed.len()).ok_or_else(|| {
            misindent(&format!("the new text would have more than {INSERTED_BYTES_MAX} bytes in that of the file"))
        })?;
        Ok(placed)
    }
}

/// True if indentation `a` is a proper prefix of indentation `b`.
fn is_deeper(a: &str, b: &str) -> bool {
    b.len() > a.len() && b.starts_with(a)
}

impl Widths {
    fn depth(&self, indent: &str) -> Result<String, MatchRefusal> {
        if self.odd.aligned.contains(indent) {
            return Err(misindent(
                "the new text has a line of the indentation of aligned lines, whose depth is unknown",
            ));
        }
        if let Some(file) = self.seen.get(indent) {
            return Ok(file.clone());
        }
        // Indentation that is not made of the caller's steps may be that of a line of the file.
        let is_foreign = || self.steps.as_ref().is_some_and(|steps| times(indent, &steps.old.text).is_none());
        let as_it_is = || (is_foreign() && self.seen.values().any(|file| file == indent)).then(|| indent.to_owned());
        self.extrapolated(indent)
            .or_else(as_it_is)
            .or_else(|| self.beyond_step(indent))
            .ok_or_else(|| misindent("the new text has an indentation that no line of the old text maps to the file"))
    }

    /// Returns the indentation for a depth of a step and a known number of spaces.
    fn beyond_step(&self, indent: &str) -> Option<String> {
        self.odd.rests.iter().find_map(|&rest| {
            let (level, spaces) = indent.split_at_checked(indent.len().checked_sub(rest)?)?;
            let is_rest = rest > 0 && spaces.bytes().all(|byte| byte == b' ');
            Some(self.level(level).filter(|_| is_rest)? + spaces)
        })
    }

    /// Returns the indentation of the file for a multiple of the step.
    fn level(&self, indent: &str) -> Option<String> {
        self.seen.get(indent).cloned().or_else(|| self.extrapolated(indent))
    }

    /// Returns the number of spaces that both sides have in addition to the deepest possible common level.
    fn rest(&self, old: &str, file: &str) -> Option<usize> {
        const RESTS_MAX: usize = 200;
        let spaces = |text: &str| text.len() - text.trim_end_matches(' ').len();
        (1..=spaces(old).min(spaces(file)).min(RESTS_MAX))
            .find(|rest| self.level(&old[..old.len() - rest]).is_some_and(|level| level == file[..file.len() - rest]))
    }

    /// Returns the number of spaces from which a depth could be another level.
    fn rest_end(&self) -> usize {
        const TAB_WIDTH: usize = 4;
        self.steps.as_ref().map_or(0, |steps| if steps.old.is_tab() { TAB_WIDTH } else { steps.old.text.len() })
    }

    fn extrapolated(&self, indent: &str) -> Option<String> {
        let IndentSteps { old: IndentStep { text: old_step, .. }, file: file_step } =
            self.steps.as_ref().filter(|_| self.has_ratio)?;
        let (wanted, base) = (times(indent, old_step)?, times(&self.base.0, old_step)?);
        let depth = (times(&self.base.1, file_step)? + wanted).checked_sub(base)?;
        // Wide steps multiply: a megabyte of spaces would become a terabyte.
        let is_bounded = depth.checked_mul(file_step.len()).is_some_and(|bytes| bytes <= INSERTED_BYTES_MAX);
        is_bounded.then(|| file_step.repeat(depth))
    }
}

impl IndentStep {
    fn is_tab(&self) -> bool {
        self.text == "\t"
    }

    /// True if this step may consist of levels of `width` bytes. A continued line is often deeper by two levels of four
    /// spaces.
    fn may_have(&self, width: usize) -> bool {
        const CONTINUED_INDENT_WIDTH: usize = 4;
        let is_several = !self.is_single || width == CONTINUED_INDENT_WIDTH || self.text.len() > INDENT_WIDTH_MAX;
        (1..=INDENT_WIDTH_MAX).contains(&width)
            && (self.text.len() == width || is_several && self.text.len().is_multiple_of(width))
    }
}

impl IndentSteps {
    /// Returns the width of the caller's level that corresponds to one step of the file, if the depths show it. `order`
    /// has different depths, the least first. Lengths are in bytes of one kind of whitespace.
    fn ratio(&self, order: &[IndentPair<'_>]) -> Option<usize> {
        let (&base, &deepest) = (order.first()?, order.last()?);
        if order.len() == 1 {
            return self.ratio_of_one(base);
        }
        let rises = |pair: IndentPair<'_>| (pair.0.len() - base.0.len(), pair.1.len() - base.1.len());
        let (old, file) = rises(deepest);
        let width = quotient(old * self.file.len(), file).filter(|&width| self.old.may_have(width))?;
        let agrees = order.iter().map(|&pair| rises(pair)).all(|(old, file)| old * self.file.len() == file * width);
        (agrees && base.0.len().is_multiple_of(width)).then_some(width)
    }

    /// Returns the width of the caller's level if only one depth is known. Either it is as many levels deep on both
    /// sides, or the text is moved by some levels, and its own steps show how wide a level is.
    fn ratio_of_one(&self, (old, file): IndentPair<'_>) -> Option<usize> {
        let (old, file) = (old.len(), file.len());
        let equal = quotient(old * self.file.len(), file).filter(|&width| self.old.may_have(width));
        // Spaces for each tab, or for each step of the file.
        let spaces = if self.old.is_tab() { quotient(file, old) } else { quotient(old * self.file.len(), file) };
        let is_moved = spaces.is_none_or(|width| width > INDENT_WIDTH_MAX)
            && self.old.is_single
            && self.old.text.len() <= INDENT_WIDTH_MAX
            && old.is_multiple_of(self.old.text.len());
        equal.or_else(|| is_moved.then_some(self.old.text.len()))
    }
}

/// Returns the exact quotient of two numbers, if there is one.
fn quotient(whole: usize, part: usize) -> Option<usize> {
    (part > 0 && whole.is_multiple_of(part)).then(|| whole / part)
}

/// Returns how many times `step` fits into `indent` exactly.
fn times(indent: &str, step: &str) -> Option<usize> {
    let count = indent.len() / step.len();
    (indent == step.repeat(count)).then_some(count)
}

fn misindent(why: &str) -> MatchRefusal {
    MatchRefusal::new(RefusalReason::Misindent, format!("The text occurs with different indentation, but {why}."))
}

/// Detects the indentation step: a tab, or the most frequent increase in spaces from one line to the next.
pub(super) fn step<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> Option<IndentStep> {
    let indents = lines.filter(|line| !is_blank(line)).map(indent_of);
    if indents.clone().any(|indent| indent.contains('\t')) {
        return Some(IndentStep { text: "\t".to_owned(), is_single: true });
    }
    step_of_depths(indents.map(str::len))
}

/// Detects the step of the lines that are indented only by spaces.
pub(super) fn step_in_spaces<'t>(lines: impl Iterator<Item = &'t str>) -> Option<String> {
    let depths = lines.filter_map(|line| {
        let depth = line.bytes().take_while(|byte| *byte == b' ').count();
        match line.as_bytes().get(depth)? {
            b'\t' => None,
            // Nearly every line is in this range; others may be blank with other characters.
            b'!'..=b'~' => Some(depth),
            _ => Some(depth).filter(|_| !is_blank(line)),
        }
    });
    step_of_depths(depths).map(|step| step.text)
}

/// Detects the step from depths in spaces, in the order of their lines.
fn step_of_depths(depths: impl Iterator<Item = usize>) -> Option<IndentStep> {
    let (mut rises, mut falls): (BTreeMap<usize, usize>, BTreeMap<usize, usize>) = Default::default();
    let (mut last, mut least) = (None, None::<usize>);
    for len in depths {
        if let Some(last) = last.filter(|&last| last != len) {
            let side = if last < len { &mut rises } else { &mut falls };
            *side.entry(len.abs_diff(last)).or_default() += 1;
        }
        least = Some(len).filter(|&len| len > 0).into_iter().chain(least).min();
        last = Some(len);
    }
    // The smallest of equally frequent increases; without increases, of decreases; without either, the smallest depth.
    let is_single = !rises.is_empty();
    let changes = if is_single { rises } else { falls };
    let most = changes.iter().max_by_key(|&(&rise, &count)| (count, core::cmp::Reverse(rise))).map(|(&rise, _)| rise);
    most.or(least).map(|len| IndentStep { text: " ".repeat(len), is_single })
}

/// Pairs the indentation of lines that are not blank.
pub(super) fn pairs<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<IndentPair<'a>> {
    lines.filter(|(old, _)| !is_blank(old)).map(|(old, file)| (indent_of(old), indent_of(file))).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        INSERTED_BYTES_MAX, IndentMap, IndentStep, IndentSteps, MatchRefusal, indent_of, step, step_in_spaces,
    };
    use proptest::prelude::*;

    fn at_depth(map: &IndentMap, line: &str) -> Result<String, MatchRefusal> {
        map.apply(line, false, &mut INSERTED_BYTES_MAX.clone())
    }

    fn steps(old: &str, file: &str) -> impl FnOnce() -> Option<IndentSteps> {
        let old = IndentStep { text: old.to_owned(), is_single: true };
        let steps = IndentSteps { old, file: file.to_owned() };
        move || Some(steps)
    }

    proptest! {
        #[test]
        fn indent_step_is_derived_from_space_indented_lines(
            lines in prop::collection::vec("[ ]{0,9}[\t ]{0,2}(\u{A0}|\u{2003}|\r|\u{1}|é|x y| |\t)?\r?", 0..30),
        ) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let spaced = lines.iter().copied().filter(|line| !indent_of(line).contains('\t'));
            prop_assert_eq!(step_in_spaces(lines.iter().copied()), step(spaced).map(|step| step.text));
        }
    }

    #[test]
    fn shift_is_a_common_prefix() {
        let map = IndentMap::shift(&[("", "  "), ("  ", "    ")]).unwrap();
        assert_eq!(at_depth(&map, "    x").unwrap(), "      x");
        let map = IndentMap::shift(&[("    ", "  "), ("      ", "    ")]).unwrap();
        assert_eq!(at_depth(&map, "    x").unwrap(), "  x");
        assert!(at_depth(&map, " x").is_err(), "a negative depth is refused");
        assert_eq!(IndentMap::shift(&[("", "  "), ("  ", "  ")]), None);
        assert_eq!(IndentMap::shift(&[("", ""), ("  ", "  ")]), Some(IndentMap::Verbatim));
    }

    #[test]
    fn indent_widths_map_one_to_one() {
        let map = IndentMap::widths(&[("", ""), ("    ", "\t")], steps("    ", "\t")).unwrap();
        assert_eq!(at_depth(&map, "        x").unwrap(), "\t\tx");
        assert_eq!(at_depth(&map, "  \t ").unwrap(), "");
        assert!(at_depth(&map, "  x").is_err(), "half a step");
        let two = IndentMap::widths(&[("    ", "  "), ("        ", "    ")], steps("    ", "  ")).unwrap();
        assert_eq!(at_depth(&two, "            x").unwrap(), "      x");
        for bad in [[("", ""), ("", "  ")], [("", "  "), ("  ", "  ")], [("", "    "), ("  ", "  ")]] {
            assert_eq!(IndentMap::widths(&bad, || None), None, "{bad:?}");
        }
        assert_eq!(IndentMap::widths(&[("", ""), ("    ", "      ")], steps("    ", "  ")), None);
    }

    #[test]
    fn spaces_beyond_a_step_are_kept() {
        let four = || steps("    ", "\t");
        let pairs = [("", ""), (" ", " "), ("    ", "\t"), ("             ", "\t         ")];
        let map = IndentMap::widths_beside_odd(&pairs, four()).unwrap();
        assert_eq!(at_depth(&map, "        x").unwrap(), "\t\tx");
        assert_eq!(at_depth(&map, " * x").unwrap(), " * x");
        assert_eq!(at_depth(&map, "         * x").unwrap(), "\t\t * x");
        for unknown in ["  x", "             x"] {
            assert!(at_depth(&map, unknown).is_err(), "{unknown}");
        }
        // The file has other spaces than the text, or an aligned line looks like a level.
        assert_eq!(IndentMap::widths_beside_odd(&[("", ""), ("    ", "\t"), ("     ", "\t  ")], four()), None);
        let map = IndentMap::widths_beside_odd(&[("    ", "\t"), ("            ", "\t        ")], four()).unwrap();
        assert!(at_depth(&map, "            x").is_err());
    }

    #[test]
    fn indentation_of_the_file_in_other_blanks_is_kept() {
        let wide = " ".repeat(12);
        let map = IndentMap::widths(&[("\t", &wide)], steps("\t", "    ")).unwrap();
        assert_eq!(at_depth(&map, &format!("{wide}x")).unwrap(), format!("{wide}x"));
        assert!(at_depth(&map, "     x").is_err());
    }

    #[test]
    fn deep_indentation_of_many_lines_is_refused() {
        let map = IndentMap::Add(" ".repeat(1000));
        let mut room = 2 * 1001;
        assert!(map.apply("x", false, &mut room).is_ok() && map.apply("x", false, &mut room).is_ok());
        assert!(map.apply("x", false, &mut room).is_err());
        // A step of the caller corresponds to a wide step of the file.
        let wide = " ".repeat(1 << 20);
        let map = IndentMap::widths(&[("", ""), (" ", &wide)], steps(" ", &wide)).unwrap();
        assert!(at_depth(&map, "   x").is_ok());
        assert!(at_depth(&map, &format!("{wide}x")).is_err());
    }

    #[test]
    fn indent_step_is_derived_from_increases() {
        let of = |text: &str| step(text.lines()).map(|step| step.text);
        assert_eq!(of("a\n  b\n    c\n   * d\n").as_deref(), Some("  "));
        assert_eq!(of("a\n\tb\n").as_deref(), Some("\t"));
        assert_eq!(of("    a\n    b\n").as_deref(), Some("    "));
        assert_eq!(of("a\nb\n"), None);
    }
}
