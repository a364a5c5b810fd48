//! The origin of an operation, for checks and for the log.

use emendate_core::ContentId;
use emendate_history::{OperationId, Role};
use serde_json::Value;
use std::borrow::Cow;

/// The origin of an operation: the call and its purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOrigin<'a> {
    pub(crate) tool: &'static str,
    /// Name of the format of its input; empty if it has none.
    pub(crate) format: &'static str,
    pub(crate) digest: [u8; 16],
    pub(crate) role: Role,
    /// Older operations that it undoes as well.
    pub(crate) also: &'a [OperationId],
    /// The call restores an earlier state of files byte by byte, or a part of it.
    pub(crate) restores: bool,
    /// The call allows a file to become invalid.
    pub(crate) allows_invalid: bool,
    /// The call is intended even if it cannot be undone.
    pub(crate) irreversible: bool,
    /// The call is intended even if its result is already there.
    pub(crate) repeat: bool,
    /// The treatment of whitespace errors in new lines.
    pub(crate) whitespace: Whitespace,
    /// The note of the operation, if its tool and its role do not say what it does; may be empty.
    pub(crate) remark: &'a str,
}

/// The treatment of whitespace errors, as git defines them, in new text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Whitespace {
    /// The text is written as it is.
    #[default]
    Ignore,
    /// The errors are reported.
    Warn,
    /// The errors are removed, and that is reported.
    Fix,
    /// The call is refused.
    Refuse,
}

impl CallOrigin<'static> {
    /// Creates the origin for a call of `tool` with that input.
    pub(crate) fn new(tool: &'static str, input: &Value) -> CallOrigin<'static> {
        CallOrigin::with_digest(tool, digest(input))
    }

    /// Creates the origin for a call of `tool` whose input has these parts, in this order.
    pub(crate) fn of_parts(tool: &'static str, parts: &[&[u8]]) -> CallOrigin<'static> {
        // The length of each part comes first, so that different parts have different bytes.
        let lengths: Vec<[u8; 8]> = parts.iter().map(|part| (part.len() as u64).to_le_bytes()).collect();
        let pieces = lengths.iter().zip(parts).flat_map(|(length, part)| [&length[..], *part]);
        CallOrigin::with_digest(tool, ContentId::of_pieces(pieces).to_bytes())
    }

    fn with_digest(tool: &'static str, digest: [u8; 16]) -> CallOrigin<'static> {
        CallOrigin {
            tool,
            format: "",
            digest,
            role: Role::Edit,
            also: &[],
            restores: false,
            allows_invalid: false,
            irreversible: false,
            repeat: false,
            whitespace: Whitespace::Ignore,
            remark: "",
        }
    }
}

impl CallOrigin<'_> {
    /// False for operations that restore an earlier state byte by byte, or a part of it.
    pub(crate) fn is_an_edit(self) -> bool {
        self.role == Role::Edit && !self.restores
    }
}

/// Hashes a call's input without copying its texts, which may be large.
fn digest(input: &Value) -> [u8; 16] {
    fn collect<'a>(value: &'a Value, out: &mut Vec<Cow<'a, [u8]>>) {
        // A type mark before each value, so that different inputs have different bytes.
        match value {
            Value::String(text) => out.extend([Cow::Borrowed(&b"\xFFs"[..]), Cow::Borrowed(text.as_bytes())]),
            Value::Array(list) => {
                out.push(Cow::Borrowed(b"\xFF["));
                for value in list {
                    collect(value, out);
                }
                out.push(Cow::Borrowed(b"\xFF]"));
            }
            Value::Object(fields) => {
                out.push(Cow::Borrowed(b"\xFF{"));
                for (name, value) in fields {
                    out.extend([Cow::Borrowed(&b"\xFFn"[..]), Cow::Borrowed(name.as_bytes())]);
                    collect(value, out);
                }
                out.push(Cow::Borrowed(b"\xFF}"));
            }
            plain => out.push(Cow::Owned(format!("\u{FFFF}{plain}").into_bytes())),
        }
    }
    let mut pieces = Vec::new();
    collect(input, &mut pieces);
    ContentId::of_pieces(pieces.iter().map(|piece| &**piece)).to_bytes()
}

#[cfg(test)]
mod tests {
    use super::digest;
    use serde_json::json;

    #[test]
    fn different_inputs_have_different_digests() {
        let inputs = [
            json!({}),
            json!([]),
            json!(null),
            json!("null"),
            json!({ "a": "b" }),
            json!({ "a": ["b"] }),
            json!({ "ab": "" }),
            json!({ "a": "", "b": "" }),
            json!(["a", "b"]),
            json!(["ab"]),
            json!([1, 2]),
            json!([12]),
        ];
        let mut all: Vec<_> = inputs.iter().map(digest).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), digest(&inputs[4])), (inputs.len(), digest(&json!({ "a": "b" }))));
    }
}
