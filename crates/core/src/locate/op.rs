//! Operations: a caller's edits as plain data. Parsed without a file, resolved against one snapshot.

pub(crate) mod cell_edit;
pub(crate) mod fence_name;
pub(crate) mod joined_edits;
pub(crate) mod line_edit;

use crate::advice::Vocabulary;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::anchor_map::AnchorEdit;
use crate::note::Notes;
use crate::text::content::Handle;
use crate::text::span::Span;
use cell_edit::CellEdit;
use fence_name::FenceName;
use line_edit::LineEdit;
use std::borrow::Cow;

/// Maximum number of edits in one call.
pub const EDITS_PER_CALL_MAX: usize = 10_000;

/// The number of occurrences that a [`TextQuery`] accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedMatches {
    /// Exactly one; overlapping occurrences count as several.
    Unique,
    /// All of them; at least one.
    All,
    /// Exactly this many.
    Exactly(usize),
}

/// Names of the old and the new text of a replacement, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextNames {
    /// The name of the text to search for.
    pub old: Cow<'static, str>,
    /// The name of the text that replaces it.
    pub new: Cow<'static, str>,
    /// The clause that the call did not ask for all places; empty if no call can ask for that.
    pub not_all: Cow<'static, str>,
    /// True if the names are those of fields of a call, which advice can name and set.
    pub are_fields: bool,
    /// True if a call can select one of several places by its id.
    pub have_ids: bool,
}

impl TextNames {
    /// The fields of a replacement.
    pub const FIELDS: TextNames = TextNames::fields("old_string", "new_string", true);
    /// The fields of the text editor tool.
    pub const EDITOR: TextNames = TextNames::fields("old_str", "new_str", false);
    /// The parts of a block between markers.
    pub const BLOCK: TextNames = TextNames::parts("the SEARCH part", "the REPLACE part", false);
    /// The lines between which an edit by line anchors replaces.
    pub const LINES: TextNames = TextNames::parts("the lines of the call", "the new text", true);
    /// The parts of a block in tags.
    pub const TAGS: TextNames = TextNames::parts("the old text", "the new text", false);
    /// The lines of a hunk.
    pub const HUNK: TextNames = TextNames::parts("the hunk", "the new lines of the hunk", false);

    /// Returns the names that a client has for the fields of a replacement; `None` if its tool has no such fields.
    pub fn of(names: &dyn Vocabulary) -> Option<TextNames> {
        let (old, new) = (field_name(names, "old_string")?, field_name(names, "new_string")?);
        let have_ids = names.field("at").is_some();
        Some(TextNames { old, new, not_all: names.not_all().into(), are_fields: true, have_ids })
    }

    const fn fields(old: &'static str, new: &'static str, have_ids: bool) -> TextNames {
        TextNames {
            old: Cow::Borrowed(old),
            new: Cow::Borrowed(new),
            not_all: Cow::Borrowed("replace_all is false"),
            are_fields: true,
            have_ids,
        }
    }

    const fn parts(old: &'static str, new: &'static str, have_ids: bool) -> TextNames {
        TextNames {
            old: Cow::Borrowed(old),
            new: Cow::Borrowed(new),
            not_all: Cow::Borrowed(""),
            are_fields: false,
            have_ids,
        }
    }
}

/// Returns the name of a field in the vocabulary.
fn field_name(names: &dyn Vocabulary, name: &str) -> Option<Cow<'static, str>> {
    names.field(name).map(Cow::Owned)
}

/// Text to search for, with `\n` line ends and without a byte order mark (see [`TextQuery::new`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextQuery {
    /// The text.
    pub old: String,
    /// The number of occurrences to accept.
    pub expected: ExpectedMatches,
    /// 1-based line near which the caller expects the text; only decides between several occurrences.
    pub line: Option<usize>,
    /// The id of an occurrence, as given by an earlier failure.
    pub at: Option<String>,
    /// True if an occurrence must begin at the start of a line and end at the end of one.
    pub lines: bool,
    /// Names of the texts in messages.
    pub names: TextNames,
    /// The 0-based rows of the new text that begin inside of a string, in order: they are never indented anew.
    pub rows_in_strings: Vec<usize>,
    /// 1-based line of the request on which the edit begins; 0 for one in the fields of a call.
    pub source_line: usize,
}

impl TextQuery {
    /// Creates a query for this text, normalized to `\n` line ends without a byte order mark.
    pub fn new(old: &str, expected: ExpectedMatches) -> TextQuery {
        TextQuery {
            old: normalize_text(old),
            expected,
            line: None,
            at: None,
            lines: false,
            names: TextNames::FIELDS,
            rows_in_strings: Vec::new(),
            source_line: 0,
        }
    }
}

/// The first and the last line of a range of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorPair {
    /// The first line.
    pub first: String,
    /// The last line.
    pub last: String,
    /// 1-based line near which the caller expects the first line; only decides between several places.
    pub line: Option<usize>,
    /// The id of an occurrence, as given by an earlier failure.
    pub at: Option<String>,
}

/// Normalizes text from a call: no byte order mark, `\n` line ends.
pub fn normalize_text(text: &str) -> String {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if memchr::memchr(b'\r', text.as_bytes()).is_none() { text.to_owned() } else { text.replace("\r\n", "\n") }
}

/// Describes how two texts are the same, as normalized by [`normalize_text`].
pub(crate) fn describe_sameness(old: &str, new: &str) -> String {
    const MARK: char = '\u{FEFF}';
    let bare = |text: &str| text.strip_prefix(MARK).unwrap_or(text).to_owned();
    let is_marked = [old, new].map(|text| text.starts_with(MARK));
    let mark = (is_marked[0] != is_marked[1]).then_some("a byte order mark");
    let ends = (bare(old) != bare(new)).then_some("line ends");
    let parts: Vec<&str> = mark.into_iter().chain(ends).collect();
    if parts.is_empty() {
        return "are exactly the same".to_owned();
    }
    format!("differ only in {}, which an edit keeps as in the file", parts.join(" and "))
}

/// The ways in which a caller can refer to text. The enum is closed on purpose: a new syntax is a format, a new way to
/// refer to text is a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Locator {
    /// The whole text.
    Whole,
    /// The whole text, if it contains only whitespace.
    Blank,
    /// Literal or near-literal text: the matching cascade.
    Find(TextQuery),
    /// Whole lines from a first to a last line, which are given by their text: the line-anchor edit.
    Anchors(AnchorPair),
    /// Whole lines, some of which are kept: one hunk of a patch. [`Op::text`] has its new side.
    Hunk(Box<Hunk>),
    /// Whole lines by number. All such edits of a file are applied together, against one version.
    Lines(Box<LineEdit>),
    /// Whole lines by anchors. They are converted to [`Locator::Lines`] before they are placed, see
    /// [`crate::locate::anchor_map::AnchorPage`].
    AnchorWords(Box<AnchorEdit>),
    /// A cell of a notebook. All such edits of a file are applied together, against one version.
    Cell(Box<CellEdit>),
    /// A span of the decoded text that the caller already knows.
    Exactly(Span),
}

/// The kind of a line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HunkLineKind {
    /// The line is kept.
    Context,
    /// The line is removed; it must exist.
    Removed,
    /// The line is new.
    Added,
    /// The line has no mark: it is context that lost its mark, if the file has this line there.
    Bare,
}

/// A line of a hunk, without its mark and its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine {
    /// The kind of the line.
    pub kind: HunkLineKind,
    /// The text of the line.
    pub text: String,
}

/// A hunk of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The lines in order.
    pub lines: Vec<HunkLine>,
    /// Lines above the place, outermost first, as a Codex patch writes them after `@@`. Each of them must exist.
    pub scopes: Vec<String>,
    /// The name of the function or section around the place, as a unified diff writes it after the second `@@`: a hint.
    pub section: Option<String>,
    /// 1-based number of the first old line according to the header; without old lines, of the line after which the
    /// hunk inserts (0: the beginning). A hint.
    pub first: Option<usize>,
    /// True if the hunk extends to the end of the file.
    pub at_end: bool,
    /// For the last old and the last new line, true if the hunk marks it as having no line end.
    pub open: (bool, bool),
    /// 1-based line of the input on which the hunk begins.
    pub source_line: usize,
}

impl Hunk {
    /// The old side (context and removed lines), every line terminated.
    pub fn old_text(&self) -> String {
        self.side(HunkLineKind::Added)
    }

    /// The new side (context and added lines), every line terminated.
    pub fn new_text(&self) -> String {
        self.side(HunkLineKind::Removed)
    }

    /// True if the old side begins with a byte order mark, and the new side is the same text without it.
    pub(crate) fn only_removes_mark(&self) -> bool {
        let old = self.lines.iter().find(|line| line.kind != HunkLineKind::Added);
        old.is_some_and(|line| line.text.starts_with('\u{FEFF}'))
            && self.open.0 == self.open.1
            && self.old_text().strip_prefix('\u{FEFF}') == Some(&*self.new_text())
    }

    fn side(&self, without: HunkLineKind) -> String {
        let mut out = String::with_capacity(self.lines.iter().map(|line| line.text.len() + 1).sum());
        for line in self.lines.iter().filter(|line| line.kind != without) {
            out.push_str(&line.text);
            out.push('\n');
        }
        out
    }

    /// Converts the hunk to an operation.
    pub fn into_op(self) -> Op {
        let text = self.new_text();
        Op { at: Locator::Hunk(Box::new(self)), text }
    }
}

/// An operation: replaces the target of `at` by `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The target.
    pub at: Locator,
    /// The new text, with `\n` line ends.
    pub text: String,
}

impl Op {
    /// Returns the 1-based line of the request on which the operation begins; 0 for one in the fields of a call.
    pub fn source_line(&self) -> usize {
        match &self.at {
            Locator::Find(find) => find.source_line,
            Locator::Hunk(hunk) => hunk.source_line,
            Locator::Lines(rows) => rows.source_line,
            _ => 0,
        }
    }

    /// Returns the name of the operation in messages; `index` is its place among those of its file.
    pub fn name(&self, index: usize) -> String {
        match &self.at {
            Locator::Find(find) if find.source_line > 0 => format!("the block on line {}", find.source_line),
            Locator::Hunk(hunk) => format!("hunk {} (line {} of the patch)", index + 1, hunk.source_line),
            _ => format!("edits[{index}]"),
        }
    }

    /// True for an operation that fills an empty file: a block without old lines, or with nothing but blank ones.
    pub fn fills(&self) -> bool {
        match &self.at {
            Locator::Blank => true,
            Locator::Find(find) => find.lines && find.old.trim().is_empty(),
            _ => false,
        }
    }

    /// Sets the names of the texts, if the operation is a replacement by fields.
    fn name_fields(&mut self, names: &TextNames) {
        if let Locator::Find(find) = &mut self.at
            && find.names.are_fields
        {
            find.names = names.clone();
        }
    }
}

/// Relation between the operations on one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpOrder {
    /// All apply to the same text; edits that depend on each other are refused.
    #[default]
    Together,
    /// Each applies to the result of the previous one.
    InTurn,
    /// Together, except that an edit that needs the result of an earlier one is applied after it; a note reports that.
    AsNeeded,
}

/// The action on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileAction {
    /// Edits the file by operations.
    Edit {
        /// The operations, in the order of the call.
        ops: Vec<Op>,
        /// The relation between the operations.
        order: OpOrder,
    },
    /// Replaces its whole text; creates the file if it does not exist.
    Write(String),
    /// Creates the file; an existing file is replaced only if the call permits it.
    Create(NewFile),
    /// Deletes the file.
    Delete {
        /// The whole text of the file, if the patch states it: the file must have exactly this text.
        text: Option<String>,
    },
    /// Moves the file to another path, edited by `ops` (empty: unchanged).
    Move {
        /// The new path.
        to: String,
        /// The operations, in the order of the call.
        ops: Vec<Op>,
    },
    /// Copies the file to another path, edited by `ops`.
    Copy {
        /// The path of the copy.
        to: String,
        /// The operations, in the order of the call.
        ops: Vec<Op>,
    },
    /// Changes the bytes of the file by a GIT binary patch.
    Binary(BinaryChange),
}

impl FileAction {
    /// Returns the action that makes `text` the whole text of a file. An existing file is not replaced if the call sets
    /// `overwrite: false`.
    pub(crate) fn whole_text(text: String, overwrite: Option<bool>) -> FileAction {
        match overwrite {
            Some(false) => FileAction::Create(NewFile::Text(text)),
            Some(true) | None => FileAction::Write(text),
        }
    }

    /// True if the file need not exist.
    pub fn creates(&self) -> bool {
        match self {
            FileAction::Write(_) | FileAction::Create(_) => true,
            FileAction::Edit { ops, .. } => matches!(ops.first(), Some(Op { at: Locator::Blank, .. })),
            _ => false,
        }
    }

    /// The edits of the file, of one that is moved or copied as well.
    pub fn ops(&self) -> &[Op] {
        match self {
            FileAction::Edit { ops, .. } | FileAction::Move { ops, .. } | FileAction::Copy { ops, .. } => ops,
            _ => &[],
        }
    }

    /// The new path of a move or copy.
    pub fn destination(&self) -> Option<&str> {
        if let FileAction::Move { to, .. } | FileAction::Copy { to, .. } = self { Some(to) } else { None }
    }

    /// The new path of a move or copy, to change it.
    pub fn destination_mut(&mut self) -> Option<&mut String> {
        if let FileAction::Move { to, .. } | FileAction::Copy { to, .. } = self { Some(to) } else { None }
    }

    /// True if it removes the entry at its path, or moves it away.
    pub fn leaves(&self) -> bool {
        matches!(self, FileAction::Delete { .. } | FileAction::Move { .. })
    }
}

/// The content of a new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewFile {
    /// Text, exactly as given.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A symbolic link to this target.
    Link(String),
}

/// A binary change, already decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryChange {
    /// The object id of the old content, in lower-case hexadecimal digits (SHA-1, or SHA-256 in full length), or a
    /// prefix of it. `None` if the patch does not state it.
    pub before: Option<String>,
    /// The object id of the new content.
    pub after: Option<String>,
    /// The new bytes.
    pub payload: BinaryPayload,
}

/// The representation of the new bytes of a [`BinaryChange`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinaryPayload {
    /// The bytes themselves.
    Literal(Vec<u8>),
    /// git's delta (copy and insert instructions, see gitformat-pack) against the old bytes.
    Delta(Vec<u8>),
}

/// The permission that a patch gives to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// 100644
    Regular,
    /// 100755
    Executable,
}

impl FileMode {
    /// True if the file may be executed.
    pub fn is_executable(self) -> bool {
        self == FileMode::Executable
    }
}

/// A request for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// The path as the caller gave it.
    pub path: String,
    /// The path in bytes, if it is not UTF-8 and `path` only approximates it.
    pub raw: Option<Vec<u8>>,
    /// Alternative paths, best first, used if nothing exists at `path`: names before prefixes were stripped, or the
    /// name on the other side of a diff.
    pub alternatives: Vec<String>,
    /// The destination without its prefix, used if the file is found by an alternative path.
    pub bare_destination: Option<String>,
    /// Names that may be meant as well as `path`: the files decide which ([`Request::choose_names`]).
    pub rivals: Vec<String>,
    /// The version that the caller saw, if the call names one.
    pub base: Option<Handle>,
    /// True if the name may be an ordinary word or line of the text: the file is meant only if it exists.
    pub must_exist: bool,
    /// True if the text shows what belongs to the name, as the headers of git do: nothing in it is a decoration.
    pub exact_name: bool,
    /// The origin of the name of a whole file in a fence that has no name above it.
    pub fence: Option<FenceName>,
    /// The line that closes the fence around a whole file.
    pub closing: Option<String>,
    /// The permission to set; `None` leaves it unchanged.
    pub mode: Option<FileMode>,
    /// The object id that git gives the file for which a patch was made, or a prefix of it.
    pub preimage: Option<String>,
    /// The action.
    pub action: FileAction,
}

impl FileRequest {
    /// Creates a request for this action on the file at this path.
    pub fn new(path: impl Into<String>, action: FileAction) -> FileRequest {
        FileRequest {
            path: path.into(),
            raw: None,
            alternatives: Vec::new(),
            bare_destination: None,
            rivals: Vec::new(),
            must_exist: false,
            exact_name: false,
            fence: None,
            closing: None,
            base: None,
            mode: None,
            preimage: None,
            action,
        }
    }
}

/// Everything that one call asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The files in the order of the call.
    pub files: Vec<FileRequest>,
    /// Notes for the caller about how its text was parsed.
    pub notes: Notes,
}

impl Request {
    /// Removes the files whose names are ordinary words unless such a file exists, and adds a note.
    ///
    /// Errors: [`Code::EditUnparsable`] if no file is left.
    pub fn keep_files(&mut self, exists: impl Fn(&str) -> bool) -> Result<()> {
        let Request { files, notes } = self;
        let mut missing: Option<String> = None;
        files.retain(|file| {
            let keep = !file.must_exist || exists(&file.path);
            if !keep {
                notes.push(format!("The fence named `{}` was ignored: there is no such file.", file.path));
                missing.get_or_insert_with(|| file.path.clone());
            }
            keep
        });
        match missing {
            Some(word) if files.is_empty() => {
                Err(Error::new(Code::EditUnparsable, "The text is in none of the known formats.")
                    .evidence(format!("There is a fence with text in it, but `{word}`, which may be its name, is not a file here."))
                    .next("To write a whole file, put its path alone on the line above the fence; to change a part, use one of the other formats."))
            }
            _ => Ok(()),
        }
    }

    /// Sets the names of the texts of replacements to those of the caller's own fields.
    pub fn name_fields(&mut self, names: &TextNames) {
        for file in &mut self.files {
            if let FileAction::Edit { ops, .. } = &mut file.action {
                for op in ops {
                    op.name_fields(names);
                }
            }
        }
    }
}

/// Tolerance of the matching cascade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Exact text only: tier 0.
    Exact,
    /// Lookalike characters and trailing whitespace: tiers 0–3.
    Strict,
    /// All tiers.
    #[default]
    Standard,
}

impl Matching {
    /// Returns the tolerance with a name: exact, strict or standard.
    ///
    /// Errors: `call.invalid` for another name.
    pub fn from_name(name: &str) -> Result<Matching> {
        match name {
            "exact" => Ok(Matching::Exact),
            "strict" => Ok(Matching::Strict),
            "standard" => Ok(Matching::Standard),
            _ => Err(Error::new(Code::CallInvalid, format!("`{name}` is not a tolerance."))
                .next("Use one of: exact, strict, standard.")),
        }
    }
}

/// Settings for all operations of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolveSettings {
    /// Tolerance of the matching cascade.
    pub matching: Matching,
    /// True if the file has changed since the caller saw it: the drift tiers are then off.
    pub stale: bool,
    /// True if operations that cannot be placed are skipped and reported, as long as one can be placed.
    pub partial: bool,
    /// True if deletions also remove the lines that become empty, even if `matching` is exact: a part of a large file
    /// is searched literally, whatever the call allows.
    pub emptied_lines: bool,
    /// True if lines that look like placeholders for omitted text are meant literally.
    pub omissions: bool,
    /// Number of context lines of a hunk that must match on each side; lines beyond may differ. `None`: the usual
    /// tolerance.
    pub context: Option<usize>,
}

impl ResolveSettings {
    /// True if a deletion removes exactly the given text, and never the rest of a line that becomes empty.
    pub fn deletes_literally(self) -> bool {
        self.matching != Matching::Standard && !self.emptied_lines
    }
}
