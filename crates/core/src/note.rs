//! Notes: what an edit tolerated, kept or changed beyond the call, as values. Code that depends on a note examines the
//! value; the text is rendered once, in the reply.

use core::fmt;
use core::ops::Deref;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// A tolerance or another remark about an edit. Its text is that of [`Display`](fmt::Display).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Line numbers before the new lines were removed.
    CopiedNumbers,
    /// The code fence around a whole text was removed.
    FenceRemoved,
    /// Placeholders in the new text were replaced by the code of the file.
    CodeKept {
        /// The number of placeholders.
        gaps: usize,
    },
    /// Somebody other than the caller changed the new text before it was written.
    NewTextChanged {
        /// The formatter, hook or person that changed the text.
        by: String,
        /// Lines added to the text that was sent.
        added: usize,
        /// Lines removed from the text that was sent.
        removed: usize,
    },
    /// The edit was carried over to a newer version of the file.
    Merged {
        /// The version that the edit was made for.
        base: MergeBase,
        /// Text that the edit matched as context had changed.
        context_changed: bool,
        /// Names of the edits of the call that the other side had made already.
        already_made: Vec<String>,
    },
    /// Both sides of a conflict were written, between markers.
    ConflictMarkers,
    /// Edits by line number were carried over to a newer version.
    LinesCarried {
        /// Those who changed the file in between.
        by: Changers,
    },
    /// Edits of cells were carried over to a newer version.
    CellsCarried,
    /// Lines that were named by anchors moved, and the edit was made where they are now.
    AnchorsMoved,
    /// An edit at the head or tail of a file was applied although its header names another version of the file.
    AppliedAnywhere,
    /// A note about one of several edits.
    OfEdit {
        /// The index of the edit in the call.
        edit: usize,
        /// 1-based line of the request on which the edit begins; 0 for one in the fields of a call.
        line: usize,
        /// The note.
        note: Box<Note>,
    },
    /// Any other remark. Nothing depends on its text.
    Remark(Cow<'static, str>),
}

/// The version that a merged edit was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeBase {
    /// The version that the session saw.
    Seen,
    /// The version that a patch names, from the git repository.
    OfPatch,
}

/// Those who changed a file since a session saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Changers {
    /// Only others changed the file.
    Others,
    /// Only the session itself changed the file.
    Own,
    /// The session changed the file, and others did after it.
    Both,
}

impl Note {
    /// True if the written text differs from the sent text. A tool that saved the text that was sent would then write
    /// something that is not meant for the file.
    pub fn rewrites_sent_text(&self) -> bool {
        match self {
            Note::CopiedNumbers | Note::FenceRemoved | Note::CodeKept { .. } => true,
            Note::OfEdit { note, .. } => note.rewrites_sent_text(),
            _ => false,
        }
    }

    /// True if somebody other than the caller changed the new text.
    pub fn is_foreign_change(&self) -> bool {
        matches!(self, Note::NewTextChanged { .. })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Note::CopiedNumbers => {
                "The line numbers in front of the new lines were removed; they were copied from a reply."
            }
            Note::FenceRemoved => "The fence around the whole content was removed.",
            Note::CodeKept { gaps: 1 } => "1 placeholder in the new text stands for code that was kept as it is.",
            Note::CodeKept { gaps } => {
                return write!(f, "{gaps} placeholders in the new text stand for code that was kept as it is.");
            }
            Note::NewTextChanged { by, added, removed } => {
                return write!(f, "{by} changed the new text: +{added} -{removed} lines beside what was sent.");
            }
            Note::Merged { base, context_changed, already_made } => {
                return merged(f, *base, *context_changed, already_made);
            }
            Note::ConflictMarkers => {
                "Both sides changed the same lines: conflict markers were written, as asked. Resolve them with the next edit."
            }
            Note::LinesCarried { by: Changers::Others } => {
                "The file changed since the version of your header; the lines you named did not, and the edit was made where they are now."
            }
            Note::LinesCarried { by: Changers::Own } => {
                "Your own edits changed the file since the version of your header; the lines you named did not change, and the edit was made where they are now. Use the header of the last reply."
            }
            Note::LinesCarried { by: Changers::Both } => {
                "Your own edits and others changed the file since the version of your header; the lines you named did not change, and the edit was made where they are now. Read the file again."
            }
            Note::CellsCarried => {
                "The notebook changed since it was read; the cells you named did not, and the edit was made where they are now."
            }
            Note::AnchorsMoved => {
                "The file changed since it was read; the lines named by words did not, and the edit was made where they are now."
            }
            Note::AppliedAnywhere => {
                "Applied an edit at the head or tail of the file although its tag is not that of the file: such a place does not depend on the text. Read again if the change was unexpected."
            }
            Note::OfEdit { edit, line: 0, note } => return write!(f, "edits[{edit}]: {note}"),
            Note::OfEdit { line, note, .. } => return write!(f, "line {line} of the request: {note}"),
            Note::Remark(text) => text,
        };
        f.write_str(text)
    }
}

fn merged(f: &mut fmt::Formatter<'_>, base: MergeBase, context_changed: bool, already_made: &[String]) -> fmt::Result {
    f.write_str(match base {
        MergeBase::Seen => "File was modified externally. Changes have been merged.",
        MergeBase::OfPatch => "Merged with the version that the patch was made for.",
    })?;
    if context_changed {
        f.write_str(" Text you matched as context had changed too; check the result below.")?;
    }
    for (nth, edit) in already_made.iter().enumerate() {
        f.write_str(if nth == 0 { " Already done by the other side: " } else { ", " })?;
        f.write_str(edit)?;
    }
    f.write_str(if already_made.is_empty() { "" } else { "." })
}

impl From<String> for Note {
    fn from(text: String) -> Note {
        Note::Remark(text.into())
    }
}

impl From<&'static str> for Note {
    fn from(text: &'static str) -> Note {
        Note::Remark(text.into())
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Notes in the order in which they are reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// Creates an empty list.
    pub const fn new() -> Notes {
        Notes(Vec::new())
    }

    /// Appends a note.
    pub fn push(&mut self, note: impl Into<Note>) {
        self.0.push(note.into());
    }

    /// Puts a note before all others.
    pub fn push_front(&mut self, note: impl Into<Note>) {
        self.0.insert(0, note.into());
    }

    /// Moves all notes of another list to the end of this one.
    pub fn append(&mut self, other: &mut Notes) {
        self.0.append(&mut other.0);
    }

    /// Drops all notes after the first `most`.
    pub fn truncate(&mut self, most: usize) {
        self.0.truncate(most);
    }

    /// Mutable access to the notes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Note> {
        self.0.iter_mut()
    }

    /// Renders all notes.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(Note::to_string).collect()
    }
}

impl Deref for Notes {
    type Target = [Note];

    fn deref(&self) -> &[Note] {
        &self.0
    }
}

impl<N: Into<Note>> Extend<N> for Notes {
    fn extend<I: IntoIterator<Item = N>>(&mut self, notes: I) {
        self.0.extend(notes.into_iter().map(Into::into));
    }
}

impl<N: Into<Note>> FromIterator<N> for Notes {
    fn from_iter<I: IntoIterator<Item = N>>(notes: I) -> Notes {
        Notes(notes.into_iter().map(Into::into).collect())
    }
}

impl IntoIterator for Notes {
    type Item = Note;
    type IntoIter = std::vec::IntoIter<Note>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'n> IntoIterator for &'n Notes {
    type Item = &'n Note;
    type IntoIter = core::slice::Iter<'n, Note>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<N: Into<Note>> From<Vec<N>> for Notes {
    fn from(notes: Vec<N>) -> Notes {
        notes.into_iter().collect()
    }
}

impl From<&Notes> for Value {
    fn from(notes: &Notes) -> Value {
        notes.texts().into()
    }
}
