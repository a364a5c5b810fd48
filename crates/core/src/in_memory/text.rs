//! Edits of one text.

use super::file_work::{FileWork, text_after};
use super::files::parsed;
use super::function_names::{FunctionNames, TextFunction};
use super::limited;
use super::options::ApplyOptions;
use super::outcome::{AppliedText, ChangedSpan, NewText};
use super::planner::{self, too_large};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, ErrorContext, Result};
use crate::formats::parsed_text::ParsedText;
use crate::formats::replace::Replacement;
use crate::locate::find::Tier;
use crate::locate::line_format;
use crate::locate::op::{FileAction, Locator, NewFile, OpOrder, Request, TextNames};
use crate::locate::resolve::resolve;
use crate::text::explain;
use crate::text::snapshot::Snapshot;
use crate::text::view::View;

/// The name of a text without a path.
const TEXT_NAME: &str = "text";
/// The name of such a text for the parser. No line of a patch is this name.
const PARSED_NAME: &str = "the text of the call";
/// Lines of a text that an error about its beginning shows.
const SHOWN_LINES: usize = 5;

/// Replaces `old` by `new` in a text, like the Edit tool: `old` must occur exactly once, unless
/// [`ApplyOptions::replace_all`] is set. Wrong quotes, whitespace, indentation or copied line numbers in `old` are
/// tolerated as [`ApplyOptions::matching`] allows, and reported in the notes. An empty `old` fills a blank text.
///
/// ```
/// use emendate_core::{ApplyOptions, Tier, edit};
///
/// let text = "fn main() {\r\n    run(1);\r\n}\r\n";
/// let edited = edit(text, "run(1);", "run(2);", &ApplyOptions::new())?;
/// assert_eq!(edited.text, "fn main() {\r\n    run(2);\r\n}\r\n");
/// assert_eq!((edited.tier, edited.added, edited.removed), (Tier::Exact, 1, 1));
/// assert_eq!(&text[edited.spans[0].before.clone()], "1");
///
/// let error = edit(text, "walk(1);", "walk(2);", &ApplyOptions::new()).unwrap_err();
/// assert_eq!(error.code().as_str(), "match.not_found");
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: `match.not_found`, `match.ambiguous`, `edit.no_change`, `edit.omission` and other errors of an edit;
/// `content.binary`; `call.too_large` and `call.too_much_work` beyond the limits.
pub fn edit(text: &str, old: &str, new: &str, options: &ApplyOptions) -> Result<AppliedText> {
    limited(options, TextFunction::Edit, || {
        for (what, part) in [("The text", text), ("The old text", old), ("The new text", new)] {
            check_size(what, part, options)?;
        }
        let replace_all = options.replace_all.then_some(true);
        let replacement = Replacement {
            old_string: old.to_owned(),
            new_string: new.to_owned(),
            replace_all,
            ..Replacement::default()
        };
        let names = FunctionNames::new(TextFunction::Edit, options.argument_style).texts();
        let op = replacement.to_op_of(&names)?;
        let before = Snapshot::open_text(text)?;
        if op.at == Locator::Blank && !text.trim().is_empty() {
            return Err(no_place(&before, &op.text, &names));
        }
        let mut resolved = resolve(&before, &[op], OpOrder::Together, options.settings())?;
        let stat = explain::count_changes(&before, &resolved.changes);
        let mut outcome = AppliedText {
            text: text_after(&before, &resolved.changes)?,
            format: "replace",
            tier: Tier::Exact,
            notes: std::mem::take(&mut resolved.notes),
            spans: ChangedSpan::all_of(&before, &resolved.changes),
            edits: 1,
            places: 0,
            added: stat.added,
            removed: stat.removed,
            new_path: None,
        };
        for op in resolved.ops {
            outcome.tier = outcome.tier.max(op.tier);
            outcome.places += op.places;
            outcome.notes.extend(op.notes);
        }
        Ok(outcome)
    })
}

/// Creates the error for an empty old text and a text that is not blank. There is no file that could exist already.
fn no_place(before: &Snapshot, new: &str, names: &TextNames) -> Error {
    let TextNames { old, new: new_name, .. } = names;
    if before.text() == new {
        return Error::new(Code::EditNoChange, format!("{old} is empty, and the text is exactly {new_name} already."))
            .about(ErrorContext::AlreadyApplied)
            .next("Nothing is left to do.");
    }
    Error::new(Code::CallInvalid, format!("{old} is empty, which is right for a blank text only."))
        .evidence(format!("The text begins with:\n{}", line_format::excerpt(before, 1, SHOWN_LINES)))
        .next(Advice::named("Give the text to replace as {old_string}.").or("Give the text to replace."))
}

/// Applies a patch in any text format to one text: SEARCH/REPLACE blocks, a Codex patch, a unified diff, a whole file,
/// or line edits, also with prose, fences, JSON or a shell line around it. File names in the patch do not matter as
/// long as it is about one file. Nothing is applied unless all of it can be.
///
/// ```
/// use emendate_core::{ApplyOptions, apply};
///
/// let patch = "Here is the fix:\n\n```diff\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n let a = 1;\n-let b = 2;\n+let b = 3;\n```\n";
/// let applied = apply("let a = 1;\nlet b = 2;\n", patch, &ApplyOptions::new())?;
/// assert_eq!(applied.text, "let a = 1;\nlet b = 3;\n");
/// assert_eq!((applied.format, applied.edits), ("unified_diff", 1));
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: `edit.unparsable` for a text in no format; `call.invalid` for a patch that is about several files or deletes
/// the file; and the errors of [`edit`].
pub fn apply(text: &str, patch: &str, options: &ApplyOptions) -> Result<AppliedText> {
    apply_in_parts(text, patch, options).map(AppliedText::joined)
}

/// Does the same as [`apply`], and leaves the new text in parts, for a caller that copies it into a buffer of its own.
///
/// Errors: those of [`apply`].
pub fn apply_in_parts(text: &str, patch: &str, options: &ApplyOptions) -> Result<AppliedText<NewText>> {
    limited(options, TextFunction::Apply, || {
        check_size("The text", text, options)?;
        let path = options.path.as_deref().unwrap_or(TEXT_NAME);
        let parsed_name = options.path.as_deref().unwrap_or(PARSED_NAME);
        let ParsedText { format, mut request, .. } = parsed(patch, Some(parsed_name), options)?;
        let mut fences = request.files.iter().filter_map(|file| file.fence.as_ref());
        if options.path.is_none()
            && let Some(name) = fences.find_map(|fence| fence.other_name(Some(text)))
        {
            return Err(perhaps_named(name));
        }
        let new_path = about_one_text(&mut request, options)?;
        // An empty text is that of a file to be created.
        let is_new = text.is_empty()
            && matches!(request.files.first().map(|file| &file.action), Some(FileAction::Create(NewFile::Text(_))));
        let file = if is_new { None } else { Some(Snapshot::open_text(text)?) };
        let view = SingleText { path, file };
        for file in &mut request.files {
            path.clone_into(&mut file.path);
        }
        let notes = std::mem::take(&mut request.notes);
        let changed = planner::run(&view, request.files, options)?.remove(path);
        let work = changed.map_or_else(|| view.unchanged(), |changed| changed.work);
        Ok(AppliedText { new_path, ..work.into_applied_text(format.spec().name, notes)? })
    })
}

/// Creates the error for a fence with a line that may be the name of its file, where the call names none.
fn perhaps_named(line: &str) -> Error {
    let what = "A line of the patch may be the name of its file or not, and the call names no file.";
    Error::new(Code::EditUnparsable, what).evidence(format!("The line: {line}")).next(
        Advice::named("If it is the name, give it as {file}; if not, omit the line.")
            .or("If it is the name, name the file in the call as well; if not, omit the line."),
    )
}

/// Checks that a request is about one file, whatever its name, and removes moves from it. Returns the new path.
///
/// Errors: [`Code::CallInvalid`].
fn about_one_text(request: &mut Request, options: &ApplyOptions) -> Result<Option<String>> {
    let mut names: Vec<String> = Vec::new();
    let mut new_path = None;
    for file in &mut request.files {
        if !names.contains(&file.path) && new_path.as_ref() != Some(&file.path) {
            names.push(file.path.clone());
        }
        match &mut file.action {
            FileAction::Delete { .. } => {
                return Err(Error::new(Code::CallInvalid, "The patch deletes the file; a text cannot be deleted.")
                    .evidence(&file.path)
                    .next(
                        Advice::named("Use {apply_files()}, which returns deleted files as well.")
                            .or("Apply the patch to files: these can be deleted."),
                    ));
            }
            FileAction::Move { to, ops } | FileAction::Copy { to, ops } => {
                new_path = Some(std::mem::take(to));
                file.action = FileAction::Edit { ops: std::mem::take(ops), order: OpOrder::AsNeeded };
            }
            _ => {}
        }
    }
    if let [_, _, ..] = &*names {
        return Err(Error::new(Code::CallInvalid, format!("The patch is about {} files, not one text.", names.len()))
            .evidence(names.join("\n"))
            .next(
                Advice::named("Use {apply_files()} with all of them, or take the other files out of the patch.")
                    .or("Take the other files out of the patch."),
            ));
    }
    if let (Some(path), [name]) = (&options.path, &*names)
        && path != name
    {
        request.notes.push(format!("The patch names {name}; it was applied to {path}, the file of the call."));
    }
    Ok(new_path)
}

/// Checks the size of an argument.
///
/// Errors: [`Code::CallTooLarge`].
pub(super) fn check_size(what: &str, text: &str, options: &ApplyOptions) -> Result<()> {
    if text.len() > options.limits.input_bytes { Err(too_large(what, text.len(), options)) } else { Ok(()) }
}

/// A view with one text.
struct SingleText<'t> {
    path: &'t str,
    file: Option<Snapshot>,
}

impl SingleText<'_> {
    /// Returns the work of a patch that leaves the text as it is.
    fn unchanged(&self) -> FileWork {
        FileWork::unchanged(self.file.clone().unwrap_or_else(|| Snapshot::from_text("")))
    }
}

impl View for SingleText<'_> {
    fn file(&self, path: &str) -> Result<Option<Snapshot>> {
        Ok(self.file.clone().filter(|_| path == self.path))
    }

    fn has_file(&self, path: &str) -> bool {
        self.file.is_some() && path == self.path
    }

    fn has_below(&self, _: &str) -> bool {
        false
    }
}
