//! A row of the tool table. The module of a tool has a constant of this type, and the table names it.

use crate::model::reply::SeedCodes;
use crate::tools::aliases::Alias;
use crate::tools::outputs::OutputGroup;
use crate::tools::tool_input::ToolInput;

/// Effects of a tool, for clients that decide about approval. Only true statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: bool,
    /// May replace or remove something, instead of only adding (`destructiveHint` of the protocol).
    pub destructive: bool,
    /// Repeating the call with the same arguments never has a further effect (`idempotentHint`).
    pub idempotent: bool,
}

impl Annotations {
    /// A tool that only reads.
    pub(crate) const READS: Annotations = Annotations { read_only: true, destructive: false, idempotent: true };
    /// An edit: it replaces or deletes text, and an insertion that is made twice is there twice.
    pub(crate) const EDITS: Annotations = Annotations { read_only: false, destructive: true, idempotent: false };
    /// A tool that puts a state in place of another one.
    pub(crate) const REPLACES: Annotations = Annotations { read_only: false, destructive: true, idempotent: true };
    /// A tool that adds something at every call.
    pub(crate) const ADDS: Annotations = Annotations { read_only: false, destructive: false, idempotent: false };
    /// A tool that adds what is not there yet.
    pub(crate) const RECORDS: Annotations = Annotations { read_only: false, destructive: false, idempotent: true };
}

/// A word with other words that models use for it.
pub(crate) type Word = (&'static str, &'static [&'static str]);

/// The words of one field. Capitals, `_`, `-` and spaces never matter, so `insertAfter` and `INSERT-AFTER` need no row.
pub(crate) struct FieldWords {
    pub(crate) field: &'static str,
    pub(crate) words: &'static [Word],
}

/// A tool.
pub struct Tool {
    /// The name in calls.
    pub name: &'static str,
    /// The title in lists.
    pub title: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The description for a model.
    pub prompt: &'static str,
    /// The effects of the tool.
    pub annotations: Annotations,
    /// Table of the seed documents that defines the numeric codes of this tool's errors.
    pub seed: SeedCodes,
    /// The call that shows the omitted parts of a reply.
    pub rest: &'static str,
    /// A working input, for documentation.
    pub example: &'static str,
    /// The names of the tool in other clients: those of the seed documents, and of the clients whose names models carry over.
    pub other_names: &'static [&'static str],
    /// Other spellings of the fields of a call.
    pub aliases: &'static [Alias],
    /// Other spellings of the fields of one entry of `edits`.
    pub entry_aliases: &'static [Alias],
    /// The fields whose value is one of a few words, except those of every edit.
    pub(crate) words: &'static [FieldWords],
    /// The optional fields whose empty value has a meaning, such as an empty file, a deletion or a list without edits.
    /// Every other optional field requests nothing if it is empty.
    pub(crate) meant_empty: &'static [&'static str],
    /// The fields that the data of a reply may have, beside those of every reply.
    pub outputs: &'static [&'static OutputGroup],
    /// The fields of a call, and what carries it out.
    pub(crate) input: ToolInput,
}

impl Tool {
    /// The fields that a row need not state: no other names, no words, no numeric codes. Every row states its effects.
    pub(crate) const ROW: Tool = Tool {
        name: "",
        title: "",
        summary: "",
        prompt: "",
        annotations: Annotations::EDITS,
        seed: SeedCodes::None,
        rest: "",
        example: "",
        other_names: &[],
        aliases: &[],
        entry_aliases: &[],
        words: &[],
        meant_empty: &[],
        outputs: &[],
        input: ToolInput::Formats { formats: &[], also: &[] },
    };
}

/// Advice for the fields that most replies to edits omit.
pub(crate) const REST_OF_EDIT: &str =
    "Read the file with offset and limit to see it as it is; history with the id of the operation shows the change.";
/// Advice for what replies about several files omit.
pub(crate) const REST_OF_FILES: &str =
    "history with the id of the operation and file_path shows the change of one file.";
