//! Whole files in fences that do not have their names above them.
//!
//! Such a fence has its name from the call, or from a comment at its beginning. Models write parts of files in the same
//! way, so that a text for an existing file must show where the file begins and ends.

use crate::advice;
use crate::advice::Phrase;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::omission;
pub use crate::locate::op::fence_name::FenceName;
use crate::note::Note;
use crate::text::diff;
use crate::text::fold::count_alnum;
use crate::work;
use std::borrow::Cow;

/// Number of lines at the beginning of a text among which a comment may name the file.
const NAME_LINES: usize = 2;
/// Minimum number of letters and digits of a line that shows the part of a file to which a text belongs.
const TELLING_ALNUM_MIN: usize = 4;
/// Steps of work for each line that is compared.
const COMPARED_LINE_STEPS: usize = 8;

impl FenceName {
    /// Returns the text of the file, without a comment that is only its name, and a note about that. `now` is the current
    /// text of the file; `meant` is true if the caller confirmed that the text is the whole file.
    ///
    /// Errors: `edit.omission` for a text that is a part of the file; `edit.unparsable` if there are two names.
    pub(crate) fn file_text<'t>(
        &self,
        now: Option<&str>,
        text: &'t str,
        meant: bool,
    ) -> Result<(Cow<'t, str>, Option<Note>)> {
        if let Some(line) = self.other_name(now) {
            return Err(two_names(line));
        }
        let is_in_file = |line: &str| now.is_some_and(|now| begins_with_line(now, line));
        let (text, note) = match self {
            FenceName::Comment(line) if !is_in_file(line) => without_line(text, line),
            FenceName::Repeated(line) => {
                let is_elided = || now.is_some_and(|now| !omission::gaps(now, text).is_empty());
                let is_name = !is_in_file(line) && is_elided();
                return Ok(if is_name { without_line(text, line) } else { (Cow::Borrowed(text), None) });
            }
            _ => (Cow::Borrowed(text), None),
        };
        if let Some(now) = now.filter(|_| !meant)
            && omission::gaps(now, &text).is_empty()
        {
            check_is_whole(now, &text)?;
        }
        Ok((text, note))
    }

    /// Returns the line that may name another file than that of the call, unless the file has it.
    pub(crate) fn other_name(&self, now: Option<&str>) -> Option<&str> {
        match self {
            FenceName::Contradicted(line) if !now.is_some_and(|now| begins_with_line(now, line)) => Some(line.trim()),
            _ => None,
        }
    }
}

/// True if a line is among the first ones of a text.
fn begins_with_line(text: &str, line: &str) -> bool {
    text.lines().take(NAME_LINES).any(|it| it.trim() == line.trim())
}

/// Removes a line at the beginning of a text, and the blank lines below it.
fn without_line<'t>(text: &'t str, line: &str) -> (Cow<'t, str>, Option<Note>) {
    let mut start = 0;
    for it in text.split_inclusive('\n').take(NAME_LINES) {
        let end = start + it.len();
        if it.trim() == line.trim() {
            let mut rest = &text[end..];
            while let Some((_, below)) = rest.split_once('\n').filter(|(blank, _)| blank.trim().is_empty()) {
                rest = below;
            }
            let note = format!("The line `{}` is only the name of the file, and was omitted.", line.trim());
            let text = if start == 0 { Cow::Borrowed(rest) } else { Cow::Owned(format!("{}{rest}", &text[..start])) };
            return (text, Some(note.into()));
        }
        start = end;
    }
    (Cow::Borrowed(text), None)
}

fn two_names(line: &str) -> Error {
    Error::new(Code::EditUnparsable, "The call names one file, and the text another one.")
        .evidence(format!("The name in the text: {line}"))
        .next(
            "Put the name of the file alone on the line above the fence, or omit the line that does not belong to it.",
        )
}

/// Refuses a text that is only a part of a file: it lacks more lines of the beginning, or of the end, than it has new
/// ones there, or most lines of the file.
fn check_is_whole(now: &str, text: &str) -> Result<()> {
    let is_filled = |line: &&str| !line.trim().is_empty();
    let [old, new] = [now, text].map(|text| work::lines(text).filter(is_filled).map(str::trim_end).collect::<Vec<_>>());
    if old.is_empty() || work::spend_or_end(COMPARED_LINE_STEPS * (old.len() + new.len())) {
        return work::check();
    }
    let mut same = diff::equal_lines(&old, &new);
    let kept = same.len();
    same.retain(|(at, _)| count_alnum(old[*at], TELLING_ALNUM_MIN) >= TELLING_ALNUM_MIN);
    let [head, tail] = match (same.first(), same.last()) {
        (Some(first), Some(last)) => [*first, (old.len() - 1 - last.0, new.len() - 1 - last.1)],
        _ => [(old.len(), new.len()); 2],
    };
    let is_part = head.0 > head.1 || tail.0 > tail.1 || !same.is_empty() && 2 * kept < old.len();
    if !is_part {
        return Ok(());
    }
    let what = "The text looks like a part of the file; as the whole text it would delete the rest.";
    let place = "put the file's path alone on the line above the fence";
    Err(Error::new(Code::EditOmission, what)
        .evidence(format!("The file has {} lines that are not blank, the text {}.", old.len(), new.len()))
        .next(
            advice![
                "Send the part as an edit (old text and new text), or with `// ... existing code ...` for what stays; if \
                 it is the whole file, ",
                place,
                ", or add ",
                Phrase::Set("allow_invalid", true.into()),
                "."
            ]
            .or(format!("Send only the change; if the text is the whole file, {place}.")),
        ))
}

#[cfg(test)]
mod tests {
    use super::FenceName;

    const FILE: &str = "import os\n\ndef one():\n    return os.name\n\ndef two():\n    return 2\n";

    fn read(name: &FenceName, now: Option<&str>, text: &str) -> Result<String, String> {
        name.file_text(now, text, false).map(|(text, _)| text.into_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn comment_is_kept_only_if_the_file_has_it() {
        let name = FenceName::Comment("# a.py".to_owned());
        let text = format!("# a.py\n\n{FILE}");
        assert_eq!(read(&name, Some(FILE), &text).as_deref(), Ok(FILE));
        assert_eq!(read(&name, None, &text).as_deref(), Ok(FILE));
        assert_eq!(read(&name, Some(&text), &text), Ok(text.clone()));
        let script = format!("#!/usr/bin/python\n# a.py\n{FILE}");
        assert_eq!(read(&name, None, &script), Ok(format!("#!/usr/bin/python\n{FILE}")));
    }

    #[test]
    fn repeated_name_is_removed_only_in_front_of_placeholders() {
        let name = FenceName::Repeated("# a.py".to_owned());
        let lazy = "# a.py\n# ... existing code ...\ndef two():\n    return 3\n";
        assert_eq!(read(&name, Some(FILE), lazy).ok().as_deref(), lazy.strip_prefix("# a.py\n"));
        let whole = format!("# a.py\n{FILE}");
        assert_eq!(read(&name, Some(FILE), &whole), Ok(whole.clone()));
    }

    #[test]
    fn part_of_a_file_is_refused() {
        for part in ["def two():\n    return 3\n", "import os\n\ndef one():\n    return os.sep\n", "    return 2\n"] {
            assert!(read(&FenceName::Call, Some(FILE), part).is_err(), "{part}");
        }
        for whole in [
            FILE.replace('2', "3"),
            FILE.replace("import os\n", "import os\nimport sys\n"),
            FILE.replace("import os\n\n", "").replace("def one", "import sys\ndef one"),
            format!("{FILE}\ndef three():\n    return 3\n"),
            "class Other:\n    def one(self):\n        pass\n\n    def two(self):\n        pass\n".to_owned(),
        ] {
            assert_eq!(read(&FenceName::Call, Some(FILE), &whole), Ok(whole.clone()));
        }
        assert!(FenceName::Call.file_text(Some(FILE), "    return 2\n", true).is_ok());
    }

    #[test]
    fn two_names_are_refused() {
        let name = FenceName::Contradicted("# b.py".to_owned());
        assert!(read(&name, Some(FILE), &format!("# b.py\n{FILE}")).is_err());
        let file = format!("# b.py\n{FILE}");
        assert_eq!(read(&name, Some(&file), &file), Ok(file.clone()));
    }
}
