//! Options of the functions on text.

use emendate_core::{ApplyLimits, ApplyOptions, ArgumentStyle, Code, Error, Matching};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The options that a function has.
#[derive(Clone, Copy)]
pub(crate) enum OptionSet {
    Apply,
    ApplyFiles,
    Edit,
    Convert,
    Diff,
    Similarity,
}

impl OptionSet {
    fn names(self) -> &'static [&'static str] {
        match self {
            OptionSet::Apply => {
                &["format", "path", "match", "strip", "reverse", "placeholdersMeant", "maxBytes", "maxSteps"]
            }
            OptionSet::ApplyFiles => &[
                "format", "path", "match", "strip", "reverse", "overwrite", "placeholdersMeant", "maxBytes", "maxSteps",
            ],
            OptionSet::Edit => &["replaceAll", "path", "match", "placeholdersMeant", "maxBytes", "maxSteps"],
            OptionSet::Convert => &["format", "path", "match", "strip", "maxBytes", "maxSteps"],
            OptionSet::Diff => &[],
            OptionSet::Similarity => &["by"],
        }
    }

    /// The next step for an option that is not one.
    fn advice(self) -> String {
        match self.names() {
            [] => "Omit it; the function has no options.".to_owned(),
            names => format!("Use one of: {}.", names.join(", ")),
        }
    }
}

/// Options of all functions; each has some of them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TextOptions {
    format: Option<String>,
    path: Option<String>,
    r#match: Option<String>,
    strip: Option<usize>,
    reverse: bool,
    overwrite: bool,
    placeholders_meant: bool,
    replace_all: bool,
    max_bytes: Option<usize>,
    max_steps: Option<u64>,
    by: Option<String>,
    #[serde(skip)]
    matching: Matching,
}

impl TextOptions {
    /// Reads the options of a function.
    ///
    /// Errors: `call.invalid` for an option that the function lacks, for a value that an option cannot have, and for
    /// options that are no object.
    pub(crate) fn parse(function: &str, set: OptionSet, given: Option<Value>) -> Result<TextOptions, Error> {
        let mut given = match given.unwrap_or_default() {
            Value::Object(given) => given,
            Value::Null => Map::new(),
            other => {
                let what = format!("The options of `{function}` are {other}, and no object.");
                return Err(Error::new(Code::CallInvalid, what).next(set.advice()));
            }
        };
        given.retain(|_, value| !value.is_null());
        let names = set.names();
        if let Some(unknown) = given.keys().find(|name| !names.contains(&&***name)) {
            return Err(Error::new(Code::CallInvalid, format!("`{unknown}` is not an option of `{function}`."))
                .next(set.advice()));
        }
        let mut options: TextOptions = serde_json::from_value(Value::Object(given)).map_err(|error| {
            Error::new(Code::CallInvalid, format!("An option of `{function}` is not valid: {error}."))
                .next("Pass options of the types that the declarations of the package list.")
        })?;
        options.matching = options.r#match.as_deref().map_or(Ok(Matching::Standard), Matching::from_name)?;
        Ok(options)
    }

    /// The unit in which texts are compared.
    pub(crate) fn unit(&self) -> &str {
        self.by.as_deref().unwrap_or("characters")
    }
}

impl From<TextOptions> for ApplyOptions {
    fn from(given: TextOptions) -> ApplyOptions {
        let mut limits = ApplyLimits::default();
        if let Some(bytes) = given.max_bytes {
            limits = limits.input_bytes(bytes);
        }
        if let Some(steps) = given.max_steps {
            limits = limits.work_steps(steps);
        }
        let mut options =
            ApplyOptions::new().matching(given.matching).limits(limits).argument_style(ArgumentStyle::JavaScript);
        (options.format, options.path, options.strip) = (given.format, given.path, given.strip);
        (options.reverse, options.overwrite) = (given.reverse, given.overwrite);
        (options.placeholders_meant, options.replace_all) = (given.placeholders_meant, given.replace_all);
        options
    }
}
