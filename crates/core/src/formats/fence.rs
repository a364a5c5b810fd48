//! Fences around edits in a reply: runs of backticks or tildes, and the tags that some models write instead.

use super::name;

/// Tags that are used as fences; a language may follow the opening one.
pub(super) const FENCE_TAGS: [&str; 5] = ["source", "code", "pre", "codeblock", "sourcecode"];

/// An open fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// A run of one character; the closing run is at least as long.
    Run {
        /// The character.
        sign: char,
        /// The length of the run.
        len: usize,
        /// True if the info string names a shell.
        shell: bool,
    },
    /// A tag.
    Tag(&'static str),
}

impl Fence {
    /// Returns the fence that a line opens.
    pub(super) fn opened_by(line: &str) -> Option<Fence> {
        let shells = ["bash", "sh", "shell", "zsh", "fish", "console", "powershell", "ps1", "cmd", "batch"];
        let run = name::fence(line).map(|(sign, len, info)| Fence::Run { sign, len, shell: shells.contains(&info) });
        run.or_else(|| tag(line).map(|(tag, _)| Fence::Tag(tag)))
    }

    /// True for the line that closes this fence.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        match self {
            Fence::Run { sign, len, .. } => {
                name::fence(line).is_some_and(|found| found.0 == *sign && found.1 >= *len && found.2.is_empty())
            }
            Fence::Tag(tag) => line.trim().strip_prefix("</").and_then(|rest| rest.strip_suffix('>')) == Some(tag),
        }
    }

    /// Records that the content is an edit and not a command.
    pub(super) fn forget_shell(&mut self) {
        if let Fence::Run { shell, .. } = self {
            *shell = false;
        }
    }

    /// True if the content is shell commands.
    pub(super) fn is_shell(&self) -> bool {
        matches!(self, Fence::Run { shell: true, .. })
    }
}

/// Returns the tag that a line opens as a fence, and the language after it.
pub(super) fn tag(line: &str) -> Option<(&'static str, &str)> {
    let (name, language) = line.trim().strip_prefix('<')?.split_once('>')?;
    let language = language.trim();
    let plain = language.len() <= 20 && language.chars().all(|ch| ch.is_ascii_alphanumeric() || "+#-_.".contains(ch));
    FENCE_TAGS.into_iter().find(|tag| *tag == name && plain).map(|tag| (tag, language))
}

/// Returns the lines inside the single fence that encloses a whole text, apart from blank lines around it.
pub(crate) fn inside_fence(text: &str) -> Option<&str> {
    let start = text.find(|ch: char| !ch.is_whitespace())?;
    let start = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let (first, rest) = text[start..].split_once('\n')?;
    let rest = rest.trim_end();
    let (inside, last) = rest.rsplit_once('\n').map_or(("", rest), |(inside, last)| (inside, last));
    let fence @ Fence::Run { .. } = Fence::opened_by(first.trim_end())? else { return None };
    let info = name::fence(first)?.2;
    if info.contains(' ') || !fence.is_closed_by(last) || inside.trim().is_empty() {
        return None;
    }
    // If there is another fence inside, it is unclear which of them encloses the edit.
    if inside.lines().any(|line| name::fence(line).is_some()) {
        return None;
    }
    let from = start + first.len() + 1;
    Some(&text[from..=from + inside.len()])
}

#[cfg(test)]
mod tests {
    use super::inside_fence;

    #[test]
    fn enclosing_fence_is_removed() {
        assert_eq!(inside_fence("```python\nx = 1\n```\n"), Some("x = 1\n"));
        assert_eq!(inside_fence("\n~~~\nx\r\ny\r\n~~~"), Some("x\r\ny\r\n"));
        for text in
            ["x\n", "```\n```\n", "```\nx\n", "```\nx\n```\ny\n```\nz\n```\n", "a\n```\nx\n```\n", "```\nx\n```\nb\n"]
        {
            assert_eq!(inside_fence(text), None, "{text}");
        }
    }
}
