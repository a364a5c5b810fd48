//! Blocks without any flaw: between markers of the usual spelling and length, with nothing but blank lines and names above
//! them, and with no line that could be a marker. They are read in one pass, without the states, the wrappers and the
//! repairs of other blocks. What is read is what the parser would read.

use super::blocks::{BlockList, SearchReplaceBlock};
use crate::formats::envelope;
use crate::formats::line_parser::ParseOptions;
use crate::formats::name;
use crate::work;
use std::ops::Range;

const OPEN: &str = "<<<<<<< SEARCH\n";
const DIVIDER: &str = "=======\n";
const CLOSE: &str = ">>>>>>> REPLACE";

/// The part of the text that a line belongs to.
enum PlainState {
    Between,
    Search(usize),
    Replace(Range<usize>, usize),
}

/// Reads blocks of whole lines. Returns `None` for any text that may be something else, or that has an error.
pub(super) fn plain_blocks(text: &str, options: &ParseOptions) -> Option<BlockList> {
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        return None;
    }
    let mut list: Vec<SearchReplaceBlock> = Vec::new();
    let (mut state, mut above, mut begun) = (PlainState::Between, None, 0);
    let mut start = 0;
    for (nth, line) in work::lines_with_ends(text).enumerate() {
        let end = start + line.len();
        state = match state {
            PlainState::Between if line == OPEN => {
                begun = nth + 1;
                PlainState::Search(end)
            }
            // A name is directly above its block.
            PlainState::Between if above.is_some() => return None,
            PlainState::Between => {
                above = Some(name_or_blank(line)?).filter(|name| !name.is_empty());
                PlainState::Between
            }
            PlainState::Search(from) if line == DIVIDER => PlainState::Replace(from..start, end),
            PlainState::Replace(search, from) if line.trim_end_matches('\n') == CLOSE => {
                let path = path_of(above.take(), &list, options)?;
                let (search, replace) = (text[search].to_owned(), text[from..start].to_owned());
                let (others, rivals) = (Vec::new(), Vec::new());
                let (hint, at, lines) = (None, begun, true);
                list.push(SearchReplaceBlock { path, others, rivals, search, replace, hint, at, lines });
                PlainState::Between
            }
            PlainState::Search(_) | PlainState::Replace(..) if !is_text(line) => return None,
            part => part,
        };
        start = end;
    }
    let is_complete = matches!(state, PlainState::Between) && above.is_none() && !list.is_empty();
    is_complete.then(|| BlockList { list, ..BlockList::default() })
}

/// Returns a line between blocks, without its line end, if it is blank or may be a name.
fn name_or_blank(line: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    Some(line.trim_end_matches('\n')).filter(|line| line.bytes().all(is_plain))
}

/// Returns the file of a block: the name above it, that of the block before it, or that of the call.
fn path_of(above: Option<&str>, before: &[SearchReplaceBlock], options: &ParseOptions) -> Option<String> {
    let earlier = || before.last().map(|block| block.path.clone()).or_else(|| options.file.clone());
    match above {
        Some(line) => name::above(std::iter::once(line)).filter(|name| name == line).map(|name| options.name(&name)),
        None => earlier(),
    }
    .filter(|path| !path.is_empty())
}

/// True for a line that is neither a marker, nor resembles one, nor has a special meaning below one.
fn is_text(line: &str) -> bool {
    let line = line.trim();
    let is_sign = |sign: u8| b"<>=+-*~`".contains(&sign);
    match line.as_bytes() {
        [b'\\' | b':', ..] => false,
        [first, second, ..] if first == second && is_sign(*first) => false,
        // Tags around an edit are removed first.
        _ => !line.ends_with("REPLACE") && !envelope::begins_tag(line),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_blocks;
    use crate::formats::line_parser::ParseOptions;
    use crate::formats::search_replace::SearchReplace;
    use crate::formats::testing::check_plain;
    use proptest::prelude::*;

    #[test]
    fn only_blocks_without_flaws_are_plain() {
        const PLAIN: &str = "src/a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\na < b\n=======\n>>>>>>> REPLACE";
        let blocks = |text: &str| plain_blocks(text, &ParseOptions::default()).map(|read| read.list.len());
        assert_eq!(blocks(PLAIN), Some(2));
        let flaws = [
            ("old", "======"),
            ("new", "  >>>>>> REPLACE"),
            ("new", "new>>>>>>> REPLACE"),
            ("new", "\\======="),
            ("new", "```"),
            ("old", ":start_line:1"),
            ("a < b", "<edit>"),
            ("\n\n", "\n\nand:\n"),
            ("src/a.rs", "In src/a.rs:"),
            ("src/a.rs\n", "src/a.rs\n\n"),
            ("src/a.rs\n", ""),
            ("old", "old\r"),
        ];
        for (from, to) in flaws {
            assert_eq!(blocks(&PLAIN.replacen(from, to, 1)), None, "{to}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn plain_blocks_are_read_as_all_blocks_are(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", "<<<<<<< SEARCH\n  a\n\n=======\n>>>>>>> REPLACE",
                    "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "src/a.rs", "Makefile", "a.b.c", "b/c/", "-", ".", "", " ",
                    "<<<<<<< SEARCH\n=======\n", "a == b", "- a", "+ b", "<", "if a < b", "x = 1", "[a#12]", "@@ -1 +1 @@",
                    "diff --git", "cat <<EOF", "EOF", "{", "}", "#", "1: x", "REPLACED", "SEARCH", "$ patch", "apply_patch <<'E'",
                    "<<<<<<< SEARCH\na\n=======\na\n>>>>>>> REPLACE", "| a", "10|b", "> c", "edit(path=\"a\", x)",
                ]),
                0..9,
            ),
            strip in prop::option::of(0_usize..3),
            file in prop::option::of(Just("x".to_owned())),
            reverse: bool,
            is_cut: bool,
        ) {
            let text = format!("{}{}", lines.join("\n"), if is_cut { "" } else { "\n" });
            let options = ParseOptions { strip, file, reverse, ..ParseOptions::default() };
            check_plain(&SearchReplace, &text, true, &options);
        }
    }
}
