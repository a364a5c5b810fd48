//! The answer as rows below a header, in the line format of the edit.

use crate::model::reply::Answer;
use crate::model::reply_limits::DATA_DIFF_BYTES_MAX;
use crate::pipeline::report::receipt::Receipt;
use emendate_core::explain::DiffHunk;
use emendate_core::line_edits::ReplacedLines;
use emendate_core::{HeaderStyle, Note, ShortTag, Snapshot, explain, line_edits};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Replaced ranges that a reply quotes.
const QUOTED_RANGES_MAX: usize = 4;

impl Receipt {
    /// Renders the answer in the line format of a header: the new header and the changed rows.
    pub(crate) fn in_rows(&self, header: HeaderStyle) -> Answer {
        let (plan, path) = (&self.plan, self.plan.path.shown());
        let tag = plan
            .display
            .short_tag
            .or_else(|| plan.before.short_tag_with(&plan.changes))
            .unwrap_or_else(|| ShortTag::of(plan.after().unwrap_or_else(|_| plan.before.clone()).text()));
        let line = header.line(&plan.display.name, tag);
        let shown = explain::hunks(&plan.before, &plan.changes, line_edits::AROUND);
        let mut text = format!("{line}\n{}", line_edits::preview(header, &shown, self.budget.diff).text);
        if self.dry_run {
            text.push_str("(dry run: nothing was written)\n");
        }
        text.push_str(&echoes(header, &plan.display.replaced));
        text.push_str(&shifts(&plan.before, &shown));
        if let Some(origin) = &plan.source_file {
            let how = if origin.copied { "Copied" } else { "Moved" };
            let _ = writeln!(text, "{how} from {}.", origin.path.shown());
        }
        let data = json!({
            "header": line,
            "diff": explain::unified(&path, &shown, DATA_DIFF_BYTES_MAX).text,
            "firstChangedLine": line_edits::first_changed(&shown),
            "op": if plan.creates() { "create" } else { "update" },
            "diagnostics": Value::Null,
            "meta": {},
            "replacementEchoes": plan.display.replaced.iter().map(|it| json!({ "start": it.from, "end": it.to, "first": it.first, "last": it.last })).collect::<Vec<Value>>(),
            "renumbers": line_edits::line_shifts(&shown).into_iter().map(|it| json!({ "from": it.from, "delta": it.delta })).collect::<Vec<Value>>(),
        });
        Answer::with_data(text, data)
    }
}

/// Formats the section of warnings below a reply in rows.
pub(crate) fn render_warnings(warnings: &[Note]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let rows: String = warnings.iter().map(|warning| format!("{warning}\n")).collect();
    format!("\nWarnings:\n{rows}")
}

/// Quotes the replaced lines, so that a miscount is noticed. With the `¶` header the removed rows are
/// shown above, so single lines are not quoted. The data has all of them.
fn echoes(header: HeaderStyle, replaced: &[ReplacedLines]) -> String {
    let mut out = String::new();
    let mut count = 0;
    for it in replaced.iter().filter(|it| it.to > it.from || header == HeaderStyle::Brackets) {
        count += 1;
        let _ = match (count > QUOTED_RANGES_MAX, it.to > it.from) {
            (true, _) => continue,
            (_, true) => writeln!(out, "Replaced {}..{}, from {:?} to {:?}.", it.from, it.to, it.first, it.last),
            (_, false) => writeln!(out, "Replaced {}, {:?}.", it.from, it.first),
        };
    }
    if count > QUOTED_RANGES_MAX {
        let _ = writeln!(out, "Replaced {} more.", count - QUOTED_RANGES_MAX);
    }
    out
}

/// Describes how the numbers of unchanged lines have shifted, in those of the former version.
fn shifts(before: &Snapshot, hunks: &[DiffHunk]) -> String {
    let count = before.lines().count(before.text());
    let moved: Vec<_> = line_edits::line_shifts(hunks).into_iter().filter(|it| it.from <= count).collect();
    if moved.is_empty() {
        return String::new();
    }
    let list: Vec<String> =
        moved.iter().take(QUOTED_RANGES_MAX).map(|it| format!("from {} on {:+}", it.from, it.delta)).collect();
    let more = if moved.len() > QUOTED_RANGES_MAX { ", and so on" } else { "" };
    format!("Old line numbers: {}{more}.\n", list.join(", "))
}
