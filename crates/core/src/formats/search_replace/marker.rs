//! Marker lines: what opens, divides and closes a block, in every spelling in use.
//!
//! `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE` (aider, Roo, Zed; five signs or more), `------- SEARCH`, `=======`,
//! `+++++++ REPLACE` (Cline; three or more). The length of the opening run is that of its partners, so text that
//! contains markers is edited with longer ones, or with a backslash before each marker of the text.

/// The fewest signs of a run in angle brackets, and of a divider that stands for itself.
const ANGLES: usize = 5;
/// The fewest signs of Cline's runs.
const DASHES: usize = 3;

/// A line that opens a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// Length of the run.
    pub(super) run: usize,
    /// `line=N`.
    pub(super) line: Option<usize>,
}

/// The run of one sign at the start of a line, and what follows, without trailing blanks.
fn run(line: &str, sign: char) -> (usize, &str) {
    let rest = line.trim_start_matches(sign);
    (line.len() - rest.len(), rest.trim_end())
}

/// Reads an opening line.
pub(super) fn open(line: &str) -> Option<Open> {
    let (count, rest) = match line.chars().next()? {
        '<' => Some(run(line, '<')).filter(|it| it.0 >= ANGLES)?,
        '-' => Some(run(line, '-')).filter(|it| it.0 >= DASHES)?,
        _ => return None,
    };
    let rest = rest.trim_start().strip_prefix("SEARCH")?.trim_start().trim_start_matches('>').trim();
    let line = match rest {
        "" => None,
        _ => Some(rest.strip_prefix("line=")?.trim_matches('"').parse().ok()?),
    };
    Some(Open { run: count, line })
}

/// Length of the run, if the line divides a block.
pub(super) fn divider(line: &str) -> Option<usize> {
    let (count, rest) = run(line, '=');
    (count >= DASHES && rest.is_empty()).then_some(count)
}

/// Length of the run, if the line closes a block.
pub(super) fn close(line: &str) -> Option<usize> {
    let (count, rest) = match line.chars().next()? {
        '>' => Some(run(line, '>')).filter(|it| it.0 >= ANGLES)?,
        '+' => Some(run(line, '+')).filter(|it| it.0 >= DASHES)?,
        _ => return None,
    };
    matches!(rest.trim_start().strip_prefix("REPLACE")?, "" | "<").then_some(count)
}

/// True for the beginning of a closing line at the very end of the input.
pub(super) fn is_cut_close(line: &str, length: usize) -> bool {
    let line = line.trim_end();
    let whole = |sign: &str| format!("{} REPLACE", sign.repeat(length)).starts_with(line);
    line.len() >= DASHES && (whole(">") || whole("+"))
}

/// A line whose marker was escaped with a backslash, without it.
pub(super) fn unescaped(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('\\')?;
    let bare = rest.trim_start_matches('\\');
    let long = |sign| {
        let (count, tail) = run(bare, sign);
        count >= ANGLES && (tail.is_empty() || tail.starts_with(' '))
    };
    let option = bare.starts_with(":start_line:") || bare.starts_with(":end_line:");
    (['<', '=', '>', '-', '+'].into_iter().any(long) || option).then_some(rest)
}

/// `:start_line:N` or `:end_line:N` (Roo): whether it is the start, and the number.
pub(super) fn option(line: &str) -> Option<(bool, usize)> {
    let (start, rest) = match line.strip_prefix(":start_line:") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix(":end_line:")?),
    };
    Some((start, rest.trim().parse().ok()?))
}

/// The line that ends Roo's options.
pub(super) fn ends_options(line: &str) -> bool {
    let (count, rest) = run(line, '-');
    count >= ANGLES && rest.is_empty()
}

/// A line that is nearly an opening one: what is wrong with it.
pub(super) fn nearly_open(line: &str) -> bool {
    let (count, rest) = run(line, '<');
    count >= 2 && open(line).is_none() && rest.trim_start().starts_with("SEARCH")
}

#[cfg(test)]
mod tests {
    use super::{Open, close, divider, nearly_open, open, unescaped};

    #[test]
    fn spellings() {
        for line in [
            "<<<<<<< SEARCH",
            "<<<<<<< SEARCH>",
            "<<<<<<< SEARCH  ",
            "<<<<<<<SEARCH",
            "------- SEARCH",
            "------- SEARCH>",
        ] {
            assert_eq!(open(line), Some(Open { run: 7, line: None }), "{line}");
        }
        assert_eq!(open("<<<<< SEARCH line=12"), Some(Open { run: 5, line: Some(12) }));
        assert_eq!(open("--- SEARCH").unwrap().run, 3);
        for line in ["<<<< SEARCH", "<<<<<<< HEAD", " <<<<<<< SEARCH", "<<<<<<< SEARCHING", "-- SEARCH", "SEARCH"] {
            assert_eq!(open(line), None, "{line}");
        }
        assert!(nearly_open("<<<< SEARCH") && !nearly_open("<<<<<<< HEAD"));
        assert_eq!(
            (close(">>>>>>> REPLACE"), close("+++++++ REPLACE"), close(">>>>>>> main")),
            (Some(7), Some(7), None)
        );
        assert_eq!((divider("=======  "), divider("== =="), divider("=")), (Some(7), None, None));
    }

    #[test]
    fn a_backslash_makes_a_marker_text() {
        assert_eq!(unescaped("\\======="), Some("======="));
        assert_eq!(unescaped("\\<<<<<<< HEAD"), Some("<<<<<<< HEAD"));
        assert_eq!(unescaped("\\\\>>>>>>> x"), Some("\\>>>>>>> x"));
        assert_eq!(unescaped("\\title{x}"), None);
        assert_eq!(unescaped("\\-------x"), None);
    }
}
