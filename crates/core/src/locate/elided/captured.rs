//! Blocks that an edit would cut apart: lines that the file has in one block, and that would be in another one after
//! the edit, although nothing in the text takes them out of their own.
//!
//! Such a place was found by lines that several definitions have, such as their last ones.

use super::owners::{self, Owners};
use super::placement::PlacedFragment;
use super::{TextPair, beside, fresh, indent, is_filled, other_block, same};
use crate::locate::word_overlap;
use crate::work;
use core::ops::Range;
use foldhash::{HashMap, HashSet};

/// Maximum number of lines beside a place, in the same block, that are compared with new lines.
const BLOCK_LINES_MAX: usize = 50;
/// Number of lines beside a place among which another value of a name is looked for.
const BESIDE_LINES: usize = 4;

/// Refuses an edit that cuts a block apart, puts a line into its block twice, or replaces a definition that a
/// placeholder may keep by one of another name.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, gaps: &[usize], placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    if placed.is_empty() {
        return Ok(());
    }
    let old = Owners::of(texts.old, &(0..texts.old.len()));
    for (nth, place) in placed.iter().enumerate() {
        if work::spend_or_end(place.steps()) {
            return Ok(());
        }
        let above = nth.checked_sub(1).map_or(0, |nth| placed[nth].old.end);
        let below = placed.get(nth + 1).map_or(texts.old.len(), |next| next.old.start);
        let edit = BlockEdit {
            texts,
            place,
            hidden: [above..place.old.start.max(above), place.old.end..below.max(place.old.end)],
            old: &old,
            new: Owners::of(&texts.new, &place.fragment.lines),
            matched: aligned(texts, place),
        };
        edit.check_taken()?;
        edit.check_rest(gaps)?;
        edit.check_kept_twice()?;
        edit.check_renamed()?;
    }
    Ok(())
}

/// Returns the line of the file that each line of a fragment is. Where lines are only added, those above them are the
/// first ones that are equal.
fn aligned(texts: &TextPair<'_>, place: &PlacedFragment<'_>) -> Vec<Option<usize>> {
    let (start, new) = (place.fragment.lines.start, place.fragment.lines.clone());
    let filled: Vec<usize> = new.clone().filter(|&line| is_filled(texts.new[line])).collect();
    let old = texts.old.filled_in(&place.old);
    let is_same = |(at, line): &(&usize, &usize)| same(texts.old[**at], texts.new[**line]);
    let head = old.iter().zip(&filled).take_while(is_same).count();
    let tail = old[head..].iter().rev().zip(filled.iter().rev()).take_while(is_same).count();
    if head + tail < old.len() || filled.len() < old.len() {
        return place.matched.clone();
    }
    let mut out = vec![None; new.len()];
    let ends = old[..head].iter().zip(&filled).chain(old[head..].iter().rev().zip(filled.iter().rev()));
    for (at, line) in ends {
        out[line - start] = Some(*at);
    }
    out
}

/// A placed fragment, with the blocks on both sides.
struct BlockEdit<'e, 'a> {
    texts: &'e TextPair<'a>,
    place: &'e PlacedFragment<'e>,
    /// The lines of the file up to the fragments above and below.
    hidden: [Range<usize>; 2],
    old: &'e Owners,
    new: Owners,
    /// For each line of the fragment, the line of the file that it is.
    matched: Vec<Option<usize>>,
}

impl BlockEdit<'_, '_> {
    fn matched(&self, line: usize) -> Option<usize> {
        self.matched[line - self.place.fragment.lines.start]
    }

    /// The lines of the fragment that are new, and neither comments nor blank.
    fn new_lines(&self) -> impl Iterator<Item = usize> {
        let is_new = |line: &usize| {
            let text = self.texts.new[*line];
            self.matched(*line).is_none() && is_filled(text) && !owners::is_remark(text)
        };
        self.place.fragment.lines.clone().filter(is_new)
    }

    /// Refuses to put lines that a placeholder keeps the block of into a new block; or the last lines of a block that
    /// goes into another one, if nothing behind that block is shown: they may be other lines that are equal.
    fn check_taken(&self) -> Result<(), String> {
        let last = self.matched.iter().rev().flatten().copied().find(|&at| is_filled(self.texts.old[at]));
        for line in self.place.fragment.lines.clone() {
            let text = self.texts.new[line];
            let (Some(at), Some(header)) = (self.matched(line), self.new.of_line(line)) else { continue };
            if !is_filled(text) || owners::is_remark(text) {
                continue;
            }
            let owner = self.old.of_line(at);
            if let Some(owner) = owner.filter(|owner| self.place.old.contains(owner)) {
                let moves = self.matched(header).is_some_and(|old| old != owner && !self.old.encloses(old, owner))
                    && self.place.fragment.gaps[1].is_some()
                    && last.is_some_and(|last| last < self.old.end_of(owner))
                    && !self.matched.contains(&Some(owner));
                if !moves {
                    continue;
                }
            } else if self.matched(header).is_some() {
                continue;
            }
            // An equal line further above may be the one that is kept.
            let is_same = |above: usize| self.matched(above).is_none() && same(self.texts.new[above], text);
            let mut above = self.place.fragment.lines.start..header;
            if !above.any(|above| work::spend_or_end(1) || is_same(above)) {
                return Err(taken(header, at, owner));
            }
        }
        Ok(())
    }

    /// Refuses to cut the lines below the place off their block, or to keep them in a block that the text may show
    /// whole.
    fn check_rest(&self, gaps: &[usize]) -> Result<(), String> {
        let (texts, place) = (self.texts, self.place);
        let Some(gap) = place.fragment.gaps[1] else { return Ok(()) };
        let hidden = texts.old.filled_in(&self.hidden[1]).iter();
        let Some(&next) = hidden.clone().find(|&&at| !owners::is_remark(texts.old[at])) else { return Ok(()) };
        let (kept, owner) = (texts.old[next], self.old.of_line(next));
        if owners::continues(kept) {
            return Ok(());
        }
        let shown = owner.and_then(|owner| self.matched.iter().position(|at| *at == Some(owner)));
        let is_replaced = shown.is_none() && owner.is_some_and(|owner| place.old.contains(&owner));
        let from = shown.map_or(place.fragment.lines.start, |nth| place.fragment.lines.start + nth + 1);
        let cuts = |line: &usize| {
            let text = texts.new[*line];
            let is_around = indent(text) < indent(kept)
                || indent(text) == indent(kept) && owners::is_section(&texts.new, *line, place.fragment.lines.end);
            *line >= from && is_around && !owners::continues(text)
        };
        if let Some(header) = self.new_lines().find(cuts).filter(|_| !is_replaced) {
            return Err(taken(header, next, owner));
        }
        // A statement has no end of its own: what the text does not show stays.
        let is_whole = |owner: &usize| place.old.contains(owner) && !fresh::is_statement(texts.old[*owner]);
        let Some(owner) = owner.filter(is_whole) else { return Ok(()) };
        let depth = indent(texts.old[owner]);
        let is_closed = indent(texts.old[self.old.end_of(owner) - 1]) <= depth;
        let mut below = (place.fragment.lines.end..texts.new.len()).filter(|line| gaps.binary_search(line).is_err());
        let goes_on =
            below.find(|&line| is_filled(texts.new[line])).is_some_and(|line| indent(texts.new[line]) > depth);
        if gap > depth || is_closed || goes_on || self.ends_with_definition(depth) {
            return Ok(());
        }
        Err(format!(
            "The placeholder below line {} of the text is outside of what begins on line {} of the file, so it is not clear \
             whether line {} of the file stays. Indent the placeholder as the lines that stay, or show the last line.",
            place.fragment.lines.end,
            owner + 1,
            next + 1
        ))
    }

    /// True if the last lines of the fragment are a definition that is deeper than `depth`.
    fn ends_with_definition(&self, depth: usize) -> bool {
        let Some(mut line) = self.place.fragment.lines.clone().rev().find(|&line| is_filled(self.texts.new[line]))
        else {
            return false;
        };
        while let Some(owner) = self.new.of_line(line).filter(|&owner| indent(self.texts.new[owner]) > depth) {
            line = owner;
        }
        other_block::is_definition(self.texts.new[line])
    }

    /// Refuses to add a line to a block in which a placeholder keeps an equal one, or another value of the same name.
    fn check_kept_twice(&self) -> Result<(), String> {
        let texts = self.texts;
        let (mut lines, mut names) = (HashMap::default(), HashMap::default());
        for line in self.new_lines().filter(|&line| !beside::is_signs(texts.new[line])) {
            let Some(owner) = self.new.of_line(line).and_then(|header| self.matched(header)) else { continue };
            lines.entry((owner, texts.new[line].trim_end())).or_insert(line);
            if let Some(name) = beside::name_set(texts.new[line]) {
                names.entry((owner, name)).or_insert(line);
            }
        }
        // A line that replaces one of the same name sets no name again.
        for at in self.place.removed() {
            if let (Some(owner), Some(name)) = (self.old.of_line(at), beside::name_set(texts.old[at])) {
                names.remove(&(owner, name));
            }
        }
        let [above, below] = self.hidden.each_ref().map(|lines| texts.old.filled_in(lines).iter().copied());
        let above = above.rev().take(BLOCK_LINES_MAX).enumerate().filter(|_| self.place.fragment.gaps[0].is_some());
        let below = below.take(BLOCK_LINES_MAX).enumerate().filter(|_| self.place.fragment.gaps[1].is_some());
        for (nth, at) in above.chain(below) {
            let kept = texts.old[at];
            let Some(owner) = self.old.of_line(at).filter(|_| !work::spend_or_end(1 + kept.len())) else { continue };
            let name = beside::name_set(kept).filter(|_| nth < BESIDE_LINES);
            let again = lines.get(&(owner, kept.trim_end())).or_else(|| names.get(&(owner, name?)));
            if let Some(line) = again.filter(|&&line| indent(texts.new[line]) == indent(kept)) {
                return Err(format!(
                    "Line {} of the text is like line {} of the file, which the placeholder beside it keeps, so what begins \
                     on line {} would have both. Show the lines there as well.",
                    line + 1,
                    at + 1,
                    owner + 1
                ));
            }
        }
        Ok(())
    }

    /// Refuses to replace a definition by one of another name if a placeholder may stand for the old one, so that the
    /// new one is in addition.
    fn check_renamed(&self) -> Result<(), String> {
        let (texts, place) = (self.texts, self.place);
        let is_header = |owners: &Owners, line: &str, at: usize| {
            (owners.begins_block(at) || other_block::is_definition(line))
                && !owners::continues(line)
                && !owners::is_remark(line)
                && !fresh::is_statement(line)
        };
        let headers = || place.fragment.lines.clone().filter(|&at| is_header(&self.new, texts.new[at], at));
        let new: Vec<usize> = headers().filter(|&at| self.matched(at).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let names: HashSet<&str> = headers().filter_map(|at| name(texts.new[at])).collect();
        let is_code = |at: &usize| is_filled(texts.old[*at]) && !owners::is_remark(texts.old[*at]);
        let mut kept = self.matched.iter().flatten().copied().filter(is_code);
        let first = kept.next();
        let last = kept.last().or(first);
        for at in place.removed().filter(|&at| is_header(self.old, texts.old[at], at)) {
            let header = texts.old[at];
            if name(header).is_none_or(|name| names.contains(name)) || work::spend_or_end(new.len()) {
                continue;
            }
            let is_like = |line: &&usize| indent(texts.new[**line]) == indent(header);
            let Some(&line) = new.iter().find(is_like) else { continue };
            let is_above = place.fragment.gaps[0].is_some() && first.is_none_or(|first| first >= at);
            let is_below = place.fragment.gaps[1].is_some_and(|gap| gap <= indent(header))
                && last.is_none_or(|last| last < self.old.end_of(at));
            if is_above || is_below {
                return Err(format!(
                    "Line {} of the text defines something new, and line {} of the file, which the text does not show, \
                     would be gone, or the placeholder beside it keeps that. Show that definition if it stays, or the \
                     definitions above and below it without it.",
                    line + 1,
                    at + 1
                ));
            }
        }
        Ok(())
    }
}

/// Returns the name that the first line of a definition or a section gives it.
fn name(header: &str) -> Option<&str> {
    const WORDS: [&str; 10] =
        ["class", "struct", "enum", "trait", "interface", "module", "namespace", "type", "impl", "def"];
    let text = header.trim();
    if text.starts_with('[') {
        return Some(text);
    }
    if let Some(name) = beside::name_set(header) {
        return word_overlap::words(name).last();
    }
    if text.contains(['(', '"', '\'', '`']) {
        return fresh::name(header);
    }
    let mut words = word_overlap::words(text);
    let named = words.by_ref().any(|word| WORDS.contains(&word)).then(|| words.find(|word| *word != "self"));
    named.flatten().or_else(|| word_overlap::words(text).last())
}

/// Describes a line of the file that would go to another block.
fn taken(header: usize, at: usize, owner: Option<usize>) -> String {
    let of = owner
        .map_or_else(|| " of the code around it".to_owned(), |owner| format!(" of what begins on line {}", owner + 1));
    format!(
        "What begins on line {} of the text would get line {} of the file, which is a part{}. Show \
         the first line of the definition around the change, or the lines above and below new ones.",
        header + 1,
        at + 1,
        of
    )
}

#[cfg(test)]
mod tests {
    use super::super::Extent;
    use super::super::tests::{edit, refuse};

    const PYTHON: &str =
        "def one():\n    a()\n    return 1\n\ndef two():\n    b()\n    g()\n    return x\n\ndef three():\n    c()\n";

    #[test]
    fn new_definition_takes_no_lines_of_another_one() {
        let fresh = "# ...\n\ndef fresh():\n    g()\n    return x\n\n# ...\n";
        assert!(refuse(PYTHON, fresh, &[]).contains("line 7 of the file, which is a part of what begins"));
        refuse(PYTHON, &fresh.replace("    return", "    q()\n    return"), &[]);
        let class = "class K {\n    int a() {\n        p();\n        return x;\n    }\n\n    int b() {\n        q();\n        \
                     return y;\n    }\n}\n";
        let new = "class K {\n    // ...\n\n    int n() {\n        return y;\n    }\n}\n";
        refuse(class, new, &[]);
        // Its lines are no lines of the last method.
        let want = class.replace("    }\n}\n", "    }\n\n    int n() {\n        return z;\n    }\n}\n");
        assert_eq!(edit(class, &new.replace('y', "z"), &[]), want);
        let toml = "[a]\nk = 1\n\n[b]\ny = 2\nx = 3\n\n[c]\nz = 4\n";
        refuse(toml, "# ...\n\n[b]\ny = 2\n\n[fresh]\nw = 5\n\n# ...\n", &[]);
        refuse(toml, "# ...\n\n[fresh]\nw = 5\nx = 3\n\n# ...\n", &[]);
        // A function that is cut in two.
        let new = "# ...\ndef two():\n    b()\n\ndef fresh():\n    g()\n    return x\n\n# ...\n";
        assert!(edit(PYTHON, new, &[]).contains("    b()\n\ndef fresh():\n    g()\n"));
    }

    #[test]
    fn rest_of_a_block_is_not_cut_off() {
        let new = "# ...\n    b()\n\ndef fresh():\n    q()\n\n# ...\n";
        assert!(refuse(PYTHON, new, &[]).contains("line 7 of the file, which is a part of what begins"));
        // The text may show all of `two`.
        let whole = "# ...\n\ndef two():\n    w()\n    b()\n\n# ...\n";
        assert!(refuse(PYTHON, whole, &[]).contains("whether line 7 of the file stays"));
        assert_eq!(
            edit(PYTHON, &whole.replace("    b()\n\n# ", "    b()\n    # "), &[]),
            PYTHON.replace("    b()", "    w()\n    b()")
        );
    }

    #[test]
    fn equal_last_lines_do_not_delete_definitions() {
        let file = "class K:\n    def a(self):\n        call(a)\n        s()\n        z.run(1)\n    def b(self):\n        return x\n    def c(self):\n        z.run(1)\n        return y\n    def d(self):\n        return x\n";
        let new = "class K:\n    def a(self):\n        s()\n        z.run(1)\n        return y\n    # ...\n";
        refuse(file, new, &[]);
    }

    #[test]
    fn definition_in_place_of_another_one_may_be_added() {
        let toml = "[a]\nk = 1\n\n[b]\ny = 2\nx = 3\n\n[c]\nz = 4\n";
        let new = "[a]\nk = 1\n\n[fresh]\ny = 2\n\n# ... existing code ...\n";
        assert!(refuse(toml, new, &[]).contains("line 4 of the file, which the text does not show"));
        let class = "class K {\n    int a() {\n        prepare();\n        return x;\n    }\n\n    int b() {\n        q();\n    }\n}\n";
        let new = "class K {\n    int n() {\n        prepare();\n        return x;\n    }\n\n    // ...\n}\n";
        refuse(class, new, &[]);
        // The definitions on both sides are shown, or the placeholder is inside.
        let shown = new.replace("    // ...", "    int b() {\n        // ...\n    }");
        assert_eq!(edit(class, &shown, &[]), class.replace("int a", "int n"));
        let inside = "class K {\n    int n() {\n        prepare();\n        // ...\n    }\n\n    int b() {\n        r();\n    }\n}\n";
        assert_eq!(edit(class, inside, &[]), class.replace("int a", "int n").replace("q()", "r()"));
    }

    #[test]
    fn line_that_its_block_keeps_is_not_added_to_it() {
        let yaml = "a:\n  x: 1\n  y: 2\n  q: 3\n\nb:\n  x: 7\n\nc:\n  z: 1\n";
        let symbols = [
            Extent { old: 0..4, new: 0..4 },
            Extent { old: 1..2, new: 3..4 },
            Extent { old: 2..3, new: 1..2 },
            Extent { old: 3..4, new: 2..3 },
        ];
        let new = "a:\n  y: 2\n  q: 3\n  x: 1\n\n# ...\n\nc:\n  z: 2\n";
        refuse(yaml, new, &symbols);
        refuse(yaml, &new.replace("y: 2", "y: 3").replace("# ", "  # "), &[]);
    }
}
