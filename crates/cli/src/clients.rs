//! Configuration files of MCP clients on this machine, and their entries for our server.

use crate::args::{Cli, Command};
use crate::desk::Desk;
use crate::io_error;
use crate::tryout::{self, Spoke};
use emendate::core::{Code, Error, Result, Snapshot};
use emendate::fs::{Local, Store as _, shown};
use emendate_clients::{CLIENTS, Client, Entry, Places, Roots, Scope};
use etcetera::base_strategy::{BaseStrategy as _, choose_base_strategy};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Bytes of a client's file.
const LARGEST: u64 = 64 << 20;

/// Returns the directories in which this user's programs keep their settings.
///
/// Errors: no home directory.
pub(crate) fn places() -> Result<Places> {
    let base = choose_base_strategy().map_err(|_| {
        Error::new(Code::CallInvalid, "There is no home directory, so the clients' files cannot be found.")
            .next("Set HOME, or use --scope project.")
    })?;
    let (home, xdg) = (base.home_dir().to_owned(), base.config_dir());
    let config = if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { xdg.clone() };
    Ok(Places { home, config, xdg })
}

/// Returns a directory named by an environment variable.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the project: the first root.
///
/// Errors: as [`Desk::roots`]; a root that does not exist.
pub(crate) fn project(desk: &Desk<'_>) -> Result<PathBuf> {
    let root = desk.roots()?.into_iter().next().unwrap_or_default();
    root.canonicalize().map_err(|error| io_error(&shown(&root), &error))
}

/// The resolved location of a client's file, and the directory that an edit of it may access.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The file, which may be missing.
    pub(crate) path: PathBuf,
    /// An existing directory above it.
    pub(crate) root: PathBuf,
}

impl Spot {
    /// Resolves a file. A project's file may not lead out of the project; a user's own may be a link to another
    /// location.
    ///
    /// Errors: a broken link.
    pub(crate) fn of(file: &Path, project: Option<&Path>) -> Result<Spot> {
        if let Some(project) = project {
            return Ok(Spot { path: file.to_owned(), root: project.to_owned() });
        }
        if file.is_symlink() && !file.exists() {
            let what = format!("{} is a symbolic link to something that is not there.", shown(file));
            return Err(Error::new(Code::PathSymlink, what).next("Make what it leads to, or remove the link."));
        }
        let Some(there) = file.ancestors().find(|path| path.exists()) else {
            return Err(Error::new(Code::PathInvalid, format!("{} is no path of a file.", shown(file))));
        };
        let real = there.canonicalize().map_err(|error| io_error(&shown(there), &error))?;
        let rest = file.strip_prefix(there).unwrap_or(Path::new(""));
        // Joining an empty path would add a slash.
        let path = if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) };
        let root = if real.is_dir() { real } else { real.parent().unwrap_or(Path::new("/")).to_owned() };
        Ok(Spot { path, root })
    }

    /// Reads the file; `None` if it does not exist.
    ///
    /// Errors: content that is not text or cannot be read.
    pub(crate) fn read(&self) -> Result<Option<Snapshot>> {
        let store = Local::open(std::slice::from_ref(&self.root))?;
        let place = store.admit(&self.path)?;
        let Some(version) = store.read(&place, LARGEST, Vec::new())? else { return Ok(None) };
        let told = |error: Error| error.prefixed(&format!("{}: ", shown(&self.path)));
        Snapshot::open(version.bytes, None).map(Some).map_err(told)
    }
}

/// A client's entry for our server, and the result of starting it.
pub(crate) struct Registered {
    client: &'static Client,
    scope: Scope,
    file: PathBuf,
    /// The command line of the server.
    command: Vec<String>,
    outcome: Outcome,
}

enum Outcome {
    /// It was started and responded.
    Works(Spoke),
    /// It was not started, for this reason.
    Skipped(String),
    /// It failed.
    Broken(String),
}

/// Returns every client that has our server, after starting each server and talking to it.
pub(crate) fn registered(desk: &Desk<'_>) -> Vec<Registered> {
    let Ok(places) = places() else { return Vec::new() };
    let project = project(desk).ok();
    let mut out = Vec::new();
    for client in CLIENTS {
        let user = client.file(Scope::User, &places, Path::new(""), variable).map(|file| (Scope::User, file, None));
        let own = project.as_deref().and_then(|project| {
            Some((Scope::Project, client.file(Scope::Project, &places, project, variable)?, Some(project)))
        });
        for (scope, file, within) in user.into_iter().chain(own) {
            let read = Spot::of(&file, within).and_then(|spot| spot.read());
            let entry = match read {
                Ok(None) => continue,
                Ok(Some(snapshot)) => client.entry(snapshot.text(), &shown(&file)),
                Err(error) => Err(error),
            };
            let (command, outcome) = match entry {
                Ok(None) => continue,
                Ok(Some(entry)) => tried(client, scope, entry, project.as_deref()),
                Err(error) => (Vec::new(), Outcome::Broken(error.message().to_owned())),
            };
            out.push(Registered { client, scope, file, command, outcome });
        }
    }
    out
}

/// Starts the server of an entry.
fn tried(client: &Client, scope: Scope, mut entry: Entry, project: Option<&Path>) -> (Vec<String>, Outcome) {
    let words: Vec<String> = std::iter::once(&entry.command).chain(&entry.args).cloned().collect();
    let folder = project.unwrap_or(Path::new("/"));
    if let Roots::Variable(variable) = client.roots {
        // As the client would substitute it.
        entry.args.iter_mut().for_each(|word| *word = word.replace(variable, &folder.display().to_string()));
    }
    if scope == Scope::Project {
        if !is_ours(&entry) {
            let why =
                "a project's file names another program, or another command of this one; it is not started for you";
            return (words, Outcome::Skipped(why.to_owned()));
        }
        entry.env.retain(|(name, _)| name.starts_with("EMEND_"));
    }
    let outcome = tryout::speak(&entry, folder).map_or_else(Outcome::Broken, Outcome::Works);
    (words, outcome)
}

/// True when an entry starts this very program as an MCP server. An entry that came with a repository may start nothing
/// else.
fn is_ours(entry: &Entry) -> bool {
    let line: Vec<OsString> =
        std::iter::once("emend").chain(entry.args.iter().map(String::as_str)).map(OsString::from).collect();
    let serves =
        || matches!(Cli::parse_line(&line), Ok(Cli { command: Command::Mcp(args), .. }) if args.command.is_none());
    is_this(&entry.command) && serves()
}

/// True when a path is that of the running program.
fn is_this(command: &str) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let own = std::env::current_exe().ok().and_then(|own| real(&own));
    own.is_some() && own == real(Path::new(command))
}

impl Registered {
    /// The problem, for the list of problems.
    pub(crate) fn problem(&self) -> Option<String> {
        let Outcome::Broken(what) = &self.outcome else { return None };
        let again = format!("emend mcp install {}{}", self.client.name, of(self.scope));
        Some(format!("{}: {} (`{again}` writes the entry anew)", self.client.title, what.trim_end_matches('.')))
    }

    /// Remarks on a working entry.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let Outcome::Works(spoke) = &self.outcome else { return Vec::new() };
        let (title, command) = (self.client.title, self.command.first().map_or("", String::as_str));
        let own = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        let other = (!is_this(command)).then(|| format!("{title} starts {command}; this program is {own}."));
        let version = env!("CARGO_PKG_VERSION");
        let old = (spoke.version != version)
            .then(|| format!("{title} runs version {} of the server; this program is {version}.", spoke.version));
        other.into_iter().chain(old).collect()
    }

    /// Formats it on one line.
    pub(crate) fn line(&self) -> String {
        let what = match &self.outcome {
            Outcome::Works(spoke) => format!("answers in {} ms with {} tools", spoke.time.as_millis(), spoke.tools),
            Outcome::Skipped(why) => format!("not tried: {why}"),
            Outcome::Broken(_) => "does not work".to_owned(),
        };
        format!("{}: {what} ({})", self.client.title, shown(&self.file))
    }

    /// Converts it to JSON.
    pub(crate) fn json(&self) -> Value {
        let mut out = json!({
            "client": self.client.name,
            "scope": word(self.scope),
            "file": self.file.display().to_string(),
            "command": self.command,
        });
        match &self.outcome {
            Outcome::Works(spoke) => {
                out["works"] = true.into();
                out["version"] = spoke.version.clone().into();
                out["tools"] = spoke.tools.into();
                out["milliseconds"] = u64::try_from(spoke.time.as_millis()).unwrap_or(u64::MAX).into();
            }
            Outcome::Skipped(why) => out["skipped"] = why.clone().into(),
            Outcome::Broken(what) => {
                out["works"] = false.into();
                out["problem"] = what.clone().into();
            }
        }
        out
    }
}

/// The name of a scope.
pub(crate) fn word(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Project => "project",
    }
}

/// The flag for a scope other than the default.
pub(crate) fn of(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "",
        Scope::Project => " --scope project",
    }
}
