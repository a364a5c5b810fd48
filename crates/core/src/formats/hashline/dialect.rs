//! The table of dialects: how each writes the operations that both can express.

use super::token::{OpKind, OpLine};
use super::{current, seed};
use crate::error::Error;
use crate::locate::anchor_map::AnchorWord;
use crate::locate::line_edits::{LineTarget, Register};
use crate::text::content::HeaderStyle;
use core::fmt;

/// A dialect of hashline.
pub(super) struct HashlineDialect {
    /// The header style; it determines the dialect of a section.
    pub(super) header: HeaderStyle,
    /// The form of a header, for messages.
    pub(super) form: &'static str,
    /// A sample header, for messages.
    pub(super) sample: &'static str,
    /// The lines allowed above a body, for messages.
    pub(super) above: &'static str,
    /// The names of the operations, for messages.
    pub(super) ops: &'static str,
    /// The form that replaces lines.
    pub(super) replace: &'static str,
    /// The form that removes lines.
    pub(super) delete: &'static str,
    /// The separator of a range.
    pub(super) between: &'static str,
    /// Parses an operation; `None` for any other line.
    pub(super) read: fn(&str) -> Option<Result<OpLine, OpLineError>>,
}

/// A line as it is written: its anchor, or its number if it has none.
pub(super) struct LineRef(usize, Option<AnchorWord>);

impl fmt::Display for LineRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(word) => word.fmt(f),
            None => self.0.fmt(f),
        }
    }
}

impl OpLine {
    /// Returns the first and the last line that the operation names, as written; line 1 if it names none.
    pub(super) fn ends(&self) -> (LineRef, LineRef) {
        let (from, to) = match self.place {
            LineTarget::Lines { from, to } => (from, to),
            _ => (1, 1),
        };
        (LineRef(from, self.words.from), LineRef(to, self.words.to))
    }
}

/// An error in a recognized operation.
pub(super) struct OpLineError {
    pub(super) what: String,
    pub(super) next: String,
}

pub(super) static SEED: HashlineDialect = HashlineDialect {
    header: HeaderStyle::Pilcrow,
    form: "¶PATH#TAG",
    sample: "¶src/foo.ts#1A2B",
    above: "`replace N..M:`, `delete N..M`, or `insert before|after|head|tail:`",
    ops: "`replace N..M:`, `delete N..M`, or `insert before|after|head|tail:` ops",
    replace: "replace N..M:",
    delete: "delete N..M",
    between: "..",
    read: seed::read,
};

pub(super) static CURRENT: HashlineDialect = HashlineDialect {
    header: HeaderStyle::Brackets,
    form: "[PATH#TAG]",
    sample: "[src/foo.ts#1A2B]",
    above: "`PUT N.=M:`, `CUT N.=M`, or `PUT <N:`/`PUT >N:`",
    ops: "`PUT N.=M:`, `CUT N.=M`, or `PUT <N:`/`PUT >N:` ops",
    replace: "PUT N.=M:",
    delete: "CUT N.=M",
    between: ".=",
    read: current::read,
};

impl HashlineDialect {
    /// Returns the dialect with this header.
    pub(super) fn dialect_of(header: HeaderStyle) -> &'static HashlineDialect {
        match header {
            HeaderStyle::Pilcrow => &SEED,
            HeaderStyle::Brackets => &CURRENT,
        }
    }

    /// Returns the other dialect.
    pub(super) fn other_dialect(&self) -> &'static HashlineDialect {
        match self.header {
            HeaderStyle::Pilcrow => &CURRENT,
            HeaderStyle::Brackets => &SEED,
        }
    }

    /// Formats the header line. `tag` may be a placeholder if no tag is known.
    pub(super) fn headed(&self, path: &str, tag: impl AsRef<str>) -> String {
        self.header.line(path, tag.as_ref())
    }

    /// Describes the form of the text to send.
    pub(super) fn shape(&self) -> String {
        format!(
            "Write `{}` as the header, then {}, and under those that end in `:` one `+TEXT` row for each new line.",
            self.form, self.above
        )
    }

    /// Formats the operation that replaces these lines.
    pub(super) fn replacing(&self, from: impl fmt::Display, to: impl fmt::Display) -> String {
        self.replace.replace('N', &from.to_string()).replace('M', &to.to_string())
    }

    /// Formats the operation that removes these lines.
    pub(super) fn deleting(&self, from: impl fmt::Display, to: impl fmt::Display) -> String {
        self.delete.replace('N', &from.to_string()).replace('M', &to.to_string())
    }

    /// Formats an operation of the same kind, with the same register, for these lines.
    pub(super) fn written_for(&self, op: &OpLine, from: usize, to: usize) -> String {
        let named = |register: &Option<Register>| match register {
            Some(Register(Some(name))) => format!(" @{name}"),
            _ => String::new(),
        };
        match op.kind {
            OpKind::Take => format!("{}{}", self.deleting(from, to), named(&op.keep)),
            OpKind::Paste => format!("{}{}", self.replacing(from, to).trim_end_matches(':'), named(&op.paste)),
            _ => self.replacing(from, to),
        }
    }

    /// Formats an operation in this dialect; `None` if the dialect cannot express it.
    pub(super) fn write(&self, op: &OpLine) -> Option<String> {
        let seed = self.header == HeaderStyle::Pilcrow;
        let from = |line: usize| LineRef(line, op.words.from);
        let (first, last) = op.ends();
        Some(match (&op.kind, op.place, seed) {
            (OpKind::Body, LineTarget::Lines { .. }, _) => self.replacing(first, last),
            (OpKind::Body, LineTarget::Block(line), true) => format!("replace block {}:", from(line)),
            (OpKind::Body, LineTarget::Block(line), false) => format!("PUT {}*:", from(line)),
            (OpKind::Body, LineTarget::Before(line), true) => format!("insert before {}:", from(line)),
            (OpKind::Body, LineTarget::Before(line), false) => format!("PUT <{}:", from(line)),
            (OpKind::Body, LineTarget::After(line), true) => format!("insert after {}:", from(line)),
            (OpKind::Body, LineTarget::After(line), false) => format!("PUT >{}:", from(line)),
            (OpKind::Body, LineTarget::AfterBlock(line), true) => format!("insert after block {}:", from(line)),
            (OpKind::Body, LineTarget::AfterBlock(line), false) => format!("PUT >{}*:", from(line)),
            (OpKind::Body, LineTarget::Head, true) => "insert head:".to_owned(),
            (OpKind::Body, LineTarget::Head, false) => "PUT <1:".to_owned(),
            (OpKind::Body, LineTarget::Tail, true) => "insert tail:".to_owned(),
            (OpKind::Body, LineTarget::Tail, false) => "PUT >$:".to_owned(),
            (OpKind::Take, LineTarget::Lines { .. }, true) if op.unnamed() => self.deleting(first, last),
            (OpKind::Take, LineTarget::Lines { .. }, false) => {
                self.deleting(first, last) + &register_suffix(op.keep.as_ref())
            }
            (OpKind::Take, LineTarget::Block(line), true) if op.unnamed() => format!("delete block {}", from(line)),
            (OpKind::Take, LineTarget::Block(line), false) => {
                format!("CUT {}*{}", from(line), register_suffix(op.keep.as_ref()))
            }
            _ => return None,
        })
    }
}

/// Returns the name of the register that an operation fills; empty for the unnamed one.
fn register_suffix(register: Option<&Register>) -> String {
    let name = register.and_then(|register| register.0.as_deref());
    name.map_or_else(String::new, |name| format!(" @{name}"))
}

impl OpLineError {
    /// Creates the error for an operation on line `at` of the input.
    pub(super) fn error(self, at: usize, row: &str) -> Error {
        super::broken(at, &self.what, row).next(self.next)
    }
}
