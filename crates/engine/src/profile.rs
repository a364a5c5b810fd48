//! Profiles: which tools one kind of client is offered, under which names and with which fields. Chosen by a flag at start,
//! never by the connection.

use crate::caller::Caller;
use crate::engine::Engine;
use crate::reply::Reply;
use crate::tools::{TOOLS, Tool, tool};
use serde_json::{Map, Value};

/// A tool as a profile offers it.
pub struct Offer {
    /// The name in that profile.
    pub name: &'static str,
    /// The row of [`TOOLS`].
    pub tool: &'static str,
    /// The fields offered; `None` for all.
    fields: Option<&'static [&'static str]>,
    /// The fields that must be given, where the profile says it in its own way.
    required: Option<&'static [&'static str]>,
    /// The text that teaches it, where the profile words it in its own way.
    prompt: Option<&'static str>,
}

/// A set of tools for one kind of client. Chosen by a flag at start, never by the connection.
pub struct Profile {
    /// The name for `--profile`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The tools.
    pub offers: &'static [Offer],
}

const fn all(name: &'static str) -> Offer {
    Offer { name, tool: name, fields: None, required: None, prompt: None }
}

/// Every profile, the default first.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        summary: "read, edit, write, apply, undo",
        offers: &[
            Offer { fields: Some(&["file_path", "offset", "limit", "format", "encoding"]), ..all("read") },
            Offer {
                fields: Some(&[
                    "file_path",
                    "old_string",
                    "new_string",
                    "replace_all",
                    "expected_replacements",
                    "at",
                    "edits",
                    "order",
                    "tag",
                    "encoding",
                    "on_stale",
                    "dry_run",
                ]),
                ..all("edit")
            },
            Offer { fields: Some(&["file_path", "content", "tag", "encoding", "dry_run"]), ..all("write") },
            Offer { fields: Some(&["input", "format", "directory", "partial", "dry_run"]), ..all("apply") },
            Offer { fields: Some(&["id", "redo"]), prompt: Some(SHORT_UNDO), ..all("undo") },
        ],
    },
    Profile {
        name: "claude",
        summary: "the names and fields of Claude Code's tools: Read, Edit, MultiEdit, Write",
        offers: &[
            Offer { name: "Read", fields: Some(&["file_path", "offset", "limit"]), ..all("read") },
            Offer {
                name: "Edit",
                fields: Some(&["file_path", "old_string", "new_string", "replace_all", "expected_replacements"]),
                required: Some(&["file_path", "old_string", "new_string"]),
                prompt: Some(CLAUDE_EDIT),
                ..all("edit")
            },
            Offer { name: "MultiEdit", fields: Some(&["file_path", "edits"]), ..all("multi_edit") },
            Offer { name: "Write", fields: Some(&["file_path", "content"]), ..all("write") },
        ],
    },
    Profile {
        name: "anchors",
        summary: "editing by the words of lines: read, search, edit, write, undo",
        offers: &[
            Offer {
                fields: Some(&["file_path", "offset", "limit", "format"]),
                prompt: Some(WORDED_READ),
                ..all("read")
            },
            Offer {
                fields: Some(&["pattern", "path", "literal", "glob", "context", "format"]),
                prompt: Some(WORDED_SEARCH),
                ..all("search")
            },
            Offer { name: "edit", fields: Some(&["path", "edits", "files", "dry_run"]), ..all("edit_anchors") },
            Offer { fields: Some(&["file_path", "content"]), ..all("write") },
            Offer { fields: Some(&["id", "redo"]), prompt: Some(SHORT_UNDO), ..all("undo") },
        ],
    },
    Profile {
        name: "full",
        summary: "every tool with every field",
        offers: &[
            all("read"),
            all("search"),
            all("edit"),
            all("edit_anchors"),
            all("multi_edit"),
            all("write"),
            all("apply"),
            all("replace_in_files"),
            all("convert"),
            all("undo"),
            all("restore"),
            all("history"),
            all("outline"),
            all("edit_symbol"),
        ],
    },
];

const CLAUDE_EDIT: &str = "\
Replaces text in a file. Read the file with Read first. Copy old_string from what follows the line number and TAB in Read's output, with \
its exact indentation. It must be unique in the file, or set replace_all.";

const WORDED_READ: &str = "\
Reads a text file. To edit it, read the lines with format anchors: each is shown as Word:text, and edit names lines by these words. Without \
format, lines are numbered. By default the first 2000 lines.";

const WORDED_SEARCH: &str = "\
Searches a folder or file for a regular expression (or plain text with literal). With format anchors, hits are shown as Word:text and can be \
edited at once. Ignored and hidden files are left out; glob picks files.";

const SHORT_UNDO: &str = "\
Takes back what a call of yours did, with all of its files: the last one, or id (data.operation of its reply). Changes others made since \
on other lines are kept. redo takes the undo back.";

/// The profile of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

impl Profile {
    /// The offer of that name.
    pub fn offer(&self, name: &str) -> Option<&'static Offer> {
        let offers: &'static [Offer] = self.offers;
        offers.iter().find(|offer| offer.name == name)
    }
}

impl Offer {
    /// The row behind it.
    pub fn row(&self) -> &'static Tool {
        // A test proves that every offer names a row.
        tool(self.tool).unwrap_or(&TOOLS[0])
    }

    /// The text that teaches it to a model.
    pub fn prompt(&self) -> &'static str {
        self.prompt.unwrap_or(self.row().prompt)
    }

    /// The JSON schema of its input.
    pub fn schema(&self) -> Map<String, Value> {
        let mut schema = self.row().schema();
        let Some(fields) = self.fields else { return schema };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| fields.contains(&name.as_str()));
        }
        if let Some(required) = self.required {
            schema.insert("required".to_owned(), required.iter().map(|name| Value::from(*name)).collect());
        }
        let text = Value::Object(schema.clone()).to_string();
        if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
            definitions.retain(|name, _| text.contains(&format!("#/$defs/{name}\"")));
        }
        schema
    }

    /// Calls the tool behind it. Every field of the tool is taken, whether offered or not: an error may advise one.
    pub fn call(&self, engine: &Engine, caller: &Caller, input: Value) -> Reply {
        engine.call(caller, self.tool, input)
    }
}

#[cfg(test)]
mod tests {
    use super::{PROFILES, profile};
    use crate::tools::tool;

    #[test]
    fn every_offer_names_a_tool_and_known_fields() {
        for profile in PROFILES {
            for offer in profile.offers {
                let row = tool(offer.tool).unwrap();
                let schema = row.schema();
                for field in offer.fields.unwrap_or(&[]) {
                    assert!(schema["properties"].get(field).is_some(), "{} {field}", offer.name);
                }
            }
        }
    }

    #[test]
    fn profiles_for_models_are_short() {
        ["default", "anchors"].into_iter().for_each(is_short);
    }

    fn is_short(name: &str) {
        let profile = profile(name).unwrap();
        assert!(profile.offers.len() <= 6);
        let text: usize = profile
            .offers
            .iter()
            .map(|offer| {
                offer.prompt().len() + serde_json::to_string(&offer.schema()).unwrap().len() + offer.row().title.len()
            })
            .sum();
        // Four characters a token is the usual estimate; 2,000 tokens are the limit.
        assert!(text < 7000, "{text} characters");
    }
}
