//! A block with the first line of one in the file, whose definitions are others: it may be a second block, such as
//! another `impl` of a type, and the text does not show that the definitions of the first one go.

use super::old_lines::LOOKUP_STEPS;
use super::placement::PlacedFragment;
use super::{TextPair, blocks, fresh, indent, is_filled, lossless};
use crate::locate::word_overlap;
use crate::work;
use core::ops::Range;
use foldhash::HashSet;

/// Maximum number of lines of all blocks that are compared, nested ones once for each block around them.
const COMPARED_LINES_MAX: usize = 200_000;

/// Refuses an edit that replaces all definitions of a block by others.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    let mut room = COMPARED_LINES_MAX;
    for place in placed.iter().filter(|it| !it.old.is_empty()) {
        if work::spend_or_end(place.steps()) {
            return Ok(());
        }
        let lines = &place.fragment.lines;
        for line in lines.clone().filter(|&line| opens(texts.new[line])) {
            // The closing lines of the blocks may be paired rather than their first ones, so those are looked up.
            let &[at] = texts.old.places_of(texts.new[line]) else { continue };
            if !place.old.contains(&at) || work::spend_or_end(LOOKUP_STEPS) {
                continue;
            }
            let [new, old] = [(&texts.new[..lines.end], line), (&texts.old[..place.old.end], at)]
                .map(|(lines, header)| body(lines, header));
            room = room.saturating_sub(new.len() + old.len());
            if room == 0 {
                return Ok(());
            }
            if is_other(texts, &new, &old) {
                return Err(format!(
                    "The block on line {} of the text has none of the definitions of that on line {} of the file, so it may \
                     be a second one. Show the definitions that stay, or the lines around the block.",
                    line + 1,
                    at + 1
                ));
            }
        }
        check_replaced(texts, place)?;
    }
    Ok(())
}

/// Refuses a place at which a definition goes that the text does not name, while one of another name is new: of the lines
/// of the first one, at least half must stay, as those of a renamed one do.
fn check_replaced(texts: &TextPair<'_>, place: &PlacedFragment<'_>) -> Result<(), String> {
    let lines = &place.fragment.lines;
    let is_new = |line: &str| is_definition(line) && texts.old.places_of(line).is_empty();
    let Some(header) = lines.clone().find(|&at| is_new(texts.new[at])) else { return Ok(()) };
    let names: HashSet<&str> = texts.new[lines.clone()].iter().filter_map(|line| fresh::name(line)).collect();
    let matched: HashSet<usize> = place.matched.iter().flatten().copied().collect();
    for at in place.removed().filter(|&at| is_definition(texts.old[at])) {
        let is_named = fresh::name(texts.old[at]).is_none_or(|name| names.contains(name));
        let lines = body(&texts.old[..place.old.end], at);
        let significant = || lines.clone().filter(|&at| lossless::is_significant(texts.old[at]));
        if is_named
            || work::spend_or_end(lines.len())
            || 2 * significant().filter(|at| matched.contains(at)).count() >= significant().count()
        {
            continue;
        }
        return Err(format!(
            "Line {} of the text defines something new, and line {} of the file, which the text does not show, would be gone. \
             Show that definition if it stays, or two unchanged lines on each side of it without it.",
            header + 1,
            at + 1
        ));
    }
    Ok(())
}

/// True for the first line of a block that is no statement.
fn opens(line: &str) -> bool {
    line.trim_end().ends_with(['{', ':', '(']) && !fresh::is_statement(line)
}

/// Returns the deeper lines below the first line of a block.
fn body(lines: &[&str], header: usize) -> Range<usize> {
    let first = lines[header];
    let is_inside = |line: &&&str| !is_filled(line) || indent(line) > indent(first);
    let below = lines[header + 1..].iter().take_while(|line| !work::spend_or_end(blocks::line_steps(line)));
    let count = below.take_while(is_inside).count();
    header + 1..header + 1 + count
}

/// True if two blocks have definitions of different names, and no telling line in common.
fn is_other(texts: &TextPair<'_>, new: &Range<usize>, old: &Range<usize>) -> bool {
    let (old, new) = (&texts.old[old.clone()], &texts.new[new.clone()]);
    if work::spend_or_end(old.len() + new.len()) {
        return false;
    }
    let is_telling = |line: &&&str| !fresh::is_attached(line) && lossless::is_significant(line);
    let shown: HashSet<&str> = new.iter().filter(is_telling).map(|line| line.trim()).collect();
    if old.iter().filter(is_telling).any(|line| shown.contains(line.trim())) {
        return false;
    }
    let [old, new] = [old, new].map(definitions);
    !old.is_empty() && !new.is_empty() && old.is_disjoint(&new)
}

/// Returns the names of the definitions in the first level of a block.
fn definitions<'a>(lines: &[&'a str]) -> HashSet<&'a str> {
    let filled = || lines.iter().filter(|line| is_filled(line));
    let depth = filled().map(|line| indent(line)).min().unwrap_or_default();
    filled().filter(|line| indent(line) == depth && is_definition(line)).filter_map(|line| fresh::name(line)).collect()
}

/// True for the first line of a function or a type.
pub(super) fn is_definition(line: &str) -> bool {
    const WORDS: [&str; 20] = [
        "fn", "def", "func", "function", "fun", "class", "struct", "enum", "impl", "trait", "interface", "mod",
        "module", "namespace", "type", "test", "it", "describe", "sub", "macro_rules",
    ];
    let text = line.trim();
    let is_named = word_overlap::words(text).take(4).any(|word| WORDS.contains(&word));
    let has_body = text.ends_with('{')
        && text.split_once('(').is_some_and(|(before, _)| !before.contains(['.', '=', '|', '"', '\'']));
    let is_plain = !fresh::is_attached(line) && !fresh::is_statement(line);
    is_plain && (is_named && text.ends_with(['{', '(', ':', ')']) || has_body)
}

#[cfg(test)]
mod tests {
    use super::super::Extent;
    use super::super::tests::{edit, refuse};

    const FILE: &str = "struct Box {\n    lid: Lid,\n}\n\nimpl Box {\n    fn open(&self) {\n        turn(now);\n    }\n}\n\n\
                        fn last() {\n    stop();\n}\n";

    #[test]
    fn block_with_other_definitions_may_be_a_second_one() {
        let extents = [Extent { old: 4..9, new: 1..6 }];
        let new = "// ...\nimpl Box {\n    fn close(&self) {\n        shut(then);\n    }\n}\n// ...\n";
        assert!(refuse(FILE, new, &extents).contains("may be a second one"));
        let file = "struct Rule {\n    next: String,\n}\n\nenum Verdict {\n    Free,\n}\n\nimpl Rule {\n    /// Creates one.\n    \
                    pub(crate) fn new(text: String) -> Rule {\n        Rule { text }\n    }\n\n    fn of(other: &Rule) -> Rule {\n        \
                    other.clone()\n    }\n}\n";
        let second = "// ...\n    next: String,\n}\n\nimpl Rule {\n    /// The reason.\n    pub(crate) fn of_another() -> Rule {\n        Rule {\n            \
                   text: String::new(),\n        }\n    }\n}\n\n// ...\n";
        assert!(refuse(file, second, &[Extent { old: 8..17, new: 4..11 }]).contains("may be a second one"));
        assert!(refuse(file, second, &[]).contains("may be a second one"));
        // The last lines of a new function are those of the next one.
        let file = "fn one() {\n    begin()\n        .optional()\n}\n\nfn paths() {\n    let rows = query(PATHS);\n    let more = \
                    rows.next();\n    rows.collect()\n}\n\nfn last() {}\n";
        let added = "fn versions() {\n    let rows = query(VERSIONS);\n    let found = rows.map(read);\n    rows.collect()\n}\n";
        let version = format!("// ...\n        .optional()\n}}\n\n{added}\n// ...\n");
        assert!(refuse(file, &version, &[]).contains("defines something new, and line 6"));
        // A definition stays; the body of a function is another one.
        let kept = new.replace("impl Box {\n", "impl Box {\n    fn open(&self) {\n        shut(now);\n    }\n");
        let extents = [Extent { old: 4..9, new: 1..9 }];
        assert!(edit(FILE, &kept, &extents).contains("fn open(&self) {\n        shut(now);\n    }\n    fn close"));
        let new = "// ...\nfn last() {\n    let end = go();\n    end.wait();\n}\n";
        assert!(edit(FILE, new, &[]).ends_with("fn last() {\n    let end = go();\n    end.wait();\n}\n"));
    }
}
