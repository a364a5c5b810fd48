//! The parameters of the functions on text in each language, for advice in errors.

use crate::advice::Vocabulary;
use crate::locate::op::TextNames;
use crate::parameters::{ArgumentStyle, Parameter, ParameterNames};
use serde_json::{Map, Value};

/// The limit of bytes, which is a field of no tool.
pub(super) const MAX_BYTES: &str = "max_bytes";
/// The limit of steps, which is a field of no tool.
pub(super) const MAX_STEPS: &str = "max_steps";

/// The names of the function on several files, to which the one on a text refers.
const APPLY_FILES_NAMES: [&str; 3] = ["apply_files", "apply_files", "applyFiles"];

/// A function on text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFunction {
    Edit,
    Apply,
    ApplyFiles,
    Convert,
    /// A function without options that advice could name.
    Other,
}

const FORMAT: Parameter = Parameter::option("format", ["format"; 3]);
const PATH: Parameter = Parameter::option("file", ["path"; 3]);
const STRIP: Parameter = Parameter::option("strip", ["strip"; 3]);
const REVERSE: Parameter = Parameter::option("reverse", ["reverse"; 3]);
const OVERWRITE: Parameter = Parameter::option("overwrite", ["overwrite"; 3]);
const PLACEHOLDERS: Parameter =
    Parameter::option("allow_invalid", ["placeholders_meant", "placeholders_meant", "placeholdersMeant"]);
const BYTES: Parameter = Parameter::option(MAX_BYTES, ["limits.input_bytes", "max_bytes", "maxBytes"]);
const STEPS: Parameter = Parameter::option(MAX_STEPS, ["limits.work_steps", "max_steps", "maxSteps"]);

/// The parameters of [`edit`](super::edit).
const EDIT: &[Parameter] = &[
    Parameter::position("old_string", ["old"; 3]),
    Parameter::position("new_string", ["new", "new", "replacement"]),
    Parameter::option("replace_all", ["replace_all", "replace_all", "replaceAll"]),
    PLACEHOLDERS,
    BYTES,
    STEPS,
];
/// The parameters of [`apply`](super::apply).
const APPLY: &[Parameter] = &[FORMAT, PATH, STRIP, REVERSE, PLACEHOLDERS, BYTES, STEPS];
/// The parameters of [`apply_files`](super::apply_files).
const APPLY_FILES: &[Parameter] = &[FORMAT, PATH, STRIP, REVERSE, OVERWRITE, PLACEHOLDERS, BYTES, STEPS];
/// The parameters of [`convert`](super::convert).
const CONVERT: &[Parameter] = &[Parameter::position("to", ["to"; 3]), FORMAT, PATH, STRIP, BYTES, STEPS];
/// The parameters of functions on tables.
const ROWS: &[Parameter] = &[BYTES, STEPS];

impl TextFunction {
    /// Returns the names of the parameters.
    fn parameters(self, style: ArgumentStyle) -> ParameterNames {
        let parameters = match (style, self) {
            (ArgumentStyle::Unnamed, _) | (_, TextFunction::Other) => &[],
            (ArgumentStyle::PythonRows, _) => ROWS,
            (_, TextFunction::Edit) => EDIT,
            (_, TextFunction::Apply) => APPLY,
            (_, TextFunction::ApplyFiles) => APPLY_FILES,
            (_, TextFunction::Convert) => CONVERT,
        };
        ParameterNames { style, parameters }
    }
}

/// The names of a function's parameters, for advice in errors.
pub(super) struct FunctionNames(ParameterNames);

impl FunctionNames {
    /// Returns the names for a function and a language.
    pub(super) fn new(function: TextFunction, style: ArgumentStyle) -> FunctionNames {
        FunctionNames(function.parameters(style))
    }

    /// Returns the names of the texts of [`edit`](super::edit) in messages.
    pub(super) fn texts(&self) -> TextNames {
        TextNames::of(self).unwrap_or(TextNames::TAGS)
    }
}

impl Vocabulary for FunctionNames {
    fn tool(&self, name: &str) -> Option<String> {
        let is_named = !self.0.parameters.is_empty() && self.0.style != ArgumentStyle::PythonRows;
        let names = (name == APPLY_FILES_NAMES[0] && is_named).then_some(APPLY_FILES_NAMES)?;
        self.0.style.name_of(names).map(|name| format!("`{name}`"))
    }

    fn field(&self, name: &str) -> Option<String> {
        self.0.name(name)
    }

    fn quoted(&self, name: &str) -> Option<String> {
        self.0.name(name)
    }

    fn field_of(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn set(&self, name: &str, value: &Value) -> Option<String> {
        self.0.set(name, value)
    }

    fn switch_on(&self, name: &str) -> Option<String> {
        self.0.switch_on(name)
    }

    fn call(&self, _: &str, _: &Map<String, Value>) -> Option<String> {
        None
    }

    fn not_all(&self) -> String {
        self.0.not_on("replace_all").unwrap_or_default()
    }

    fn counts_as_read(&self) -> bool {
        false
    }
}

/// Returns every function with its parameters in a language, for tests of its package.
pub fn function_parameters(style: ArgumentStyle) -> Vec<(&'static str, &'static str)> {
    let names = [
        (TextFunction::Edit, ["edit"; 3]),
        (TextFunction::Apply, ["apply"; 3]),
        (TextFunction::ApplyFiles, APPLY_FILES_NAMES),
        (TextFunction::Convert, ["convert"; 3]),
    ];
    let of_function = |(function, names): (TextFunction, [&'static str; 3])| {
        let parameters = function.parameters(style).parameters.iter().filter_map(move |it| it.name(style));
        style.name_of(names).into_iter().flat_map(move |name| parameters.clone().map(move |it| (name, it)))
    };
    names.into_iter().flat_map(of_function).collect()
}
