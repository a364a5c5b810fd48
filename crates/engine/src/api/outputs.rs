//! Output schemas of tools.

use crate::api::tool_table::TOOLS;
use crate::tools::outputs::{EVERY_REPLY, OutputField, OutputGroup};
use crate::tools::tool::Tool;
use serde_json::{Map, Value, json};

/// A group of fields, and the tools whose replies may have them.
#[derive(Debug)]
pub struct ToolOutputs {
    /// The fields.
    pub group: &'static OutputGroup,
    /// The names of the tools; empty for all.
    pub tools: Vec<&'static str>,
}

/// Returns every group of fields once, in the order of the tools.
pub fn output_groups() -> Vec<ToolOutputs> {
    let mut groups = vec![ToolOutputs { group: &EVERY_REPLY, tools: Vec::new() }];
    for tool in TOOLS {
        for group in tool.outputs {
            match groups.iter_mut().find(|known| known.group.title == group.title) {
                Some(known) => known.tools.push(tool.name),
                None => groups.push(ToolOutputs { group, tools: vec![tool.name] }),
            }
        }
    }
    groups
}

impl Tool {
    /// Returns the fields that the data of this tool's replies may have.
    pub fn output_fields(&self) -> impl Iterator<Item = &'static OutputField> + use<> {
        [&EVERY_REPLY].into_iter().chain(self.outputs.iter().copied()).flat_map(|group| group.fields)
    }

    /// Returns the JSON schema of a reply as structured content: that of [`Reply::to_json`](crate::Reply::to_json).
    pub fn output_schema(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        for field in self.output_fields() {
            let schema = match field.kind.name() {
                Some(kind) => json!({ "type": kind, "description": field.meaning }),
                None => json!({ "description": field.meaning }),
            };
            fields.entry(field.name).or_insert(schema);
        }
        let reply = json!({
            "type": "object",
            "properties": {
                "ok": { "type": "boolean", "description": "False for a failure, which has code, message and next." },
                "text": { "type": "string", "description": "What a model reads." },
                "data": { "type": "object", "properties": fields },
                "code": { "type": "string", "description": "Of a failure: its cause." },
                "message": { "type": "string", "description": "Of a failure: what went wrong." },
                "evidence": { "type": "string", "description": "Of a failure: the lines that prove it." },
                "next": { "type": "string", "description": "Of a failure: the next call that would work." },
                "retryable": { "type": "boolean", "description": "Of a failure: the same call may work later." },
            },
            "required": ["ok"],
        });
        if let Value::Object(schema) = reply { schema } else { Map::new() }
    }
}
