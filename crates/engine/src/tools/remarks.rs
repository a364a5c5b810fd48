//! Remarks of a person on operations: comments, which the session's next reply delivers, and reviewed hunks.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::context::policy::Access;
use crate::model::call_context::CallContext;
use crate::model::hunk_numbers::HunkNumbers;
use crate::session::comments::{self, comment_id};
use crate::tools::history::file_hunks;
use crate::tools::history::operation_list::{from_its_source, not_changed, visible_files};
use crate::tools::history::places::place_of_change;
use crate::tools::undo::file_states::side_content;
use crate::tools::undo::select::{self, OperationRef};
use emendate_core::{Code, Error, Result};
use emendate_history::{
    COMMENTS_MAX, CommentFilter, FileChange, LogEntry, NewComment, OperationId, OperationName, REVIEWED_HUNKS_MAX,
    ReviewedHunks, StoredComment,
};
use emendate_os::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Characters of a comment: as many as a reply shows of one.
pub(crate) const COMMENT_CHARS_MAX: usize = 1500;
/// Bytes of a diff whose hunks are counted.
const COUNTED_BYTES_MAX: usize = 64 << 20;

/// A comment on an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comment {
    /// The name of the comment.
    pub id: String,
    /// The operation.
    pub operation: String,
    /// The file; `None` for a comment on the whole operation.
    pub path: Option<PathBuf>,
    /// The line of the file after the operation, from 1.
    pub line: Option<u64>,
    /// The session whose next reply delivers it.
    pub session: String,
    /// The text.
    pub text: String,
    /// Microseconds since the epoch.
    pub at: i64,
    /// A reply has delivered it.
    pub is_delivered: bool,
}

/// The reviewed hunks of a file of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReviewedFile {
    /// The operation.
    pub operation: String,
    /// The file.
    pub path: PathBuf,
    /// The numbers of the hunks, as the operation's diff has them.
    pub hunks: Vec<u64>,
}

/// The comments and review marks of people: [`Engine::remarks`](crate::Engine::remarks).
#[derive(Clone, Copy)]
pub struct Remarks<'a> {
    pub(crate) context: &'a Context,
}

impl Remarks<'_> {
    /// Confirms that the replies of a session (`None`: of all sessions) were sent, so that the comments in them need
    /// not be delivered again. For front ends; dropping the engine has the same effect.
    pub fn confirm_replies(&self, session: Option<&str>) {
        comments::record_deliveries(self.context, session);
    }

    /// Reports that the last replies of a session (`None`: of all sessions) may not have been read, e.g. because a call
    /// was cancelled when its reply was ready: the next replies deliver the comments again.
    pub fn recall_replies(&self, session: Option<&str>) {
        comments::recall_deliveries(self.context, session);
    }

    /// Adds a comment on an operation, on one of its files, or on a line of that file as the operation left it. The
    /// next reply to the session of the operation delivers it.
    ///
    /// Errors: `operation.not_found`, also for a file that the operation did not change; `call.invalid` for an empty
    /// text, a line without a file, or one that the file does not have; `call.too_large`; those of the session store.
    pub fn add_comment(&self, operation: &str, path: Option<&Path>, line: Option<u64>, text: &str) -> Result<Comment> {
        let text = text.trim();
        if text.is_empty() || line == Some(0) || line.is_some() && path.is_none() {
            return Err(Error::new(Code::CallInvalid, "A comment needs a text, and a line of it needs a file.")
                .next("Give a text; lines are counted from 1."));
        }
        if text.chars().count() > COMMENT_CHARS_MAX {
            let what = format!("A comment has at most {COMMENT_CHARS_MAX} characters.");
            return Err(Error::new(Code::CallTooLarge, what).next("Write several comments."));
        }
        let (root, logged) = select::operation(self.context, OperationRef::read_name(operation)?)?;
        let file = path.map(|path| file_of(&logged, path)).transpose()?;
        if let (Some(file), Some(line)) = (&file, line) {
            check_line(self.context, root, file, line)?;
        }
        let key = file.as_ref().map(|file| &*file.path);
        let session = &*logged.operation.session;
        let comment = NewComment { operation: logged.id.number, path: key, line, session, text };
        let number = self.context.history(root).add_comment(comment)?.ok_or_else(|| {
            Error::new(Code::CallTooLarge, format!("At most {COMMENTS_MAX} comments are kept."))
                .next("Delete old ones: `emend comments --delete ID`.")
        })?;
        let stored = self.context.history(root).comments(&CommentFilter {
            operation: Some(logged.id.number),
            limit: COMMENTS_MAX,
            ..CommentFilter::default()
        })?;
        let stored = stored.into_iter().find(|comment| comment.number == number);
        stored.map(|stored| comment_of(self.context, root, stored)).ok_or_else(|| no_comment(&comment_id(root, number)))
    }

    /// Returns the comments on an operation (`None`: on all), the oldest first; with `open`, only those that were not
    /// delivered.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn comments(&self, operation: Option<&str>, open: bool) -> Result<Vec<Comment>> {
        let only = operation.map(|name| select::operation(self.context, OperationRef::read_name(name)?)).transpose()?;
        let mut all = Vec::new();
        for root in (0..self.context.root_count()).filter(|root| only.as_ref().is_none_or(|(only, _)| only == root)) {
            let operation = only.as_ref().map(|(_, logged)| logged.id.number);
            let filter = CommentFilter { operation, open, limit: COMMENTS_MAX, ..CommentFilter::default() };
            let found = self.context.history(root).comments(&filter)?;
            all.extend(found.into_iter().map(|stored| comment_of(self.context, root, stored)));
        }
        all.sort_by_key(|comment| comment.at);
        Ok(all)
    }

    /// Deletes a comment.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn delete_comment(&self, id: &str) -> Result<()> {
        let (root, number) = id.split_once(':').unwrap_or(("0", id));
        let found = match (root.parse::<usize>(), number.parse::<u64>()) {
            (Ok(root), Ok(number)) if root < self.context.root_count() => {
                self.context.history(root).delete_comment(number)?
            }
            _ => false,
        };
        if found { Ok(()) } else { Err(no_comment(id)) }
    }

    /// Marks hunks of an operation as reviewed or not reviewed: the given hunks or all, in one file or in all. Returns
    /// the reviewed hunks of the operation.
    ///
    /// Errors: `operation.not_found`; `call.invalid` for a file or hunk that the operation does not have;
    /// `call.too_large`; those of the policy and of the session store.
    pub fn mark_reviewed(
        &self,
        caller: &CallContext,
        operation: &str,
        path: Option<&Path>,
        hunks: Option<&[usize]>,
        reviewed: bool,
    ) -> Result<Vec<ReviewedFile>> {
        Call::new(self.context, caller).metered(|call| {
            let (root, logged) = select::operation(&call, OperationRef::read_name(operation)?)?;
            let chosen = hunks.map(|numbers| HunkNumbers::new(logged.id, numbers)).transpose()?;
            let files: Vec<FileChange> = match path {
                Some(path) => vec![file_of(&logged, path)?],
                None if chosen.is_some() => {
                    return Err(
                        Error::new(Code::CallInvalid, "Hunks are those of one file.").next("Name the file, too.")
                    );
                }
                None => visible_files(&logged).map(|file| from_its_source(file, &logged)).collect(),
            };
            for file in &files {
                let safe_path = place_of_change(&call, file)?;
                call.check_access(&safe_path, Access::Read)?;
                // A change that is not text counts as one hunk.
                let count =
                    file_hunks(&call, root, &safe_path, file, COUNTED_BYTES_MAX)?.map_or(1, |hunks| hunks.len().max(1));
                let numbers: Vec<u64> = match &chosen {
                    Some(chosen) => {
                        chosen.check(count, &safe_path)?;
                        chosen.numbers.iter().map(|number| *number as u64).collect()
                    }
                    None => (1..=count as u64).collect(),
                };
                let marks = ReviewedHunks { operation: logged.id.number, path: file.path.clone(), hunks: numbers };
                if !call.history(root).mark_reviewed(&marks, reviewed)? {
                    let what = format!("At most {REVIEWED_HUNKS_MAX} hunks are marked as reviewed.");
                    return Err(Error::new(Code::CallTooLarge, what).next("Clear the marks of older operations."));
                }
            }
            reviewed_in(&call, root, Some(&logged))
        })
    }

    /// Returns the reviewed hunks of an operation, or of the newest operations that have any.
    ///
    /// Errors: `operation.not_found`; those of the session store.
    pub fn reviewed_hunks(&self, operation: Option<&str>) -> Result<Vec<ReviewedFile>> {
        if let Some(name) = operation {
            let (root, logged) = select::operation(self.context, OperationRef::read_name(name)?)?;
            return reviewed_in(self.context, root, Some(&logged));
        }
        let mut all = Vec::new();
        for root in 0..self.context.root_count() {
            all.extend(reviewed_in(self.context, root, None)?);
        }
        Ok(all)
    }
}

/// Checks that a file had a line after an operation, if its content is known.
///
/// Errors: `call.invalid`; those of the session store.
fn check_line(context: &Context, root: usize, file: &FileChange, line: u64) -> Result<()> {
    let path = place_of_change(context, file)?;
    let Some(bytes) = side_content(context, root, &path, file.after)?.filter(|_| file.after.is_some()) else {
        return Ok(());
    };
    let Ok(text) = context.decode(&path, bytes, None, "") else { return Ok(()) };
    let count = text.lines().count(text.text());
    if text.is_binary() || line <= count as u64 {
        return Ok(());
    }
    let what = format!("{} has no line {line}: it had {count} lines after the operation.", path.shown());
    let next = if count == 0 { "Comment on the file.".to_owned() } else { format!("Name a line from 1 to {count}.") };
    Err(Error::new(Code::CallInvalid, what).next(next))
}

fn no_comment(id: &str) -> Error {
    Error::new(Code::OperationMissing, format!("There is no comment {id}.")).next("`emend comments` lists them.")
}

/// Returns the reviewed hunks of an operation that exists, and the comments on it, the oldest first.
///
/// Errors: those of the session store.
pub(crate) fn remarks_on(context: &Context, root: usize, id: OperationId) -> Result<(Vec<ReviewedFile>, Vec<Comment>)> {
    let history = context.history(root);
    let marks = history.reviewed(Some(id.number), REVIEWED_FILES_MAX)?;
    let filter = CommentFilter { operation: Some(id.number), limit: COMMENTS_MAX, ..CommentFilter::default() };
    let mut comments: Vec<Comment> =
        history.comments(&filter)?.into_iter().map(|stored| named_comment(root, id.to_string(), stored)).collect();
    comments.sort_by_key(|comment| comment.at);
    Ok((marks.into_iter().map(|marks| reviewed_file(id.to_string(), marks)).collect(), comments))
}

/// Files of a list of review marks.
const REVIEWED_FILES_MAX: usize = 1000;

fn reviewed_in(context: &Context, root: usize, logged: Option<&LogEntry>) -> Result<Vec<ReviewedFile>> {
    let found = context.history(root).reviewed(logged.map(|logged| logged.id.number), REVIEWED_FILES_MAX)?;
    let file = |marks: ReviewedHunks| reviewed_file(operation_name(context, root, marks.operation), marks);
    Ok(found.into_iter().map(file).collect())
}

fn reviewed_file(operation: String, marks: ReviewedHunks) -> ReviewedFile {
    ReviewedFile { operation, path: log_path(&marks.path).to_owned(), hunks: marks.hunks }
}

/// Returns a file of an operation.
fn file_of(logged: &LogEntry, path: &Path) -> Result<FileChange> {
    let file = visible_files(logged).find(|file| *file.path == *path.as_os_str().as_bytes());
    file.map(|file| from_its_source(file, logged)).ok_or_else(|| not_changed(logged, &emendate_fs::shown(path)))
}

fn operation_name(context: &Context, root: usize, number: u64) -> String {
    let found = context.history(root).operation(OperationName { number, check: None }).ok().flatten();
    found.map_or_else(|| number.to_string(), |logged: LogEntry| OperationId::to_string(&logged.id))
}

fn comment_of(context: &Context, root: usize, stored: StoredComment) -> Comment {
    named_comment(root, operation_name(context, root, stored.operation), stored)
}

fn named_comment(root: usize, operation: String, stored: StoredComment) -> Comment {
    Comment {
        id: comment_id(root, stored.number),
        operation,
        path: stored.path.map(|path| log_path(&path).to_owned()),
        line: stored.line,
        session: stored.session,
        text: stored.text,
        at: stored.at,
        is_delivered: stored.delivered_at.is_some(),
    }
}
