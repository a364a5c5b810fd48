//! MCP clients: the configuration files of each, and how our server is added and removed.
//!
//! Pure functions from text to text: no file is touched here. Everything that an edit does not mean to change stays
//! byte for byte: comments, order, indentation, trailing commas.
//!
//! ```
//! use emendate_clients::{ServerEntry, client};
//!
//! let cursor = client("cursor").unwrap();
//! let entry = ServerEntry { command: "/opt/emend".into(), args: vec!["mcp".into()], env: vec![] };
//! let text = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
//! let with = cursor.install(text, &entry, "mcp.json").unwrap();
//! assert!(with.contains("// mine") && cursor.entry(&with, "mcp.json").unwrap() == Some(entry));
//! assert_eq!(cursor.uninstall(&with, "mcp.json").unwrap(), "{\n  // mine\n}\n");
//! ```

mod json;
mod layout;
mod table;
mod toml;

pub use table::{BUILTINS, CLIENTS, Client, ConfigDirs, ConfigFormat, InstallScope, RootDiscovery, client};

use emendate_core::{Code, Error, Result};
use json::JsonFile;
use serde_json::{Map, Value, json};

/// Name of our server in every client.
pub const SERVER_NAME: &str = "emend";

/// Environment variable of an entry that names the built-in tools that were denied along with it.
pub const REPLACES_VARIABLE: &str = "EMEND_REPLACES";

/// Environment variable of an entry that has the number of directories that were created for the client's files: for the
/// one with its servers, and for the one with its settings.
pub const CREATED_VARIABLE: &str = "EMEND_CREATED";

/// The command with which a client starts a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEntry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to its environment.
    pub env: Vec<(String, String)>,
}

impl ServerEntry {
    /// Reads an entry of a client's file; `None` if it names no program, like one for a remote server.
    pub(crate) fn read(fields: &Value) -> Option<ServerEntry> {
        // Some versions of Zed nested the program.
        let fields = if fields["command"].is_object() { &fields["command"] } else { fields };
        let command = fields["command"].as_str().or_else(|| fields["path"].as_str())?.to_owned();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let args = fields["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let env = fields["env"].as_object().into_iter().flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect();
        Some(ServerEntry { command, args, env })
    }

    /// Returns the fields of the entry, in the order of writing; omits an empty environment.
    fn fields(&self, shape: &[(&'static str, &'static str)]) -> Map<String, Value> {
        let fixed = shape.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        let mut out: Map<String, Value> = fixed.collect();
        out.insert("command".to_owned(), self.command.clone().into());
        out.insert("args".to_owned(), self.args.clone().into());
        if !self.env.is_empty() {
            let env = self.env.iter().map(|(name, value)| (name.clone(), Value::from(value.clone())));
            out.insert("env".to_owned(), Value::Object(env.collect()));
        }
        out
    }
}

impl Client {
    /// Returns the entry of our server, if the file has one that starts a program. `name` is the file's, for messages.
    ///
    /// Errors: `call.invalid` with line and column for a file that cannot be parsed.
    pub fn entry(&self, text: &str, name: &str) -> Result<Option<ServerEntry>> {
        let found = match self.format {
            ConfigFormat::Json => {
                JsonFile::parse(text, name)?.get(&[self.key, SERVER_NAME])?.map(|found| found.value())
            }
            ConfigFormat::Toml => toml::get(text, self.key, name)?,
        };
        Ok(found.as_ref().and_then(ServerEntry::read))
    }

    /// Returns the file with our server. An existing entry keeps its other fields. An empty text means no file.
    ///
    /// Errors: `call.invalid` with line and column for a file that cannot be parsed, or that has something else there.
    pub fn install(&self, text: &str, entry: &ServerEntry, name: &str) -> Result<String> {
        let fields = entry.fields(self.fixed_fields);
        let out = match self.format {
            ConfigFormat::Json => self.install_json(text, &fields, name)?,
            ConfigFormat::Toml => toml::set(text, self.key, &fields, name)?,
        };
        // Verified before it is returned.
        if self.entry(&out, name)?.is_some_and(|kept| kept.command == entry.command && kept.args == entry.args) {
            return Ok(out);
        }
        Err(Error::new(Code::InternalBug, format!("{name}: the entry could not be read back correctly after writing."))
            .next("Please report this. Nothing was written."))
    }

    fn install_json(&self, text: &str, fields: &Map<String, Value>, name: &str) -> Result<String> {
        let place = [self.key, SERVER_NAME];
        if JsonFile::parse(text, name)?.get(&place)?.is_none() {
            return JsonFile::parse(text, name)?.set(&place, &Value::Object(fields.clone()));
        }
        let mut out = text.to_owned();
        let plain = fields.iter().filter(|(field, _)| *field != "env").map(|(field, value)| (vec![&**field], value));
        let env = fields.get("env").and_then(Value::as_object).into_iter().flatten();
        for (inner, value) in plain.chain(env.map(|(name, value)| (vec!["env", &**name], value))) {
            out = JsonFile::parse(&out, name)?.set(&[&place[..], &inner].concat(), value)?;
        }
        Ok(out)
    }

    /// Returns the file without our server. The object that holds servers is removed too if it is left empty.
    ///
    /// Errors: as [`Client::install`].
    pub fn uninstall(&self, text: &str, name: &str) -> Result<String> {
        match self.format {
            ConfigFormat::Json => JsonFile::parse(text, name)?.remove(&[self.key, SERVER_NAME]),
            ConfigFormat::Toml => toml::remove(text, self.key, name),
        }
    }
}

impl ServerEntry {
    /// Returns the built-in tools that were denied along with this entry.
    pub fn replaced_tools(&self) -> Option<Vec<String>> {
        let (_, names) = self.env.iter().find(|(name, _)| name == REPLACES_VARIABLE)?;
        Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Returns how many directories were created for the file with the servers, and for the one with the settings.
    pub fn created_directories(&self) -> [usize; 2] {
        let counts = self.env.iter().find(|(name, _)| name == CREATED_VARIABLE).map_or("", |(_, counts)| counts);
        let mut counts = counts.split(',').map(|count| count.parse().unwrap_or(0));
        [counts.next().unwrap_or(0), counts.next().unwrap_or(0)]
    }
}

/// Returns the settings of Claude Code with these tools denied, and those that were not denied before.
///
/// Errors: as [`Client::install`].
pub fn deny(text: &str, tools: &[&str], name: &str) -> Result<(String, Vec<String>)> {
    let (mut out, mut fresh) = (text.to_owned(), Vec::new());
    for tool in tools {
        let json = JsonFile::parse(&out, name)?;
        let known = json.get(&DENIED_PATH)?.map(|found| found.value());
        if known.as_ref().and_then(Value::as_array).is_some_and(|known| known.iter().any(|it| it == tool)) {
            continue;
        }
        out = json.push(&DENIED_PATH, &Value::from(*tool))?;
        fresh.push((*tool).to_owned());
    }
    Ok((out, fresh))
}

/// Returns the settings of Claude Code without these denials.
///
/// Errors: as [`Client::install`].
pub fn allow(text: &str, tools: &[String], name: &str) -> Result<String> {
    let mut out = text.to_owned();
    for tool in tools {
        out = JsonFile::parse(&out, name)?.pull(&DENIED_PATH, &Value::from(tool.clone()))?;
    }
    Ok(out)
}

/// A hook of ours in Claude Code's settings.
struct InstalledHook {
    /// Path of the list that it is in.
    path: [&'static str; 2],
    /// The tools after which it runs.
    matcher: Option<&'static str>,
    /// The words of its command, which no hook has that people write: they need no `--quiet`.
    words: &'static str,
    /// The words of it in earlier versions.
    earlier: Option<&'static str>,
}

/// The hooks: the server learns which conversation it belongs to, and what the client's own tool read.
const HOOKS: [InstalledHook; 2] = [
    InstalledHook {
        path: ["hooks", "SessionStart"],
        matcher: None,
        words: " --quiet hook session-start",
        earlier: None,
    },
    InstalledHook {
        path: ["hooks", "PostToolUse"],
        matcher: Some("Read"),
        words: " --quiet hook post-tool-use",
        earlier: Some(" hook post-tool-use --as "),
    },
];

/// Returns the settings of Claude Code with our hooks: commands of this program with these options, both as a shell reads
/// them.
///
/// Errors: as [`Client::install`].
pub fn hook_reads(text: &str, program: &str, options: &str, name: &str) -> Result<String> {
    let mut text = unhook_reads(text, name)?;
    for hook in HOOKS {
        let command = format!("{program}{}{options}", hook.words);
        let mut entry = json!({ "hooks": [{ "type": "command", "command": command }] });
        if let Some(matcher) = hook.matcher {
            entry["matcher"] = matcher.into();
        }
        text = JsonFile::parse(&text, name)?.push(&hook.path, &entry)?;
    }
    Ok(text)
}

/// Returns the settings of Claude Code without those hooks, whatever their program.
///
/// Errors: as [`Client::install`].
pub fn unhook_reads(text: &str, name: &str) -> Result<String> {
    let mut text = text.to_owned();
    for hook in HOOKS {
        let json = JsonFile::parse(&text, name)?;
        let hooks = json.get(&hook.path)?.map(|found| found.value()).unwrap_or_default();
        if let Some(ours) = hooks.as_array().into_iter().flatten().find(|entry| hook.is_entry(entry)) {
            text = json.pull(&hook.path, ours)?;
        }
    }
    Ok(text)
}

impl InstalledHook {
    /// True for an entry of the settings that an installation wrote.
    fn is_entry(&self, entry: &Value) -> bool {
        let command = entry["hooks"][0]["command"].as_str().unwrap_or_default();
        command.contains(self.words) || self.earlier.is_some_and(|earlier| command.contains(earlier))
    }
}

/// Path of the list of denied tools in Claude Code's settings.
const DENIED_PATH: [&str; 2] = ["permissions", "deny"];

/// The error for a file with unexpected content.
pub(crate) fn invalid_file(name: &str, text: &str, at: usize, what: &str) -> Error {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let above = &text[..at];
    let line = above.matches('\n').count();
    let start = above.rfind('\n').map_or(0, |newline| newline + 1);
    let column = above[start..].chars().count() + 1;
    let shown: String = text[start..].lines().next().unwrap_or_default().chars().take(120).collect();
    Error::new(Code::CallInvalid, format!("{name}:{}:{column}: {what}.", line + 1))
        .evidence(format!("{}\t{shown}", line + 1))
        .next("Correct the file, then repeat the command; nothing was changed.")
}

#[cfg(test)]
mod tests;
