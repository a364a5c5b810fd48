//! Builds the input of `notebook_edit` from the arguments of `notebook-edit`.

use crate::args::NotebookEditArgs;
use crate::files::{InputFields, ToolCall, edits_of, given, usage};
use emendate::core::Result;

/// Builds the input of `notebook_edit`.
pub(crate) fn edit(args: &NotebookEditArgs) -> Result<ToolCall> {
    let edits = args.edits.as_deref().map(edits_of).transpose()?;
    let deletes = args.mode.as_deref() == Some("delete");
    let source = given(args.source.as_ref(), args.source_file.as_deref(), "the new source")?;
    if edits.is_none() && source.is_none() && !deletes {
        return Err(usage("The new content of the cell is missing.", "Give --source, --source-file or --edits."));
    }
    let fields = InputFields::default()
        .put("cell_id", args.cell.clone())
        .put("cell_number", args.number)
        .put("edit_mode", args.mode.clone())
        .put("cell_type", args.kind.clone())
        .put("new_source", source)
        .put("edits", edits)
        .put("clear_outputs", args.keep_outputs.then_some(false))
        .extras(&args.extras);
    Ok(ToolCall::new("notebook_edit", "notebook_path", args.path.clone(), fields))
}
