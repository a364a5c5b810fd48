//! A variable or parameter whose declaration the text removes, although code that a placeholder keeps uses it: the text
//! may be meant to remove that code as well.

use super::placement::PlacedFragment;
use super::{TextPair, blocks, fresh, indent, is_filled, orphan};
use crate::locate::word_overlap;
use crate::work;
use core::ops::Range;

/// Maximum number of removed declarations that are examined, and of lines behind each.
const DECLARATIONS_MAX: usize = 50;
const SCOPE_LINES_MAX: usize = 2_000;

/// The fate of a line of the file in an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineFate {
    Hidden,
    Shown,
    Removed,
}

/// A declaration that an edit removes.
struct Declaration<'a> {
    name: &'a str,
    /// Its zero-based line in the file.
    at: usize,
    /// Minimum indentation of the lines below in which the name is known.
    depth: usize,
    /// The lines of the text in its place.
    new: &'a Range<usize>,
}

/// Refuses an edit that removes the only declaration of a variable which hidden lines of the same block use.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    let mut fates = vec![LineFate::Hidden; texts.old.len()];
    let mut removed = Vec::new();
    for it in placed {
        if work::spend_or_end(it.steps()) {
            return Ok(());
        }
        fates[it.old.clone()].fill(LineFate::Shown);
        for at in it.removed() {
            fates[at] = LineFate::Removed;
            let (line, new) = (texts.old[at], &it.fragment.lines);
            let depth = indent(line);
            removed.extend(declared(line).map(|name| Declaration { name, at, depth, new }));
            // A parameter is known in the deeper lines below.
            removed.extend(parameters(line).map(|name| Declaration { name, at, depth: depth + 1, new }));
        }
    }
    for Declaration { name, at, depth, new } in removed.into_iter().take(DECLARATIONS_MAX) {
        let declares = |line: &str| line.contains(name) && binds(line, name);
        let is_kept = |line: &str| declares(line) || parameters(line).any(|it| it == name);
        if texts.new[new.clone()].iter().any(|line| work::spend_or_end(1) || is_kept(line)) {
            continue;
        }
        let scope = texts.old.iter().enumerate().skip(at + 1).take(SCOPE_LINES_MAX);
        let is_inside = |line: &str| !is_filled(line) || indent(line) >= depth;
        let mut scope = scope.take_while(|(_, line)| is_inside(line) && !work::spend_or_end(blocks::line_steps(line)));
        let is_used = |line: &str| line.contains(name) && orphan::words(line).any(|word| word.is_variable(name));
        let next = scope.find(|(at, line)| match fates[*at] {
            LineFate::Hidden => declares(line) || is_used(line),
            LineFate::Shown => declares(line),
            LineFate::Removed => false,
        });
        if let Some((user, _)) = next.filter(|(_, line)| !declares(line)) {
            return Err(format!(
                "The text removes line {} of the file, which declares `{name}`, but line {}, which a placeholder keeps, uses \
                 it. Show that line if it stays, or the lines around it without it.",
                at + 1,
                user + 1
            ));
        }
    }
    Ok(())
}

/// Returns the parameters with types in the first line of a function.
fn parameters(line: &str) -> impl Iterator<Item = &str> {
    const WORDS: [&str; 5] = ["fn", "def", "func", "function", "fun"];
    let is_function = word_overlap::words(line).take(4).any(|word| WORDS.contains(&word));
    let inside = if is_function { fresh::parameters(line) } else { "" };
    let typed = inside.split(", ").filter_map(|part| part.split_once(": "));
    typed.filter_map(|(name, _)| word_overlap::words(name).last()).filter(|name| *name != "self")
}

/// Returns the variable that a line declares.
fn declared(line: &str) -> Option<&str> {
    const WORDS: [&str; 8] = ["let", "const", "var", "val", "auto", "my", "local", "final"];
    let text = line.trim_start();
    let (before, after) = text.split_once('=')?;
    if after.starts_with(['=', '>']) {
        return None;
    }
    let is_short = before.ends_with(':') && !before.contains(['(', '.', ',']);
    let before = before.trim_end_matches(':');
    let mut words = word_overlap::words(before);
    let is_declaration = words.next().is_some_and(|word| WORDS.contains(&word));
    // The type of a variable is behind a colon.
    let name = before.split_once(": ").map_or(before, |(name, _)| name);
    let is_one = !name.contains(['(', '[', '{', ',', '.']);
    (is_one && (is_declaration || is_short)).then(|| word_overlap::words(name).last()).flatten()
}

/// True for a line that may give a name another meaning: a declaration, a pattern, a loop, or parameters.
fn binds(line: &str, name: &str) -> bool {
    const LOOPS: [&str; 3] = ["for", "foreach", "with"];
    let has = |text: &str| orphan::words(text).any(|word| word.text == name && !word.before.ends_with('.'));
    let begins_loop = word_overlap::words(line).next().is_some_and(|word| LOOPS.contains(&word));
    let (before, _) = line.split_once('=').unwrap_or((line, ""));
    let parameters = line.split('|').skip(1).step_by(2).any(has);
    begins_loop || parameters || before.len() < line.len() && has(before)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};

    const FILE: &str = "fn set(text: &str) {\n    let known = find_it(text);\n    if known.is_none() {\n        write_it(text);\n        \
                        done_with(text);\n    }\n    if known.is_old() {\n        remove_it(text);\n    }\n    print_all(text)\n}\n";

    #[test]
    fn code_that_uses_a_removed_variable_may_be_meant_to_go() {
        let new = "fn set(text: &str) {\n    if find_it(text).is_none() {\n        write_it(text);\n        // ...\n    }\n    \
                   print_all(text)\n}\n";
        assert!(refuse(FILE, new, &[]).contains("declares `known`, but line 7"));
        let other = FILE.replace("known.is_old()", "text.is_old()");
        let changed = FILE.replace("text: &str) {", "text: &str, deep: bool) {").replace("known.is_old()", "deep");
        let without = "fn set(text: &str) {\n    let known = find_it(text);\n    // ...\n";
        assert!(refuse(&changed, without, &[]).contains("declares `deep`, but line 7"));
        // The name has another declaration, or that of a member.
        let pattern = new.replace("if find_it(text).is_none()", "if let Some(known) = find_it(text)");
        assert!(edit(FILE, &pattern, &[]).contains("if known.is_old()"));
        let member = new.replace("if find_it(text).is_none()", "if let Some(text.known) = find_it(text)");
        assert!(refuse(FILE, &member, &[]).contains("declares `known`, but line 7"));
        let want =
            other.replace("    let known = find_it(text);\n", "").replace("known.is_none()", "find_it(text).is_none()");
        assert_eq!(edit(&other, new, &[]), want);
    }
}
