//! The tool `edit_symbol`.

use crate::context::call::Call;
use crate::context::options::{CallOptions, OptionFields};
use crate::context::policy::Access;
use crate::context::syntax::SymbolRef;
use crate::model::raw_path::{self, RawPath};
use crate::model::reply::Answer;
use crate::model::reply::SeedCodes;
use crate::pipeline::plan::edit::plan_against;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::placement::EditedFile;
use crate::pipeline::report::rendered::answer_for_file;
use crate::pipeline::run::plan_and_commit;
use crate::session::suggest::file_not_found;
use crate::tools::aliases::{FILE_NAMES, LINE_NAMES, alias};
use crate::tools::outputs::CHANGED_FILE;
use crate::tools::symbols::foreign_uses::used_elsewhere;
use crate::tools::symbols::references::{References, references_elsewhere};
use crate::tools::tool::{Annotations, FieldWords, REST_OF_EDIT, Tool};
use crate::tools::tool_input::ToolInput;
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Advice, Code, Error, Locator, Op, OpOrder, Result, normalize_text, omission};
use emendate_fs::SafePath;
use emendate_syntax::{Symbol, SymbolAction};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::iter::once;
use std::path::Path;

/// The input of `edit_symbol`, options apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct EditSymbolInput {
    /// The absolute path of the file.
    file_path: String,
    /// The symbol as a path of names joined by dots, e.g. `Parser.next`; the last name is enough if it is unique.
    symbol: String,
    /// `replace`, `insert_before`, `insert_after`, `delete` or `rename`.
    action: String,
    /// The new text: the whole definition for replace, the new name for rename.
    #[serde(default)]
    text: Option<String>,
    /// A line of the symbol, if several have that path.
    #[serde(default)]
    line: Option<usize>,
}

impl EditSymbolInput {
    /// The symbol, as the grammars look it up.
    pub(crate) fn symbol_ref(&self) -> SymbolRef<'_> {
        SymbolRef { path: &self.symbol, line: self.line }
    }

    /// The new text, with the line ends of decoded text.
    pub(crate) fn new_text(&self) -> String {
        normalize_text(self.text.as_deref().unwrap_or_default())
    }
}

/// The row of the tool `edit_symbol` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "edit_symbol",
    title: "Edit a symbol",
    summary: "replace or delete a function, class or key by its name, insert text beside it, or rename it in code",
    prompt: "\
Edits a definition by its name, as outline lists it (Parser.next; the last name is enough if it is unique). action: replace (text is \
the whole new definition; comments and attributes above are kept unless text has its own), insert_before, insert_after, delete (with the \
comments above), rename (text is the new name; only where the meaning of the name is certain). The file must have been read. An edit that \
would make the file unparsable is refused.",
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: REST_OF_EDIT,
    example: r#"{"file_path": "/work/src/main.rs", "symbol": "Parser.next", "action": "replace", "text": "fn next(&mut self) -> u8 {\n    0\n}"}"#,
    aliases: &[
        alias("file_path", FILE_NAMES),
        alias("symbol", &["symbol_name", "name"]),
        alias("text", &["new_text", "new_string", "content", "code", "new_code"]),
        alias("line", LINE_NAMES),
    ],
    words: &[FieldWords {
        field: "action",
        words: &[
            ("replace", &["update"]),
            ("insert_before", &[]),
            ("insert_after", &[]),
            ("delete", &["remove"]),
            ("rename", &[]),
        ],
    }],
    meant_empty: &["text"],
    outputs: &[&CHANGED_FILE],
    input: ToolInput::new(edit_symbol, || {
        vec![schema_for!(EditSymbolInput), schema_for!(RawPath), schema_for!(OptionFields)]
    }),
    ..Tool::ROW
};

/// Returns the advice for a name that several symbols have.
fn advice_on_ambiguity(line: Option<usize>, found: &[Symbol]) -> Advice {
    match (line, found) {
        // All of them have the line, so that only their paths differ.
        (Some(_), [.., inner]) => Advice::named("Give the whole path, e.g. {symbol=}.").set("symbol", &*inner.path),
        (None, [first, ..]) => Advice::named("Give the whole path, or a line of the one that is meant, e.g. {line=}.")
            .set("line", first.first),
        (_, []) => Advice::default(),
    }
}

/// Runs the tool `edit_symbol`.
pub(crate) fn edit_symbol(call: Call<'_>, tool: &'static str, mut input: Value) -> Result<Answer> {
    let options = CallOptions::take(&mut input, call.caller, call.config(), tool)?;
    let raw = raw_path::take(&mut input)?;
    let args: EditSymbolInput = formats::from_json(FormatInput::Json(input))?;
    let action = SymbolAction::from_name(&args.action).ok_or_else(|| {
        let words: Vec<&str> = SymbolAction::ALL.iter().map(|(word, _)| *word).collect();
        Error::new(Code::CallInvalid, format!("`{}` is not an action.", args.action))
            .next(format!("Set action to one of: {}.", words.join(", ")))
    })?;
    if args.text.is_none() && action != SymbolAction::Delete {
        return Err(Error::new(Code::CallInvalid, format!("`{}` needs text.", args.action))
            .next("Give text: the new definition, or for rename the new name."));
    }
    if action == SymbolAction::Delete && args.text.as_ref().is_some_and(|text| !text.is_empty()) {
        return Err(Error::new(Code::CallInvalid, "delete takes no text.").next(Advice::named(
            "Omit {text} to delete the symbol; to change it, set {action=\"replace\"}. Nothing was changed.",
        )));
    }
    let path = call.resolve_path(raw.as_deref().unwrap_or(Path::new(&args.file_path)), Access::Write)?;
    // Asked before the path is locked, because a server may be slow.
    let known = if action == SymbolAction::Rename { references_elsewhere(call, &path, &args) } else { None };
    let locks = call.lock_paths(once(path.absolute()));
    let receipts = plan_and_commit(call, options.origin, options.dry_run, || {
        plan_symbol(call, &path, &args, action, known.as_ref(), &options).map(|plan| vec![plan])
    })?;
    drop(locks);
    Ok(answer_for_file(&call, receipts, false))
}

fn plan_symbol(
    call: Call<'_>,
    path: &SafePath,
    args: &EditSymbolInput,
    action: SymbolAction,
    known: Option<&References>,
    options: &CallOptions,
) -> Result<FilePlan> {
    let text = args.new_text();
    let Some(now) = call.snapshot(path, options.declared, &text)? else {
        return Err(file_not_found(call, path));
    };
    let mut notes = Vec::new();
    let file = EditedFile { call, options, path: path.clone(), now };
    let mut plan = plan_against(
        file,
        &mut |base| {
            let next = |found: &[Symbol]| advice_on_ambiguity(args.line, found);
            let splices = call.grammars().splices(path, base.text(), args.symbol_ref(), action, &text, next)?;
            notes = splices.notes;
            if action == SymbolAction::Replace && !options.origin.allows_invalid {
                for (span, text) in &splices.edits {
                    omission::check_replacement(&base.text()[span.start()..span.end()], text)?;
                }
            }
            let ops = splices.edits.into_iter().map(|(span, text)| Op { at: Locator::Exactly(span), text });
            Ok(Cow::Owned(ops.collect()))
        },
        OpOrder::Together,
    )?;
    plan.outcome.notes.extend(notes);
    if action == SymbolAction::Rename {
        let old = args.symbol.rsplit(['.', ':']).next().unwrap_or_default().split('(').next().unwrap_or_default();
        let elsewhere = match known {
            Some(known) => known.note(old.trim(), text.trim()),
            None => used_elsewhere(call, path, plan.before.text(), old.trim(), text.trim()),
        };
        plan.outcome.notes.extend(elsewhere);
    }
    Ok(plan)
}
