//! The shell line above a patch: `apply_patch <<'EOF'`, `cat <<EOF | apply_patch`, `cd DIR && apply_patch <<"TAG"`.

/// A parsed shell line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeredocOpener {
    /// The delimiter that ends the here-document.
    pub(super) tag: String,
    /// The directory that names are relative to.
    pub(super) directory: Option<String>,
    /// Other commands on the line, which are not run.
    pub(super) beside: Vec<String>,
}

/// Parses a line that opens a here-document with a patch.
pub(super) fn opener(line: &str) -> Option<HeredocOpener> {
    let (head, tail) = line.trim().split_once("<<")?;
    let (tag, tail) = tag(tail)?;
    let head = ["$ ", "> ", "% "].into_iter().find_map(|prompt| head.strip_prefix(prompt)).unwrap_or(head);
    let head = shell_word(head.trim_start());
    let (before, command) = match head.rfind("&&").map(|at| (at, 2)).max(head.rfind(';').map(|at| (at, 1))) {
        Some((at, len)) => (&head[..at], &head[at + len..]),
        None => ("", head),
    };
    let mut words = command.split_whitespace();
    let applies = match (words.next(), words.next()) {
        (None, _) => tail.is_empty() || tail.split_whitespace().any(is_tool),
        (Some("cat"), None | Some("-")) => true,
        (Some(word), None | Some("-")) => is_tool(word),
        _ => false,
    };
    if !applies {
        return None;
    }
    let mut out = HeredocOpener { tag: tag.to_owned(), ..HeredocOpener::default() };
    for part in before.split("&&").flat_map(|part| part.split(';')).map(str::trim).filter(|part| !part.is_empty()) {
        match directory(part) {
            Some(directory) => out.directory = Some(join(out.directory.as_deref(), directory)),
            None => out.beside.push(part.to_owned()),
        }
    }
    Some(out)
}

/// True for the name or path of the tool.
fn is_tool(word: &str) -> bool {
    word.rsplit('/').next().is_some_and(|name| name == "apply_patch" || name == "applypatch")
}

/// Returns the directory of a `cd` command alone on its line.
pub(super) fn directory(command: &str) -> Option<&str> {
    let directory = command.trim().strip_prefix("cd ")?.trim();
    let bare = ['\'', '"'].into_iter().find_map(|quote| directory.strip_prefix(quote)?.strip_suffix(quote));
    let directory = bare.unwrap_or(directory);
    (!directory.is_empty() && (bare.is_some() || !directory.contains(char::is_whitespace))).then_some(directory)
}

/// True for a directory that only a shell can expand.
pub(super) fn is_unknown(directory: &str) -> bool {
    directory.starts_with(['~', '-']) || directory.contains(['$', '`', '*', '?', '(', '\\'])
}

/// Prepends the directory to a name, if there is one.
pub(super) fn join(directory: Option<&str>, name: &str) -> String {
    match directory.map(|directory| directory.trim_end_matches('/')) {
        None | Some(".") => name.to_owned(),
        _ if name.starts_with('/') => name.to_owned(),
        Some(directory) => format!("{directory}/{}", name.strip_prefix("./").unwrap_or(name)),
    }
}

/// Returns the words after `bash -lc "`.
fn shell_word(head: &str) -> &str {
    let Some((shell, rest)) = head.split_once(' ') else { return head };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    if !["bash", "sh", "zsh"].contains(&name) {
        return head;
    }
    let rest = rest.trim_start();
    let rest = ["-lc ", "-c "].into_iter().find_map(|flag| rest.strip_prefix(flag)).unwrap_or(rest);
    rest.trim_start().trim_start_matches(['"', '\''])
}

/// Returns the delimiter after `<<`, and the rest of the line.
fn tag(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('-').unwrap_or(text).trim_start();
    let quote = text.chars().next().filter(|ch| ['\'', '"', '\\'].contains(ch));
    let text = quote.map_or(text, |quote| &text[quote.len_utf8()..]);
    let end = text.find(|ch: char| !(ch.is_alphanumeric() || ch == '_' || ch == '-')).unwrap_or(text.len());
    let (tag, rest) = text.split_at(end);
    let rest = quote.and_then(|quote| rest.strip_prefix(quote)).unwrap_or(rest);
    (!tag.is_empty()).then(|| (tag, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::{HeredocOpener, join, opener};

    #[test]
    fn shell_openers_are_recognized() {
        let plain = HeredocOpener { tag: "EOF".into(), ..HeredocOpener::default() };
        for line in [
            "<<EOF",
            "<<'EOF'",
            "<< \"EOF\"",
            "apply_patch <<'EOF'",
            "$ apply_patch <<-EOF",
            "cat <<EOF | apply_patch",
            "cat <<'EOF' | /usr/bin/apply_patch",
            "<<EOF apply_patch",
            "bash -lc \"apply_patch <<'EOF'",
            "bash -lc 'cat <<EOF | apply_patch",
        ] {
            assert_eq!(opener(line).as_ref(), Some(&plain), "{line}");
        }
        let directory =
            |name: &str| Some(HeredocOpener { directory: Some(name.into()), tag: "P_1".into(), beside: vec![] });
        assert_eq!(opener("cd 'my src' && apply_patch <<\"P_1\""), directory("my src"));
        assert_eq!(opener("bash -lc 'cd a && cd ./b; apply_patch <<P_1"), directory("a/b"));
        let beside = opener("set -e; cd a && apply_patch <<EOF").unwrap();
        assert_eq!((beside.directory.as_deref(), &*beside.beside), (Some("a"), &["set -e".to_owned()][..]));
        for line in ["cat > f <<EOF", "x << y", "python <<EOF", "a <<", "apply_patch", "1 << 2"] {
            assert_eq!(opener(line), None, "{line}");
        }
        assert_eq!(
            (join(Some("a/"), "./b"), join(Some("a"), "/b"), join(None, "b")),
            ("a/b".into(), "/b".into(), "b".into())
        );
    }
}
