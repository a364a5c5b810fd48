//! Receipts as answers.

use crate::context::Context;
use crate::model::reply::Answer;
use crate::model::reply_limits::{LISTED_FILES_MAX, note_part};
use crate::pipeline::plan::file_plan::recycle;
use crate::pipeline::report::diagnose;
use crate::pipeline::report::receipt::Receipt;
use crate::pipeline::report::rows::render_warnings;
use emendate_core::{Note, Notes};
use emendate_history::OperationId;
use serde_json::{Map, Value};

/// Renders the first receipt as an answer, for calls about one file; `replace_all` is the value in the call.
/// Language servers are asked first, so no lock must be held.
pub(crate) fn answer_for_file(context: &Context, receipts: Vec<Receipt>, replace_all: bool) -> Answer {
    answer_with(context, receipts, |receipt| receipt.answer(replace_all, context.config().shows))
}

/// Renders the first receipt with a function of the tool.
pub(crate) fn answer_with(
    context: &Context,
    mut receipts: Vec<Receipt>,
    render: impl FnOnce(&mut Receipt) -> Answer,
) -> Answer {
    diagnose::diagnose(context, &mut receipts);
    let answer = receipts.first_mut().map(render).unwrap_or_default();
    for receipt in receipts {
        recycle(context, receipt.plan);
    }
    answer
}

/// Renders receipts. Language servers are asked first, so no lock must be held.
pub(crate) fn render_receipts(context: &Context, receipts: Vec<Receipt>) -> RenderedReceipts {
    render_receipts_with(context, receipts, &[])
}

/// Renders receipts with warnings about the whole call.
pub(crate) fn render_receipts_with(context: &Context, mut receipts: Vec<Receipt>, common: &[Note]) -> RenderedReceipts {
    let (several, mut warnings) = (receipts.len() > 1, Notes::new());
    diagnose::diagnose(context, &mut receipts);
    let operation = receipts.iter().find_map(|receipt| receipt.operation);
    let (mut text, mut files, mut rejected) = (String::new(), Vec::new(), String::new());
    let mut all = 0;
    for mut receipt in receipts {
        rejected.push_str(&receipt.plan.outcome.rejected);
        let listed = !receipt.plan.is_move_source && all < LISTED_FILES_MAX;
        all += usize::from(!receipt.plan.is_move_source);
        if listed {
            let one = receipt.reply(false, context.config().shows);
            let name = &receipt.plan.display.name;
            warnings
                .extend(one.warnings.into_iter().map(|it| if several { format!("{name}: {it}").into() } else { it }));
            if receipt.plan.display.header.is_some() && !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&one.text.render());
            files.push(Value::Object(one.data));
        }
        recycle(context, receipt.plan);
    }
    if all > files.len() {
        text.push_str(&omitted_files(all, files.len(), operation));
    }
    warnings.extend(common.iter().cloned());
    text.push_str(&render_warnings(&warnings));
    RenderedReceipts { operation, text, files, all, rejected }
}

/// Receipts as parts of an answer.
pub(crate) struct RenderedReceipts {
    /// The operation that made the change.
    pub(crate) operation: Option<OperationId>,
    /// The text for a model.
    pub(crate) text: String,
    /// The data of the files that are listed.
    pub(crate) files: Vec<Value>,
    /// The number of all files.
    pub(crate) all: usize,
    /// The edits that were skipped, as a patch.
    pub(crate) rejected: String,
}

impl RenderedReceipts {
    /// Converts to an answer with a headline and more fields about the call.
    pub(crate) fn into_answer(
        self,
        dry_run: bool,
        headline: &str,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Answer {
        let mut data = files_data(self.files, self.all, dry_run);
        data.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        data.insert("operation".to_owned(), self.operation.map(|id| id.to_string()).into());
        Answer { text: headline.to_owned() + &self.text, data, operation: self.operation, ..Answer::default() }
    }

    /// Adds the files to the data of an answer, and notes how many are not listed.
    pub(crate) fn add_files(data: &mut Map<String, Value>, files: Vec<Value>, all: usize) {
        note_part(data, "files", "files", files.len(), all);
        data.insert("filesTotal".to_owned(), all.into());
        data.insert("files".to_owned(), files.into());
    }
}

/// Says how many files of a change a reply does not list, and which call lists them.
fn omitted_files(all: usize, shown: usize, operation: Option<OperationId>) -> String {
    let rest = operation
        .map_or_else(String::new, |id| format!(" Call history with id \"{id}\" and from \"{shown}\" to see them."));
    format!("{} more files are not listed here, of {all}.{rest}\n", all - shown)
}

/// Creates the data of an answer with these files, of `all`.
pub(crate) fn files_data(files: Vec<Value>, all: usize, dry_run: bool) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("dryRun".to_owned(), dry_run.into());
    data.insert("notes".to_owned(), Value::Array(Vec::new()));
    RenderedReceipts::add_files(&mut data, files, all);
    data
}
