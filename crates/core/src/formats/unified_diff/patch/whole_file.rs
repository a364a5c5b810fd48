//! The whole content of files that a patch creates or deletes.

use super::super::body::NumberedHunk;
use super::super::mistakes::broken;
use super::{FILE_TYPE_MASK, FilePatch, LINK_MODE};
use crate::error::Result;
use crate::formats::line_parser::pop_line_end;
use crate::locate::doubled_plus;
use crate::locate::op::{HunkLine, HunkLineKind, NewFile};

/// The object id of empty content, by SHA-1 and by SHA-256.
const EMPTY_BLOB_IDS: [&str; 2] =
    ["e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];

impl FilePatch {
    /// Returns the content of the hunks of a new file, or the target of a link.
    pub(super) fn created_file(&self) -> Result<NewFile> {
        let is_link = self.modes.new.or(self.kept_mode).is_some_and(|mode| mode & FILE_TYPE_MASK == LINK_MODE);
        let target = !self.creates();
        let mut text = String::new();
        let mut open = false;
        for numbered @ NumberedHunk { hunk, .. } in &self.hunks {
            if let Some(line) = hunk.lines.iter().find(|line| is_foreign(target, line)) {
                let what = format!("the file is new, but `{}` in its hunk is not an added line.", line.text);
                return Err(broken(hunk.source_line, &what).next("Begin every line of a new file with +."));
            }
            text.push_str(&self.new_text(numbered));
            open = hunk.open.1;
        }
        if self.hunks.is_empty() && self.ids.new.as_deref().is_some_and(|id| !is_empty_id(id)) {
            return Err(self
                .broken("the new file has content, but no hunk contains it.")
                .next("Send the whole patch."));
        }
        if open || is_link {
            pop_line_end(&mut text);
        }
        match is_link {
            true if text.is_empty() || text.contains(['\n', '\0']) => {
                Err(self.broken("the hunk of a symbolic link has one line, its target."))
            }
            true => Ok(NewFile::Link(text)),
            false => Ok(NewFile::Text(text)),
        }
    }

    /// Checks the lines of a new file for marks that are probably doubled.
    ///
    /// Errors: [`crate::code::Code::EditUnparsable`] if each line begins with `++`.
    pub(super) fn check_marks(&self, path: &str) -> Result<()> {
        let lines = self.hunks.iter().flat_map(|it| &it.hunk.lines).map(|line| &*line.text);
        if doubled_plus::is_suspected(lines) && !doubled_plus::is_patch_name(path) {
            return Err(self.broken(doubled_plus::NEW_FILE_PROBLEM).next(doubled_plus::NEW_FILE_ADVICE));
        }
        Ok(())
    }

    /// Returns the whole text of a deleted file, if the patch contains it.
    pub(super) fn deleted_text(&self) -> Result<Option<String>> {
        if self.hunks.is_empty() {
            return Ok(self.ids.old.as_deref().filter(|id| is_empty_id(id)).map(|_| String::new()));
        }
        let mut text = String::new();
        let mut open = false;
        for NumberedHunk { hunk, .. } in &self.hunks {
            if let Some(line) =
                hunk.lines.iter().find(|line| line.kind != HunkLineKind::Removed && !line.text.is_empty())
            {
                let what = format!("the file is deleted, but `{}` in its hunk is not a removed line.", line.text);
                return Err(broken(hunk.source_line, &what).next(
                    "Begin every line with -, or omit the hunk and keep the header; to empty the file, name it on both sides.",
                ));
            }
            text.push_str(&hunk.old_text());
            open = hunk.open.0;
        }
        if open {
            text.pop();
        }
        Ok(Some(text))
    }
}

/// True for a line that is not part of the whole text.
fn is_foreign(target: bool, line: &HunkLine) -> bool {
    match line.kind {
        HunkLineKind::Added => false,
        // The line is a blank line of the new text without its mark.
        HunkLineKind::Context => !line.text.is_empty(),
        HunkLineKind::Removed => !target,
        HunkLineKind::Bare => true,
    }
}

/// True for the object id of empty content.
pub(super) fn is_empty_id(id: &str) -> bool {
    id.len() >= 7 && EMPTY_BLOB_IDS.iter().any(|empty| empty.starts_with(id))
}
