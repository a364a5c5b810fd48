//! New text that already has the indentation of its destination, although the old text lacks it.
//!
//! Old text at another depth than the file usually comes with new text at that depth, and both are shifted. But the new
//! text may have been written for the file as it is; shifting it would indent it twice. Lines common to the old and the
//! new text decide between the two; without any, the smallest depth of the new text decides.

use super::align::align;
use super::match_site::{MatchSite, SitePlan};
use super::search::{MatchSearch, PatternLines};
use crate::text::fold::{self, indent_of, is_blank};
use crate::text::lines::line_start;
use std::borrow::Cow;

/// Maximum number of cells (old × new lines) for which common lines are aligned.
const ALIGNMENT_CELLS_MAX: usize = 250_000;

/// The note about new text that was written unchanged.
pub(super) const WRITTEN_AS_IS_NOTE: &str =
    "Found at another indentation; the new text already has the file's indentation and was written as it is.";
/// The note about literal text on an indented line whose new text repeats that indentation.
pub(super) const DOUBLED_INDENT_NOTE: &str =
    "The new text begins with the indentation that its line in the file already has; it was not written twice.";
/// The reason for refusing ambiguous new text.
pub(super) const UNCLEAR_DEPTH_REASON: &str = "The text is there at another indentation, and the new text has neither that of the file in all its lines nor that \
     of the old text, so its depth is not clear.";

/// A line of the caller's old text and the matching line of the file.
#[derive(Clone, Copy)]
pub(super) struct MatchedLine<'a> {
    pub(super) old: &'a str,
    pub(super) file: &'a str,
}

/// The depth for which the new text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The depth of the old text: it has to be shifted to that of the file.
    OldText,
    /// The depth of the file, as common lines show.
    File,
    /// The depth of the file, as only the smallest depth of the new text shows.
    LikelyFile,
    /// The lines contradict each other.
    Unclear,
}

/// Determines the depth for which the new text was written. `matched` has all lines of the old text with the lines of
/// the file that they match.
pub(super) fn target_depth(matched: &[MatchedLine<'_>], new: &[&str]) -> Depth {
    let matched: Vec<MatchedLine<'_>> = matched.iter().copied().filter(|it| !is_blank(it.old)).collect();
    let new: Vec<&str> = new.iter().copied().filter(|line| !is_blank(line)).collect();
    let olds = least_indent(matched.iter().map(|it| it.old));
    let files = least_indent(matched.iter().map(|it| it.file));
    let news = least_indent(new.iter().copied());
    if news != files && news != olds && olds != files && is_moved(&matched, &new) {
        return Depth::Unclear;
    }
    if olds == Some("") && news.zip(files).is_some_and(|(new, file)| in_other_unit(new, file)) {
        return Depth::Unclear;
    }
    if news == olds && olds != files && is_trimmed(&matched, &new, files.unwrap_or_default()) {
        return Depth::Unclear;
    }
    if is_pushed_down(&matched, &new) {
        return Depth::Unclear;
    }
    if news.is_none() || news != files || matched.iter().all(|it| indent_of(it.old) == indent_of(it.file)) {
        return Depth::OldText;
    }
    let (mut at_file, mut at_old) = (0, 0);
    for (nth, at) in shared(&matched, &new) {
        let (MatchedLine { old, file }, own) = (matched[nth], indent_of(new[at]));
        if indent_of(old) == indent_of(file) || fold::count_alnum(old, 1) == 0 {
            continue;
        }
        at_file += usize::from(own == indent_of(file));
        at_old += usize::from(own == indent_of(old));
    }
    match (at_file, at_old) {
        (1.., 0) => Depth::File,
        (0, 0) if is_in_unit_of_file(&matched, &new) => Depth::File,
        (0, 0)
            if olds != news
                && (new.first().map(|line| indent_of(line)) == matched.first().map(|it| indent_of(it.file))) =>
        {
            Depth::LikelyFile
        }
        (_, 1..) if olds != news && !is_part(&matched, &new) => Depth::Unclear,
        (1.., 1..) => Depth::Unclear,
        _ => Depth::OldText,
    }
}

/// Returns the least indentation of some lines.
fn least_indent<'l>(lines: impl Iterator<Item = &'l str>) -> Option<&'l str> {
    lines.map(indent_of).min_by_key(|it| it.len())
}

/// True if the first line of the new text is at the depth of the old text, while all others, including those that both
/// texts have, are at the file's depth or deeper: only the first line may have lost its indentation.
fn is_trimmed(matched: &[MatchedLine<'_>], new: &[&str], file: &str) -> bool {
    let Some((head, rest)) = new.split_first() else { return false };
    let is_shallow = indent_of(head) != file && file.starts_with(indent_of(head));
    let deeper = is_shallow && !rest.is_empty() && rest.iter().all(|line| indent_of(line).starts_with(file));
    if !deeper || matched.iter().any(|it| indent_of(it.old) == indent_of(it.file)) {
        return false;
    }
    let shared = shared(matched, new);
    let is_first = |pair: &(usize, usize)| pair.1 == 0;
    let first = shared
        .iter()
        .find(|pair| is_first(pair))
        .is_some_and(|&(nth, _)| indent_of(matched[nth].old) == indent_of(new[0]));
    let mut others = shared.iter().filter(|pair| !is_first(pair)).peekable();
    first && others.peek().is_some() && others.all(|&(nth, at)| indent_of(matched[nth].file) == indent_of(new[at]))
}

/// True if only the first line of the old text lost its indentation, and the new text has that line further down, at the
/// file's depth, below a first line without indentation: that one may have lost its own, too.
fn is_pushed_down(matched: &[MatchedLine<'_>], new: &[&str]) -> bool {
    let Some((first, rest)) = matched.split_first() else { return false };
    let (old, file) = (indent_of(first.old), indent_of(first.file));
    let is_alone =
        old != file && file.starts_with(old) && rest.iter().all(|it| indent_of(it.old) == indent_of(it.file));
    is_alone
        && !rest.is_empty()
        && new.first().is_some_and(|line| indent_of(line) == old)
        && shared(matched, new).iter().any(|&(nth, at)| nth == 0 && at > 0 && indent_of(new[at]) == file)
}

/// True for new text that is indented with the sign of the file alone, where old text has only the other one.
fn is_in_unit_of_file(matched: &[MatchedLine<'_>], new: &[&str]) -> bool {
    let is_other = |it: &&MatchedLine<'_>| indent_of(it.old) != indent_of(it.file);
    let mut differing = matched.iter().filter(is_other).peekable();
    let Some(unit) = differing.peek().and_then(|it| indent_of(it.file).chars().next()) else { return false };
    let is_unit = |text: &str| consists_of(text, unit);
    let mut indented = new.iter().map(|line| indent_of(line)).filter(|indent| !indent.is_empty()).peekable();
    differing.all(|it| in_other_unit(indent_of(it.old), indent_of(it.file)) && is_unit(indent_of(it.file)))
        && indented.peek().is_some()
        && indented.all(is_unit)
}

/// True if one indentation consists of tabs and the other one of spaces: their sum would have no meaningful depth.
fn in_other_unit(new: &str, file: &str) -> bool {
    consists_of(new, ' ') && consists_of(file, '\t') || consists_of(new, '\t') && consists_of(file, ' ')
}

/// True for a text that consists of one or more of this character.
fn consists_of(text: &str, unit: char) -> bool {
    !text.is_empty() && text.chars().all(|ch| ch == unit)
}

/// True if no line of the old text has the depth that it has in the file, and no line common to both texts has the same
/// depth in both.
fn is_moved(matched: &[MatchedLine<'_>], new: &[&str]) -> bool {
    let shared = shared(matched, new);
    matched.iter().all(|it| indent_of(it.old) != indent_of(it.file))
        && !shared.is_empty()
        && shared.iter().all(|&(nth, at)| indent_of(matched[nth].old) != indent_of(new[at]))
}

/// Returns pairs (old, new) of lines that are equal except for whitespace at either end.
fn shared(matched: &[MatchedLine<'_>], new: &[&str]) -> Vec<(usize, usize)> {
    if matched.len().saturating_mul(new.len()) > ALIGNMENT_CELLS_MAX {
        return Vec::new();
    }
    let old: Vec<u64> = matched.iter().map(|it| trimmed_hash(it.old)).collect();
    let new: Vec<u64> = new.iter().map(|line| trimmed_hash(line)).collect();
    align(&old, &new, |at| u32::try_from(fold::count_alnum(matched[at].old, 1000)).map_or(1, |weight| weight + 1)).0
}

/// Returns the hash of a line without whitespace at either end.
fn trimmed_hash(line: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(fold::trim_blanks(line).as_bytes())
}

/// True if the new text is the old text without some of its lines.
fn is_part(matched: &[MatchedLine<'_>], new: &[&str]) -> bool {
    let mut old = matched.iter();
    new.iter().all(|line| old.any(|it| it.old == *line))
}

/// Aligns the old text with new text that is at the file's depth: lines common to both become equal at that depth, so
/// that they count as kept.
pub(super) fn at_file_depth<'a>(wanted: &PatternLines<'a>, files: &[Option<&str>]) -> PatternLines<'a> {
    let matched: Vec<MatchedLine<'_>> =
        wanted.old.iter().zip(files).map(|(old, file)| MatchedLine { old, file: file.unwrap_or(old) }).collect();
    let mut new = wanted.new.clone();
    for (nth, at) in shared(&matched, &wanted.new) {
        if files[nth].is_some_and(|file| indent_of(file) == indent_of(new[at])) {
            new[at] = wanted.old[nth];
        }
    }
    PatternLines { old: wanted.old.clone(), new, changes: None }
}

/// Removes the indentation of literal new text if every occurrence is already preceded by it. Returns whether it was
/// removed.
pub(super) fn strip_doubled_indent(search: &MatchSearch<'_>, places: &mut [MatchSite<'_>]) -> bool {
    let Some(length) = doubled(search, places) else { return false };
    for place in places {
        match &mut place.plan {
            SitePlan::Literal(Cow::Borrowed(new)) | SitePlan::Inline(new) => *new = &new[length..],
            _ => {}
        }
    }
    true
}

/// Returns the length of the new text's first indentation, if every occurrence is already preceded by exactly that
/// indentation.
fn doubled(search: &MatchSearch<'_>, places: &[MatchSite<'_>]) -> Option<usize> {
    let (old, new) = (&*search.find.old, search.new);
    let indent = indent_of(new);
    if search.literal_only || indent.is_empty() || old.starts_with([' ', '\t', '\n']) {
        return None;
    }
    // The new text is the same text at a greater depth: indenting it is the purpose of the edit.
    let deeper = fold::trim_blanks(new) == fold::trim_blanks(old);
    let filled = !is_blank(new.split('\n').next().unwrap_or_default());
    let is_doubled = filled
        && !deeper
        && !places.is_empty()
        && places.iter().all(|place| {
            let is_inside = matches!(place.plan, SitePlan::Literal(Cow::Borrowed(_)) | SitePlan::Inline(_));
            is_inside && search.text[line_start(search.text, place.span.start())..place.span.start()] == *indent
        });
    is_doubled.then_some(indent.len())
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{attempt, edit, edit_all, refuse};

    const FILE: &str = "class A:\n    def go(self):\n        return 1\n\n    def stop(self):\n        return 2\n";

    #[test]
    fn new_text_at_the_files_depth_stays_unchanged() {
        let old = |depth: usize| {
            let pad = " ".repeat(depth);
            format!("{pad}def go(self):\n{pad}    return 1\n")
        };
        let new = "    def go(self):\n        log()\n        return 1\n";
        let want = FILE.replacen("        return 1", "        log()\n        return 1", 1);
        for depth in [0, 2, 8] {
            assert_eq!(edit(FILE, &old(depth), new), want, "{depth}");
            assert_eq!(edit(FILE, old(depth).trim_end(), new.trim_end()), want, "{depth}");
        }
        // The new text has nothing in common with the old one.
        let new = "    async def run(self):\n        pass\n";
        let want = FILE.replacen("    def go(self):\n        return 1\n", new, 1);
        for depth in [0, 2, 8] {
            assert_eq!(edit(FILE, &old(depth), new), want, "{depth}");
        }
        let (_, resolved) = attempt(FILE, &old(0), new, false).unwrap();
        assert!(resolved.ops[0].notes[0].to_string().contains("written as it is"), "{:?}", resolved.ops[0].notes);
    }

    #[test]
    fn line_in_front_of_a_first_line_without_indentation_is_refused() {
        let file = "class A:\n    def go(self):\n        load()\n        return 1\n\nA()\n";
        // A trailing space, so that the text is not there literally.
        let old = "load()\n        return 1 \n\nA()\n";
        let new = |added: &str| format!("{added}        load()\n        return 1 \n\nA()\n");
        let error = refuse(file, old, &new("log()\n"));
        assert!(error.to_string().contains("its depth is not clear"), "{error}");
        let want = file.replace("        load()", "        log()\n        load()");
        assert_eq!(edit(file, old, &new("        log()\n")), want);
    }

    #[test]
    fn new_text_in_tabs_for_a_file_in_tabs_stays_unchanged() {
        let file = "func foo() {\n\tif a {\n\t\trun(1)\n\t}\n}\n";
        let old = "func foo() {\n    if a {\n        run(1)\n    }\n}";
        let want = file.replace("run(1)", "run(2)\n\t\tstop()");
        assert_eq!(edit(file, old, "func foo() {\n\tif a {\n\t\trun(2)\n\t\tstop()\n\t}\n}"), want);
    }

    #[test]
    fn first_line_without_its_indentation_is_refused() {
        let file = "def f():\n    if x:\n        one = 1\n        two = 2\n        return one\n";
        let old = "one = 1\ntwo = 2\nreturn one";
        refuse(file, old, "one = 1\n        two = 3\n        return one");
        let want = file.replace("two = 2", "two = 3");
        assert_eq!(edit(file, old, "one = 1\ntwo = 3\nreturn one"), want);
        assert_eq!(edit(file, old, "        one = 1\n        two = 3\n        return one"), want);
    }

    #[test]
    fn new_text_at_the_depth_of_old_is_still_shifted() {
        let file = "f() {\n    first_call();\n    second_call();\n}\n";
        assert_eq!(
            edit(file, "first_call();\nsecond_call();\n", "if x {\n    first_call();\n    second_call();\n}\n"),
            "f() {\n    if x {\n        first_call();\n        second_call();\n    }\n}\n"
        );
        assert_eq!(
            edit(FILE, "def go(self):\n    return 1\n", "    return 1\n"),
            FILE.replacen("    def go(self):\n", "", 1)
        );
    }

    #[test]
    fn unclear_depth_is_refused() {
        let file = "class A:\n    a_call()\n    b_call()\n";
        let error = refuse(file, "        a_call()\n        b_call()", "    if x:\n        a_call()\n        c_call()");
        assert!(error.to_string().contains("depth is not clear"), "{error}");
        // The old text, the new text and the file have three different depths.
        let error = refuse(FILE, "def go(self):\n    return 1\n", "  def go(self):\n      return 3\n");
        assert!(error.to_string().contains("depth is not clear"), "{error}");
    }

    #[test]
    fn spaces_are_not_added_to_tabs() {
        let file = "class A:\n\tdef f(self):\n\t\tx_one = 1\n\t\ty_two = 2\n";
        let error = refuse(file, "x_one = 1\ny_two = 2", "        x_one = 5\n        y_two = 6");
        assert!(error.to_string().contains("depth is not clear"), "{error}");
        assert_eq!(
            edit(file, "x_one = 1\ny_two = 2", "x_one = 5\ny_two = 6"),
            file.replace("= 1", "= 5").replace("= 2", "= 6")
        );
        assert_eq!(
            edit(file, "x_one = 1\ny_two = 2", "\t\tx_one = 5\n\t\ty_two = 6"),
            file.replace("= 1", "= 5").replace("= 2", "= 6")
        );
    }

    #[test]
    fn first_line_may_be_indented_in_new_only() {
        let file = "class O:\n    def m(self):\n        self.a = 11  \n        self.b = 12\n";
        assert_eq!(
            edit(file, "self.a = 11\n        self.b = 12", "        self.a = 11\n        self.b = 13"),
            "class O:\n    def m(self):\n        self.a = 11  \n        self.b = 13\n"
        );
    }

    #[test]
    fn other_indent_widths_fit_too() {
        let file = "class A {\n\trun() {\n\t\treturn value;\n\t}\n}\n";
        assert_eq!(
            edit(file, "  run() {\n    return value;\n  }", "\trun() {\n\t\tlog();\n\t\treturn value;\n\t}"),
            "class A {\n\trun() {\n\t\tlog();\n\t\treturn value;\n\t}\n}\n"
        );
    }

    #[test]
    fn literal_text_is_not_indented_twice() {
        let file = "def f():\n        x = 1\n        return x\n";
        assert_eq!(
            edit(file, "x = 1", "        x = 1\n        y = 2"),
            "def f():\n        x = 1\n        y = 2\n        return x\n"
        );
        assert_eq!(edit(file, "x = 1", "        x = 2"), file.replace("= 1", "= 2"));
        let (_, resolved) = attempt(file, "x = 1", "        x = 2", false).unwrap();
        assert!(resolved.ops[0].notes[0].to_string().contains("not written twice"));
        // The new text is deeper on purpose, or at another depth than in the file.
        assert_eq!(edit(file, "x = 1", "        x = 1"), file.replace("x = 1", "        x = 1"));
        assert_eq!(edit(file, "x = 1", "    x = 2"), file.replace("x = 1", "    x = 2"));
        assert_eq!(edit_all("  go()\n  go()\n", "go()", "  run()"), "  run()\n  run()\n");
        assert_eq!(edit_all("  go()\n go()\n", "go()", "  run()"), "    run()\n   run()\n");
        assert_eq!(edit("  say(“word”)\n", "say(\"word\")", "  say(\"term\")"), "  say(“term”)\n");
    }
}
