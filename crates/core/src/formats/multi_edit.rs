//! `multi_edit`: several replacements in one file, all or nothing: the `MultiEdit` tool of the seed documents.

use super::replace::Replacement;
use super::{Format, FormatInput, FormatSpec};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{EDITS_PER_CALL_MAX, FileAction, FileRequest, Op, OpOrder, Request, TextNames};
use crate::note::Notes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format.
pub struct MultiEdit;

/// The order of a call's edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditOrder {
    /// All edits are matched against the file as it is; edits that depend on each other are refused.
    #[default]
    Together,
    /// Each edit is matched against the result of the one before.
    InTurn,
}

impl From<EditOrder> for OpOrder {
    fn from(order: EditOrder) -> OpOrder {
        match order {
            EditOrder::Together => OpOrder::Together,
            EditOrder::InTurn => OpOrder::InTurn,
        }
    }
}

/// The input of the format.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
struct MultiEditInput {
    /// The absolute path of the file.
    file_path: String,
    /// The replacements.
    edits: Vec<Replacement>,
    /// How they relate.
    #[serde(default)]
    order: EditOrder,
}

/// Converts a list of replacements to operations.
///
/// Errors: every replacement that is invalid by itself, all at once; an empty list; more than [`EDITS_PER_CALL_MAX`].
fn to_ops(edits: &[Replacement], names: &TextNames) -> Result<Vec<Op>> {
    if edits.is_empty() {
        return Err(Error::new(Code::CallInvalid, "No edits provided.")
            .next(format!("Put at least one {{{}, {}}} into edits.", names.old, names.new)));
    }
    if edits.len() > EDITS_PER_CALL_MAX {
        return Err(Error::new(
            Code::CallTooLarge,
            format!("{} edits are more than the {EDITS_PER_CALL_MAX} that one call may have.", edits.len()),
        )
        .next("Send them in several calls."));
    }
    let mut ops = Vec::with_capacity(edits.len());
    let mut errors = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        match edit.to_op_of(names) {
            Ok(op) => ops.push(op),
            Err(error) if edits.len() == 1 => errors.push(error),
            Err(error) => errors.push(error.prefixed(&format!("edits[{index}]: "))),
        }
    }
    Error::combine(errors, edits.len()).map_or(Ok(ops), Err)
}

impl Format for MultiEdit {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "multi_edit",
            summary: "several replacements in one file, all or nothing (the MultiEdit tool)",
            prompt: PROMPT,
            schema: Some(|| schemars::schema_for!(MultiEditInput)),
            key: "edits",
            example: r#"{"file_path": "/src/main.rs", "edits": [{"old_string": "a", "new_string": "b"}], "order": "together"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        parse_as(&TextNames::FIELDS, input)
    }
}

/// Parses a call in which the fields of a replacement have these names for the client.
///
/// Errors: those of [`MultiEdit`].
pub fn parse_as(names: &TextNames, input: FormatInput) -> Result<Request> {
    let MultiEditInput { file_path, edits, order } = super::from_json(input)?;
    let action = FileAction::Edit { ops: to_ops(&edits, names)?, order: order.into() };
    Ok(Request { files: vec![FileRequest::new(file_path, action)], notes: Notes::new() })
}

const PROMPT: &str = "\
Makes several replacements in one file, all or nothing. Every old_string is matched against the file as it was read, so do not \
count on the result of an earlier edit; set order to in_turn if an edit needs one. Read the file first.";

#[cfg(test)]
mod tests {
    use super::{Replacement, to_ops};
    use crate::code::Code;
    use crate::locate::op::{OpOrder, ResolveSettings, TextNames};
    use crate::locate::resolve::resolve;
    use crate::text::snapshot::Snapshot;

    fn edits(pairs: &[(&str, &str)]) -> Vec<Replacement> {
        let one = |(old, new): &(&str, &str)| Replacement {
            old_string: (*old).to_owned(),
            new_string: (*new).to_owned(),
            ..Replacement::default()
        };
        pairs.iter().map(one).collect()
    }

    fn apply(base: &str, pairs: &[(&str, &str)], order: OpOrder) -> Result<String, (Code, String)> {
        let base = Snapshot::from_text(base);
        let resolved = to_ops(&edits(pairs), &TextNames::FIELDS)
            .and_then(|ops| resolve(&base, &ops, order, ResolveSettings::default()));
        match resolved {
            Ok(resolved) => Ok(String::from_utf8(resolved.changes.apply(&base)).unwrap()),
            Err(error) => Err((error.code(), format!("{error} {:?}", error.data()))),
        }
    }

    #[test]
    fn independent_edits_are_made_together() {
        assert_eq!(
            apply("one\ntwo\nthree\n", &[("three", "3"), ("one", "1")], OpOrder::Together).unwrap(),
            "1\ntwo\n3\n"
        );
        assert_eq!(
            apply("a b\nb c\n", &[("a b\n", "A b\n"), ("b c\n", "b C\n")], OpOrder::Together).unwrap(),
            "A b\nb C\n"
        );
    }

    #[test]
    fn conflicts_have_distinct_codes() {
        let log = "console.log('test')\n";
        let dependent = [("console.log", "logger.info"), ("logger.info('test')", "logger.debug('test')")];
        let (code, text) = apply(log, &dependent, OpOrder::Together).unwrap_err();
        assert_eq!(code, Code::EditDependency);
        assert!(text.contains("edits[1] depends on the result of edits[0]") && text.contains("in_turn"), "{text}");
        assert_eq!(apply(log, &dependent, OpOrder::InTurn).unwrap(), "logger.debug('test')\n");

        let overlap = apply("one two three\n", &[("one two", "1 2"), ("two three", "2 3")], OpOrder::Together);
        assert_eq!(overlap.unwrap_err().0, Code::EditOverlap);
        let context = apply("let x = 1;\n", &[("let x = 1", "let x = 2"), ("x = 1", "y = 1")], OpOrder::Together);
        assert_eq!(context.unwrap_err().0, Code::EditOverlap);
        let contradiction = apply("one\n", &[("one", "1"), ("one", "2")], OpOrder::Together);
        assert_eq!(contradiction.unwrap_err().0, Code::EditContradiction);
        let swap = apply("a b\n", &[("a", "b"), ("b", "c")], OpOrder::Together);
        assert_eq!(swap.unwrap_err().0, Code::EditDependency);
        assert_eq!(
            apply("x 1\nversion = 2.0\n", &[("1", "2"), ("version = 2.0", "version = 3.0")], OpOrder::Together)
                .unwrap(),
            "x 2\nversion = 3.0\n"
        );
    }

    #[test]
    fn all_failures_are_reported_and_repetition_is_not_one() {
        let (code, text) = apply("a\na\nb\n", &[("zzz", "y"), ("b", "c"), ("a", "x")], OpOrder::Together).unwrap_err();
        assert_eq!(code, Code::MatchNotFound);
        assert!(text.contains("2 of 3") && text.contains("edits[0]") && text.contains("edits[2]"), "{text}");
        assert_eq!(apply("a\nb\n", &[("a", "x"), ("a", "x")], OpOrder::Together).unwrap(), "x\nb\n");
        assert_eq!(apply("a\n", &[], OpOrder::Together).unwrap_err().0, Code::CallInvalid);
    }

    #[test]
    fn many_edits_stay_linear() {
        let lines: String = (0..10_000).map(|n| format!("line number {n:06};\n")).collect();
        let pairs: Vec<(String, String)> =
            (0..10_000).map(|n| (format!("line number {n:06};"), format!("LINE number {n:06};"))).collect();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (&**a, &**b)).collect();
        let out = apply(&lines, &pairs, OpOrder::Together).unwrap();
        assert_eq!(out, lines.replace("line", "LINE"));
    }
}
