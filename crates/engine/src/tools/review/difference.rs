//! The difference of one file, with colours.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::policy::Access;
use crate::context::syntax::language;
use crate::model::call_context::CallContext;
use crate::model::hunk_numbers::HUNK_CONTEXT_LINES;
use crate::tools::history::page::{OperationSide, content_on};
use crate::tools::history::places::place_of_change;
use crate::tools::review::Review;
use crate::tools::review::large::large_difference;
use crate::tools::review::scope::{ChangeScope, ScopeChanges};
use crate::tools::undo::file_states::{side_content, text_sides, with_same_codec};
use crate::tools::undo::hunks::{HunkSides, HunkState};
use emendate_core::explain::{self, DiffHunk, HunkWords, LineKind};
use emendate_core::whole_text::whole_change;
use emendate_core::{ChangeSet, Code, Error, Result, Snapshot, merge_with_markers};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileState};
use emendate_syntax::{ColorSpan, Language, LineRange, QuerySubject, SyntaxAnswer};
use std::path::Path;

/// Bytes of a text that is coloured.
const COLORED_BYTES_MAX: usize = 1 << 20;
/// Bytes of a file in which a person resolves a conflict on the page.
const RESOLVED_BYTES_MAX: usize = 512 << 10;

/// The difference of a file.
#[derive(Clone, Debug)]
pub enum FileDifference {
    /// The file is text.
    Text(TextDifference),
    /// The file is not text: the sizes in bytes of both versions, if they exist.
    Binary {
        /// The size before.
        before: Option<usize>,
        /// The size after.
        after: Option<usize>,
    },
    /// The file is large and no longer as the changes left it, so a comparison would have to load it whole.
    TooLarge,
    /// A version was not kept.
    NotKept,
}

/// The difference of a text.
#[derive(Clone, Debug, Default)]
pub struct TextDifference {
    /// The hunks, with the numbers that an undo accepts.
    pub hunks: Vec<DiffHunk>,
    /// The state of each hunk: whether the current file has it.
    pub states: Vec<HunkState>,
    /// True for a large file, of which only the lines of the hunks are available.
    pub is_partial: bool,
    /// The changed words of each hunk, if the edit's own ranges are known; empty otherwise.
    pub words: Vec<HunkWords>,
    /// The number of lines before.
    pub old_lines: usize,
    /// The number of lines after.
    pub new_lines: usize,
    /// The name of the language, if its grammar is built in.
    pub language: Option<&'static str>,
    /// Colours of lines before.
    pub old_colors: Vec<ColorSpan>,
    /// Colours of lines after.
    pub new_colors: Vec<ColorSpan>,
}

/// Lines of a version of a file.
#[derive(Clone, Debug, Default)]
pub struct VersionLines {
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// The number of all lines of the version.
    pub total: usize,
    /// The colours of the lines.
    pub colors: Vec<ColorSpan>,
}

impl Review<'_> {
    /// Returns the difference of one file of a scope, with at most `bytes` of text.
    ///
    /// Errors: `operation.not_found` for a file that is not in it; those of the policy and of the session store.
    pub fn difference(
        &self,
        caller: &CallContext,
        changes: &ScopeChanges,
        path: &Path,
        bytes: usize,
    ) -> Result<FileDifference> {
        Call::new(self.context, caller).metered(|call| {
            let (root, file) = changes.of(path)?;
            difference_of(call, *root, file, changes.origin(*root, file), bytes)
        })
    }

    /// Returns the colours of lines of a file as it is; none for a file that may not or cannot be read, or whose language
    /// is not known.
    pub fn line_colors(&self, caller: &CallContext, path: &Path, range: LineRange) -> Vec<ColorSpan> {
        let colors = Call::new(self.context, caller).metered(|call| {
            let safe_path = call.resolve_path(path, Access::Read)?;
            let file = call.load_file(&safe_path, None)?;
            Ok(file.map(|file| colors(call, &safe_path, file.snapshot.text(), &[range])).unwrap_or_default())
        });
        colors.unwrap_or_default()
    }

    /// Returns lines of a file before or after the changes of a scope, with their colours.
    ///
    /// Errors: those of [`Review::scope_content`], and those of a file that is not text.
    pub fn version_lines(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        moment: OperationSide,
        range: LineRange,
    ) -> Result<VersionLines> {
        Call::new(self.context, caller).metered(|call| {
            let count = range.last.saturating_sub(range.first) + 1;
            let snapshot = Snapshot::open(content(&call, scope, path, moment)?, None)?;
            let safe_path = call.store().resolve_no_follow(path)?;
            let text = snapshot.text();
            let lines = text.lines().skip(range.first.saturating_sub(1)).take(count).map(str::to_owned).collect();
            let total = snapshot.lines().count(text);
            Ok(VersionLines { lines, total, colors: colors(call, &safe_path, text, &[range]) })
        })
    }

    /// Returns the bytes of a file before or after the changes of a scope.
    ///
    /// Errors: `operation.not_found` if the file is not among them, did not exist, or was not kept; those of the policy.
    pub fn scope_content(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        moment: OperationSide,
    ) -> Result<Vec<u8>> {
        Call::new(self.context, caller).metered(|call| content(&call, scope, path, moment))
    }

    /// Merges the reversal of a change into the file as it is, for a person who resolves the conflicts.
    ///
    /// Errors: those of [`Review::scope_content`]; `content.binary`, `file.too_large`.
    pub fn resolution(&self, caller: &CallContext, scope: &ChangeScope, path: &Path) -> Result<Resolution> {
        Call::new(self.context, caller).metered(|call| {
            if (Review { context: &call }).scope_changes(scope)?.has_changes_by_others(path) {
                let what = "Others changed the file during the turn, so the turn alone has no version before it.";
                return Err(Error::new(Code::CallInvalid, what)
                    .next("Resolve the conflict on the page of one of its operations."));
            }
            let safe_path = call.resolve_no_follow(path, Access::Write)?;
            let now = call.load_file(&safe_path, None)?.ok_or_else(|| {
                Error::new(Code::OperationMissing, format!("{} is gone.", safe_path.shown()))
                    .next("Restore a version of it.")
            })?;
            if now.snapshot.raw().len() > RESOLVED_BYTES_MAX {
                let what = format!("{} has more than {RESOLVED_BYTES_MAX} bytes.", safe_path.shown());
                return Err(Error::new(Code::FileTooLarge, what).next("Resolve the conflict in an editor."));
            }
            let side = |moment| Ok(with_same_codec(&now.snapshot, content(&call, scope, path, moment)?));
            let (before, after) = (side(OperationSide::Before)?, side(OperationSide::After)?);
            if [&before, &after, &now.snapshot].iter().any(|it| it.is_binary()) {
                let what = format!("{} is not text.", safe_path.shown());
                return Err(Error::new(Code::ContentBinary, what).next("Restore a version of it."));
            }
            let text = merge_with_markers(after.text(), before.text(), now.snapshot.text());
            let conflicts = text.lines().filter(|line| line.starts_with("<<<<<<< ")).count();
            let is_writable = whole_change(&now.snapshot, &text).is_ok();
            Ok(Resolution { text, conflicts, tag: now.snapshot.id().tag().to_string(), is_writable })
        })
    }
}

/// Returns the difference of a changed file of a root; if a single operation made the change, the number is that of it.
///
/// Errors: those of the policy and of the session store.
pub(crate) fn difference_of(
    call: Call<'_>,
    root: usize,
    file: &FileChange,
    operation: Option<u64>,
    bytes: usize,
) -> Result<FileDifference> {
    let path = place_of_change(&call, file)?;
    call.check_access(&path, Access::Read)?;
    if let Some(found) = large_difference(&call, root, &path, file, bytes)? {
        return Ok(found);
    }
    let side = |state| side_content(&call, root, &path, state);
    let (Some(before), Some(after)) = (side(file.before)?, side(file.after)?) else {
        return Ok(FileDifference::NotKept);
    };
    let sizes = |bytes: &[u8], state: Option<FileState>| state.map(|_| bytes.len());
    let binary = FileDifference::Binary { before: sizes(&before, file.before), after: sizes(&after, file.after) };
    let Some((before, after)) = text_sides(before, after) else { return Ok(binary) };
    let states = states(&call, &path, file, &before, &after);
    let hunks = explain::reply_hunks(&before, &ChangeSet::diff(&before, &after), HUNK_CONTEXT_LINES, bytes);
    let old_colors = colors(call, &path, before.text(), &lines_of_side(&hunks, LineKind::Added));
    let new_colors = colors(call, &path, after.text(), &lines_of_side(&hunks, LineKind::Removed));
    let spans = operation.and_then(|number| call.history(root).replaced_spans(number, &file.path).ok().flatten());
    let words = spans.and_then(|spans| explain::known_words(&before, &after, &spans, &hunks));
    Ok(FileDifference::Text(TextDifference {
        words: words.unwrap_or_default(),
        old_lines: before.lines().count(before.text()),
        new_lines: after.lines().count(after.text()),
        language: language(&path, after.text()).map(Language::name),
        old_colors,
        new_colors,
        states,
        is_partial: false,
        hunks,
    }))
}

/// Returns whether the current file has each hunk.
fn states(
    context: &Context,
    path: &SafePath,
    file: &FileChange,
    before: &Snapshot,
    after: &Snapshot,
) -> Vec<HunkState> {
    let now = match context.load_file(path, None) {
        Ok(now) => now.map(|now| now.snapshot),
        // The path leads through a link or a file where a directory was.
        Err(error) if matches!(error.code(), Code::PathInvalid | Code::PathSymlink) => None,
        // The entry is another kind of entry now, or cannot be read.
        Err(_) => return Vec::new(),
    };
    match (now, file.before, file.after) {
        (Some(now), Some(_), Some(_)) => {
            let with_codec = |side: &Snapshot| with_same_codec(&now, side.raw().to_vec());
            HunkSides::new(&now, with_codec(before), with_codec(after)).states(&now)
        }
        (Some(now), None, _) if now.id() == after.id() => vec![HunkState::InEffect],
        (None, _, None) => vec![HunkState::InEffect],
        (None, None, _) => vec![HunkState::Undone],
        (Some(now), _, None) if now.id() == before.id() => vec![HunkState::Undone],
        _ => vec![HunkState::Unknown],
    }
}

/// Returns the lines of one version that hunks show: all except lines of the kind `other`, which only the other version
/// has.
fn lines_of_side(hunks: &[DiffHunk], other: LineKind) -> Vec<LineRange> {
    let ranges = hunks.iter().map(|hunk| {
        let (start, lines) = match other {
            LineKind::Added => (hunk.old_start, hunk.old_lines),
            _ => (hunk.new_start, hunk.new_lines),
        };
        LineRange { first: start, last: start + lines.max(1) - 1 }
    });
    ranges.collect()
}

/// Returns the colours of some lines; none without a grammar, or for large texts.
fn colors(call: Call<'_>, path: &SafePath, text: &str, ranges: &[LineRange]) -> Vec<ColorSpan> {
    if text.is_empty() || text.len() > COLORED_BYTES_MAX || ranges.is_empty() || language(path, text).is_none() {
        return Vec::new();
    }
    match call.grammars().ask(path, text, QuerySubject::Colors(ranges.to_vec())) {
        Ok((SyntaxAnswer::Colors(spans), _)) => spans,
        _ => Vec::new(),
    }
}

/// Returns the bytes of a version, as [`Review::scope_content`] does in a call of its own.
pub(crate) fn content(context: &Context, scope: &ChangeScope, path: &Path, moment: OperationSide) -> Result<Vec<u8>> {
    let (root, file) = Review { context }.scope_changes(scope)?.of(path)?.clone();
    content_on(context, root, &file, moment, "Choose another version.").map(|(_, bytes)| bytes)
}

/// A text in which a person resolves the conflicts of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The file as it is, with the state before the changes merged into it; where both differ from the changes, both
    /// are kept between conflict markers.
    pub text: String,
    /// The number of such places.
    pub conflicts: usize,
    /// The version of the file, for the call that writes the result.
    pub tag: String,
    /// False if the encoding of the file is not certain, or cannot represent the text.
    pub is_writable: bool,
}
