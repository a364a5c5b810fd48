//! Edits, writes and patches through a session.

use crate::api::workspace::options::EditOptions;
use crate::api::workspace::session::Session;
use crate::pipeline::plan::patching::Selection;
use crate::pipeline::report::outcome::ChangeOutcome;
use crate::tools::apply::{ApplyInput, apply_edits, parse_edits};
use crate::tools::edit_files::apply_request;
use emendate_core::formats::replace::Replacement;
use emendate_core::{FileAction, NewFile, Notes, Op, OpOrder, Request, Result, TextNames};
use std::path::{Path, PathBuf};

impl Session {
    /// Replaces texts in a file.
    pub fn edit(&self, path: impl AsRef<Path>) -> EditCall<'_> {
        let path = path.as_ref().to_owned();
        EditCall { session: self, path, replacements: Vec::new(), options: EditOptions::new() }
    }

    /// Writes the whole text of a file, and creates it if there is none.
    pub fn write(&self, path: impl AsRef<Path>, text: impl Into<String>) -> WriteCall<'_> {
        let (path, text) = (path.as_ref().to_owned(), text.into());
        WriteCall { session: self, path, text, create_new: false, options: EditOptions::new() }
    }

    /// Applies edits as a model wrote them, in any text format, to any number of files: all or nothing.
    pub fn apply(&self, text: impl Into<String>) -> ApplyCall<'_> {
        let input = ApplyInput { input: text.into(), ..ApplyInput::default() };
        ApplyCall { session: self, input, options: EditOptions::new() }
    }
}

/// Edits of one file; see [`Session::edit`].
///
/// ```
/// use emendate::Workspace;
///
/// let session = Workspace::in_memory([("a.rs", "let a = 1;\nlet b = a + a;\n")])?.session("agent-1");
/// session.read("a.rs").run()?;
/// let done = session.edit("a.rs").replace("let a = 1;", "let a = 2;").replace_all("a + a", "2 * a").run()?;
/// assert_eq!(done.places(), 2);
/// // Only these bytes changed.
/// assert_eq!(done.files[0].spans[0].before, 8..9);
///
/// let error = session.edit("a.rs").replace("let c", "let d").run().unwrap_err();
/// assert_eq!(error.code().as_str(), "match.not_found");
/// assert!(!error.next_step().is_empty());
/// # Ok::<(), emendate::core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct EditCall<'a> {
    session: &'a Session,
    path: PathBuf,
    replacements: Vec<Replacement>,
    options: EditOptions,
}

impl<'a> EditCall<'a> {
    /// Replaces `old`, which must occur exactly once, by `new`.
    pub fn replace(self, old: impl Into<String>, new: impl Into<String>) -> EditCall<'a> {
        self.replacement(Replacement { old_string: old.into(), new_string: new.into(), ..Replacement::default() })
    }

    /// Replaces every occurrence of `old` by `new`.
    pub fn replace_all(self, old: impl Into<String>, new: impl Into<String>) -> EditCall<'a> {
        let (old_string, new_string) = (old.into(), new.into());
        self.replacement(Replacement { old_string, new_string, replace_all: Some(true), ..Replacement::default() })
    }

    /// Adds a replacement with all its options. Replacements apply to the same text, unless one needs the result of an
    /// earlier one.
    pub fn replacement(mut self, replacement: Replacement) -> EditCall<'a> {
        self.replacements.push(replacement);
        self
    }

    /// Sets the options of the call.
    pub fn options(self, options: EditOptions) -> EditCall<'a> {
        EditCall { options, ..self }
    }

    /// Makes all edits, or none.
    ///
    /// Errors: `match.not_found`, `match.ambiguous`, `edit.*`, `read.required`, `stale.*`, `path.*`, `access.*`.
    pub fn run(self) -> Result<ChangeOutcome> {
        let EditCall { session, path, replacements, options } = self;
        let (tool, format) = if replacements.len() == 1 { ("edit", "replace") } else { ("multi_edit", "multi_edit") };
        let parts: Vec<&[u8]> = replacements
            .iter()
            .flat_map(|it| [it.old_string.as_bytes(), it.new_string.as_bytes()])
            .chain([path.as_os_str().as_encoded_bytes()])
            .collect();
        let origin = options.origin(tool, format, &parts);
        let names = TextNames::of(&*session.names(tool)).unwrap_or(TextNames::TAGS);
        session.change(tool, |call| {
            let settings = options.for_call(call, origin)?;
            let ops: Vec<Op> = replacements.iter().map(|it| it.to_op_of(&names)).collect::<Result<_>>()?;
            let order = if ops.len() == 1 { OpOrder::Together } else { OpOrder::AsNeeded };
            let file = session.request(&path, FileAction::Edit { ops, order });
            let request = Request { files: vec![file], notes: Notes::new() };
            Ok(apply_request(call, request, &settings)?.into_outcome(&call, options.diff))
        })
    }
}

/// A write of a whole file; see [`Session::write`].
///
/// ```
/// use emendate::{FileOutcomeKind, Workspace};
///
/// let session = Workspace::in_memory([("old.txt", "")])?.session("agent-1");
/// let done = session.write("new.txt", "one\n").run()?;
/// assert_eq!(done.files[0].kind, FileOutcomeKind::Created);
/// # Ok::<(), emendate::core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct WriteCall<'a> {
    session: &'a Session,
    path: PathBuf,
    text: String,
    create_new: bool,
    options: EditOptions,
}

emendate_core::setters! {
    impl WriteCall<'a> {
        /// Makes the call fail if the file exists already.
        create_new() { create_new = true }
        /// Sets the options of the call.
        options(options: EditOptions) { options = options }
    }
}

impl WriteCall<'_> {
    /// Writes the file.
    ///
    /// Errors: `read.required` for an existing file that the session has not read completely; `stale.*`, `path.*`,
    /// `access.*`.
    pub fn run(self) -> Result<ChangeOutcome> {
        let WriteCall { session, path, text, create_new, options } = self;
        let origin = options.origin("write", "write", &[text.as_bytes(), path.as_os_str().as_encoded_bytes()]);
        session.change("write", |call| {
            let settings = options.for_call(call, origin)?;
            let action = if create_new { FileAction::Create(NewFile::Text(text)) } else { FileAction::Write(text) };
            let request = Request { files: vec![session.request(&path, action)], notes: Notes::new() };
            Ok(apply_request(call, request, &settings)?.into_outcome(&call, options.diff))
        })
    }
}

/// Edits as text; see [`Session::apply`].
///
/// ```
/// use emendate::Workspace;
///
/// let workspace = Workspace::in_memory([("a.rs", "let a = 1;\n"), ("b.rs", "let b = 1;\n")])?;
/// let session = workspace.session("agent-1");
/// session.read("a.rs").run()?;
/// let reply = "a.rs\n<<<<<<< SEARCH\nlet a = 1;\n=======\nlet a = 2;\n>>>>>>> REPLACE\n";
/// let done = session.apply(reply).run()?;
/// assert_eq!((done.format, done.files[0].added), ("search_replace", 1));
/// # Ok::<(), emendate::core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct ApplyCall<'a> {
    session: &'a Session,
    input: ApplyInput,
    options: EditOptions,
}

emendate_core::setters! {
    impl ApplyCall<'a> {
        /// Sets the format of the text (default: detected).
        format(name: impl Into<String>) { input.format = Some(name.into()) }
        /// Sets the absolute directory that relative names in the text begin at (default: the first root).
        directory(directory: impl Into<String>) { input.directory = Some(directory.into()) }
        /// Sets the file that the text is about, if it names none.
        file(file: impl Into<String>) { input.file = Some(file.into()) }
        /// Sets the number of leading directories to remove from every name (default: detected).
        strip(strip: usize) { input.strip = Some(strip) }
        /// Applies every change in reverse.
        reverse() { input.reverse = true }
        /// Allows created and moved files to replace existing ones.
        overwrite() { input.overwrite = true }
        /// Sets the options of the call.
        options(options: EditOptions) { options = options }
    }
}

impl ApplyCall<'_> {
    /// Makes all edits, or none.
    ///
    /// Errors: `edit.unparsable` for a text in no format; and those of [`EditCall::run`].
    pub fn run(self) -> Result<ChangeOutcome> {
        let ApplyCall { session, input, options } = self;
        let shape = format!("{:?}", ApplyInput { input: String::new(), ..input.clone() });
        let origin = options.origin("apply", "", &[input.input.as_bytes(), shape.as_bytes()]);
        session.change("apply", |call| {
            let mut settings = options.for_call(call, origin)?;
            settings.overwrite = input.overwrite;
            let edits = parse_edits(call, input, settings, &Selection::default())?;
            Ok(apply_edits(call, edits)?.into_outcome(&call, options.diff))
        })
    }
}
