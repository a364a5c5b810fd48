//! Names with what models put around them in a reply: quotes, links, list numbers, line ranges, the end of a sentence. A
//! name is read without its decoration only if nothing exists under the name as written.

use crate::context::Context;
use crate::session::names;
use emendate_core::{Code, Error, FileAction, FileRequest, Notes, Result};
use emendate_fs::shown;
use std::path::Path;

/// A name inside its decoration.
#[derive(Debug, PartialEq, Eq)]
struct InnerName<'a> {
    name: &'a str,
    /// The decoration can never be a part of a name, so it is removed from the name of a new file as well.
    certain: bool,
    /// The decoration names some lines of the file, so the text is not the whole file.
    is_part: bool,
}

/// Reads the name of one file of a text without its decoration.
///
/// Errors: `path.invalid` for a whole text under a name with line numbers, and for a new file below `~`.
pub(crate) fn read_decorated_name(
    context: &Context,
    directory: &Path,
    file: &mut FileRequest,
    notes: &mut Notes,
) -> Result<()> {
    let Some(inner) = undecorated(&file.path).filter(|_| !file.exact_name) else { return check_home(file) };
    let exists = |name: &str| names::exists(context, directory, name);
    if std::iter::once(&file.path).chain(&file.alternatives).any(|name| exists(name)) {
        return Ok(());
    }
    let new = file.action.creates();
    if new && inner.is_part {
        return Err(Error::new(
            Code::PathInvalid,
            format!("{} names lines of a file, and the text below it would be the whole file.", shown(&file.path)),
        )
        .next("Send those lines as an edit with old and new text; or write the path alone above the whole text."));
    }
    // A file that is to be new cannot be one that exists.
    let may_exist = !matches!(file.action, FileAction::Create(_));
    if !(may_exist && exists(inner.name) || new && inner.certain) {
        return Ok(());
    }
    let name = inner.name.to_owned();
    notes.push(format!("{} was read as {}.", shown(&file.path), shown(&name)));
    file.path = name;
    check_home(file)
}

/// Refuses a new file below `~`: only shells expand it, and no directory of that name is ever meant.
fn check_home(file: &FileRequest) -> Result<()> {
    if !(file.path.starts_with("~/") && file.action.creates()) {
        return Ok(());
    }
    Err(Error::new(Code::PathInvalid, format!("{}: `~` is not expanded here.", shown(&file.path)))
        .next("Write the path relative to the directory of the edits, or absolute."))
}

/// Returns the name inside a decoration; `None` for a name that has none.
fn undecorated(name: &str) -> Option<InnerName<'_>> {
    let of = |name, certain, is_part| Some(InnerName { name, certain, is_part }).filter(|it| !it.name.is_empty());
    for [open, close] in [["\"", "\""], ["'", "'"], ["\u{201C}", "\u{201D}"], ["\u{2018}", "\u{2019}"], ["`", "`"]] {
        if let Some(inner) = name.strip_prefix(open).and_then(|it| it.strip_suffix(close)) {
            return of(inner, true, false);
        }
    }
    // [src/a.rs](src/a.rs)
    if let Some((shown, target)) = name.strip_prefix('[').and_then(|it| it.strip_suffix(')')?.split_once("](")) {
        let inner = if target.contains("://") { shown } else { target };
        return of(inner.trim_matches('`'), true, false);
    }
    for [open, close] in [["(", ")"], ["[", "]"], ["{", "}"], ["__", "__"], ["_", "_"]] {
        if let Some(inner) = name.strip_prefix(open).and_then(|it| it.strip_suffix(close)) {
            return of(inner, false, false);
        }
    }
    if let Some(inner) = without_lines(name) {
        return of(inner, false, true);
    }
    if let Some(inner) = name.strip_suffix([',', ';']) {
        return of(inner, true, false);
    }
    if let Some(inner) = name.strip_suffix('.').filter(|inner| !inner.ends_with(['.', '/'])) {
        return of(inner, true, false);
    }
    // Git's prefixes in front of a name outside of a diff, the slash of a project's root, and what some clients put
    // before names of files.
    let lead = ["a/", "b/", "@", "/", "file://", "--- ", "+++ ", "\u{1F4C4} ", "\u{1F4C1} "]
        .iter()
        .find_map(|lead| name.strip_prefix(lead));
    of(lead.or_else(|| without_number(name))?, false, false)
}

/// `src/a.rs:12`, `src/a.rs:12-20`, `src/a.rs#L12-L20`, `12:20:src/a.rs`.
fn without_lines(name: &str) -> Option<&str> {
    if let Some((inner, lines)) = name.rsplit_once("#L") {
        return is_line_range(lines).then_some(inner);
    }
    let mut parts = name.splitn(3, ':');
    if let (Some(from), Some(to), Some(inner)) = (parts.next(), parts.next(), parts.next())
        && is_number(from)
        && is_number(to)
    {
        return Some(inner);
    }
    // A name such as `12:20:src/a.rs` may arrive without its first number, if the parser of the text took that for a
    // language.
    if let Some((line, inner)) = name.split_once(':')
        && is_number(line)
    {
        return Some(inner);
    }
    let (inner, lines) = name.split_once(':')?;
    is_line_range(lines).then_some(inner)
}

/// True for one or more digits.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for `12`, `12-20`, `L12-L20` and similar.
fn is_line_range(text: &str) -> bool {
    text.trim_start_matches('L').split(['-', ',', ':']).all(|part| is_number(part.trim_start_matches('L')))
}

/// `1. src/a.rs`, `2) src/a.rs`, `Step 1: src/a.rs`.
fn without_number(name: &str) -> Option<&str> {
    let (lead, inner) = name.split_once(' ')?;
    let inner = inner.trim_start();
    let numbered = lead.strip_suffix(['.', ')', ':']).is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    if numbered {
        return Some(inner);
    }
    (lead.eq_ignore_ascii_case("step")).then(|| without_number(inner)).flatten()
}

#[cfg(test)]
mod tests {
    use super::undecorated;

    #[test]
    fn names_inside_their_decorations() {
        for (name, inner, certain, is_part) in [
            ("\"src/a.rs\"", "src/a.rs", true, false),
            ("'src/a.rs'", "src/a.rs", true, false),
            ("\u{201C}src/a.rs\u{201D}", "src/a.rs", true, false),
            ("[src/a.rs](src/a.rs)", "src/a.rs", true, false),
            ("[`src/a.rs`](https://example.org/src/a.rs)", "src/a.rs", true, false),
            ("(src/a.rs)", "src/a.rs", false, false),
            ("_src/a.rs_", "src/a.rs", false, false),
            ("__src/a.rs__", "src/a.rs", false, false),
            ("src/a.rs,", "src/a.rs", true, false),
            ("src/a.rs.", "src/a.rs", true, false),
            ("@src/a.rs", "src/a.rs", false, false),
            ("a/src/a.rs", "src/a.rs", false, false),
            ("--- src/a.rs", "src/a.rs", false, false),
            ("/src/a.rs", "src/a.rs", false, false),
            ("file://src/a.rs", "src/a.rs", false, false),
            ("2) src/a.rs", "src/a.rs", false, false),
            ("1. src/a.rs", "src/a.rs", false, false),
            ("Step 12: src/a.rs", "src/a.rs", false, false),
            ("src/a.rs:16", "src/a.rs", false, true),
            ("src/a.rs:16-20", "src/a.rs", false, true),
            ("src/a.rs#L16-L20", "src/a.rs", false, true),
            ("14:17:src/a.rs", "src/a.rs", false, true),
            ("17:src/a.rs", "src/a.rs", false, true),
        ] {
            let found = undecorated(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((found.name, found.certain, found.is_part), (inner, certain, is_part), "{name}");
        }
        for name in ["src/a.rs", "app/[slug]/page.tsx", "C:/a.rs", "my file.txt", "..", "a.rs:b", "v1. notes.md", "a#L"]
        {
            assert_eq!(undecorated(name), None, "{name}");
        }
    }
}
