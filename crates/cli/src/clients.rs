//! Configuration files of MCP clients on this machine, and their entries for our server.

use crate::args::{Cli, Command};
use crate::context::CliContext;
use crate::io_error;
use crate::probe::{self, ProbeReport};
use emendate::core::{Code, Error, Result, Snapshot};
use emendate::fs::{LocalStore, Store as _, shown};
use emendate_clients::{CLIENTS, Client, ConfigDirs, InstallScope, RootDiscovery, ServerEntry};
use etcetera::base_strategy::{BaseStrategy as _, choose_base_strategy};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Bytes of a client's file.
const CLIENT_FILE_BYTES_MAX: u64 = 64 << 20;

/// Returns the directories in which this user's programs keep their settings.
///
/// Errors: no home directory.
pub(crate) fn places() -> Result<ConfigDirs> {
    let base = choose_base_strategy().map_err(|_| {
        Error::new(Code::CallInvalid, "There is no home directory, so the clients' files cannot be found.")
            .next("Set HOME, or use --scope project.")
    })?;
    let (home, xdg) = (base.home_dir().to_owned(), base.config_dir());
    let config = if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { xdg.clone() };
    let documents = documents(&home, &xdg);
    Ok(ConfigDirs { home, config, xdg, documents })
}

/// Returns the directory of documents, which desktops on Linux name in the user's language.
fn documents(home: &Path, xdg: &Path) -> PathBuf {
    let names = std::fs::read_to_string(xdg.join("user-dirs.dirs")).unwrap_or_default();
    let named = names.lines().find_map(|line| line.trim().strip_prefix("XDG_DOCUMENTS_DIR=\"")?.strip_suffix('"'));
    match named.map(|named| named.strip_prefix("$HOME/").map_or_else(|| PathBuf::from(named), |below| home.join(below)))
    {
        Some(directory) if directory.is_absolute() => directory,
        _ => home.join("Documents"),
    }
}

/// Returns a directory named by an environment variable.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the project: the first root.
///
/// Errors: as [`CliContext::roots`]; a root that does not exist.
pub(crate) fn project_root(context: &CliContext<'_>) -> Result<PathBuf> {
    let root = context.roots()?.into_iter().next().unwrap_or_default();
    root.canonicalize().map_err(|error| io_error(&shown(&root), &error))
}

/// The resolved location of a client's file, and the directory that an edit of it may access.
#[derive(Debug)]
pub(crate) struct ConfigLocation {
    /// The file, which may be missing.
    pub(crate) path: PathBuf,
    /// An existing directory above it.
    pub(crate) root: PathBuf,
}

impl ConfigLocation {
    /// Resolves a file. A project's file may not lead out of the project; a user's own may be a link to another
    /// location.
    ///
    /// Errors: a broken link.
    pub(crate) fn locate(file: &Path, project: Option<&Path>) -> Result<ConfigLocation> {
        if let Some(project) = project {
            return Ok(ConfigLocation { path: file.to_owned(), root: project.to_owned() });
        }
        if file.is_symlink() && !file.exists() {
            let what = format!("{} is a symbolic link whose target does not exist.", shown(file));
            return Err(Error::new(Code::PathSymlink, what).next("Create its target, or remove the link."));
        }
        let Some(there) = file.ancestors().find(|path| path.exists()) else {
            return Err(Error::new(Code::PathInvalid, format!("{} is not the path of a file.", shown(file))));
        };
        let real = there.canonicalize().map_err(|error| io_error(&shown(there), &error))?;
        let rest = file.strip_prefix(there).unwrap_or(Path::new(""));
        // Joining an empty path would add a slash.
        let path = if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) };
        let root = if real.is_dir() { real } else { real.parent().unwrap_or(Path::new("/")).to_owned() };
        Ok(ConfigLocation { path, root })
    }

    /// Reads the file; `None` if it does not exist.
    ///
    /// Errors: content that is not text or cannot be read.
    pub(crate) fn read(&self) -> Result<Option<Snapshot>> {
        let store = LocalStore::open(std::slice::from_ref(&self.root))?;
        let place = store.resolve_path(&self.path)?;
        let Some(version) = store.read(&place, CLIENT_FILE_BYTES_MAX, Vec::new())? else { return Ok(None) };
        Snapshot::open(version.bytes, None)
            .map(Some)
            .map_err(|error| error.prefixed(&format!("{}: ", shown(&self.path))))
    }
}

/// A client's entry for our server, and the result of starting it.
pub(crate) struct Registration {
    client: &'static Client,
    scope: InstallScope,
    file: PathBuf,
    /// The command line of the server.
    command: Vec<String>,
    outcome: ProbeOutcome,
}

enum ProbeOutcome {
    /// The server was started and responded.
    Works(ProbeReport),
    /// The server was not started, for this reason.
    Skipped(String),
    /// The server failed, for this reason.
    Broken(String),
    /// The file that names the server cannot be understood, for this reason.
    Unreadable(String),
}

/// Returns every client that has our server, after starting each server and talking to it.
pub(crate) fn find_registrations(context: &CliContext<'_>) -> Vec<Registration> {
    let Ok(places) = places() else { return Vec::new() };
    let project = project_root(context).ok();
    let mut out = Vec::new();
    for client in CLIENTS {
        let user = client
            .file(InstallScope::User, &places, Path::new(""), variable)
            .map(|file| (InstallScope::User, file, None));
        let own = project.as_deref().and_then(|project| {
            Some((
                InstallScope::Project,
                client.file(InstallScope::Project, &places, project, variable)?,
                Some(project),
            ))
        });
        for (scope, file, within) in user.into_iter().chain(own) {
            let read = ConfigLocation::locate(&file, within).and_then(|spot| spot.read());
            let entry = match read {
                Ok(None) => continue,
                Ok(Some(snapshot)) => client.entry(snapshot.text(), &shown(&file)),
                Err(error) => Err(error),
            };
            let (command, outcome) = match entry {
                Ok(None) => continue,
                Ok(Some(entry)) => tried(client, scope, entry, project.as_deref()),
                Err(error) => (Vec::new(), ProbeOutcome::Unreadable(error.message().to_owned())),
            };
            out.push(Registration { client, scope, file, command, outcome });
        }
    }
    out
}

/// Returns the problems of hooks in the users' settings: they run in a shell, whose program may be gone.
pub(crate) fn hook_problems() -> Vec<String> {
    let Ok(places) = places() else { return Vec::new() };
    let mut out = Vec::new();
    for client in CLIENTS {
        let programs = hook_programs(client, &places);
        let gone = programs.into_iter().filter(|program| {
            let path = Path::new(program.trim_matches('\''));
            path.is_absolute() && !path.exists()
        });
        out.extend(gone.map(|program| {
            format!(
                "{}: its hooks start {program}, which is not there (`emend setup --client {}` rewrites them)",
                client.title, client.name
            )
        }));
    }
    out
}

/// Returns the programs that a client's hooks start, as a shell reads them.
fn hook_programs(client: &Client, places: &ConfigDirs) -> Vec<String> {
    let read = |file: &Path| ConfigLocation::locate(file, None).and_then(|spot| spot.read()).ok().flatten();
    let mut programs = Vec::new();
    let file = client.settings(InstallScope::User, places, Path::new(""), variable);
    if let (Some(settings), Some(file)) = (client.settings, file)
        && let Some(snapshot) = read(&file)
    {
        programs = settings.installed(snapshot.text(), &shown(&file)).unwrap_or_default();
    }
    if let Some(scripts) = client.scripts {
        let texts = client.scripts(places).into_iter().filter_map(|(file, _)| read(&file));
        programs.extend(texts.filter_map(|text| scripts.program(text.text()).map(str::to_owned)));
        programs.dedup();
    }
    programs
}

/// Starts the server of an entry.
fn tried(
    client: &Client,
    scope: InstallScope,
    mut entry: ServerEntry,
    project: Option<&Path>,
) -> (Vec<String>, ProbeOutcome) {
    let words: Vec<String> = std::iter::once(&entry.command).chain(&entry.args).cloned().collect();
    let folder = project.unwrap_or(Path::new("/"));
    if let RootDiscovery::Variable(variable) = client.roots {
        // The variable is replaced as the client would do it.
        entry.args.iter_mut().for_each(|word| *word = word.replace(variable, &folder.display().to_string()));
    }
    if scope == InstallScope::Project {
        if !is_ours(&entry) {
            let why =
                "a project's file names another program, or another command of this one; it is not started for you";
            return (words, ProbeOutcome::Skipped(why.to_owned()));
        }
        entry.env.retain(|(name, _)| name.starts_with("EMEND_"));
    }
    let outcome =
        probe::probe_server(&entry, folder, client.environment).map_or_else(ProbeOutcome::Broken, ProbeOutcome::Works);
    (words, outcome)
}

/// True when an entry starts this very program as an MCP server. An entry that came with a repository may start nothing
/// else.
fn is_ours(entry: &ServerEntry) -> bool {
    let line: Vec<OsString> =
        std::iter::once("emend").chain(entry.args.iter().map(String::as_str)).map(OsString::from).collect();
    is_this(&entry.command)
        && matches!(Cli::parse_line(&line), Ok(Cli { command: Command::Mcp(args), .. }) if args.command.is_none())
}

/// True when a path is that of the running program.
fn is_this(command: &str) -> bool {
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).ok();
    own.is_some() && own == Path::new(command).canonicalize().ok()
}

impl Registration {
    /// The problem, for the list of problems.
    pub(crate) fn problem(&self) -> Option<String> {
        let what = match &self.outcome {
            ProbeOutcome::Broken(what) => what,
            // Neither setup nor install rewrites such a file.
            ProbeOutcome::Unreadable(what) => {
                let (title, file) = (self.client.title, shown(&self.file));
                return Some(format!("{title}: {} (correct {file})", what.trim_end_matches('.')));
            }
            ProbeOutcome::Works(_) | ProbeOutcome::Skipped(_) => return None,
        };
        let again = match self.scope {
            InstallScope::User => format!("emend setup --client {}", self.client.name),
            InstallScope::Project => format!("emend mcp install {}{}", self.client.name, of(self.scope)),
        };
        Some(format!("{}: {} (`{again}` rewrites the entry)", self.client.title, what.trim_end_matches('.')))
    }

    /// Remarks on a working entry.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let ProbeOutcome::Works(spoke) = &self.outcome else { return Vec::new() };
        let (title, command) = (self.client.title, self.command.first().map_or("", String::as_str));
        let own = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
        let other = (!is_this(command)).then(|| format!("{title} starts {command}; this program is {own}."));
        let version = env!("CARGO_PKG_VERSION");
        let old = (spoke.version != version)
            .then(|| format!("{title} runs version {} of the server; this program is {version}.", spoke.version));
        other.into_iter().chain(old).collect()
    }

    /// True for the entry of that client in that scope.
    pub(crate) fn is_of(&self, client: &Client, scope: InstallScope) -> bool {
        self.client.name == client.name && self.scope == scope
    }

    /// Formats it on one line.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.client.title, self.behavior())
    }

    /// Formats what the server did, and the file that names it.
    pub(crate) fn behavior(&self) -> String {
        let what = match &self.outcome {
            ProbeOutcome::Works(spoke) => {
                format!("answers in {} ms with {} tools", spoke.time.as_millis(), spoke.tools)
            }
            ProbeOutcome::Skipped(why) => format!("not tried: {why}"),
            ProbeOutcome::Broken(_) => "does not work".to_owned(),
            ProbeOutcome::Unreadable(_) => "cannot be read".to_owned(),
        };
        format!("{what} ({})", shown(&self.file))
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
            ProbeOutcome::Works(spoke) => {
                out["works"] = true.into();
                out["version"] = spoke.version.clone().into();
                out["tools"] = spoke.tools.into();
                out["milliseconds"] = u64::try_from(spoke.time.as_millis()).unwrap_or(u64::MAX).into();
            }
            ProbeOutcome::Skipped(why) => out["skipped"] = why.clone().into(),
            ProbeOutcome::Broken(what) | ProbeOutcome::Unreadable(what) => {
                out["works"] = false.into();
                out["problem"] = what.clone().into();
            }
        }
        out
    }
}

/// The name of a scope.
pub(crate) fn word(scope: InstallScope) -> &'static str {
    match scope {
        InstallScope::User => "user",
        InstallScope::Project => "project",
    }
}

/// The flag for a scope other than the default.
pub(crate) fn of(scope: InstallScope) -> &'static str {
    match scope {
        InstallScope::User => "",
        InstallScope::Project => " --scope project",
    }
}
