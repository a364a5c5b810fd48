//! The tool `edit_symbol`.

use super::SymbolRef;
use super::references::References;
use crate::call_context::CallContext;
use crate::engine::Engine;
use crate::options::CallOptions;
use crate::plan::FilePlan;
use crate::policy::Access;
use crate::raw_path;
use crate::reply::Answer;
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Code, Error, Locator, Op, OpOrder, Result, Snapshot, normalize_text};
use emendate_fs::SafePath;
use emendate_syntax::SymbolAction;
use schemars::JsonSchema;
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
    /// The symbol, by the names that lead to it joined by dots, e.g. `Parser.next`; the last part is enough where it is unique.
    symbol: String,
    /// `replace`, `insert_before`, `insert_after`, `delete` or `rename`.
    action: String,
    /// The new text: the whole definition for replace, the new name for rename.
    #[serde(default)]
    text: Option<String>,
    /// A line of the symbol, where several have that path.
    #[serde(default)]
    line: Option<usize>,
}

impl EditSymbolInput {
    /// The symbol, as the grammars look it up.
    pub(super) fn named(&self) -> SymbolRef<'_> {
        SymbolRef { path: &self.symbol, line: self.line }
    }

    /// The new text, in the form of a reading.
    pub(super) fn new_text(&self) -> String {
        normalize_text(self.text.as_deref().unwrap_or_default())
    }
}

impl Engine {
    /// Runs the tool `edit_symbol`.
    pub(crate) fn edit_symbol(&self, caller: &CallContext, tool: &'static str, mut input: Value) -> Result<Answer> {
        let options = CallOptions::take(&mut input, caller, self.config(), tool)?;
        let raw = raw_path::take(&mut input)?;
        let args: EditSymbolInput = formats::from_json(FormatInput::Json(input))?;
        let action = SymbolAction::named(&args.action).ok_or_else(|| {
            let words: Vec<&str> = SymbolAction::ALL.iter().map(|(word, _)| *word).collect();
            Error::new(Code::CallInvalid, format!("`{}` is not something to do to a symbol.", args.action))
                .next(format!("Set action to one of: {}.", words.join(", ")))
        })?;
        if args.text.is_none() && action != SymbolAction::Delete {
            return Err(Error::new(Code::CallInvalid, format!("`{}` needs text.", args.action))
                .next("Give text: the new definition, or for rename the new name."));
        }
        let place = self.resolve_path(raw.as_deref().unwrap_or(Path::new(&args.file_path)), Access::Write)?;
        // Before the file is held: a server may take its time.
        let known =
            if action == SymbolAction::Rename { self.references_elsewhere(caller, &place, &args) } else { None };
        let turns = self.lock_paths(once(place.absolute()));
        let receipts = self.plan_and_commit(caller, options.cause, options.dry_run, || {
            self.plan_symbol(caller, &place, &args, action, known.as_ref(), &options).map(|plan| vec![plan])
        })?;
        drop(turns);
        Ok(self.answer_for_file(receipts, false))
    }

    fn plan_symbol(
        &self,
        caller: &CallContext,
        place: &SafePath,
        args: &EditSymbolInput,
        action: SymbolAction,
        known: Option<&References>,
        options: &CallOptions,
    ) -> Result<FilePlan> {
        let text = args.new_text();
        let Some(now) = self.snapshot(place, options.declared, &text)? else {
            return Err(self.file_not_found(place, caller));
        };
        let mut notes = Vec::new();
        let mut ops = |base: &Snapshot| {
            let splices = self.grammars(caller).splices(place, base.text(), args.named(), action, &text, |it| {
                format!("Give the whole path, or a line of the one that is meant, e.g. \"line\": {}.", it.first)
            })?;
            notes = splices.notes;
            let ops = splices.edits.into_iter().map(|(span, text)| Op { at: Locator::Exactly(span), text });
            Ok(Cow::Owned(ops.collect()))
        };
        let mut plan = self.plan_against(caller, place.clone(), now, &mut ops, OpOrder::Together, options)?;
        plan.notes.extend(notes);
        if action == SymbolAction::Rename {
            let old = args.symbol.rsplit(['.', ':']).next().unwrap_or_default().split('(').next().unwrap_or_default();
            let elsewhere = match known {
                Some(known) => known.note(old.trim(), text.trim()),
                None => self.used_elsewhere(caller, place, plan.before.text(), old.trim(), text.trim()),
            };
            plan.notes.extend(elsewhere);
        }
        Ok(plan)
    }
}
