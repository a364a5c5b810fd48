//! The table of error codes. To add one: a row here, a row with its numbers at the edges
//! (`engine/src/model/code_numbers.rs`), and a scene (docs/errors.md is generated).

/// The caller's possible reaction to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The call itself is wrong; correct it.
    FixCall,
    /// Read the file, then repeat the call.
    ReadAgain,
    /// Address fewer places.
    Narrow,
    /// Give more context, or ask for all occurrences.
    Widen,
    /// A person has to permit the call or repair the cause.
    AskPerson,
    /// The same call may succeed when repeated.
    Retry,
    /// Nothing will help.
    GiveUp,
}

impl Remedy {
    /// The remedy in a word, for the documentation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Remedy::FixCall => "correct the call",
            Remedy::ReadAgain => "read, then repeat",
            Remedy::Narrow => "name fewer places",
            Remedy::Widen => "give more context",
            Remedy::AskPerson => "ask a person",
            Remedy::Retry => "repeat the call",
            Remedy::GiveUp => "nothing to try",
        }
    }
}

/// A row of the table: all properties of a code.
#[derive(Debug)]
pub struct CodeRow {
    /// The code.
    pub code: Code,
    /// The stable dotted name; never reused.
    pub name: &'static str,
    /// The possible reaction.
    pub remedy: Remedy,
    /// The description, for docs/errors.md.
    pub meaning: &'static str,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident = $name:literal, $remedy:ident;)+) => {
        /// The stable cause of an [`Error`](crate::Error).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $code,)+ }

        /// Every code, in the order of the documentation.
        pub static CODES: &[CodeRow] = &[$(CodeRow {
            code: Code::$code,
            name: $name,
            remedy: Remedy::$remedy,
            meaning: concat!($($doc),+),
        },)+];
    };
}

codes! {
    /// The arguments are not a JSON object of the tool's shape: malformed JSON, an unknown or missing field, a wrong type, values that contradict each other.
    CallInvalid = "call.invalid", FixCall;
    /// No tool has that name.
    CallUnknownTool = "call.unknown_tool", FixCall;
    /// The call is larger than the limit on one request.
    CallTooLarge = "call.too_large", Narrow;
    /// The call needs more steps of work than one call may take. Nothing was written.
    CallTooMuchWork = "call.too_much_work", Narrow;
    /// The caller stopped the call before anything was written.
    CallCancelled = "call.cancelled", Retry;
    /// A text edit (patch, block) does not follow its format.
    EditUnparsable = "edit.unparsable", FixCall;
    /// The edit asks for what is already there: old and new text are equal, or the result equals the file.
    EditNoChange = "edit.no_change", FixCall;
    /// Two edits of one call write the same text.
    EditOverlap = "edit.overlap", FixCall;
    /// Two edits of one call replace the same text differently.
    EditContradiction = "edit.contradiction", FixCall;
    /// An edit's target exists only in, or contains, the text an earlier edit of the call writes.
    EditDependency = "edit.dependency", FixCall;
    /// The edit would need more work than the limit allows.
    EditTooMuchWork = "edit.too_much_work", Narrow;
    /// The edit would put text where its indentation cannot be kept.
    EditMisindent = "edit.would_misindent", FixCall;
    /// The new text contains a placeholder such as "… rest unchanged …" that the old text does not.
    EditOmission = "edit.omission", FixCall;
    /// Permission rules, or the list of guarded files, deny the path.
    AccessDenied = "access.denied", AskPerson;
    /// A rule says that a person is asked first, and nobody was there to ask, or the answer was no.
    AccessAsk = "access.ask", AskPerson;
    /// The path leaves every root, by `..`, by a link or by being somewhere else.
    PathOutside = "path.outside", FixCall;
    /// The path is not absolute, empty, or holds a NUL.
    PathInvalid = "path.invalid", FixCall;
    /// A link on the way is broken, loops, or leads where it may not.
    PathSymlink = "path.symlink", FixCall;
    /// The path is a directory, FIFO, socket or device.
    PathNotRegular = "path.not_regular", FixCall;
    /// An empty `old_string` would create the file, but it exists and is not blank.
    FileExists = "file.exists", FixCall;
    /// There is no such file.
    FileMissing = "file.not_found", FixCall;
    /// A Jupyter notebook is edited by cells, not by text.
    FileNotebook = "file.notebook", FixCall;
    /// The file is not a notebook that can be edited by cells: broken JSON, no cells, a format other than 4.
    NotebookInvalid = "notebook.invalid", FixCall;
    /// The notebook has no such cell.
    CellMissing = "cell.not_found", FixCall;
    /// Several cells of the notebook have that id.
    CellAmbiguous = "cell.ambiguous", FixCall;
    /// The image or PDF is damaged, encrypted, or asks for more work than the limit.
    MediaUnreadable = "media.unreadable", GiveUp;
    /// This build cannot do that with the image or PDF.
    MediaUnsupported = "media.unsupported", FixCall;
    /// The file is larger than the limit.
    FileTooLarge = "file.too_large", Narrow;
    /// The file is binary: it has a NUL byte near its start or a known signature.
    ContentBinary = "content.binary", GiveUp;
    /// The bytes cannot be read in the declared encoding, or the encoding is not supported.
    ContentUndecodable = "content.undecodable", FixCall;
    /// The new text has characters that the file's encoding cannot hold, or the encoding was not declared.
    ContentUnencodable = "content.unencodable", FixCall;
    /// The match begins or ends where, in an undeclared encoding, a character might be cut in half.
    ContentBoundary = "content.boundary", FixCall;
    /// The file has not been read in this session.
    ReadRequired = "read.required", ReadAgain;
    /// Parts of the file that the call would replace have never been shown.
    ReadPartial = "read.partial", ReadAgain;
    /// The lines asked for do not exist.
    ReadRange = "read.range", FixCall;
    /// The reply would be larger than the limit.
    ReadTooLarge = "read.too_large", Narrow;
    /// The file changed since it was read, and the lines of the edit are among what changed or merging is off.
    StaleChanged = "stale.changed", ReadAgain;
    /// The tag names no version of this file that the engine knows.
    StaleUnknownTag = "stale.unknown_tag", ReadAgain;
    /// The text to replace is not in the file.
    MatchNotFound = "match.not_found", FixCall;
    /// The text to replace occurs several times.
    MatchAmbiguous = "match.ambiguous", Widen;
    /// The text occurs another number of times than `expected_replacements` says, or a call about many files says no number.
    MatchCount = "match.count", FixCall;
    /// The language of the file is not known, or the file is too large to be parsed.
    SyntaxUnknown = "syntax.unknown", FixCall;
    /// The language is one of the `full` build, and this build has no grammar for it.
    SyntaxNotBuilt = "syntax.not_built", FixCall;
    /// The file parses as it is, and would not after the edit of a symbol.
    SyntaxBroken = "syntax.broken", FixCall;
    /// No symbol of that path is in the file.
    SymbolMissing = "symbol.not_found", FixCall;
    /// Several symbols have that path.
    SymbolAmbiguous = "symbol.ambiguous", FixCall;
    /// The symbol cannot be treated alone: it shares its lines, or its name, with something else.
    SymbolEntangled = "symbol.entangled", FixCall;
    /// The file was changed, replaced or removed between the check and the write.
    ConflictRaced = "conflict.raced", Retry;
    /// No operation of that name is in the history, or nothing is there to undo.
    OperationMissing = "operation.not_found", FixCall;
    /// An operation cannot be undone, because the file changed since in the same place.
    OperationConflict = "operation.conflict", FixCall;
    /// The content that would have to be put back was not kept.
    OperationLost = "operation.not_kept", GiveUp;
    /// The history was damaged or could not be written, and the operation that would be undone or redone is not surely the last one: it has to be named.
    OperationUncertain = "operation.uncertain", FixCall;
    /// The change could not be undone afterwards, and the call does not say that it is meant nevertheless; nothing was written.
    OperationIrreversible = "operation.irreversible", FixCall;
    /// After the edit the file would not be JSON, TOML or YAML any more, or would not fit its schema.
    SchemaViolation = "schema.violation", FixCall;
    /// The schema that the configuration names for the file cannot be read or understood.
    SchemaInvalid = "schema.invalid", AskPerson;
    /// The operating system refused: permissions of the file or its directory.
    IoPermission = "io.permission", AskPerson;
    /// The disk is full or a quota is used up.
    IoNoSpace = "io.no_space", AskPerson;
    /// The file system is read-only.
    IoReadOnly = "io.read_only", AskPerson;
    /// Another input or output error; nothing was changed.
    IoFailed = "io.failed", Retry;
    /// An input or output error after part of the change was visible.
    IoPartial = "io.partial", AskPerson;
    /// Another process holds the lock.
    LockTimeout = "lock.timeout", Retry;
    /// A fault of the engine itself; please report it.
    InternalBug = "internal.bug", GiveUp;
}

impl Code {
    /// The row of the table.
    pub fn row(self) -> &'static CodeRow {
        // The macro writes the enum and the table from the same rows, in the same order.
        &CODES[self as usize]
    }

    /// The stable dotted name, e.g. `match.ambiguous`.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// The possible reaction.
    pub fn remedy(self) -> Remedy {
        self.row().remedy
    }

    /// True when the same call can succeed later: at once, or after reading the file again.
    pub fn retryable(self) -> bool {
        matches!(self.remedy(), Remedy::ReadAgain | Remedy::Retry)
    }
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn names_are_dotted_and_unique_and_lookups_return_their_row() {
        let mut names: Vec<_> = CODES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CODES.len());
        for row in CODES {
            assert!(row.name.split('.').count() == 2, "{}", row.name);
            assert_eq!(row.code.as_str(), row.name);
        }
    }
}
