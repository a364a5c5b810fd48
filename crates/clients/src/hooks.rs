//! Hooks of ours in clients' settings, and the denial of built-in tools there.

use crate::json::JsonFile;
use crate::record::without_mark;
use emendate_core::Result;
use serde_json::{Value, json};

/// The settings of a client in which hooks are, and in which its own tools can be denied.
#[derive(Clone, Copy, Debug)]
pub struct ClientSettings {
    /// The user's file, with `{home}`, `{config}` or `{xdg}` at its start. It may be the file that lists the servers.
    pub user: &'static str,
    /// The project's file, relative to its directory.
    pub project: &'static str,
    /// Path of the list of tools that the client does not offer.
    pub denied: Option<[&'static str; 2]>,
    /// The built-in tools that ours replace.
    pub builtins: &'static [&'static str],
    /// The hooks.
    pub hooks: &'static [ClientHook],
    /// The option by which a hook knows which client's event it receives.
    pub option: &'static str,
    /// Form of the hooks' entries.
    pub shape: HookShape,
    /// The version that the file has to name.
    pub version: Option<u64>,
}

/// Form of a hook's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookShape {
    /// A list of typed commands below a matcher, as in Claude Code.
    Nested,
    /// The command, beside its type.
    Typed,
    /// The command.
    Plain,
}

/// Scripts of ours that a client runs at its events: executable files with the names of the events.
#[derive(Clone, Copy, Debug)]
pub struct HookScripts {
    /// The user's directory of them, with `{documents}` at its start.
    pub user: &'static str,
    /// The client's names of the events, and ours.
    pub hooks: &'static [(&'static str, &'static str)],
    /// The option by which a hook knows which client's event it receives.
    pub option: &'static str,
}

/// Cline.
pub(crate) const CLINE: HookScripts = HookScripts {
    user: "{documents}/Cline/Hooks",
    hooks: &[
        ("TaskStart", "session-start"),
        ("TaskResume", "session-start"),
        ("UserPromptSubmit", "user-prompt-submit"),
        ("PreToolUse", "pre-tool-use"),
        ("PostToolUse", "post-tool-use"),
    ],
    option: " --client cline",
};

/// The first lines of our scripts.
const SCRIPT_HEAD: &str =
    "#!/bin/sh\n# A hook of Emendate. `emend setup` wrote it, and `emend setup --undo` removes it.\n";
/// The command before the program.
const SCRIPT_START: &str = "exec ";

impl HookScripts {
    /// Returns the script for an event: this program with these options, both as a shell reads them.
    pub fn text(&self, moment: &str, program: &str, options: &str) -> String {
        format!("{SCRIPT_HEAD}{SCRIPT_START}{program} --quiet hook {moment}{}{options}\n", self.option)
    }

    /// True for a script of ours, also of another version.
    pub fn is_ours(&self, text: &str) -> bool {
        text.starts_with(SCRIPT_HEAD)
    }

    /// Returns the program of a script of ours, as a shell reads it.
    pub fn program<'t>(&self, text: &'t str) -> Option<&'t str> {
        let command = text.strip_prefix(SCRIPT_HEAD)?.strip_prefix(SCRIPT_START)?;
        command.split(" --quiet hook ").next()
    }
}

/// A hook of ours.
#[derive(Clone, Copy, Debug)]
pub struct ClientHook {
    /// The client's name of the event.
    pub event: &'static str,
    /// The tools for which it runs, as an expression.
    pub matcher: Option<&'static str>,
    /// Our name of the event.
    pub moment: &'static str,
}

const fn hook(event: &'static str, matcher: Option<&'static str>, moment: &'static str) -> ClientHook {
    ClientHook { event, matcher, moment }
}

/// Claude Code. Its Read stays, because a denial of reads covers its searches, too; a hook reports what it read.
pub(crate) const CLAUDE_CODE: ClientSettings = ClientSettings {
    user: "{home}/.claude/settings.json",
    project: ".claude/settings.json",
    denied: Some(["permissions", "deny"]),
    builtins: &["Edit", "Write", "NotebookEdit"],
    hooks: &[
        hook("SessionStart", None, "session-start"),
        hook("UserPromptSubmit", None, "user-prompt-submit"),
        hook("PreToolUse", Some("Edit|Write|NotebookEdit|Bash"), "pre-tool-use"),
        hook("PostToolUse", Some("Read|Edit|Write|NotebookEdit|Bash"), "post-tool-use"),
    ],
    option: "",
    shape: HookShape::Nested,
    version: None,
};

/// Codex. Its own `apply_patch` cannot be denied.
pub(crate) const CODEX: ClientSettings = ClientSettings {
    user: "{home}/.codex/hooks.json",
    project: ".codex/hooks.json",
    denied: None,
    builtins: &[],
    hooks: &[
        hook("SessionStart", None, "session-start"),
        hook("UserPromptSubmit", None, "user-prompt-submit"),
        hook("PreToolUse", Some("Bash"), "pre-tool-use"),
        hook("PostToolUse", Some("Bash"), "post-tool-use"),
    ],
    option: " --client codex",
    ..CLAUDE_CODE
};

/// Gemini CLI.
pub(crate) const GEMINI_CLI: ClientSettings = ClientSettings {
    user: "{home}/.gemini/settings.json",
    project: ".gemini/settings.json",
    // The settings of Gemini CLI would deny our tools of the same names, too.
    denied: None,
    builtins: &[],
    hooks: &[
        hook("SessionStart", None, "session-start"),
        hook("BeforeAgent", None, "user-prompt-submit"),
        hook("BeforeTool", Some("replace|write_file|run_shell_command"), "pre-tool-use"),
        hook("AfterTool", Some("read_file|replace|write_file|run_shell_command"), "post-tool-use"),
    ],
    option: " --client gemini-cli",
    ..CLAUDE_CODE
};

/// Cursor. `afterFileEdit` reports edits, of whose tool only the file is known before.
pub(crate) const CURSOR: ClientSettings = ClientSettings {
    user: "{home}/.cursor/hooks.json",
    project: ".cursor/hooks.json",
    denied: None,
    builtins: &[],
    hooks: &[
        hook("sessionStart", None, "session-start"),
        hook("beforeSubmitPrompt", None, "user-prompt-submit"),
        hook("preToolUse", Some("Write|Delete|Shell"), "pre-tool-use"),
        hook("postToolUse", Some("Read|Delete|Shell"), "post-tool-use"),
        hook("afterFileEdit", None, "post-tool-use"),
    ],
    option: " --client cursor",
    shape: HookShape::Plain,
    version: Some(1),
};

/// VS Code, in a file of its own. It ignores matchers. Copilot's command line reads the same directory and requires a
/// version.
pub(crate) const VSCODE: ClientSettings = ClientSettings {
    user: "{home}/.copilot/hooks/emend.json",
    project: ".github/hooks/emend.json",
    denied: None,
    builtins: &[],
    hooks: &[
        hook("SessionStart", None, "session-start"),
        hook("UserPromptSubmit", None, "user-prompt-submit"),
        hook("PreToolUse", None, "pre-tool-use"),
        hook("PostToolUse", None, "post-tool-use"),
    ],
    option: " --client vscode",
    shape: HookShape::Typed,
    version: Some(1),
};

/// Windsurf.
pub(crate) const WINDSURF: ClientSettings = ClientSettings {
    user: "{home}/.codeium/windsurf/hooks.json",
    project: ".windsurf/hooks.json",
    denied: None,
    builtins: &[],
    hooks: &[
        hook("pre_user_prompt", None, "user-prompt-submit"),
        hook("pre_write_code", None, "pre-tool-use"),
        hook("pre_run_command", None, "pre-tool-use"),
        hook("post_read_code", None, "post-tool-use"),
        hook("post_write_code", None, "post-tool-use"),
        hook("post_run_command", None, "post-tool-use"),
    ],
    option: " --client windsurf",
    shape: HookShape::Plain,
    version: None,
};

impl ClientSettings {
    /// Returns the settings with the built-in tools denied, and those that were not denied before.
    ///
    /// Errors: as [`Client::install`](crate::Client::install).
    pub fn deny(&self, text: &str, name: &str) -> Result<(String, Vec<String>)> {
        let (mut out, mut fresh) = (text.to_owned(), Vec::new());
        let Some(path) = self.denied else { return Ok((out, fresh)) };
        for tool in self.builtins {
            let json = JsonFile::parse(&out, name)?;
            let known = json.get(&path)?.map(|found| found.value());
            if known.as_ref().and_then(Value::as_array).is_some_and(|known| known.iter().any(|it| it == tool)) {
                continue;
            }
            out = json.push(&path, &Value::from(*tool))?;
            fresh.push((*tool).to_owned());
        }
        Ok((out, fresh))
    }

    /// Returns the settings without these denials.
    ///
    /// Errors: as [`Client::install`](crate::Client::install).
    pub fn allow(&self, text: &str, tools: &[String], name: &str) -> Result<String> {
        let mut out = text.to_owned();
        let Some(path) = self.denied else { return Ok(out) };
        for tool in tools {
            out = JsonFile::parse(&out, name)?.remove_item(&path, |it| it == tool)?;
        }
        Ok(out)
    }

    /// Returns the settings with our hooks: commands of this program with these options, both as a shell reads them.
    /// A hook that is there already keeps its place.
    ///
    /// Errors: as [`Client::install`](crate::Client::install).
    pub fn hook(&self, text: &str, program: &str, options: &str, name: &str) -> Result<String> {
        let mut text = text.to_owned();
        if let Some(version) = self.version
            && JsonFile::parse(&text, name)?.get(&[VERSION])?.is_none()
        {
            text = JsonFile::parse(&text, name)?.set(&[VERSION], &version.into())?;
        }
        for hook in self.hooks {
            let command = format!("{program}{}{}{options}", hook.words(), self.option);
            let mut entry = self.shape.entry(&command);
            if let Some(matcher) = hook.matcher {
                entry["matcher"] = matcher.into();
            }
            if let [known] = &*hook.entries(&text, name)?
                && known.get("matcher") == entry.get("matcher")
                && contains(known, &entry)
            {
                continue;
            }
            text = hook.remove(&text, name)?;
            text = JsonFile::parse(&text, name)?.push(&["hooks", hook.event], &entry)?;
        }
        Ok(text)
    }

    /// Returns the programs of our hooks, as a shell reads them.
    ///
    /// Errors: as [`Client::install`](crate::Client::install).
    pub fn installed(&self, text: &str, name: &str) -> Result<Vec<String>> {
        let mut programs = Vec::new();
        for hook in self.hooks {
            for entry in hook.entries(text, name)? {
                let command = command_of(&entry).unwrap_or_default();
                let program = command.split(&hook.words()).next().unwrap_or_default().to_owned();
                if !programs.contains(&program) {
                    programs.push(program);
                }
            }
        }
        Ok(programs)
    }

    /// Returns the settings without those hooks, whatever their program. `original` is the file before the first
    /// installation, if that is known: its version stays.
    ///
    /// Errors: as [`Client::install`](crate::Client::install).
    pub fn unhook(&self, text: &str, original: Option<&str>, name: &str) -> Result<String> {
        let removed = self.hooks.iter().try_fold(text.to_owned(), |text, hook| hook.remove(&text, name))?;
        let is_left = |version: &u64| is_version_only(&removed, *version, name);
        if removed != text && self.version.as_ref().is_some_and(is_left) && !original.is_some_and(has_version) {
            return JsonFile::parse(&removed, name)?.remove(&[VERSION]);
        }
        Ok(removed)
    }
}

/// True for a file that names its version.
fn has_version(text: &str) -> bool {
    JsonFile::parse(without_mark(text), "").is_ok_and(|json| json.get(&[VERSION]).is_ok_and(|it| it.is_some()))
}

/// Field with the version of a file of hooks.
const VERSION: &str = "version";

/// True for a file with nothing but its version.
fn is_version_only(text: &str, version: u64, name: &str) -> bool {
    let root = JsonFile::parse(text, name).ok().and_then(|json| Some(json.get(&[]).ok()??.value()));
    let Some(Value::Object(fields)) = root else { return false };
    // A number is read with its spelling, as a text.
    let version = version.to_string();
    fields.len() == 1 && fields.get(VERSION).and_then(Value::as_str) == Some(&*version)
}

/// Returns the commands of an entry, whatever its form: people add theirs to an entry of ours.
fn commands_in(entry: &Value) -> &[Value] {
    entry["hooks"].as_array().map_or(std::slice::from_ref(entry), Vec::as_slice)
}

/// True if a value has everything that `wanted` has: people add settings such as a time limit.
fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(fields), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| fields.get(name).is_some_and(|value| contains(value, wanted)))
        }
        (Value::Array(items), Value::Array(wanted)) => {
            items.len() == wanted.len() && items.iter().zip(wanted).all(|(value, wanted)| contains(value, wanted))
        }
        _ => value == wanted,
    }
}

/// Returns the command of an entry, whatever its form.
fn command_of(entry: &Value) -> Option<&str> {
    entry["hooks"][0]["command"].as_str().or_else(|| entry["command"].as_str())
}

impl HookShape {
    /// Returns the entry that runs a command.
    fn entry(self, command: &str) -> Value {
        match self {
            HookShape::Nested => json!({ "hooks": [{ "type": "command", "command": command }] }),
            HookShape::Typed => json!({ "type": "command", "command": command }),
            HookShape::Plain => json!({ "command": command }),
        }
    }
}

impl ClientHook {
    /// The words of the hook's command. `--quiet` distinguishes it from hooks that people write, which do not need it.
    fn words(&self) -> String {
        format!(" --quiet hook {}", self.moment)
    }

    /// Returns the entries for this event.
    fn list(&self, json: &JsonFile<'_>) -> Result<Vec<Value>> {
        let list = json.get(&["hooks", self.event])?.map(|found| found.value());
        Ok(list.as_ref().and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Returns our commands for this event, each in an entry without commands of others.
    fn entries(&self, text: &str, name: &str) -> Result<Vec<Value>> {
        let mut out = Vec::new();
        for entry in self.list(&JsonFile::parse(text, name)?)? {
            for command in commands_in(&entry).iter().filter(|command| self.is_ours(command)) {
                let mut own = entry.clone();
                if let Some(commands) = own.get_mut("hooks") {
                    *commands = json!([command]);
                }
                out.push(own);
            }
        }
        Ok(out)
    }

    /// Returns the text without our commands for this event.
    fn remove(&self, text: &str, name: &str) -> Result<String> {
        let mut text = text.to_owned();
        while let Some(less) = self.remove_first(&JsonFile::parse(&text, name)?)? {
            text = less;
        }
        Ok(text)
    }

    /// Returns the text without the first of our commands for this event; `None` if there is none.
    fn remove_first(&self, json: &JsonFile<'_>) -> Result<Option<String>> {
        let is_ours = |command: &Value| self.is_ours(command);
        let list = self.list(json)?;
        let Some(nth) = list.iter().position(|entry| commands_in(entry).iter().any(is_ours)) else { return Ok(None) };
        let removed = match commands_in(&list[nth]) {
            [_] => json.remove_item(&["hooks", self.event], |entry| *entry == list[nth]),
            // The commands of others in the same entry stay.
            _ => json.remove_item(&["hooks", self.event, &nth.to_string(), "hooks"], is_ours),
        };
        removed.map(Some)
    }

    /// True for a command that an installation wrote.
    fn is_ours(&self, command: &Value) -> bool {
        let command = command["command"].as_str().unwrap_or_default();
        // Earlier versions had no `--quiet`.
        command.contains(&self.words()) || command.contains(&format!(" hook {} --as ", self.moment))
    }
}
