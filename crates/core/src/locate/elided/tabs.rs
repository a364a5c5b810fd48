//! Conversion of the indentation of a lazy edit to that of the file, if one of them uses tabs and the other one spaces.

use super::old_lines::OldLines;
use crate::locate::find::INSERTED_BYTES_MAX;
use crate::text::fold;
use crate::work;
use std::borrow::Cow;

/// The characters that the lines of a text are indented with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndentKind {
    Tabs,
    /// Spaces, with the width of one level.
    Spaces(usize),
}

/// Returns the new text, which has placeholders on the lines `gaps`, with the file's kind of indentation. The text is
/// unchanged if it has that already, if the kind is unclear, or if the result would exceed [`INSERTED_BYTES_MAX`].
pub(super) fn in_indentation_of<'t>(old: &OldLines<'_>, new: &'t str, gaps: &[usize]) -> Cow<'t, str> {
    let sent = work::lines(new).enumerate().filter(|(at, _)| gaps.binary_search(at).is_err()).map(|(_, line)| line);
    match (kind(old.filled()), kind(sent)) {
        (Some(IndentKind::Tabs), Some(IndentKind::Spaces(width))) => Cow::Owned(converted(new, |indent| {
            let levels = indent.len() / width;
            (indent.len() % width == 0).then(|| "\t".repeat(levels))
        })),
        (Some(IndentKind::Spaces(width)), Some(IndentKind::Tabs)) if fits(new, width) => {
            Cow::Owned(converted(new, |indent| Some(" ".repeat(indent.len() * width))))
        }
        _ => Cow::Borrowed(new),
    }
}

/// True if the text may have `width` spaces for each tab: a file with wide indentation would multiply its size.
fn fits(text: &str, width: usize) -> bool {
    let tabs = work::lines(text).map(|line| line.len() - line.trim_start_matches('\t').len()).sum::<usize>();
    tabs.saturating_mul(width) <= INSERTED_BYTES_MAX
}

/// Returns the kind that all indented lines use; `None` if they differ, or there are none.
fn kind<'t>(lines: impl Iterator<Item = &'t str>) -> Option<IndentKind> {
    let (mut tabs, mut width) = (false, 0);
    for line in work::batched(lines.filter(|line| !line.trim().is_empty())) {
        let indent = fold::indent_of(line);
        match (indent.contains('\t'), indent.contains(' ')) {
            (true, true) => return None,
            (true, false) => tabs = true,
            // The lines of a block comment begin with one space, so a single space is not a level.
            (false, true) if indent.len() > 1 => width = divisor(width, indent.len()),
            _ => {}
        }
    }
    match (tabs, width) {
        (true, 0) => Some(IndentKind::Tabs),
        (false, 2..) => Some(IndentKind::Spaces(width)),
        _ => None,
    }
}

/// Returns the greatest common divisor.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Converts the indentation of every line; a line for which `to` returns `None` is unchanged.
fn converted(text: &str, to: impl Fn(&str) -> Option<String>) -> String {
    let lines = work::lines_with_ends(text).map(|line| {
        let rest = fold::trim_blanks_start(line);
        let indent = &line[..line.len() - rest.len()];
        to(indent).filter(|_| !rest.trim().is_empty()).map_or_else(|| line.to_owned(), |indent| indent + rest)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::OldLines;

    fn in_indentation_of(old: &str, new: &str) -> String {
        super::in_indentation_of(&OldLines::of(old), new, &[]).into_owned()
    }

    #[test]
    fn indentation_is_that_of_the_file() {
        let tabs = "f {\n\ta\n\tg {\n\t\tb\n\t}\n}\n";
        let spaces = tabs.replace('\t', "    ");
        let two = tabs.replace('\t', "  ");
        for (old, new, want) in [(tabs, &*spaces, tabs), (tabs, &two, tabs), (&two, tabs, &two), (tabs, tabs, tabs)] {
            assert_eq!(in_indentation_of(old, new), want);
        }
        // Mixed indentation shows no kind.
        let mixed = "f {\n\ta\n  b\n}\n";
        assert_eq!(in_indentation_of(mixed, &spaces), *spaces);
        assert_eq!(in_indentation_of(tabs, "f {\n\ta\n    b\n}\n"), "f {\n\ta\n    b\n}\n");
    }
}
