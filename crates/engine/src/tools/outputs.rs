//! Fields of the data of replies. Documentation and output schemas are generated from these tables.

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// A list.
    List,
    /// An object.
    Object,
    /// One of several types, or null.
    Any,
}

impl FieldKind {
    /// The name in a JSON schema; `None` for several types.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            FieldKind::Text => Some("string"),
            FieldKind::Number => Some("number"),
            FieldKind::Flag => Some("boolean"),
            FieldKind::List => Some("array"),
            FieldKind::Object => Some("object"),
            FieldKind::Any => None,
        }
    }
}

/// A field of the data.
#[derive(Clone, Copy, Debug)]
pub struct OutputField {
    /// The name of the field.
    pub name: &'static str,
    /// The type of the field.
    pub kind: FieldKind,
    /// The meaning of the field.
    pub meaning: &'static str,
}

/// Fields in the data of some replies. A field without a meaning in a reply is omitted from it.
#[derive(Clone, Copy, Debug)]
pub struct OutputGroup {
    /// The subject of the fields.
    pub title: &'static str,
    /// The fields.
    pub fields: &'static [OutputField],
}

pub(crate) const fn text(name: &'static str, meaning: &'static str) -> OutputField {
    OutputField { name, kind: FieldKind::Text, meaning }
}

pub(crate) const fn number(name: &'static str, meaning: &'static str) -> OutputField {
    OutputField { name, kind: FieldKind::Number, meaning }
}

pub(crate) const fn flag(name: &'static str, meaning: &'static str) -> OutputField {
    OutputField { name, kind: FieldKind::Flag, meaning }
}

pub(crate) const fn list(name: &'static str, meaning: &'static str) -> OutputField {
    OutputField { name, kind: FieldKind::List, meaning }
}

pub(crate) const fn object(name: &'static str, meaning: &'static str) -> OutputField {
    OutputField { name, kind: FieldKind::Object, meaning }
}

pub(crate) const fn any(name: &'static str, meaning: &'static str) -> OutputField {
    OutputField { name, kind: FieldKind::Any, meaning }
}

/// Every reply.
pub(crate) const EVERY_REPLY: OutputGroup = OutputGroup {
    title: "Every reply",
    fields: &[
        list("notes", "Tolerances that were applied and other notes; one sentence each."),
        list("arguments", "How arguments that do not match the schema were read."),
        object("omitted", "What the limits of the reply omitted (`fields`), and the call that shows it (`next`)."),
        list("comments", "A person's comments on what this session did: id, operation, filePath, line, text."),
        list("attachments", "Images and documents, as base64."),
    ],
};

/// A file that was changed.
pub(crate) const CHANGED_FILE: OutputGroup = OutputGroup {
    title: "A file that was changed",
    fields: &[
        text("summary", "What was done, in one line."),
        text("filePath", "The file, absolute."),
        text("path_b64", "The bytes of its path in base64, where the path is not UTF-8."),
        text("type", "create, update, delete, move, copy or link."),
        text("from", "The file it was moved or copied from."),
        text("from_b64", "The bytes of that path in base64."),
        text("oldString", "The text to be replaced, of a call with one edit; also after a person corrected it."),
        text("newString", "The new text as the call has it; structuredPatch shows what was written."),
        flag("replaceAll", "The call replaces every occurrence."),
        number("tier", "How lenient the match was: 0 is exact."),
        list("edits", "For each of several edits: its texts, tier, places and difference."),
        number("replacements", "The number of places that were replaced."),
        list("failed", "Edits that were skipped (`partial`), and why."),
        text("originalFile", "The text before: empty for a new file, else only on request and up to 64 KiB."),
        flag("originalFileOmitted", "The text before was requested and is larger than that."),
        list("structuredPatch", "Hunks: oldStart, oldLines, newStart, newLines, lines, omittedLines."),
        flag("userModified", "A person changed the text before it was written."),
        number("linesAdded", "The number of new lines."),
        number("linesRemoved", "The number of removed lines."),
        flag("merged", "The file had changed since it was read, and the edit was carried over."),
        flag("dryRun", "Nothing was written."),
        text("asks", "Of a dry run: the rule by which a person is asked before this is written."),
        any("operation", "The name of the operation in the history."),
        text("tag", "The version of the file as it is now."),
        text("writtenBy", "How it was written: exchanged, in place, created."),
        any("diff", "The difference as text, where the configuration shows it."),
        any("diagnostics", "New problems that language servers report; null in rows without any."),
        text("header", "In replies in rows (`marks`: hashline, hashline_put): the header of the new version."),
        any("firstChangedLine", "In rows: the first line that changed."),
        text("op", "In rows: create or update."),
        object("meta", "In rows: empty, as in the document of the format."),
        list("replacementEchoes", "In rows: ranges that were replaced: start, end, first and last line."),
        list("renumbers", "In rows: from which old line on the numbers of lines moved, and by how many (from, delta)."),
    ],
};

/// Several files.
pub(crate) const SEVERAL_FILES: OutputGroup = OutputGroup {
    title: "Several files",
    fields: &[
        text("format", "The format that the text was read as."),
        list("files", "One entry a file, each with the fields of a changed file; at most 100."),
        number("filesTotal", "The number of all files."),
        text("rejected", "Edits that were skipped, as text to send again."),
        list("undone", "The operations that were reverted."),
        list("hunks", "Of a call with hunks: their numbers."),
        text("hunksOf", "Of a call with hunks: the operation that has them."),
    ],
};

/// Lines that were read.
pub(crate) const LINES_READ: OutputGroup = OutputGroup {
    title: "Lines that were read",
    fields: &[
        text("filePath", "The file, absolute."),
        text("path_b64", "The bytes of its path in base64, where the path is not UTF-8."),
        text("type", "notebook, image or document, where it is not text."),
        text("tag", "The version of the file."),
        text("header", "The header of rows that are shown with one."),
        number("offset", "The first line that is shown."),
        number("lines", "The number of lines that are shown."),
        number("totalLines", "The number of lines of the file."),
        number("size", "The size of the file in bytes."),
        flag("partial", "Not all of the file is shown."),
        text("encoding", "The encoding of the file."),
        flag("byteOrderMark", "The file begins with a mark of its encoding."),
        text("lineEnds", "LF, CRLF or mixed; CR where lone CRs are the only ones."),
        list("cutLines", "Lines that are shown in part."),
        number("mtime", "The time of the last change, in milliseconds."),
        flag("isBinary", "The file is not text."),
        any("symbol", "The symbol that was asked for."),
        text("nbformat", "The version of a notebook's format."),
        any("language", "The language of a notebook."),
        number("totalCells", "The number of cells of a notebook."),
        list("cells", "The cells that are shown: id, type, characters, outputs."),
        text("mediaType", "The media type of an image or a document."),
        number("width", "The width of an image in pixels."),
        number("height", "The height of an image in pixels."),
        flag("downscaled", "The image is shown smaller than it is."),
        list("names", "The contents of a directory."),
        flag("truncated", "Not all of it is shown."),
        any("pages", "The pages of a document that are shown."),
        number("totalPages", "The number of pages of a document."),
    ],
};

/// Files below a directory.
pub(crate) const FILES_BELOW: OutputGroup = OutputGroup {
    title: "Files below a directory",
    fields: &[
        text("directory", "The directory, absolute."),
        list("entries", "Paths below it; a directory that is only counted ends in `/`."),
        number("files", "The number of files below it."),
        flag("truncated", "Not all entries are shown."),
    ],
};

/// Symbols of a file, and problems in files.
pub(crate) const SYMBOLS_AND_PROBLEMS: OutputGroup = OutputGroup {
    title: "Symbols of a file, and problems in files",
    fields: &[
        text("filePath", "The file, absolute."),
        text("path_b64", "The bytes of its path in base64, where the path is not UTF-8."),
        text("language", "Its language."),
        list("symbols", "One entry a symbol: name, kind, path, first, last, above, depth."),
        list("files", "One entry a file: filePath and diagnostics."),
        number("problems", "The number of problems."),
        number("unknown", "The number of languages without an answer."),
    ],
};

/// A mark, and a return to one.
pub(crate) const MARK_AND_RETURN: OutputGroup = OutputGroup {
    title: "A mark, and a return to one",
    fields: &[
        any("operation", "The operation that is the mark, or that took the others back."),
        list("kept", "The operations of others since then, which stay; at most 100."),
        list("files", "One entry a changed file."),
        number("filesTotal", "The number of all changed files."),
        flag("dryRun", "Nothing was done."),
    ],
};
