//! Lazy edits whose lines are all indented differently from those of the file: by less, by more, or by levels of
//! another width.
//!
//! The rule is derived from the lines that both texts have. It must hold for each of them, and the placement is proven
//! afterwards as for any other text.

use super::indent;
use super::old_lines::{LOOKUP_STEPS, OldLines};
use crate::locate::find::INSERTED_BYTES_MAX;
use crate::text::fold::count_alnum;
use crate::work;
use foldhash::{HashMap, HashSet};
use std::collections::BTreeSet;

/// Minimum number of letters and digits of a line from which the rule is derived.
const TELLING_ALNUM_MIN: usize = 3;

/// If one in this many lines of the file has an indentation, it is that of a level.
const SAME_LEVEL_SHARE: usize = 20;

/// The indentation of a line in the text that was sent and in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KnownIndent {
    sent: usize,
    there: usize,
}

/// The indentation of a line in the file: `slope * sent + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndentRule {
    /// Numerator and denominator of the slope.
    slope: (usize, usize),
    offset: isize,
}

impl IndentRule {
    /// Returns the rule that fits two pairs, the one with less indentation first.
    fn through(a: KnownIndent, b: KnownIndent) -> Option<IndentRule> {
        let rise = b.there.checked_sub(a.there).filter(|rise| *rise > 0)?;
        let run = b.sent.checked_sub(a.sent).filter(|run| *run > 0)?;
        let offset = a.there.cast_signed() - (a.sent * rise / run).cast_signed();
        (a.sent * rise).is_multiple_of(run).then_some(IndentRule { slope: (rise, run), offset })
    }

    fn apply(self, sent: usize) -> Option<usize> {
        let scaled = sent * self.slope.0;
        scaled.is_multiple_of(self.slope.1).then(|| (scaled / self.slope.1).checked_add_signed(self.offset)).flatten()
    }
}

/// Returns the text, which has placeholders on the lines `gaps`, in each indentation that its lines allow. Empty if it
/// already has that of the file, or if no rule can be derived.
pub(super) fn variants(old: &OldLines<'_>, new: &str, gaps: &[usize]) -> Vec<String> {
    let lines: Vec<&str> = work::lines(new).collect();
    let shown = work::batched(0..lines.len()).filter(|at| gaps.binary_search(at).is_err());
    let shown: Vec<&str> = shown.map(|at| lines[at]).collect();
    let Some(sign) = sign(old.filled().chain(shown.iter().copied())) else { return Vec::new() };
    let known = indents_of(old, &shown);
    let pairs = known_indents(&known, &shown);
    // The lines of a string over several lines have an indentation of their own.
    if pairs.iter().all(|pair| pair.sent == pair.there)
        || shown.iter().any(|line| work::spend_or_end(1 + line.len() / 2) || begins_text(line))
    {
        return Vec::new();
    }
    let rules = rules(&pairs).into_iter();
    let rules = rules.filter(|rule| has_other_levels(old, *rule, &pairs) && holds(*rule, &pairs, &known, &shown));
    rules.filter_map(|rule| written(&lines, gaps, rule, sign)).collect()
}

/// Returns the indentations of the lines that occur once in the file, ignoring indentation.
fn known_indents(known: &LineIndents<'_>, shown: &[&str]) -> Vec<KnownIndent> {
    let mut pairs = BTreeSet::new();
    for line in shown.iter().take_while(|_| !work::spend_or_end(LOOKUP_STEPS)) {
        let unique = known.get(line.trim()).filter(|(count, _)| *count == 1).map(|(_, indents)| indents);
        if let Some(&there) = unique.and_then(BTreeSet::first)
            && count_alnum(line, TELLING_ALNUM_MIN) >= TELLING_ALNUM_MIN
        {
            pairs.insert(KnownIndent { sent: indent(line), there });
        }
    }
    pairs.into_iter().collect()
}

/// True if the levels of the file may be wider than those of the text: few lines have the indentation that the text has.
/// In other files, lines that a rule moves to a deeper level were moved out of a block. Rules that make no level wider
/// are always possible.
fn has_other_levels(old: &OldLines<'_>, rule: IndentRule, pairs: &[KnownIndent]) -> bool {
    let moved = pairs.iter().find(|pair| pair.sent > 0 && pair.sent != pair.there);
    let Some(moved) = moved.filter(|_| rule.slope.0 > rule.slope.1) else { return true };
    let (mut all, mut level) = (0, 0);
    for line in old.filled().take_while(|_| !work::spend_or_end(LOOKUP_STEPS)) {
        all += 1;
        level += usize::from(indent(line) == moved.sent);
    }
    level * SAME_LEVEL_SHARE <= all
}

/// True if a rule fits all pairs, and gives every line that the file has an indentation that the line has there. A line of
/// signs alone, such as `}`, need not be one of the file below a line that is new.
fn holds(rule: IndentRule, pairs: &[KnownIndent], known: &LineIndents<'_>, shown: &[&str]) -> bool {
    let mut below_new = false;
    pairs.iter().all(|pair| rule.apply(pair.sent) == Some(pair.there))
        && shown.iter().filter(|line| !line.trim().is_empty()).all(|line| {
            if work::spend_or_end(LOOKUP_STEPS) {
                return false;
            }
            let is_word = line.contains(char::is_alphanumeric);
            let there = rule.apply(indent(line));
            let has = known.get(line.trim());
            let fits =
                !is_word && below_new || has.is_none_or(|(_, at)| there.is_some_and(|there| at.contains(&there)));
            below_new = has.is_none() || below_new && !is_word;
            fits && there.is_some()
        })
}

/// For each line without its indentation, how often it occurs, and its indentations.
type LineIndents<'t> = HashMap<&'t str, (usize, BTreeSet<usize>)>;

/// Returns how often each of the `shown` lines occurs in the file, ignoring indentation, and its indentations there.
fn indents_of<'t>(file: &OldLines<'t>, shown: &[&str]) -> LineIndents<'t> {
    let counted = shown.iter().take_while(|_| !work::spend_or_end(LOOKUP_STEPS));
    let shown: HashSet<&str> = counted.map(|line| line.trim()).collect();
    let mut out = LineIndents::default();
    for line in file.filled().take_while(|_| !work::spend_or_end(LOOKUP_STEPS)) {
        if shown.contains(line.trim()) {
            let (count, indents) = out.entry(line.trim()).or_default();
            *count += 1;
            indents.insert(indent(line));
        }
    }
    out
}

/// Returns the only character that indents lines; `None` if there are two.
fn sign<'t>(lines: impl Iterator<Item = &'t str>) -> Option<char> {
    let mut out = None;
    for line in lines.filter(|line| !line.trim().is_empty()) {
        if work::spend_or_end(1 + indent(line) / 4) {
            return None;
        }
        for ch in line[..indent(line)].chars() {
            if !matches!(ch, ' ' | '\t') || *out.get_or_insert(ch) != ch {
                return None;
            }
        }
    }
    Some(out.unwrap_or(' '))
}

/// Returns the rules that pairs of indentations allow: the one through two of them; for a single pair, a shift or
/// another width.
fn rules(pairs: &[KnownIndent]) -> Vec<IndentRule> {
    match *pairs {
        [KnownIndent { sent, there }] => {
            let shift = IndentRule { slope: (1, 1), offset: there.cast_signed() - sent.cast_signed() };
            let scale = IndentRule { slope: (there.max(1), sent.max(1)), offset: 0 };
            if sent == 0 || there == 0 { vec![shift] } else { vec![shift, scale] }
        }
        [first, .., last] => IndentRule::through(first, last).into_iter().collect(),
        [] => Vec::new(),
    }
}

/// Returns the text indented by a rule; `None` if the rule does not fit a line, and for more than
/// [`INSERTED_BYTES_MAX`]. A placeholder that the rule does not fit keeps its indentation.
fn written(lines: &[&str], gaps: &[usize], rule: IndentRule, sign: char) -> Option<String> {
    let (mut out, mut indentation) = (String::new(), String::new());
    for (at, line) in lines.iter().enumerate() {
        let sent = indent(line);
        let depth = match rule.apply(sent) {
            _ if line.trim().is_empty() => 0,
            Some(depth) => depth,
            None if gaps.binary_search(&at).is_ok() => sent,
            None => return None,
        };
        let ended = work::spend_or_end(LOOKUP_STEPS + depth / work::STEP_BYTES);
        if ended || out.len().saturating_add(depth).saturating_add(line.len()) > INSERTED_BYTES_MAX {
            return None;
        }
        indentation.extend(std::iter::repeat_n(sign, depth.saturating_sub(indentation.len())));
        out.push_str(&indentation[..depth]);
        out.push_str(line[sent..].trim_end_matches(['\r', '\n']));
        out.push('\n');
    }
    Some(out)
}

/// True for a line that may begin a string of several lines.
fn begins_text(line: &str) -> bool {
    let odd = |sign: &str| line.matches(sign).count() % 2 == 1;
    let here_document = line
        .match_indices("<<")
        .any(|(at, _)| line[at + 2..].starts_with(|ch: char| ch.is_ascii_alphabetic() || "~-'\"_".contains(ch)));
    here_document || ["\"\"\"", "'''", "`", "\""].into_iter().any(odd) || line.contains("[[") || line.contains("=begin")
}

#[cfg(test)]
mod tests {
    use super::OldLines;
    use crate::locate::omission;

    fn variants(old: &str, new: &str) -> Vec<String> {
        super::variants(&OldLines::of(old), new, &omission::gaps(old, new))
    }

    #[test]
    fn rule_is_that_of_the_lines_in_both_texts() {
        let old = "class A:\n    def one(self):\n        x = one\n        return x\n";
        let sent = "def one(self):\n    x = two\n    # ...\n    return x\n";
        let want = "    def one(self):\n        x = two\n        # ...\n        return x\n";
        assert_eq!(variants(old, sent), [want]);
        // The levels have another width, or the text is shifted as well.
        let two = "class A:\n  def one(self):\n    x = two\n    # ...\n    return x\n";
        assert_eq!(variants(old, two), [format!("class A:\n{want}")]);
        assert_eq!(variants(old, "def one(self):\n  x = two\n  # ...\n  return x\n"), [want]);
        // A single pair allows a shift or another width.
        assert_eq!(variants("a\n    call_one()\n", "  call_one()\n    deeper\n").len(), 2);
    }

    #[test]
    fn lines_that_moved_out_of_a_block_do_not_double_the_levels() {
        let old = "fn one() {\n    let two = || {\n        begin_it();\n        end_it();\n    };\n    two();\n}\n";
        let sent = "fn one() {\n    two(now);\n}\n\nfn two() {\n    begin_it();\n    end_it();\n}\n// ...\n";
        assert_eq!(variants(old, sent), <[String; 0]>::default());
        let wide = "fn one() {\n        begin_it();\n        end_it();\n}\n";
        assert_eq!(
            variants(wide, "fn one() {\n    begin_it();\n    // ...\n}\n"),
            ["fn one() {\n        begin_it();\n        // ...\n}\n"]
        );
    }

    #[test]
    fn indentation_of_a_wide_file_is_not_multiplied() {
        let old = format!("{}abc\n", " ".repeat(100_000));
        let sent = format!(" abc\n{}", " other\n".repeat(1_000));
        assert_eq!(variants(&old, &sent), <[String; 0]>::default());
    }

    #[test]
    fn lines_that_contradict_a_rule_are_not_indented() {
        let old = "class A:\n    def one(self):\n        x = one\n  odd\n        return x\n";
        // In the first text `odd` would get another indentation; a string has lines of its own; tabs are not spaces;
        // the last one is indented as in the file.
        for sent in [
            "def one(self):\n    x = two\n    odd\n    # ...\n    return x\n",
            "def one(self):\n    x = \"\"\"two\n    # ...\n    return x\n",
            "def one(self):\n\tx = two\n\t# ...\n\treturn x\n",
            "    def one(self):\n        x = two\n        # ...\n        return x\n",
        ] {
            assert!(variants(old, sent).is_empty(), "{sent}");
        }
    }
}
