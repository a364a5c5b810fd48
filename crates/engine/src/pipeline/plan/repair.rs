//! Repair of line edits that break a file by a mistake at the edge of a range: applied without the mistake if a parse
//! proves it, otherwise reported.

use crate::context::Context;
use crate::context::options::CallOptions;
use crate::context::syntax::language;
use crate::context::syntax::parsers::Comparison;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::placement::resolve_together;
use emendate_core::explain::{self, DiffHunk};
use emendate_core::line_edits::{self, RepairedHunk, ReplacedLines};
use emendate_core::{ChangeSet, HeaderStyle, Notes, Op, ResolvedEdit, Snapshot};
use emendate_fs::SafePath;
use emendate_syntax::{CodeBlock, ParseLimits};

/// Hunks that are proven one by one.
const PROVEN_HUNKS_MAX: usize = 16;
/// Lines of a range that are checked for the beginning of a block.
const EXAMINED_LINES_MAX: usize = 20;

/// Repaired edits.
pub(crate) struct RepairedEdits {
    pub(crate) ops: Vec<Op>,
    pub(crate) resolved: ResolvedEdit,
    pub(crate) notes: Notes,
}

/// Returns the edits without the mistakes that break the file: the file parses before, does not parse with the
/// edits as sent, and parses with the single guess for each hunk, each of which breaks it on its own. `None` if
/// that is not the case, or cannot be proven in time.
pub(crate) fn repair_edits(
    context: &Context,
    path: &SafePath,
    now: &Snapshot,
    ops: &[Op],
    resolved: &ResolvedEdit,
    options: &CallOptions,
) -> Option<RepairedEdits> {
    if !context.config().syntax_check || !resolved.failed.is_empty() {
        return None;
    }
    let meant = line_edits::repair_guesses(now, ops);
    if meant.is_empty() {
        return None;
    }
    let proof = Comparison::new(&context.memory.parsers, language(path, now.text())?, now.text(), ParseLimits::PROOF);
    if parses_after(&proof, now, &resolved.changes)? {
        return None;
    }
    let (mut better, mut notes) = (ops.to_vec(), Notes::new());
    for RepairedHunk { index, op, what } in meant.into_iter().take(PROVEN_HUNKS_MAX) {
        if parses_alone(&proof, now, &ops[index], options)? || !parses_alone(&proof, now, &op, options)? {
            continue;
        }
        let edit = line_edits::of(&op)
            .map_or_else(String::new, |rows| format!("line {}: `{}`", rows.source_line, rows.source_text));
        notes.push(format!(
                "{edit} was carried out {what}: as it was sent, the file would no longer parse. Send the final text of exactly the lines of the range; never restate or leave out a bracket beside it."
            ));
        better[index] = op;
    }
    let resolved = resolve_together(now, &better, options).ok().filter(|_| !notes.is_empty())?;
    parses_after(&proof, now, &resolved.changes)?.then_some(RepairedEdits { ops: better, resolved, notes })
}

/// True if the file parses after this edit alone; `None` if that is not known in time.
fn parses_alone(proof: &Comparison<'_>, now: &Snapshot, op: &Op, options: &CallOptions) -> Option<bool> {
    parses_after(proof, now, &resolve_together(now, std::slice::from_ref(op), options).ok()?.changes)
}

/// True if the file parses after a change.
fn parses_after(proof: &Comparison<'_>, now: &Snapshot, changes: &ChangeSet) -> Option<bool> {
    proof.parses(now.reopen(changes.apply(now)).ok()?.text())
}

/// Returns the remark for a range that ends inside a block which begins in it, if the file would parse without the rest
/// of that block; `after` is the text with the edit, which does not parse.
pub(crate) fn inside_a_block(proof: &Comparison<'_>, plan: &FilePlan, after: &Snapshot) -> Option<String> {
    let hunks = explain::hunk_headers(&plan.before, &plan.changes);
    plan.display.replaced.iter().take(PROVEN_HUNKS_MAX).find_map(|range| {
        let mut last = range.to;
        let lines = (range.from..=range.to).rev().take(EXAMINED_LINES_MAX).collect();
        proof.blocks(lines).into_iter().flatten().find_map(|block| {
            let block = Some(block).filter(|block| block.last > last)?;
            last = block.last;
            let rest = rest_of(&block, range, &hunks)?;
            let gone = after.lines().span_of(after.text(), rest.0, rest.1).range();
            let without = format!("{}{}", &after.text()[..gone.start], &after.text()[gone.end..]);
            proof.parses(&without)?.then(|| repair_note(plan.display.header, range, &block, rest.0, rest.1))
        })
    })
}

/// Returns the position, after the edit, of the lines of a block after a range; `None` if other hunks touch them.
fn rest_of(block: &CodeBlock, range: &ReplacedLines, hunks: &[DiffHunk]) -> Option<(usize, usize)> {
    let (from, to) = (range.to + 1, block.last);
    if hunks.iter().any(|hunk| {
        let start = hunk.old_start + usize::from(hunk.old_lines == 0);
        start <= to && hunk.old_start + hunk.old_lines > from
    }) {
        return None;
    }
    let before = hunks.iter().take_while(|hunk| hunk.old_start < from);
    let moved: isize = before.map(|hunk| hunk.new_lines.cast_signed() - hunk.old_lines.cast_signed()).sum();
    Some((from.saturating_add_signed(moved), to.saturating_add_signed(moved)))
}

fn repair_note(
    header: Option<HeaderStyle>,
    range: &ReplacedLines,
    block: &CodeBlock,
    from: usize,
    to: usize,
) -> String {
    let hunk = match header {
        Some(HeaderStyle::Brackets) => format!("send under the header above: CUT {from}.={to}"),
        Some(HeaderStyle::Pilcrow) => format!("send under the header above: delete {from}..{to}"),
        None => format!("delete lines {from}..{to} of the new text."),
    };
    format!(
        "The range {}..{} ends inside the block of lines {}..{}; the rest of that block now follows the new text. If the new text is meant to be all of it, {hunk}",
        range.from, range.to, block.first, block.last
    )
}
