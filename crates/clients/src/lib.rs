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

mod hooks;
mod json;
mod layout;
mod record;
mod table;
mod toml;

pub use hooks::{ClientHook, ClientSettings, HookScripts, HookShape};
pub use record::{InstallRecord, Withdrawal};
pub use table::{
    CLIENTS, Client, ConfigDirs, ConfigFormat, DropIn, EntryShape, InstallScope, PassedEnvironment, RootDiscovery,
    client,
};

use emendate_core::{Code, Error, Result};
use json::JsonFile;
use serde_json::{Map, Value};

/// Name of our server in every client.
pub const SERVER_NAME: &str = "emend";

/// Environment variable of an entry that names the built-in tools that were denied along with it.
pub const REPLACES_VARIABLE: &str = "EMEND_REPLACES";

/// Environment variable of an entry that has the number of directories that were created for the client's files: for the
/// one with its servers, and for the one with its settings.
pub const CREATED_VARIABLE: &str = "EMEND_CREATED";

/// Fields in which clients' files say their version, and the last one that is known here.
const KNOWN_VERSIONS: [(&str, u64); 2] = [("$version", 2), ("version", 1)];

/// The command with which a client starts a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEntry {
    /// The program.
    pub command: String,
    /// The arguments of the command.
    pub args: Vec<String>,
    /// Variables added to its environment.
    pub env: Vec<(String, String)>,
}

impl ServerEntry {
    /// Reads an entry of a client's file; `None` if it names no program, like one for a remote server.
    pub(crate) fn read(fields: &Value) -> Option<ServerEntry> {
        // Some versions of Zed nested the program.
        let fields = if fields["command"].is_object() { &fields["command"] } else { fields };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = |name: &str| fields[name].as_array().into_iter().flatten().filter_map(text);
        let mut in_one_list = texts("command");
        let command = in_one_list.next().or_else(|| text(&fields["command"])).or_else(|| text(&fields["path"]))?;
        let args = in_one_list.chain(texts("args")).collect();
        let env = ["env", "environment"].into_iter().filter_map(|name| fields[name].as_object()).flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect();
        Some(ServerEntry { command, args, env })
    }

    /// Returns the fields of the entry, in the order of writing; omits an empty environment.
    fn fields(&self, client: &Client) -> Map<String, Value> {
        let value = |value: &str| if value == "true" { Value::Bool(true) } else { Value::from(value) };
        let fixed = client.fixed_fields.iter().map(|(name, fixed)| ((*name).to_owned(), value(fixed)));
        let mut out: Map<String, Value> = fixed.collect();
        if client.shape == EntryShape::OneList {
            let words: Vec<&str> =
                std::iter::once(&*self.command).chain(self.args.iter().map(String::as_str)).collect();
            out.insert("command".to_owned(), words.into());
        } else {
            out.insert("command".to_owned(), self.command.clone().into());
            out.insert("args".to_owned(), self.args.clone().into());
        }
        if !self.env.is_empty() {
            let env = self.env.iter().map(|(name, value)| (name.clone(), Value::from(value.clone())));
            out.insert(client.environment_field().to_owned(), Value::Object(env.collect()));
        }
        out
    }
}

impl Client {
    /// Returns the entry of our server, if the file has one that starts a program. `name` is the file's, for messages.
    ///
    /// Errors: `call.invalid` with line and column for a file that cannot be parsed, or that has something else there.
    pub fn entry(&self, text: &str, name: &str) -> Result<Option<ServerEntry>> {
        Ok(self.entry_fields(text, name)?.as_ref().and_then(ServerEntry::read))
    }

    /// True for a file that has an entry of our name, also one of a remote server.
    ///
    /// Errors: as [`Client::entry`].
    pub fn has_entry(&self, text: &str, name: &str) -> Result<bool> {
        Ok(self.entry_fields(text, name)?.is_some())
    }

    fn entry_fields(&self, text: &str, name: &str) -> Result<Option<Value>> {
        match self.format {
            ConfigFormat::Json => JsonFile::parse(text, name)?.object(&[self.key, SERVER_NAME]),
            ConfigFormat::Toml => toml::get(text, self.key, name),
        }
    }

    /// Returns the file with our server. An entry that starts a program keeps its other fields; one of a remote server is
    /// replaced, because clients do not say what an entry with a program and an address means. An empty text means no
    /// file.
    ///
    /// Errors: `call.invalid` with line and column for a file that cannot be parsed, or that has something else there.
    pub fn install(&self, text: &str, entry: &ServerEntry, name: &str) -> Result<String> {
        let fields = entry.fields(self);
        let out = match self.format {
            ConfigFormat::Json => self.install_json(text, &fields, name)?,
            ConfigFormat::Toml => toml::set(text, self.key, &fields, name)?,
        };
        // Verified before it is returned.
        if self.entry(&out, name)?.is_some_and(|kept| kept.command == entry.command && kept.args == entry.args) {
            return Ok(out);
        }
        Err(unverified(name))
    }

    fn install_json(&self, text: &str, fields: &Map<String, Value>, name: &str) -> Result<String> {
        let place = [self.key, SERVER_NAME];
        if self.entry(text, name)?.is_none() {
            return JsonFile::parse(text, name)?.set(&place, &Value::Object(fields.clone()));
        }
        // In the form of other clients, the arguments are beside the command.
        let mut out = match fields.get("args") {
            None => JsonFile::parse(text, name)?.remove(&[self.key, SERVER_NAME, "args"])?,
            Some(_) => text.to_owned(),
        };
        let environment = self.environment_field();
        let plain =
            fields.iter().filter(|(field, _)| *field != environment).map(|(field, value)| (vec![&**field], value));
        let env = fields.get(environment).and_then(Value::as_object).into_iter().flatten();
        for (inner, value) in plain.chain(env.map(|(name, value)| (vec![environment, &**name], value))) {
            out = JsonFile::parse(&out, name)?.set(&[&place[..], &inner].concat(), value)?;
        }
        Ok(out)
    }

    /// The field of an entry with its environment.
    fn environment_field(&self) -> &'static str {
        if self.shape == EntryShape::OneList { "environment" } else { "env" }
    }

    /// Refuses a file that a newer version of the client wrote, as its `version` says: it may mean something else there.
    ///
    /// Errors: `call.invalid`; those of [`Client::entry`].
    pub fn check_version(&self, text: &str, name: &str, format: ConfigFormat) -> Result<()> {
        let value = match format {
            ConfigFormat::Json => JsonFile::parse(text, name)?.get(&[])?.map(|root| root.value()),
            ConfigFormat::Toml => toml::whole(text),
        };
        let number = |field: &str| value.as_ref()?.get(field)?.as_str()?.parse::<u64>().ok();
        let newer = KNOWN_VERSIONS.iter().find_map(|(field, known)| number(field).filter(|version| version > known));
        let Some(version) = newer else { return Ok(()) };
        let what = format!("{name} is of version {version}, which is newer than this emend knows.");
        Err(Error::new(Code::CallInvalid, what).next(format!(
            "Nothing was changed. Update emend, or add the server `emend mcp` in {} itself.",
            self.title
        )))
    }

    /// True if the file consists of this entry, exactly as an installation without a file before it writes it.
    pub fn is_only_entry(&self, text: &str, entry: &ServerEntry) -> bool {
        self.install("", entry, "").is_ok_and(|fresh| fresh.trim() == text.trim())
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

/// The error for a change that is not in the file after it was made.
pub(crate) fn unverified(name: &str) -> Error {
    Error::new(Code::InternalBug, format!("{name}: the entry could not be read back correctly after writing."))
        .next("Please report this. Nothing was written.")
}

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
