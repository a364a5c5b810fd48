//! One file of a patch: its headers, and the requests created from it.

use super::body::NumberedHunk;
use super::both_sides::BothSides;
use super::mistakes::{UnifiedDiffMistake, UnifiedDiffMistakes, broken};
use super::name::{self, HeaderSide};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::line_parser::{FileActionKind, ParseOptions, pop_line_end, strip_fewer};
use crate::locate::binary::apply_binary;
use crate::locate::op::{
    BinaryChange, BinaryPayload, FileAction, FileMode, FileRequest, HunkLine, HunkLineKind, Locator, NewFile, Op,
    OpOrder,
};
use std::mem::swap;

mod header_names;
mod whole_file;

/// File modes: a symbolic link, a submodule, and the mask of the file type.
const LINK_MODE: u32 = 0o120_000;
const SUBMODULE_MODE: u32 = 0o160_000;
const FILE_TYPE_MASK: u32 = 0o170_000;

/// The part of a patch about one file.
#[derive(Debug, Default)]
pub(super) struct FilePatch {
    /// 1-based line on which the part begins, and the last line of its headers.
    pub(super) lines: (usize, usize),
    /// True if the part begins with `diff --git`.
    pub(super) git: bool,
    /// The names after `diff --git`.
    pub(super) pair: BothSides<Option<String>>,
    /// True if a name has a backslash of its own and is thus not a Windows path.
    pub(super) escaped: bool,
    /// The names after `---` and `+++`.
    pub(super) sides: BothSides<Option<HeaderSide>>,
    /// The name after svn's `Index:`, or given by the caller.
    pub(super) known: Option<String>,
    /// The names after `rename from` and `rename to`.
    pub(super) rename: BothSides<Option<String>>,
    /// The names after `copy from` and `copy to`.
    pub(super) copy: BothSides<Option<String>>,
    /// The modes after `old mode` and `new mode`, and those of deleted and new files.
    pub(super) modes: BothSides<Option<u32>>,
    /// The mode that the `index` line gives to both sides.
    pub(super) kept_mode: Option<u32>,
    /// True for `dissimilarity index`: the new side has nothing to do with the old one, which may be moved away.
    pub(super) dissimilar: bool,
    /// Number of commits that begin above the part: later ones refer to the files as earlier ones leave them.
    pub(super) commit: usize,
    /// True for `deleted file mode`: only the old side exists.
    pub(super) deleted: bool,
    /// True for `new file mode`: only the new side exists.
    pub(super) created: bool,
    /// The object ids of the `index` line.
    pub(super) ids: BothSides<Option<String>>,
    /// The hunks in order.
    pub(super) hunks: Vec<NumberedHunk>,
    /// True if a hunk header ends in `\r\n`: the whole patch then does, and its line ends say nothing about the file.
    pub(super) crlf: bool,
    /// The binary change, forward and backward.
    pub(super) binary: Option<(BinaryPayload, Option<BinaryPayload>)>,
    /// True if [`StreamEvent::File`](crate::formats::line_parser::StreamEvent::File) was emitted.
    pub(super) file_emitted: bool,
}

/// The path of the file, and alternative names.
struct FileNames {
    path: String,
    also: Vec<String>,
}

impl FilePatch {
    /// Begins a file at this line.
    pub(super) fn at(line: usize) -> FilePatch {
        FilePatch { lines: (line, line), ..FilePatch::default() }
    }

    /// True if the part has names from `---` and `+++`, or more headers.
    pub(super) fn is_named(&self) -> bool {
        self.sides.has_any() || self.known.is_some()
    }

    /// True as long as only svn's `Index:` line is known.
    pub(super) fn is_index(&self) -> bool {
        self.known.is_some() && !self.sides.has_any() && self.hunks.is_empty()
    }

    /// True if git's headers are complete by themselves, and these names are not theirs.
    pub(super) fn is_other(&self, old: Option<&str>, new: Option<&str>) -> bool {
        let done = self.rename.new.is_some() || self.copy.new.is_some() || self.binary.is_some();
        let done = done || self.modes.both().is_some();
        let theirs = name::same(old, self.pair.old.as_deref()) || name::same(new, self.pair.new.as_deref());
        done && self.pair.old.is_some() && !theirs
    }

    /// True if the part changes nothing at all.
    pub(super) fn is_void(&self) -> bool {
        !self.git && !self.is_named()
    }

    /// Returns the path and the action, for events.
    pub(super) fn heading(&self, options: &ParseOptions) -> Result<(String, FileActionKind)> {
        // `diff --git` separates no names that have spaces and differ.
        if let Some((from, to)) = self.copy.both() {
            return Ok((self.pair_of(from, to, options)?.1, FileActionKind::Update));
        }
        let action = match (self.rename.both(), self.creates(), self.deletes()) {
            (Some((from, to)), ..) => {
                let (from, to) = self.pair_of(from, to, options)?;
                return Ok((from, FileActionKind::Move { to }));
            }
            (_, true, _) => FileActionKind::Add,
            (_, _, true) => FileActionKind::Delete,
            _ => FileActionKind::Update,
        };
        Ok((self.names(options.strip)?.path, action))
    }

    fn broken(&self, what: &str) -> Error {
        broken(self.lines.0, what)
    }

    /// Creates the requests; they are reversed if the caller requests it.
    pub(super) fn requests(
        mut self,
        options: &ParseOptions,
        mistakes: &mut UnifiedDiffMistakes,
    ) -> Result<Vec<FileRequest>> {
        if options.reverse {
            self.reverse()?;
        }
        let preimage = self.ids.old.clone().filter(|id| id.len() >= 4 && id.bytes().any(|digit| digit != b'0'));
        let exact_name = options.strip.is_some() || self.has_exact_names();
        let mut files = self.into_requests(options, mistakes)?;
        for file in &mut files {
            file.exact_name = exact_name;
            if matches!(file.action, FileAction::Edit { .. } | FileAction::Move { .. } | FileAction::Copy { .. }) {
                file.preimage.clone_from(&preimage);
            }
        }
        Ok(files)
    }

    /// True if the names are as git writes them: with a prefix on each side, or twice the same.
    fn has_exact_names(&self) -> bool {
        let pair = self.pair.names();
        let are_prefixed = |(old, new): (&str, &str)| name::are_prefixed(old, new);
        pair.is_some_and(|pair| pair.0 == pair.1 || are_prefixed(pair)) || self.side_names().is_some_and(are_prefixed)
    }

    /// Creates the requests of a patch that was already reversed if necessary.
    fn into_requests(mut self, options: &ParseOptions, mistakes: &mut UnifiedDiffMistakes) -> Result<Vec<FileRequest>> {
        self.agree(mistakes)?;
        let links = [self.modes.old, self.modes.new, self.kept_mode].map(|mode| mode.map(|mode| mode & FILE_TYPE_MASK));
        if links.contains(&Some(SUBMODULE_MODE)) {
            return Err(self.broken("this is a change of a submodule, which is not a file.").next("Omit it."));
        }
        let mode = self.modes.new.filter(|mode| mode & FILE_TYPE_MASK != LINK_MODE).map(permission);
        if let Some(change) = self.binary.take() {
            if !self.hunks.is_empty() {
                return Err(self.broken("the file has hunks and a binary patch; it can have one of them."));
            }
            return self.bytes(change.0, mode, options);
        }
        if let Some((from, to)) = self.rename.both().or_else(|| self.copy.both()) {
            let (from, to) = self.pair_of(from, to, options)?;
            let moves = self.rename.both().is_some();
            if links.contains(&Some(LINK_MODE)) && !self.hunks.is_empty() {
                return Err(self.broken("a link cannot get a new name and a new target in the same patch."));
            }
            let ops = self.ops(false, mistakes)?;
            let action = if moves { FileAction::Move { to, ops } } else { FileAction::Copy { to, ops } };
            return Ok(vec![FileRequest { mode, ..FileRequest::new(from, action) }]);
        }
        let FileNames { path, also } = self.names(options.strip)?;
        // git omits `---` and `+++` if there is no hunk.
        if self.hunks.is_empty() && self.is_named() && mode.is_none() {
            return Err(self.broken("the file is named, but no hunk follows that says what to change in it."));
        }
        if self.creates() {
            let made = self.created_file()?;
            self.check_marks(&path)?;
            if let NewFile::Text(text) = &made {
                self.note_line_ends(text, mistakes);
            }
            // A new file has the usual permissions unless the patch states others.
            let mode = mode.filter(|mode| *mode == FileMode::Executable);
            let alternatives = self.other_names(&path, options.strip);
            return Ok(vec![FileRequest { alternatives, mode, ..FileRequest::new(path, FileAction::Create(made)) }]);
        }
        if self.deletes() {
            let text = self.deleted_text()?;
            return Ok(vec![FileRequest { alternatives: also, ..FileRequest::new(path, FileAction::Delete { text }) }]);
        }
        match (links.contains(&Some(LINK_MODE)), self.hunks.is_empty()) {
            (true, false) => self.exchanged(path, also),
            (true, true) => {
                Err(self.broken("a file cannot become a link, or a link a file, without its new content.").next(
                    "Send the hunk with the content, or delete the one and create the other in two parts of the patch.",
                ))
            }
            (false, true) if mode.is_none() => {
                Err(self.broken("the header names a file, but nothing follows that says what to change in it."))
            }
            (false, _) if self.fills() => {
                self.check_marks(&path)?;
                mistakes.add(UnifiedDiffMistake::Fills, self.lines.0);
                let action = FileAction::Edit { ops: vec![self.filled(mistakes)], order: OpOrder::AsNeeded };
                Ok(vec![FileRequest { alternatives: also, mode, ..FileRequest::new(path, action) }])
            }
            (false, _) => {
                self.note_other_name(mistakes);
                let action = FileAction::Edit { ops: self.ops(mode.is_none(), mistakes)?, order: OpOrder::AsNeeded };
                Ok(vec![FileRequest { alternatives: also, mode, ..FileRequest::new(path, action) }])
            }
        }
    }

    /// Replaces a link by a link to another target or by a file, or a file by a link: the old entry is removed, and the
    /// new one created.
    fn exchanged(&self, path: String, also: Vec<String>) -> Result<Vec<FileRequest>> {
        let made = self.created_file()?;
        // The target of a link has no line end of its own.
        let was_link = self.modes.old.or(self.kept_mode).is_some_and(|mode| mode & FILE_TYPE_MASK == LINK_MODE);
        let old = self.hunks.iter().map(|it| it.hunk.old_text()).collect::<String>();
        let open = was_link || self.hunks.iter().any(|it| it.hunk.open.0);
        let text = Some(if open { old.trim_end_matches('\n').to_owned() } else { old });
        let gone = FileRequest { alternatives: also, ..FileRequest::new(path.clone(), FileAction::Delete { text }) };
        Ok(vec![gone, FileRequest::new(path, FileAction::Create(made))])
    }

    /// Returns the new side of a hunk, with the line ends of the patch if they belong to the file.
    fn new_text(&self, hunk: &NumberedHunk) -> String {
        if self.crlf { hunk.hunk.new_text() } else { hunk.new_text() }
    }

    /// Returns the operation that writes the new lines into an empty file, which has no line ends of its own.
    fn filled(&self, mistakes: &mut UnifiedDiffMistakes) -> Op {
        let mut text: String = self.hunks.iter().map(|it| self.new_text(it)).collect();
        if self.hunks.iter().any(|it| it.hunk.open.1) {
            pop_line_end(&mut text);
        }
        self.note_line_ends(&text, mistakes);
        Op { at: Locator::Blank, text }
    }

    /// Reports that a whole text has other line ends than the headers.
    fn note_line_ends(&self, text: &str, mistakes: &mut UnifiedDiffMistakes) {
        if text.contains("\r\n") {
            mistakes.add(UnifiedDiffMistake::LineEnds, self.lines.0);
        }
    }

    /// True for a single hunk that states that the old file has no lines, if nothing indicates that there was one.
    fn fills(&self) -> bool {
        let [NumberedHunk { hunk, new_first, .. }] = &*self.hunks else { return false };
        // An id of zeros indicates that there is no file.
        let absent = |id: &str| whole_file::is_empty_id(id) || id.bytes().all(|digit| digit == b'0');
        let id = self.ids.old.as_deref().is_some_and(|id| !absent(id));
        let named = self.sides.new.is_some() && (self.sides.old.is_some() || !self.git);
        // Hunks without file headers are about the file that the call names.
        let named = named || !self.sides.has_any() && self.known.is_some() && !self.git;
        let added = hunk.lines.iter().all(|line| line.kind == HunkLineKind::Added) && !hunk.lines.is_empty();
        // `-1,0` means that lines are added after line 1. If they become line 1, there was no such line.
        let is_first = hunk.first == Some(0) || (hunk.first, *new_first) == (Some(1), Some(1));
        named && !id && is_first && added
    }

    /// Reverses the part.
    fn reverse(&mut self) -> Result<()> {
        if self.copy.old.is_some() {
            return Err(self
                .broken("a copy cannot be reversed: the patch does not say what to delete.")
                .next("Delete the copy by its own patch."));
        }
        self.pair.reverse();
        self.sides.reverse();
        self.rename.reverse();
        self.modes.reverse();
        self.ids.reverse();
        swap(&mut self.created, &mut self.deleted);
        self.hunks = std::mem::take(&mut self.hunks).into_iter().map(NumberedHunk::reverse).collect();
        if let Some((_, back)) = self.binary.take() {
            let what = "the binary patch cannot be reversed: it contains only its forward part.";
            let back = back.ok_or_else(|| self.broken(what).next("Make it with git diff --binary."))?;
            self.binary = Some((back, None));
        }
        Ok(())
    }

    fn creates(&self) -> bool {
        self.created
            || self
                .sides
                .old
                .as_ref()
                .is_some_and(|side| side.name.is_none() || side.absent && self.is_bare(HunkLineKind::Removed))
    }

    fn deletes(&self) -> bool {
        self.deleted
            || self
                .sides
                .new
                .as_ref()
                .is_some_and(|side| side.name.is_none() || side.absent && self.is_bare(HunkLineKind::Added))
    }

    /// True if the hunks have neither lines of this kind nor context lines.
    fn is_bare(&self, of: HunkLineKind) -> bool {
        let lines = self.hunks.iter().flat_map(|it| &it.hunk.lines);
        lines
            .into_iter()
            .all(|line| line.kind != of && matches!(line.kind, HunkLineKind::Added | HunkLineKind::Removed))
    }

    fn names(&self, strip: Option<usize>) -> Result<FileNames> {
        let old = if self.creates() { None } else { name_of(self.sides.old.as_ref(), self.pair.old.as_ref()) };
        let new = if self.deletes() { None } else { name_of(self.sides.new.as_ref(), self.pair.new.as_ref()) };
        let original = self.side_names().filter(|(old, new)| self.creates() && name::is_copy(new, old));
        let new = original.map(|(old, _)| old.to_owned()).or(new);
        // A creation is named by its new side, a deletion by its old one, whatever the other side has.
        let (old, new) = match (old, new) {
            (None, None) => match &self.known {
                Some(known) => return Ok(FileNames { path: known.clone(), also: Vec::new() }),
                None => return Err(self.broken("no file is named for this.")),
            },
            pair => pair,
        };
        let git = self.pair.both().is_some_and(|(old, new)| name::are_prefixed(old, new));
        let mut all = match strip {
            // The other name is irrelevant, but shows which part is a prefix.
            None if git && (old.is_none() || new.is_none()) => {
                let full = new.or(old).unwrap_or_default();
                name::without_prefix(&full).map(str::to_owned).into_iter().chain([full.clone()]).collect()
            }
            None => name::candidates(old.as_deref(), new.as_deref()),
            Some(count) => {
                let mut all: Vec<String> = Vec::new();
                for full in [new, old].into_iter().flatten() {
                    let rest = self.without(&full, count)?;
                    if !all.contains(&rest) {
                        all.push(rest);
                    }
                }
                all
            }
        };
        let path = all.remove(0);
        Ok(FileNames { path, also: all })
    }

    /// Returns the names after `---` and `+++`, if both sides have one.
    fn side_names(&self) -> Option<(&str, &str)> {
        Some((self.sides.old.as_ref()?.name.as_deref()?, self.sides.new.as_ref()?.name.as_deref()?))
    }

    /// Returns other spellings of a new file's name: below the directories that were compared, and, for a name with a
    /// backslash of its own, with `./` before it, which rules out a Windows path.
    fn other_names(&self, path: &str, strip: Option<usize>) -> Vec<String> {
        let names = if self.git { self.pair.names() } else { self.side_names() };
        let below = names.filter(|_| strip.is_none()).and_then(|it| name::below_trees(it.0, it.1));
        below.into_iter().chain(self.escaped.then(|| format!("./{path}"))).collect()
    }

    fn without(&self, full: &str, count: usize) -> Result<String> {
        let rest = name::without_directories(full, count);
        rest.map(str::to_owned).ok_or_else(|| {
            self.broken(&format!("`{full}` has fewer than {count} leading directories to remove.")).next(strip_fewer())
        })
    }

    /// Returns both names of a rename or copy. git writes them without the prefixes that it uses in other headers.
    fn pair_of(&self, from: &str, to: &str, options: &ParseOptions) -> Result<(String, String)> {
        if let Some(count) = options.strip {
            let count = count.saturating_sub(1);
            return Ok((self.without(from, count)?, self.without(to, count)?));
        }
        // Only one name with a prefix is one below a directory `a` or `b`, of a diff without prefixes.
        let is_repeated = self.pair.old.as_deref() == Some(from) && self.pair.new.as_deref() == Some(to);
        let is_prefixed = is_repeated && name::are_prefixed(from, to);
        let bare = |name: &str| name::without_prefix(name).filter(|_| is_prefixed).unwrap_or(name).to_owned();
        Ok((bare(from), bare(to)))
    }

    /// Converts the hunks to operations, except for those that change nothing.
    ///
    /// Errors: if `needed`, [`Code::EditNoChange`] if none of them changes anything.
    fn ops(&mut self, needed: bool, mistakes: &mut UnifiedDiffMistakes) -> Result<Vec<Op>> {
        let hunks = std::mem::take(&mut self.hunks);
        let mut idle = Vec::new();
        let mut ops = Vec::with_capacity(hunks.len());
        for numbered in hunks {
            // A file of one line without an end has no line ends of its own.
            let has_own_ends = numbered.has_line_end_before();
            let stated = (!has_own_ends && !numbered.crlf.is_empty()).then(|| self.new_text(&numbered));
            let hunk = numbered.hunk;
            if hunk.open.0 == hunk.open.1 && is_idle(&hunk.lines) {
                idle.push(hunk.source_line);
            } else {
                let op = hunk.into_op();
                ops.push(Op { text: stated.unwrap_or(op.text), ..op });
            }
        }
        match idle.first() {
            Some(line) if ops.is_empty() && needed => {
                let what = format!(
                    "Line {line} of the request: the hunk changes nothing: its old and new lines are the same."
                );
                Err(Error::new(Code::EditNoChange, what)
                    .next("Mark removed lines with - and added lines with +, or omit the file.")
                    .fact("line", *line))
            }
            _ => {
                for line in idle {
                    mistakes.add(UnifiedDiffMistake::NoChange, line);
                }
                Ok(ops)
            }
        }
    }

    /// Creates the requests of a GIT binary patch.
    fn bytes(mut self, how: BinaryPayload, mode: Option<FileMode>, options: &ParseOptions) -> Result<Vec<FileRequest>> {
        let change = BinaryChange {
            before: existing_id(self.ids.old.take()),
            after: existing_id(self.ids.new.take()),
            payload: how,
        };
        if let Some((from, to)) = self.rename.both() {
            let (from, to) = self.pair_of(from, to, options)?;
            let moved =
                FileRequest { mode, ..FileRequest::new(from, FileAction::Move { to: to.clone(), ops: Vec::new() }) };
            return Ok(vec![moved, FileRequest::new(to, FileAction::Binary(change))]);
        }
        if let Some((from, to)) = self.copy.both() {
            let (from, to) = self.pair_of(from, to, options)?;
            let copied =
                FileRequest { mode, ..FileRequest::new(from, FileAction::Copy { to: to.clone(), ops: Vec::new() }) };
            return Ok(vec![copied, FileRequest::new(to, FileAction::Binary(change))]);
        }
        let FileNames { path, also } = self.names(options.strip)?;
        let action = if self.creates() {
            let mode = mode.filter(|mode| *mode == FileMode::Executable);
            let made = NewFile::Bytes(apply_binary(&[], &change)?);
            return Ok(vec![FileRequest { mode, ..FileRequest::new(path, FileAction::Create(made)) }]);
        } else if self.deletes() {
            // The change to empty content verifies that the file is the intended one.
            let emptied = FileRequest {
                alternatives: also.clone(),
                ..FileRequest::new(path.clone(), FileAction::Binary(change))
            };
            let deleted =
                FileRequest { alternatives: also, ..FileRequest::new(path, FileAction::Delete { text: None }) };
            return Ok(vec![emptied, deleted]);
        } else {
            FileAction::Binary(change)
        };
        Ok(vec![FileRequest { alternatives: also, mode, ..FileRequest::new(path, action) }])
    }
}

/// Returns the id of an object, unless it is that of a missing one.
fn existing_id(id: Option<String>) -> Option<String> {
    id.filter(|id| id.bytes().any(|digit| digit != b'0'))
}

/// Returns the name of a side, or that of the pair.
fn name_of(side: Option<&HeaderSide>, pair: Option<&String>) -> Option<String> {
    match side {
        Some(side) => side.name.clone(),
        None => pair.cloned(),
    }
}

/// True if the old and the new side have the same lines.
fn is_idle(lines: &[HunkLine]) -> bool {
    texts_without(lines, HunkLineKind::Added).eq(texts_without(lines, HunkLineKind::Removed))
}

/// Returns the texts of the lines that are not of this kind.
fn texts_without(lines: &[HunkLine], without: HunkLineKind) -> impl Iterator<Item = &String> {
    lines.iter().filter(move |line| line.kind != without).map(|line| &line.text)
}

fn permission(mode: u32) -> FileMode {
    if mode & 0o100 == 0 { FileMode::Regular } else { FileMode::Executable }
}
