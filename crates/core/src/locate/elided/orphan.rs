//! A definition that the placeholder beside new lines keeps, although nothing uses it after the edit: the new lines may be
//! meant to replace it, and the text does not show that it goes.

use super::placement::{PlacedFragment, new_lines};
use super::{Fragment, TextPair, beside, blocks, fresh, indent};
use crate::locate::word_overlap;
use crate::work;
use core::ops::Range;
use foldhash::HashMap;

/// A definition next to new lines.
struct Neighbour<'a> {
    name: &'a str,
    /// The zero-based lines of the file, from the one with the name.
    lines: Range<usize>,
    /// True if the name is that of a function, so that only calls of it are uses.
    is_called: bool,
}

/// Refuses an edit that removes every use of a definition beside its new lines, or a member that such a definition uses.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    let mut changes = Uses::default();
    let mut neighbours = Vec::new();
    for it in placed {
        if work::spend_or_end(it.steps()) {
            return Ok(());
        }
        let new = new_lines(texts, &it.fragment.lines, &it.matched);
        if new.clone().next().is_some() {
            neighbours.extend(neighbours_of(texts, it.fragment, &it.old));
        }
        changes.count(it.removed().map(|at| texts.old[at]), -1);
        changes.count(new, 1);
    }
    // What the text shows is not hidden by a placeholder.
    let is_hidden = |at: usize| {
        let next = placed.partition_point(|it| it.old.end <= at);
        placed.get(next).is_none_or(|it| it.old.start > at)
    };
    neighbours.retain(|it| is_hidden(it.lines.start));
    if neighbours.is_empty() || !changes.has_removed() {
        return Ok(());
    }
    let mut uses = Uses::default();
    uses.count(texts.old.filled(), 1);
    neighbours.iter().try_for_each(|it| check_neighbour(texts, it, &is_hidden, &uses, &changes))
}

fn check_neighbour(
    texts: &TextPair<'_>,
    it: &Neighbour<'_>,
    is_hidden: &dyn Fn(usize) -> bool,
    uses: &Uses<'_>,
    changes: &Uses<'_>,
) -> Result<(), String> {
    let is_unused = |count: &dyn Fn(&Uses<'_>) -> isize| count(changes) < 0 && count(uses) + count(changes) == 1;
    let is_nested = indent(texts.old[it.lines.start]) > 0;
    if is_unused(&|uses| uses.of_word(it.name)) || it.is_called && is_unused(&|uses| uses.of_call(it.name, is_nested)) {
        return Err(format!(
            "Nothing would use `{}` any more, which line {} of the file defines, so the new lines beside that placeholder \
             may or may not replace it. Show it if it stays, or two unchanged lines on each side of it without it.",
            it.name,
            it.lines.start + 1
        ));
    }
    let lines = it.lines.clone().take_while(|&at| !work::spend_or_end(blocks::line_steps(texts.old[at])));
    for at in lines.filter(|&at| is_hidden(at)) {
        let is_removed = |word: &WordUse<'_>| {
            let (before, change) = (uses.of_member(word.text), changes.of_member(word.text));
            word.before.ends_with('.') && change < 0 && before + change == 0
        };
        if let Some(word) = words(texts.old[at]).find(is_removed) {
            return Err(format!(
                "The text removes `{}`, which line {} of the file uses, so the new lines beside that placeholder may or may \
                 not replace those there. Show them if they stay, or two unchanged lines on each side of them without them.",
                word.text,
                at + 1
            ));
        }
    }
    Ok(())
}

/// Returns the definitions of the file in the gaps directly beside a place; the first or last line of the place may close
/// one.
fn neighbours_of<'a>(texts: &TextPair<'a>, fragment: &Fragment, place: &Range<usize>) -> Vec<Neighbour<'a>> {
    let above = fragment.gaps[0].and_then(|_| {
        let first = texts.old.filled_below(place.start.checked_sub(1)?)?;
        let ends_above = place.contains(&first) && beside::is_signs(texts.old[first]);
        let last = if ends_above { first } else { texts.old.filled_above(place.start)? };
        Some(fresh::definition_ending_at(texts.old, last, indent(texts.old[last])))
    });
    let below = fragment.gaps[1].and_then(|_| {
        let next = texts.old.filled_below(place.end.checked_sub(1)?)?;
        let found = fresh::definition_at(texts.old, next)?;
        Some(found.header..found.lines.end)
    });
    let named = |lines: Range<usize>| {
        let header = texts.old[lines.start];
        let name = name(header)?;
        let is_called = words(header).any(|word| word.text == name && word.after.starts_with(['(', '<']));
        Some(Neighbour { name, lines, is_called })
    };
    above.into_iter().chain(below).filter_map(named).collect()
}

/// Returns the name that a line defines.
fn name(line: &str) -> Option<&str> {
    let name = beside::name_set(line).or_else(|| fresh::name(line))?;
    word_overlap::words(name).last()
}

/// A word of a line, and the text on both sides of it.
pub(super) struct WordUse<'a> {
    pub(super) text: &'a str,
    pub(super) before: &'a str,
    after: &'a str,
}

impl WordUse<'_> {
    /// True if the word may be a variable of this name: it is no member of something.
    pub(super) fn is_variable(&self, name: &str) -> bool {
        let is_member = self.before.ends_with('.') || self.after.starts_with(':') && !self.after.starts_with("::");
        self.text == name && !is_member
    }
}

/// Returns the words of a line.
pub(super) fn words(line: &str) -> impl Iterator<Item = WordUse<'_>> {
    let mut end = 0;
    word_overlap::words(line).map(move |text| {
        // Only signs are between two words.
        let start = line[end..].find(text).map_or(end, |at| end + at);
        end = start + text.len();
        WordUse { text, before: &line[..start], after: &line[end..] }
    })
}

/// How often words occur. Incomplete once the work has to end.
#[derive(Default)]
struct Uses<'a> {
    words: HashMap<&'a str, isize>,
    /// Words that are called or named as a part of something, such as `Self::name`.
    calls: HashMap<&'a str, isize>,
    /// Words in front of which is the name of a type, such as `Type::name`.
    calls_of_types: HashMap<&'a str, isize>,
    /// Words in front of a colon, such as the names of fields.
    members: HashMap<&'a str, isize>,
}

impl<'a> Uses<'a> {
    /// Adds `each` for every occurrence of a word.
    fn count(&mut self, lines: impl Iterator<Item = &'a str>, each: isize) {
        for line in lines.take_while(|line| !work::spend_or_end(1 + line.len())) {
            for word in words(line) {
                *self.words.entry(word.text).or_default() += each;
                if word.after.starts_with(['(', '<']) || word.before.ends_with(['.', ':']) {
                    let calls = if is_of_type(word.before) { &mut self.calls_of_types } else { &mut self.calls };
                    *calls.entry(word.text).or_default() += each;
                }
                if word.after.starts_with(':') && !word.after.starts_with("::") {
                    *self.members.entry(word.text).or_default() += each;
                }
            }
        }
    }

    fn has_removed(&self) -> bool {
        [&self.words, &self.calls, &self.calls_of_types, &self.members]
            .into_iter()
            .flatten()
            .any(|(_, count)| *count < 0)
    }

    fn of_word(&self, word: &str) -> isize {
        self.words.get(word).copied().unwrap_or_default()
    }

    /// Counts the calls of a function. One that is part of a type may have the type's name in front.
    fn of_call(&self, word: &str, is_nested: bool) -> isize {
        let of_types = self.calls_of_types.get(word).filter(|_| is_nested);
        self.calls.get(word).copied().unwrap_or_default() + of_types.copied().unwrap_or_default()
    }

    fn of_member(&self, word: &str) -> isize {
        self.members.get(word).copied().unwrap_or_default()
    }
}

/// True if a text ends with the name of a type other than `Self` and `::`.
fn is_of_type(before: &str) -> bool {
    let Some(path) = before.strip_suffix("::") else { return false };
    let owner = path.rsplit(|ch: char| !ch.is_alphanumeric() && ch != '_').next().unwrap_or_default();
    owner != "Self" && owner.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};

    const FILE: &str = "struct Box {\n    lid: Lid,\n    side: Side,\n}\n\nimpl Box {\n    fn open(&self) {\n        \
                        self.turn(now);\n    }\n\n    fn turn(&self, at: Time) {\n        let turn = self.side.of(at);\n        \
                        shown(turn)\n    }\n\n    fn close(&self) {\n        shut(self);\n    }\n}\n";

    #[test]
    fn only_calls_are_uses_of_a_function() {
        let new = "// ...\n    fn open(&self) {\n        swing(self, now);\n    }\n    // ...\n}\n";
        assert!(refuse(FILE, new, &[]).contains("Nothing would use `turn`"));
        let used = FILE.replace("shut(self)", "self.turn(then)");
        assert_eq!(edit(&used, new, &[]), used.replace("self.turn(now)", "swing(self, now)"));
    }

    #[test]
    fn definition_that_uses_a_removed_member_may_be_meant_to_go() {
        let new = "struct Box {\n    lid: Lid,\n}\n\nimpl Box {\n    fn open(&self) {\n        self.turn(later);\n    }\n    // ...\n}\n";
        assert!(refuse(FILE, new, &[]).contains("The text removes `side`"));
        let kept = new.replace("lid: Lid,\n", "lid: Lid,\n    side: Side,\n");
        assert_eq!(edit(FILE, &kept, &[]), FILE.replace("turn(now)", "turn(later)"));
    }

    #[test]
    fn definition_that_got_another_name_is_no_neighbour() {
        let file = FILE.replace("shut(self)", "self.turn(then)");
        let new = "// ...\n    fn open(&self) {\n        self.turn_it(now);\n    }\n\n    fn turn_it(&self, at: Time) {\n        let turn = \
                   self.side.of(at);\n        // ...\n    }\n\n    fn close(&self) {\n        self.turn_it(then);\n    }\n}\n";
        let want = file.replace("fn turn(", "fn turn_it(").replace("self.turn(", "self.turn_it(");
        assert_eq!(edit(&file, new, &[]), want);
    }
}
