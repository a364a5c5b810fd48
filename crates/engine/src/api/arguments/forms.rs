//! Forms of a call: one edit, a list of edits, lines named by the first and the last of them. A call that has the fields
//! of several is in the form whose fields request something.

use crate::api::arguments::fields::is_nothing;
use crate::api::arguments::reader::{ArgumentReader, UnusedReason};
use crate::tools::tool::Tool;
use serde_json::{Map, Value};

/// A form that a call of a tool can have.
struct CallForm {
    /// The fields of which one shows that the call has this form.
    content: &'static [&'static str],
    /// Other fields that no other form has.
    details: &'static [&'static str],
}

impl CallForm {
    fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.content.iter().chain(self.details).copied()
    }
}

/// Returns the forms of a tool, if it has several.
fn call_forms(tool: &Tool) -> &'static [CallForm] {
    match tool.name {
        "edit" => &[
            CallForm { content: &["edits"], details: &["order"] },
            CallForm { content: &["old_string", "new_string"], details: &["replace_all", "expected_replacements"] },
            CallForm { content: &["start_line_text", "end_line_text"], details: &["new_text"] },
        ],
        "notebook_edit" => &[
            CallForm { content: &["edits"], details: &[] },
            CallForm { content: &["cell_id", "cell_number", "new_source", "cell_type", "edit_mode"], details: &[] },
        ],
        _ => &[],
    }
}

/// True for a call that has fields of several forms.
pub(super) fn has_several(tool: &Tool, input: &Value) -> bool {
    let has_field = |form: &&CallForm| form.fields().any(|field| input.get(field).is_some());
    call_forms(tool).iter().filter(has_field).count() > 1
}

impl ArgumentReader<'_> {
    /// Removes the fields of the forms that a call does not use, if they request nothing.
    pub(super) fn leave_out_other_forms(&mut self, out: &mut Map<String, Value>) {
        let forms = call_forms(self.tool);
        let has_content = |form: &&CallForm| form.content.iter().any(|field| !is_empty_field(out, field));
        let used: Vec<&CallForm> = forms.iter().filter(has_content).collect();
        let [used] = *used else { return self.repeated_edit(out) };
        for field in forms.iter().filter(|form| !std::ptr::eq(*form, used)).flat_map(CallForm::fields) {
            // The order of a single edit does not matter.
            let Some(value) = out.get(field).filter(|value| field == "order" || is_nothing(value)) else { continue };
            self.leave_out(if is_nothing(value) { UnusedReason::Empty } else { UnusedReason::OnlyInLists }, field);
            out.shift_remove(field);
        }
    }

    /// Removes the texts of a call if the only entry of its list repeats them.
    fn repeated_edit(&mut self, out: &mut Map<String, Value>) {
        let texts = ["old_string", "new_string"];
        let Some([only]) = out.get("edits").and_then(Value::as_array).map(Vec::as_slice) else { return };
        if texts.iter().all(|field| out.contains_key(*field) && out.get(*field) == only.get(*field)) {
            for field in texts {
                out.shift_remove(field);
            }
            self.notes.push("old_string and new_string are also in edits; they were read once.".to_owned());
        }
    }
}

/// True if a field is missing or its value requests nothing.
fn is_empty_field(out: &Map<String, Value>, field: &str) -> bool {
    out.get(field).is_none_or(is_nothing)
}
