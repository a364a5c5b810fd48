//! Characters that were retyped: a model or a word processor wrote typographic quotes, dashes and blanks in place of the
//! file's plain ones. Lines that only moved keep the file's bytes, and new lines get plain characters as well, if the
//! file has no others.

use super::search::{MatchSearch, SearchIndex};
use crate::locate::op::{Hunk, HunkLineKind, TextQuery};
use crate::text::fold::{self, Normalization};
use crate::work;
use foldhash::HashMap;

/// The differences in lookalike characters between the old text and the lines of the file that match it.
#[derive(Default)]
pub(super) struct RetypedText<'t> {
    /// The plain characters that the old text has in a typographic form, and the file nowhere.
    plain: Vec<char>,
    /// The lines of the file by the differing lines of the old text, without indentation, and the keys without blanks at
    /// the end; `None` if they are different lines of the file.
    lines: HashMap<&'t str, Option<&'t str>>,
}

impl<'t> RetypedText<'t> {
    /// Compares the pairs of an old line and a line of the file.
    pub(super) fn new(index: &SearchIndex<'_>, pairs: impl Iterator<Item = (&'t str, &'t str)>) -> RetypedText<'t> {
        let mut out = RetypedText::default();
        for (old, file) in work::batched(pairs) {
            if old == file || !fold::are_equal_under(old, file, Normalization::Indentation) {
                continue;
            }
            if old.trim_start() != file.trim_start() {
                let known = out.lines.entry(old.trim()).or_insert(Some(file.trim_start()));
                *known = known.filter(|known| *known == file.trim_start());
            }
            for plain in old.chars().filter_map(fold::plain_lookalike) {
                if !out.plain.contains(&plain) && !index.typographic().contains(&plain) {
                    out.plain.push(plain);
                }
            }
        }
        out
    }

    /// Compares the old text of a search with the part of a line that matches it.
    pub(super) fn of_part(search: &MatchSearch<'t>, part: &'t str) -> RetypedText<'t> {
        RetypedText::new(search.index, core::iter::once((&*search.find.old, part)))
    }

    /// Returns the line of the file, without indentation, that a new line repeats.
    pub(super) fn moved(&self, line: &str) -> Option<&'t str> {
        if self.lines.is_empty() { None } else { self.lines.get(line.trim()).copied().flatten() }
    }

    /// Returns a new text with the plain characters of the file.
    pub(super) fn with_plain_chars(&self, text: String) -> String {
        let plain = |ch: char| fold::plain_lookalike(ch).filter(|plain| self.plain.contains(plain));
        if self.plain.is_empty() || !text.chars().any(|ch| plain(ch).is_some()) {
            return text;
        }
        text.chars().map(|ch| plain(ch).unwrap_or(ch)).collect()
    }
}

/// Converts indentation of typographic blanks to plain ones. As indentation they would have no depth, and a file has
/// none there.
#[derive(Clone, Copy)]
pub(super) struct PlainBlanks {
    /// True if the file has no typographic blanks in its lines either.
    everywhere: bool,
}

impl PlainBlanks {
    pub(super) const NOTE: &'static str =
        "Found with plain spaces in place of other Unicode ones; the new text got plain spaces, too.";

    /// Returns the conversion for an old text with these lines; `None` if none of them begins with typographic blanks,
    /// or lines of the file do.
    pub(super) fn new<'t>(index: &SearchIndex<'_>, mut old: impl Iterator<Item = &'t str>) -> Option<PlainBlanks> {
        if !old.any(is_indented_otherwise) {
            return None;
        }
        let everywhere = !index.typographic().contains(&' ');
        (everywhere || !work::lines(index.text).any(is_indented_otherwise)).then_some(PlainBlanks { everywhere })
    }

    /// Converts a text of one or more lines.
    pub(super) fn convert(self, text: &str) -> String {
        let mut is_indent = true;
        let plain = |ch: char| {
            is_indent = ch == '\n' || is_indent && (matches!(ch, ' ' | '\t') || is_typographic_blank(ch));
            if (is_indent || self.everywhere) && is_typographic_blank(ch) { ' ' } else { ch }
        };
        text.chars().map(plain).collect()
    }

    /// Converts a query and its new text.
    pub(super) fn convert_query(self, find: &TextQuery, new: &str) -> (TextQuery, String) {
        (TextQuery { old: self.convert(&find.old), ..find.clone() }, self.convert(new))
    }

    /// Converts a hunk; `None` if its old lines need no conversion.
    pub(super) fn converted_hunk(index: &SearchIndex<'_>, hunk: &Hunk) -> Option<Hunk> {
        let old = hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added);
        let blanks = PlainBlanks::new(index, old.map(|line| &*line.text))?;
        let mut converted = hunk.clone();
        for line in &mut converted.lines {
            line.text = blanks.convert(&line.text);
        }
        Some(converted)
    }
}

fn is_typographic_blank(ch: char) -> bool {
    fold::plain_lookalike(ch) == Some(' ')
}

/// True for a line with typographic blanks in its indentation.
fn is_indented_otherwise(line: &str) -> bool {
    fold::trim_blanks_start(line).starts_with(is_typographic_blank)
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::edit;

    const FILE: &str = "def f():\n    alpha_one(\"x\")\n    beta_two(\"z\")\n    gamma()\n";

    #[test]
    fn moved_lines_keep_the_bytes_of_the_file() {
        let (a, b) = ("    alpha_one(“x”)\n", "    beta_two(“z”)\n");
        let swapped = "def f():\n    beta_two(\"z\")\n    alpha_one(\"x\")\n    gamma()\n";
        assert_eq!(edit(FILE, &[a, b].concat(), &[b, a].concat()), swapped);
        // The file has typographic quotes elsewhere, or in the line itself.
        let file = format!("{FILE}# “note”\n");
        assert_eq!(edit(&file, &[a, b].concat(), &[b, a].concat()), format!("{swapped}# “note”\n"));
        let (file, swapped) = (FILE.replace("\"z\"", "“z”"), swapped.replace("\"z\"", "“z”"));
        let old = "    alpha_one(\"x\")\n    beta_two(\"z\")\n";
        assert_eq!(edit(&file, old, "    beta_two(\"z\")\n    alpha_one(\"x\")\n"), swapped);
    }

    #[test]
    fn moved_lines_keep_the_blanks_at_their_end() {
        let old = "    beta_two(\"z\")  \n    gamma() \n";
        let swapped = "def f():\n    alpha_one(\"x\")\n    gamma()\n    beta_two(\"z\")\n";
        assert_eq!(edit(FILE, old, "    gamma() \n    beta_two(\"z\")  \n"), swapped);
        // The blanks of the file stay as well.
        let file = FILE.replace("gamma()", "gamma()  ");
        assert_eq!(edit(&file, old, "    gamma() \n    beta_two(\"z\")  \n"), swapped.replace("gamma()", "gamma()  "));
    }

    #[test]
    fn indentation_of_typographic_blanks_has_a_depth() {
        let file = "f() {\n  for (x of y) {\n    if (a === b) {\n      out.push(1)\n    }\n  }\n}\n";
        let want = file.replace("      out", "      log(1)\n      out");
        for blank in ["\u{A0}", "\u{3000}", " \u{A0}"] {
            for depth in [0, 2, 4] {
                let indent = |more: usize| blank.repeat(depth + more);
                let [outer, inner] = [indent(0), indent(2 / blank.chars().count())];
                let old = format!("{outer}if (a === b) {{\n{inner}out.push(1)\n");
                let new = format!("{outer}if (a === b) {{\n{inner}log(1)\n{inner}out.push(1)\n");
                assert_eq!(edit(file, &old, &new), want, "{blank:?} {depth}");
                // The file has such blanks, but not as indentation.
                let [file, want] = [file, &want].map(|text| format!("{text}s = \"\u{A0}\"\n"));
                assert_eq!(edit(&file, &old, &new), want, "{blank:?} {depth}");
            }
        }
    }

    #[test]
    fn new_lines_have_the_plain_characters_of_the_file() {
        let old = "\u{A0}\u{A0}\u{A0}\u{A0}beta_two(\"z\")\n";
        let added = FILE.replace("    gamma", "    return delta\n    gamma");
        assert_eq!(edit(FILE, old, &format!("{old}\u{A0}\u{A0}\u{A0}\u{A0}return delta\n")), added);
        let file = "run(a, \"--x\")\nb()\n";
        let old = "run(a, \"––x\")";
        let added = "run(a, \"--x\")\nrun(b, \"--y\")\nb()\n";
        assert_eq!(edit(file, &format!("{old}\n"), &format!("{old}\nrun(b, \"––y\")\n")), added);
        assert_eq!(edit(file, old, &format!("{old}\nrun(b, \"––y\")")), added);
        // The class of character is not retyped, or the file has it.
        assert!(edit(file, old, &format!("{old}\nrun(b, \"“––y”\")")).contains("run(b, \"“--y”\")"));
        let file = format!("{file}# –\n");
        assert!(edit(&file, old, &format!("{old}\nrun(b, \"––y\")")).contains("run(b, \"––y\")"));
    }
}
