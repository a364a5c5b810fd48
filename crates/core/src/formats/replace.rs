//! `replace`: one exact replacement, the Edit tool of the seed documents 000 and 001.

use super::{Format, FormatInput, FormatSpec};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{
    ExpectedMatches, FileAction, FileRequest, Locator, Op, OpOrder, Request, TextNames, TextQuery, describe_sameness,
    normalize_text,
};
use crate::note::Notes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format.
pub struct ReplaceFormat;

/// One replacement of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// The text to replace, exactly as in the file, without line numbers. Empty only to fill a missing or blank file.
    pub old_string: String,
    /// The text to replace it with (must be different from `old_string`). Empty deletes.
    pub new_string: String,
    /// Replace all occurrences of `old_string` (default false: it must occur exactly once).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_all: Option<bool>,
    /// Replace exactly this many occurrences, and refuse if there are more or fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_replacements: Option<usize>,
    /// The id of one of several candidates, as a failed call listed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The line near which the text is expected; decides between equal candidates only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Replacement {
    /// Converts the replacement to an operation.
    ///
    /// Errors: [`Code::EditNoChange`] if the old and the new text are equal, [`Code::CallInvalid`] if the counts
    /// contradict each other.
    pub fn to_op(&self) -> Result<Op> {
        self.to_op_of(&TextNames::FIELDS)
    }

    /// Converts the replacement like [`Replacement::to_op`], with other names for its texts in messages.
    ///
    /// Errors: as [`Replacement::to_op`].
    pub fn to_op_of(&self, names: &TextNames) -> Result<Op> {
        let text = normalize_text(&self.new_string);
        let pick = self.pick()?;
        if self.at.is_some() && pick != ExpectedMatches::Unique {
            return Err(contradiction("at names one place"));
        }
        let find = TextQuery {
            at: self.at.clone(),
            line: self.line,
            names: names.clone(),
            ..TextQuery::new(&self.old_string, pick)
        };
        if find.old == text {
            return Err(same_texts(names, &describe_sameness(&self.old_string, &self.new_string)));
        }
        if find.old.is_empty() {
            // The text of a new file is written as given; an existing file keeps its line ends.
            return Ok(Op { at: Locator::Blank, text: self.new_string.clone() });
        }
        Ok(Op { at: Locator::Find(find), text })
    }

    fn pick(&self) -> Result<ExpectedMatches> {
        match (self.replace_all, self.expected_replacements) {
            (_, Some(0)) => Err(contradiction("the expected number must be at least 1")),
            (_, Some(count)) if count > 1 => Ok(ExpectedMatches::Exactly(count)),
            (Some(true), Some(count)) => Ok(ExpectedMatches::Exactly(count)),
            (Some(true), None) => Ok(ExpectedMatches::All),
            (None | Some(false), _) => Ok(ExpectedMatches::Unique),
        }
    }
}

/// Creates the error for an old and a new text that are equal, in the words of a client (code 1 of the Edit tool).
fn same_texts(names: &TextNames, how: &str) -> Error {
    let what = format!("No changes to make: {} and {} {how}.", names.old, names.new);
    Error::new(Code::EditNoChange, what).next(Advice::named(
        "Send a {new_string} that differs from {old_string}; no call is needed if the file is already as intended.",
    ))
}

fn contradiction(what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The counts contradict each other: {what}.")).next(
        Advice::named("Give {replace_all} for any number of places, or {expected_replacements} for an exact number.")
            .or("Say either that all places are meant, or how many."),
    )
}

impl Format for ReplaceFormat {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "replace",
            summary: "one exact replacement: old_string → new_string (the Edit tool)",
            prompt: PROMPT,
            schema: Some(|| super::path_and(schemars::schema_for!(Replacement))),
            key: "old_string",
            example: r#"{"file_path": "/src/main.rs", "old_string": "let x = 1;", "new_string": "let x = 2;"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        parse_as(&TextNames::FIELDS, input)
    }
}

/// Parses a call in which the fields of the replacement have these names for the client.
///
/// Errors: those of [`Replacement::to_op`], and `call.invalid` for arguments that cannot be read.
pub fn parse_as(names: &TextNames, input: FormatInput) -> Result<Request> {
    let (file_path, edit): (String, Replacement) = super::with_path(input)?;
    let action = FileAction::Edit { ops: vec![edit.to_op_of(names)?], order: OpOrder::Together };
    Ok(Request { files: vec![FileRequest::new(file_path, action)], notes: Notes::new() })
}

const PROMPT: &str = "\
Replaces text in a file. old_string must be copied from the file exactly, with its indentation and without line numbers, \
and must occur once; give more surrounding lines to make it unique, or set replace_all. Read the file first.";

#[cfg(test)]
mod tests {
    use super::Replacement;
    use crate::code::Code;
    use crate::locate::op::{ExpectedMatches, Locator};

    fn pick(replace_all: Option<bool>, expected_replacements: Option<usize>) -> Result<ExpectedMatches, Code> {
        let edit = Replacement {
            old_string: "a".into(),
            new_string: "b".into(),
            replace_all,
            expected_replacements,
            ..Replacement::default()
        };
        match edit.to_op().map_err(|error| error.code())?.at {
            Locator::Find(find) => Ok(find.expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn expected_counts_are_checked() {
        assert_eq!(pick(None, None), Ok(ExpectedMatches::Unique));
        assert_eq!(pick(Some(false), Some(1)), Ok(ExpectedMatches::Unique));
        assert_eq!(pick(Some(true), None), Ok(ExpectedMatches::All));
        assert_eq!(pick(None, Some(3)), Ok(ExpectedMatches::Exactly(3)));
        assert_eq!(pick(Some(true), Some(1)), Ok(ExpectedMatches::Exactly(1)));
        assert_eq!(pick(Some(false), Some(2)), Ok(ExpectedMatches::Exactly(2)));
        assert_eq!(pick(None, Some(0)), Err(Code::CallInvalid));
    }

    #[test]
    fn text_of_a_new_file_is_as_given() {
        for text in ["a\r\nb\r\n", "\u{FEFF}a\n", "a\r"] {
            let edit = Replacement { new_string: text.into(), ..Replacement::default() };
            assert_eq!(edit.to_op().map(|op| (op.at, op.text)), Ok((Locator::Blank, text.to_owned())));
        }
        let nothing = Replacement { new_string: "\u{FEFF}".into(), ..Replacement::default() };
        assert_eq!(nothing.to_op().unwrap_err().code(), Code::EditNoChange);
    }

    #[test]
    fn texts_that_differ_only_in_line_ends_are_no_change() {
        let edit = Replacement { old_string: "a\r\nb".into(), new_string: "a\nb".into(), ..Replacement::default() };
        assert_eq!(edit.to_op().unwrap_err().code(), Code::EditNoChange);
    }

    #[test]
    fn sameness_is_described() {
        for (old, new, expected) in [
            ("a\nb", "a\nb", "are exactly the same."),
            ("a\r\nb", "a\nb", "differ only in line ends, which"),
            ("\u{FEFF}a", "a", "differ only in a byte order mark, which"),
            ("\u{FEFF}a", "\u{FEFF}a", "are exactly the same."),
            ("a\r\nb", "\u{FEFF}a\nb", "differ only in a byte order mark and line ends, which"),
        ] {
            let edit = Replacement { old_string: old.into(), new_string: new.into(), ..Replacement::default() };
            let error = edit.to_op().unwrap_err();
            assert!(error.message().contains(expected), "{}", error.message());
        }
    }
}
