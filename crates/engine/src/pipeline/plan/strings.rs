//! Edits whose new text has strings over several lines. If such a text is written at another indentation, the lines of
//! its strings stay as they are, because they belong to a value. Only a grammar knows them.

use crate::context::call::Call;
use emendate_core::{Code, Locator, Note, Op, OpOrder, ResolveSettings, ResolvedEdit, Result, Snapshot, Tier, resolve};
use emendate_fs::SafePath;

/// Resolves edits like [`resolve`]; lines inside of the strings that a new text adds keep their indentation.
///
/// Errors: as [`resolve`].
pub(crate) fn resolve_beside_strings(
    call: Call<'_>,
    path: &SafePath,
    base: &Snapshot,
    ops: &[Op],
    order: OpOrder,
    settings: ResolveSettings,
) -> Result<ResolvedEdit> {
    let resolved = resolve(base, ops, order, settings);
    let may_move = match &resolved {
        Ok(resolved) => resolved.ops.iter().any(|op| is_moved(op.tier)),
        Err(error) => error.code() == Code::EditMisindent,
    };
    if !may_move {
        return resolved;
    }
    let Some(ops) = with_rows_in_strings(call, path, ops) else { return resolved };
    let mut again = resolve(base, &ops, order, settings)?;
    if resolved.is_err() || resolved.is_ok_and(|first| first.changes.splices() != again.changes.splices()) {
        again.notes.push(Note::from(KEPT_NOTE));
    }
    Ok(again)
}

const KEPT_NOTE: &str = "Lines inside of strings that the new text adds keep the indentation in which they were given.";

/// True for a tier that writes the new text at another indentation.
fn is_moved(tier: Tier) -> bool {
    matches!(tier, Tier::IndentShift | Tier::IndentWidths)
}

/// Returns the edits with the rows of their new texts that are inside of strings; `None` if there are none. If the old
/// text has such rows as well, they show how those of the new text are indented.
fn with_rows_in_strings(call: Call<'_>, path: &SafePath, ops: &[Op]) -> Option<Vec<Op>> {
    let mut out = ops.to_vec();
    let mut has_rows = false;
    for op in &mut out {
        let Locator::Find(find) = &mut op.at else { continue };
        if !may_have_string(&op.text) || !call.grammars().rows_in_strings(path, &find.old).is_empty() {
            continue;
        }
        find.rows_in_strings = call.grammars().rows_in_strings(path, &op.text);
        has_rows |= !find.rows_in_strings.is_empty();
    }
    has_rows.then_some(out)
}

/// True for several lines with a sign that begins a string in some language.
fn may_have_string(text: &str) -> bool {
    text.trim_end().contains('\n') && text.contains(['"', '\'', '`', '<', '[', '%', '$'])
}
