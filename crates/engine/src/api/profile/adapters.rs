//! Profiles of adapters: the names of tools that a framework or a provider offers to models, and that an adapter carries
//! out. Only the advice of errors has these names.

use crate::api::profile::{Profile, ToolView, all_named};

/// The profiles of adapters.
pub(super) static ADAPTER_PROFILES: &[Profile] = &[HOSTED_PATCH, MEMORY, FILE_EDITOR, DEEPAGENTS];

/// The hosted `apply_patch` of `OpenAI`.
const HOSTED_PATCH: Profile = Profile {
    name: "hosted_apply_patch",
    summary: "the hosted apply_patch of OpenAI, alone",
    instructions: "",
    counts_as_read: true,
    views: &[ToolView {
        fields: Some(&["input"]),
        renamed_fields: &[("diff", "input")],
        ..all_named("apply_patch", "apply")
    }],
};

/// Anthropic's memory tool.
const MEMORY: Profile = Profile {
    name: "memory",
    summary: "Anthropic's memory tool, alone",
    instructions: "",
    counts_as_read: true,
    views: &[ToolView {
        fields: Some(&[
            "command", "path", "file_text", "old_str", "new_str", "insert_line", "insert_text", "view_range",
        ]),
        ..all_named("memory", "text_editor")
    }],
};

/// The editor of the `OpenHands` SDK.
const FILE_EDITOR: Profile = Profile {
    name: "file_editor",
    summary: "the file_editor of the OpenHands SDK, alone",
    instructions: "",
    counts_as_read: true,
    views: &[ToolView {
        fields: Some(&["command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range"]),
        ..all_named("file_editor", "text_editor")
    }],
};

/// The tools of deepagents.
const DEEPAGENTS: Profile = Profile {
    name: "deepagents",
    summary: "the file tools of deepagents: ls, read_file, write_file, edit_file, glob, grep",
    instructions: "",
    counts_as_read: true,
    views: &[
        ToolView { fields: Some(&["path"]), ..all_named("ls", "list") },
        ToolView {
            fields: Some(&["file_path", "offset", "limit"]),
            lines_from_zero: true,
            ..all_named("read_file", "read")
        },
        ToolView { fields: Some(&["file_path", "content"]), ..all_named("write_file", "write") },
        ToolView {
            fields: Some(&["file_path", "old_string", "new_string", "replace_all"]),
            ..all_named("edit_file", "edit")
        },
        ToolView { fields: Some(&["pattern", "path", "glob"]), ..all_named("grep", "search") },
    ],
};
