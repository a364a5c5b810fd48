//! Four drivers for the engine. All must give the same replies and leave the same files.

mod cli;
mod library;
mod mcp;
mod serve;

use crate::system;
use emendate::core::CODES;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A way to access the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `emendate::Engine` in this process, sessions in memory.
    Library,
    /// One process of `emend call` per call, sessions in the database.
    Cli,
    /// One process of `emend serve --ndjson` per scene.
    Serve,
    /// One process of `emend mcp` per scene, the protocol of 2025-11-25.
    Mcp,
}

/// Every driver. The others are compared with the first one.
pub const KINDS: [Kind; 4] = [Kind::Library, Kind::Cli, Kind::Serve, Kind::Mcp];

/// The environment in which a scene is played.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The `emend` binary; not needed for the library.
    pub emend: Option<PathBuf>,
    /// The engine's root.
    pub root: PathBuf,
    /// Directory for sessions.
    pub state: PathBuf,
    /// Home directory, in which a scene may put a configuration.
    pub home: PathBuf,
}

/// The session of every driver. The same name is used by all, because replies contain it and are compared.
const SESSION: &str = "default";

impl Stage {
    /// Builds the command line of the binary: with flags that make it treat the caller as a model, and an empty
    /// environment.
    fn command(&self) -> Result<Command, String> {
        let emend = self.emend.as_deref().ok_or("there is no emend binary")?;
        let mut command = system::command(emend, &self.home);
        command.current_dir(&self.root).env("NO_COLOR", "1");
        command.arg("--root").arg(&self.root).arg("--state").arg(&self.state).args(["--unread", "deny"]);
        command.args(["--session", SESSION]);
        Ok(command)
    }
}

/// The reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// `None` for success, else the code and its number in the table of the seed documents.
    pub error: Option<(String, Option<u64>)>,
    /// The text for the model.
    pub text: String,
    /// The data for programs; for an error, its facts, with `op` for the operation that failed.
    pub data: Value,
}

impl Reply {
    /// Parses the object that `emend call` and `emend serve` print.
    fn of(object: &Value) -> Result<Reply, String> {
        match object.get("ok").and_then(Value::as_bool) {
            Some(true) => Ok(Reply { error: None, text: part(object, "text")?.to_owned(), data: data(object) }),
            Some(false) => {
                let mut text = part(object, "message")?.to_owned();
                for (before, key) in [("\n", "evidence"), ("\nNext: ", "next")] {
                    if !part(object, key)?.is_empty() {
                        text.push_str(before);
                        text.push_str(part(object, key)?);
                    }
                }
                Reply::failed(object, text)
            }
            None => Err(format!("no ok in {object}")),
        }
    }

    /// Parses the data of an error.
    fn failed(object: &Value, text: String) -> Result<Reply, String> {
        let code = part(object, "code")?;
        let row = CODES.iter().find(|row| row.name == code).ok_or_else(|| format!("no such code: {code}"))?;
        if object.get("retryable").and_then(Value::as_bool) != Some(row.code.retryable()) {
            return Err(format!("retryable is missing or wrong in {object}"));
        }
        let seed = object.get("error_code").ok_or_else(|| format!("no error_code in {object}"))?.as_u64();
        let mut data = data(object);
        if let (Some(data), Some(op)) = (data.as_object_mut(), object.get("op")) {
            data.insert("op".to_owned(), op.clone());
        }
        Ok(Reply { error: Some((code.to_owned(), seed)), text, data })
    }

    /// Returns the exit status for the code of the reply.
    fn exit(&self) -> i32 {
        let code = self.error.as_ref().map(|(code, _)| &**code);
        CODES.iter().find(|row| Some(row.name) == code).map_or(0, |row| emendate::exit_status(row.code).into())
    }
}

fn part<'o>(object: &'o Value, key: &str) -> Result<&'o str, String> {
    object.get(key).and_then(Value::as_str).ok_or_else(|| format!("no text {key} in {object}"))
}

fn data(object: &Value) -> Value {
    object.get("data").cloned().unwrap_or_else(|| Value::Object(Map::new()))
}

/// An open connection to the engine.
pub trait Driver {
    /// Calls a tool with the JSON text of its input.
    ///
    /// # Errors
    /// Fails if there was no reply, or one of an unexpected shape.
    fn call(&mut self, tool: &str, input: &str) -> Result<Reply, String>;

    /// Closes the connection.
    ///
    /// # Errors
    /// Fails if the process does not end properly.
    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

impl Kind {
    /// Returns the name that `skip` and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Library => "library",
            Kind::Cli => "cli",
            Kind::Serve => "serve",
            Kind::Mcp => "mcp",
        }
    }

    /// Opens the connection.
    ///
    /// # Errors
    /// Fails if the engine or the process does not start.
    pub fn open(self, stage: &Stage) -> Result<Box<dyn Driver>, String> {
        Ok(match self {
            Kind::Library => Box::new(library::Library::open(stage)?),
            Kind::Cli => Box::new(cli::Cli::new(stage.clone())),
            Kind::Serve => Box::new(serve::Serve::open(stage)?),
            Kind::Mcp => Box::new(mcp::Mcp::open(stage)?),
        })
    }
}

/// Returns the path of the `emend` binary: that of `EMEND_BIN`, this build's binary if it is newer than the sources, or
/// that of a new build.
///
/// # Errors
/// Returns the output of a failed build.
pub fn emend() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("EMEND_BIN") {
        return Ok(path.into());
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A build of this package alone may build its dependencies again, with other features than a build of the
    // workspace.
    let here = std::env::current_exe().unwrap_or_default();
    // The binary of a test is one directory deeper than that of a program.
    let mut built = here.ancestors().skip(1).take(2).map(|folder| folder.join("emend"));
    if let Some(path) = built.find(|path| is_fresh(path, &repository)) {
        return Ok(path);
    }
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(&repository);
    build.args(["build", "--quiet", "-p", "emendate-cli", "--message-format", "json-render-diagnostics"]);
    let done = build.output().map_err(|error| error.to_string())?;
    let lines = String::from_utf8_lossy(&done.stdout).into_owned();
    let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let made = messages.filter_map(|it| it.get("executable")?.as_str().map(PathBuf::from)).next_back();
    made.ok_or_else(|| format!("cannot build emend: {}", String::from_utf8_lossy(&done.stderr)))
}

/// Returns true if the binary is newer than all of its sources.
fn is_fresh(binary: &Path, repository: &Path) -> bool {
    let time = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let Some(made) = time(binary) else { return false };
    let mut open = vec![repository.join("crates"), repository.join("Cargo.toml"), repository.join("Cargo.lock")];
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => open.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) if time(&path).is_none_or(|changed| changed >= made) => return false,
            Err(_) => {}
        }
    }
    true
}
