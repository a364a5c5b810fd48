//! New lines at an end of a fragment that is next to a placeholder: the line of the file beside which they go.

use super::kept_line::KeptLine;
use super::placement::{FRAGMENT_STEPS, is_known};
use super::{Fragment, TextPair, fresh, indent, is_filled, same};
use crate::locate::{omission, word_overlap};
use crate::work;
use core::ops::{Range, RangeInclusive};
use foldhash::HashSet;

/// Blank lines between a placeholder and the lines below it.
const BLANK_LINES_MAX: usize = 1_000;
/// Number of lines of the file in a gap that are compared with the new lines next to it.
const KEPT_LINES: usize = 4;
/// Lines of the file that new lines next to a placeholder may replace.
const REPLACED_LINES_MAX: usize = 20;
/// Lines of a statement that ends above new ones.
const STATEMENT_LINES_MAX: usize = 100;
/// Lines without a word at the beginning of a fragment.
const CLOSING_LINES_MAX: usize = 20;

/// The line of the file at which a fragment with new lines at one end begins or ends. They go beside the first line behind
/// them, or the last one in front of them, which must be in one place only. Lines of the file in the gap that set the
/// same names as all of them are replaced. `None` where the file has one of the new lines elsewhere, or where one of its
/// lines in the gap looks like one of them and may be what they replace.
pub(super) fn beside_new(texts: &TextPair<'_>, lines: &Range<usize>, at_start: bool) -> Option<usize> {
    // Once the call has to end, the other fragments are not examined.
    if work::spend_or_end(FRAGMENT_STEPS) {
        return None;
    }
    let anchor = anchor(texts, lines, at_start)?;
    let place = texts.only_place(anchor, lines, at_start).or_else(|| changed_header(texts, anchor))?;
    let fresh = if at_start { lines.start..anchor } else { anchor + 1..lines.end };
    let fresh: Vec<&str> = texts.new[fresh].iter().copied().filter(|line| is_filled(line)).collect();
    if let Some(replaced) = set_again(texts, lines, &fresh, place, at_start) {
        return Some(replaced);
    }
    let kept = kept_lines(texts, place, at_start);
    let (nearest, further) = (kept.first(), kept.get(1..).unwrap_or_default());
    let is_entry = at_start && is_entry(texts, lines.start, anchor, place, &fresh);
    let may_be = |old: &KeptLine<'_>, line: &str| {
        if is_entry { old.shares_words(line) || lacks_comma(texts, place, old.text, line) } else { old.is_like(line) }
    };
    if let Some(replaced) = returned_again(texts, &fresh, place).filter(|_| at_start) {
        return Some(replaced);
    }
    if at_start && never_runs(texts, &fresh, place)
        || nearest.is_some_and(|old| is_part_of(old.text, &mut fresh.iter().copied()))
    {
        return None;
    }
    let is_there = |line: &str| !is_signs(line) && texts.old.has_bare(line);
    let is_doubtful = |line: &&str| {
        is_there(line)
            || nearest.is_some_and(|old| may_be(old, line))
            || !is_entry && further.iter().any(|old| old.is_rewritten_as(line))
    };
    (!fresh.iter().any(is_doubtful)).then_some(place)
}

/// The lines of the file in the gap next to a place, the nearest first. The gap ends at a line that the text shows.
fn kept_lines<'a>(texts: &TextPair<'a>, place: usize, above: bool) -> Vec<KeptLine<'a>> {
    let (rows, count) = (texts.old, texts.old.len());
    let is_kept = |line: &&str| !texts.shows(line);
    if above {
        let lines = rows.filled_in(&(0..place)).iter().rev();
        lines.take(KEPT_LINES).map(|&at| rows[at]).take_while(is_kept).map(KeptLine::of).collect()
    } else {
        let lines = rows.filled_in(&(place + 1..count)).iter();
        lines.take(KEPT_LINES).map(|&at| rows[at]).take_while(is_kept).map(KeptLine::of).collect()
    }
}

/// The line of the file at which a fragment begins with lines that close something, and then with definitions that the file
/// does not have: they are added in front of what follows them, with the same lines above.
pub(super) fn after_closing_lines(texts: &TextPair<'_>, fragment: &Fragment) -> Option<usize> {
    let Range { start, end } = fragment.lines;
    if work::spend_or_end(FRAGMENT_STEPS) {
        return None;
    }
    let closing = (start..end).take(CLOSING_LINES_MAX + 1).take_while(|&at| is_signs(texts.new[at])).count();
    let closed: Vec<&str> = texts.new[start..start + closing].iter().copied().filter(|line| is_filled(line)).collect();
    if closed.is_empty() || closing > CLOSING_LINES_MAX || start + closing == end {
        return None;
    }
    let rest = Fragment { lines: start + closing..end, gaps: fragment.gaps };
    let place = fresh::next_known_line(texts, &rest)?;
    let above = texts.old.filled_in(&(0..place));
    let above = &above[above.len().checked_sub(closed.len())?..];
    let is_same = above.iter().zip(&closed).all(|(&at, new)| same(texts.old[at], new));
    above.first().copied().filter(|_| is_same)
}

/// The outermost line of the file next to a place, if as many lines there as are new set the names that these set.
fn set_again(
    texts: &TextPair<'_>,
    lines: &Range<usize>,
    fresh: &[&str],
    place: usize,
    at_start: bool,
) -> Option<usize> {
    let count = fresh.len();
    let is_same = |(old, new): (&&str, &&str)| sets_again(old, new) && !texts.shows(old);
    let is_short = (1..=REPLACED_LINES_MAX).contains(&count) && fresh.iter().all(|line| name_set(line).is_some());
    if !is_short || texts.reindented || work::spend_or_end(REPLACED_LINES_MAX) {
        return None;
    }
    // A name that is set several times, such as that of each result in a test, is another one each time.
    let names: HashSet<&str> = fresh.iter().filter_map(|line| name_set(line)).collect();
    let mut set =
        texts.new[lines.clone()].iter().take_while(|line| !work::spend_or_end(1 + line.len() / work::STEP_BYTES));
    if set.by_ref().filter_map(|line| name_set(line)).filter(|name| names.contains(name)).count() != count {
        return None;
    }
    let old = if at_start {
        let above = texts.old.filled_in(&(0..place));
        above.get(above.len().checked_sub(count)?..)?
    } else {
        texts.old.filled_in(&(place + 1..texts.old.len())).get(..count)?
    };
    let outermost = if at_start { *old.first()? } else { *old.last()? };
    let lines = old.iter().map(|&at| &texts.old[at]);
    lines.zip(fresh).all(is_same).then_some(outermost)
}

/// The hidden line above a place that the only new line there replaces: both leave the body, so that what follows the first
/// one would never run.
fn returned_again(texts: &TextPair<'_>, fresh: &[&str], place: usize) -> Option<usize> {
    let &[new] = fresh else { return None };
    let above = texts.old.filled_above(place)?;
    let old = texts.old[above];
    let is_whole = |line: &str| !line.trim_end().ends_with(['(', '{', '[', ',', '\\']);
    let is_same_word = word_overlap::words(old).next() == word_overlap::words(new).next();
    let leaves = ends_body(old) && is_same_word && indent(old) == indent(new);
    (leaves && is_whole(old) && is_whole(new) && !texts.shows(old) && !texts.reindented).then_some(above)
}

/// True for new lines behind a statement that leaves the body: they are meant to replace it, or to be in front of it.
fn never_runs(texts: &TextPair<'_>, fresh: &[&str], place: usize) -> bool {
    let Some(depth) = fresh.first().map(|line| indent(line)) else { return false };
    let above = texts.old.filled_in(&(0..place)).iter().rev().take(STATEMENT_LINES_MAX).map(|&at| texts.old[at]);
    let mut above = above.take_while(|line| !work::spend_or_end(1) && indent(line) >= depth && !texts.shows(line));
    above.find(|line| indent(line) == depth && !is_signs(line)).is_some_and(ends_body)
}

/// True if new lines contain all words of a line, such as the only import of a list that they begin.
pub(super) fn is_part_of(line: &str, new: &mut dyn Iterator<Item = &str>) -> bool {
    const WORDS: RangeInclusive<usize> = 2..=100;
    let words = || word_overlap::words(line).take(WORDS.end() + 1);
    if work::spend_or_end(1) || !WORDS.contains(&words().count()) {
        return false;
    }
    let mut missing: HashSet<&str> = words().collect();
    for line in new.take_while(|line| !work::spend_or_end(1 + line.len() / work::STEP_BYTES)) {
        for word in word_overlap::words(line) {
            missing.remove(word);
        }
    }
    missing.is_empty()
}

/// True when a line sets the name that another one sets, each with a value that ends on the line.
pub(super) fn sets_again(old: &str, new: &str) -> bool {
    let is_whole = |line: &str| {
        let ends_open = line.trim_end().ends_with(['=', '+', '-', '*', '|', '&', '\\', '.', ':', '?', '<', '>']);
        let depth = line.bytes().fold(0isize, |depth, sign| match sign {
            b'{' | b'(' | b'[' => depth + 1,
            b'}' | b')' | b']' => depth - 1,
            _ => depth,
        });
        depth == 0 && !ends_open && !line.contains(['`', '#']) && !line.contains("//") && !line.contains("\"\"\"")
    };
    name_set(new).is_some_and(|name| name_set(old) == Some(name))
        && indent(old) == indent(new)
        && is_whole(old)
        && is_whole(new)
}

/// Returns the text before the sign by which a line sets a value, such as `const limit =` or `"version":`.
pub(super) fn name_set(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let at = text.find(['=', ':'])?;
    let (name, rest) = text.split_at(at);
    let is_sign = !rest.starts_with("==") && !rest.starts_with("=>") && !rest.starts_with("::");
    let is_plain = |ch: char| ch.is_alphanumeric() || " _-.\"'$@*&".contains(ch);
    (is_sign && name.contains(char::is_alphanumeric) && name.chars().all(is_plain)).then(|| name.trim_end())
}

/// True for a fragment whose last line closes what only the fragment opens.
pub(super) fn ends_new_block(texts: &TextPair<'_>, lines: &Range<usize>) -> bool {
    let last = lines.end - 1;
    if work::spend_or_end(1) {
        return false;
    }
    let is_skipped = || anchor(texts, lines, false).is_some_and(|at| at < last && !is_signs(texts.new[at]));
    is_signs(texts.new[last]) && is_known(texts, last) && is_skipped()
}

/// The first line of a fragment that the file has, or the last one. A line of signs that closes a block in which all lines
/// are new is new, even if the file has such a line.
fn anchor(texts: &TextPair<'_>, lines: &Range<usize>, at_start: bool) -> Option<usize> {
    let openers = openers(&texts.new[lines.clone()])?;
    let is_anchor = |at: usize| is_known(texts, at) || changed_header(texts, at).is_some();
    let mut anchors = vec![0];
    anchors.extend(lines.clone().scan(0, |count, at| {
        *count += usize::from(!is_signs(texts.new[at]) && is_anchor(at));
        Some(*count)
    }));
    let is_found = |at: &usize| {
        let at = *at - lines.start;
        let closes_new = openers[at].is_some_and(|opener| anchors[opener] == anchors[at]);
        is_anchor(lines.start + at) && !closes_new
    };
    if at_start { lines.clone().find(is_found) } else { lines.clone().rev().find(is_found) }
}

/// For each line of signs that closes a bracket, the line that opens it. Nothing is known behind a line with brackets in
/// a text. `None` if that is too much work.
fn openers(lines: &[&str]) -> Option<Vec<Option<usize>>> {
    let mut open: Vec<usize> = Vec::new();
    let mut out = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        if work::spend_or_end(1 + line.len()) {
            return None;
        }
        let mut opener = None;
        if !is_comment(line) {
            if has_quoted_bracket(line) {
                return Some(out.into_iter().chain(lines[at..].iter().map(|_| None)).collect());
            }
            for sign in line.bytes() {
                match sign {
                    // The next part of a statement, such as `} else {`, belongs to what it began with.
                    b'{' | b'(' | b'[' => open.push(opener.unwrap_or(at)),
                    b'}' | b')' | b']' => {
                        // A pair of brackets within the line, such as the call in `})();`, opens nothing above.
                        let opened = open.pop().filter(|opened| *opened != at);
                        opener = opener.or(opened);
                    }
                    _ => {}
                }
            }
        }
        out.push(opener.filter(|_| is_signs(line)));
    }
    Some(out)
}

/// True for a line in which a bracket may be part of a text or a comment.
fn has_quoted_bracket(line: &str) -> bool {
    let brackets = |text: &str| text.bytes().filter(|sign| b"{}()[]".contains(sign)).count();
    let all = brackets(line);
    let outside = line.split(['"', '\'', '`']).step_by(2).map(brackets).sum::<usize>();
    all > 0 && (outside != all || line.contains("//") || line.contains("/*"))
}

/// The line of the file with the header of a definition that both texts have with one name and with the same opening.
fn changed_header(texts: &TextPair<'_>, at: usize) -> Option<usize> {
    let old = texts.beginning_at(at).map(|symbol| symbol.old.start).next()?;
    let [before, after] = [texts.old.get(old)?, texts.new.get(at)?].map(|line| line.trim_end());
    let is_opening = |line: &str| line.ends_with(['{', ':']) && !is_comment(line);
    let is_same = before.bytes().last() == after.bytes().last() && fresh::name(before) == fresh::name(after);
    (is_opening(before) && is_opening(after) && is_same).then_some(old)
}

/// True for new entries at the end of a block whose other entries a placeholder in words means.
fn is_entry(texts: &TextPair<'_>, start: usize, anchor: usize, place: usize, fresh: &[&str]) -> bool {
    let placeholder = texts.new[..start].iter().rev().take(BLANK_LINES_MAX).find(|line| is_filled(line));
    let (Some(placeholder), Some(first)) = (placeholder, fresh.first()) else { return false };
    let is_deeper = fresh.iter().all(|line| indent(line) > indent(texts.new[anchor]));
    let neighbour = place.checked_sub(1).map(|at| texts.old[at]);
    is_deeper
        && is_signs(texts.new[anchor])
        && !omission::is_elision(placeholder)
        && !fresh::is_statement(first)
        && neighbour.is_some_and(|line| indent(line) == indent(first) && !ends_body(line))
}

/// True for a line behind which nothing of a body is reached.
fn ends_body(line: &str) -> bool {
    let word = line.trim_start().split(|ch: char| !ch.is_alphanumeric()).next().unwrap_or_default();
    ["return", "break", "continue", "throw", "raise", "goto", "panic", "exit"].contains(&word)
}

/// True for an entry of a list that needs a comma before another one follows it.
fn lacks_comma(texts: &TextPair<'_>, place: usize, old: &str, new: &str) -> bool {
    let has_comma = |line: &str| line.trim_end().ends_with(',');
    let above = place.checked_sub(2).map(|at| texts.old[at]);
    let is_list = has_comma(new) || old.trim_start().starts_with(['"', '\'']) || above.is_some_and(has_comma);
    is_list && !has_comma(old)
}

/// True for a line without a word.
pub(super) fn is_signs(line: &str) -> bool {
    !line.contains(char::is_alphanumeric)
}

fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    ["//", "#", "*", "/*", "--", ";"].iter().any(|sign| text.starts_with(sign))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};

    const STRUCT: &str = "struct Tap {\n    flow: Rate,\n    cold: Pipe,\n}\n\nfn turn(tap: &Tap) {\n    \
                          open(tap);\n    tap.wait();\n    close(tap);\n}\n";

    #[test]
    fn new_entry_behind_a_placeholder_in_words_is_added() {
        let new = "struct Tap {\n    // ... existing fields ...\n    level: Depth,\n}\n\n// ... existing code ...\n";
        let extents = [super::super::Extent { old: 0..4, new: 0..4 }];
        assert_eq!(edit(STRUCT, new, &extents), STRUCT.replace("Pipe,\n", "Pipe,\n    level: Depth,\n"));
        let retyped = new.replace("level", "cold").replace("Depth", "Water");
        assert_eq!(edit(STRUCT, &retyped, &extents), STRUCT.replace("Pipe", "Water"));
        // Only dots, or the last field under another name, or a list without a comma at its end.
        refuse(STRUCT, &new.replace("existing fields ...", ""), &extents);
        refuse(STRUCT, &new.replace("Depth", "Pipe"), &extents);
        let json = "{\n  \"a\": 1,\n  \"b\": 2\n}\n";
        refuse(json, "{\n  // ... existing entries ...\n  \"c\": 3\n}\n", &[]);
    }

    #[test]
    fn line_that_sets_a_name_again_replaces_it() {
        let file = "// Limits.\nconst most = 10;\nconst least = 1;\n\nrun(most);\nstop(least);\n";
        let new = "// Limits.\nconst most = 20;\n// ... existing code ...\nstop(least);\n";
        assert_eq!(edit(file, new, &[]), file.replace("10", "20"));
        let new = "// ...\nconst least = 2;\n\nrun(most);\n// ... rest of the file ...\n";
        assert_eq!(edit(file, new, &[]), file.replace("least = 1", "least = 2"));
        // Another name, and a value that goes on.
        refuse(file, "// Limits.\nlet most = 20;\n// ... existing code ...\nstop(least);\n", &[]);
        refuse("a();\nb = f(\n  1);\nc();\n", "a();\nb = g;\n// ... existing code ...\nc();\n", &[]);
        let first = "const a = 1;\nfunction go() {\n  return a;\n}\n";
        assert_eq!(edit(first, "const a = 2;\n// ... existing code ...\n", &[]), first.replace('1', "2"));
    }

    #[test]
    fn last_statement_that_leaves_the_body_replaces_the_one_above() {
        let file = "function total(a) {\n  const sum = first(a);\n  log(sum);\n  return sum;\n}\n";
        let new = "function total(a) {\n  // ... existing code ...\n  return Math.max(sum, 0);\n}\n";
        assert_eq!(edit(file, new, &[]), file.replace("return sum", "return Math.max(sum, 0)"));
        // The last one goes on below.
        refuse(&file.replace("return sum;", "return (\n    sum\n  );"), new, &[]);
    }

    #[test]
    fn block_that_contains_the_words_of_the_line_beside_it_may_replace_that() {
        let file = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(1)\n}\n";
        let new = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// ... existing code ...\n";
        refuse(file, new, &[]);
        let new = new.replace("(\n\t\"fmt\"\n", "(\n");
        assert!(edit(file, &new, &[]).contains("\t\"os\"\n)\n\nimport \"fmt\""));
    }

    #[test]
    fn brace_that_closes_a_new_block_is_no_anchor() {
        let file = "func go() {\ncheck(id)\nprepare(id)\nreturn update(id)\n}\n";
        let block = "if force {\nlog.Warn(\"forced\")\n}\n";
        let new = format!("func go() {{\n// ... existing code ...\n{block}return update(id)\n}}\n");
        assert_eq!(edit(file, &new, &[]), file.replace("return", &format!("{block}return")));
        // A block whose first line changed ends where it did.
        let file = "a();\nif (ready) {\n  go(now, here);\n}\nb();\nc();\n";
        let new = "a();\nif (ready || forced) {\n  go(now, here);\n}\n// ... existing code ...\nc();\n";
        assert_eq!(edit(file, new, &[]), file.replace("(ready)", "(ready || forced)"));
    }

    #[test]
    fn brace_behind_a_new_else_closes_the_known_statement() {
        let file =
            "fn go() {\n    begin();\n    if a && b {\n        first(a);\n        second(b);\n    }\n    end()\n}\n";
        let new = "// ... existing code ...\n    begin();\n    if b {\n        first(a);\n        second(b);\n    } else if \
                   c {\n        third(c);\n    }\n    // ... existing code ...\n";
        let want = file
            .replace("a && b", "b")
            .replace("    }\n    end", "    } else if c {\n        third(c);\n    }\n    end");
        assert_eq!(edit(file, new, &[]), want);
    }

    #[test]
    fn known_parameter_of_a_new_definition_is_no_anchor() {
        let file = "fn first(a: A) {\n    begin(a);\n    Ok(found)\n}\n\n/// Text.\nfn done(\n    context: &Context,\n    \
                    place: &SafePath,\n    error: &Error,\n) {\n    go(error);\n}\n";
        let fresh =
            "/// More text.\nfn earlier(\n    context: &Context,\n    place: &SafePath,\n) {\n    look(place);\n}\n";
        let new = format!("// ...\n    Ok(found)\n}}\n\n{fresh}\n// ...\n");
        if let Ok(made) = super::super::expand(file, &new, &[]) {
            assert_eq!(
                super::super::tests::applied(file, &made.ops),
                file.replace("/// Text", &format!("{fresh}\n/// Text"))
            );
        }
    }

    #[test]
    fn new_block_in_front_of_a_placeholder_is_added() {
        let file = "func go() {\nbegin()\ncheck(id)\nprepare(id)\nreturn update(id)\n}\n";
        let block = "if force {\nlog.Warn(\"forced\")\n}\n";
        let new = format!(
            "func go() {{\n// ... existing code ...\ncheck(id)\nprepare(id)\n{block}// ... existing code ...\n}}\n"
        );
        assert_eq!(edit(file, &new, &[]), file.replace("prepare(id)\n", &format!("prepare(id)\n{block}")));
        // One unchanged line does not say that nothing behind it is replaced.
        refuse(file, &new.replace("check(id)\n", ""), &[]);
    }

    #[test]
    fn header_with_other_parameters_is_that_of_the_definition() {
        let file = "fn one() {\n    run();\n}\n\nfn two(a: A) {\n    first(a);\n    second(a);\n}\n";
        let extents = |new| [super::super::Extent { old: 4..8, new }];
        let new = "fn two(a: A, b: B) {\n    if b.is_on {\n        b.go();\n    }\n    // ... existing code ...\n}\n";
        let want = file.replace("a: A) {\n", "a: A, b: B) {\n    if b.is_on {\n        b.go();\n    }\n");
        assert_eq!(edit(file, new, &extents(0..6)), want);
        let new = "fn two(a: A, b: B) {\n    // ... existing code ...\n    third(b, 1);\n    second(a);\n}\n";
        let want = file.replace("a: A)", "a: A, b: B)").replace("    second", "    third(b, 1);\n    second");
        assert_eq!(edit(file, new, &extents(0..5)), want);
    }

    #[test]
    fn new_definition_behind_the_end_of_another_is_added() {
        let file = "impl A {\n    fn a() {\n        x();\n    }\n\n    fn b() {\n        y();\n    }\n\n    fn c() {\n        \
                    z();\n    }\n}\n";
        let fresh = "    fn fresh() {\n        new_thing();\n    }\n\n";
        let new = format!("// ...\n    }}\n\n{fresh}    fn c() {{\n        // ... existing code ...\n    }}\n}}\n");
        assert_eq!(edit(file, &new, &[]), file.replace("    fn c", &format!("{fresh}    fn c")));
    }

    #[test]
    fn line_that_may_replace_one_further_away_is_refused() {
        let file = "fn gate() {\n    let number = raw();\n    let repeated = find(|trial| trial.unsynced.contains(&number));\n    \
                    assert!(!repeated);\n    push(number);\n}\n";
        let new = "fn gate() {\n    // ... existing code ...\n    mark(|trial| trial.repeated |= \
                   trial.unsynced.contains(&number));\n    push(number);\n}\n";
        refuse(file, new, &[]);
        let added = "    log_the_result();\n";
        let new = format!("fn gate() {{\n    // ... existing code ...\n{added}    push(number);\n}}\n");
        assert_eq!(edit(file, &new, &[]), file.replace("    push", &format!("{added}    push")));
    }

    #[test]
    fn line_that_was_moved_out_of_a_gap_is_refused() {
        let file =
            "mod first;\n\nuse crate::global_settings;\nuse crate::arguments;\nuse crate::output_text;\n\nrun();\n";
        let new = "// ... existing code ...\n\nuse crate::arguments;\nuse crate::global_settings;\nuse \
                   crate::output_text;\n// ... existing code ...\n";
        assert!(refuse(file, new, &[]).contains("twice"));
        // At another depth.
        let file = "fn go() {\n    if other {\n        stop(shown(top));\n    }\n}\n\nfn shown(top: &Top) {\n    let inside = \
                    top.without_prefix();\n    inside\n}\n\nfn last() {}\n";
        let new = "fn go() {\n    if other {\n        let inside = top.without_prefix();\n        stop(inside);\n    \
                   }\n}\n\n// ... existing code ...\n";
        assert!(refuse(file, new, &[]).contains("twice"));
    }
}
