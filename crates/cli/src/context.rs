//! The context of a command: roots, state, configuration and caller, from the flags and the environment.

use crate::global::GlobalArgs;
use crate::session::{self, ConversationFile};
use crate::{io_error, output, parse_worker, trust};
use emendate::core::{Code, Error, ErrorContext, Result};
use emendate::{
    CallContext, ClientInfo, Config, Engine, ParserIsolation, PolicyMode, StateLocation, UnreadPolicy, tool,
};
use etcetera::base_strategy::{BaseStrategy as _, choose_base_strategy};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of our directory below the XDG directories.
const XDG_SUBDIRECTORY: &str = "emendate";
/// Bytes of a schema that the user's own configuration names.
const USER_SCHEMA_BYTES_MAX: u64 = 4 << 20;

/// The settings determined before the engine is opened.
pub(crate) struct CliContext<'a> {
    pub(crate) global: &'a GlobalArgs,
    /// The current directory; `None` if it was removed.
    pub(crate) cwd: Option<PathBuf>,
    unread: UnreadPolicy,
    /// The roots where none are named, in place of the current directory.
    directories: Vec<PathBuf>,
}

impl CliContext<'_> {
    /// Creates the context; `unread` is the command's own policy, which `--unread` overrides.
    pub(crate) fn new(global: &GlobalArgs, unread: UnreadPolicy) -> CliContext<'_> {
        let cwd = std::env::current_dir().ok();
        CliContext { global, cwd, unread: global.unread.unwrap_or(unread), directories: Vec::new() }
    }

    /// Returns the context of a command that works in other directories than the current one; in that one without any.
    pub(crate) fn in_directories(self, directories: Vec<PathBuf>) -> Self {
        CliContext { directories, ..self }
    }

    /// Opens the engine.
    ///
    /// Errors: a root that is not a directory, an invalid configuration file.
    pub(crate) fn open(&self) -> Result<Engine> {
        let state = self.state();
        if state == StateLocation::Nowhere && self.global.state.is_none() {
            output::note("there is no home directory, so reads are forgotten when this process ends; see --state");
        }
        Ok(self.open_with(state, ParserIsolation::Unusual)?.with_process_lifetime())
    }

    /// Prints a note if a tool changes files and no history is kept.
    pub(crate) fn note_missing_history(&self, name: &str) {
        let changes = tool(name).is_some_and(|tool| !tool.annotations.read_only);
        if changes && !self.global.dry_run && self.state() == StateLocation::Nowhere {
            output::note("Changes cannot be undone: without a state directory (--state) no history is kept.");
        }
    }

    /// Opens the engine for a process that answers many calls: without a state directory, sessions are kept in memory.
    ///
    /// Errors: as [`CliContext::open`].
    pub(crate) fn open_for_server(&self) -> Result<Engine> {
        match self.state() {
            StateLocation::Nowhere => self.open_with(StateLocation::Memory, ParserIsolation::Always),
            state => self.open_with(state, ParserIsolation::Always),
        }
    }

    /// Opens the engine to read files without recording it.
    ///
    /// Errors: as [`CliContext::open`].
    pub(crate) fn open_read_only(&self) -> Result<Engine> {
        self.open_with(StateLocation::Memory, ParserIsolation::Unusual)
    }

    fn open_with(&self, state: StateLocation, isolation: ParserIsolation) -> Result<Engine> {
        Ok(parse_worker::isolate_parsing(Engine::open(&self.roots()?, state, self.config()?)?, isolation))
    }

    /// Returns the context for calls from a terminal.
    pub(crate) fn caller(&self) -> CallContext {
        self.caller_for_client("cli", "")
    }

    /// Returns the context for calls through a front end, with its profile if it has one.
    pub(crate) fn caller_for_client(&self, transport: &'static str, profile: &'static str) -> CallContext {
        let model = self.global.model.clone().unwrap_or_default();
        // Programs that run commands within a trace pass it in this variable.
        let traceparent = std::env::var("TRACEPARENT").unwrap_or_default();
        CallContext {
            session: self.session(transport),
            unread: self.unread,
            on_stale: self.global.on_stale,
            dry_run: self.global.dry_run,
            cwd: self.cwd.clone(),
            approval: None,
            line_format: None,
            names_from: None,
            handle: None,
            original_file: false,
            person_reads: transport == "cli" && !self.global.json,
            // A person is asked or warned first, a program has to state it explicitly. Without a history a person gets a
            // note and is not asked at every change.
            irreversible: Some(transport == "cli" && self.state() == StateLocation::Nowhere),
            texts: None,
            turn: self.global.turn_name.clone(),
            shell_of: None,
            client: Some(Arc::new(ClientInfo { transport, profile, model, traceparent, client: String::new() })),
        }
    }

    /// Returns the session of calls through a front end.
    pub(crate) fn session(&self, transport: &str) -> String {
        match (&self.global.session, transport) {
            (Some(named), _) => named.clone(),
            (None, "mcp" | "serve") => session::of_server(transport),
            (None, _) => session::of_command(),
        }
    }

    /// The file in which a client's hooks record which conversation it leads; `None` if the session was named, or
    /// nothing is to be written.
    pub(crate) fn conversation_file(&self) -> Option<ConversationFile> {
        let StateLocation::Directory(state) = self.state() else { return None };
        if self.global.session.is_some() { None } else { ConversationFile::of_client(&state) }
    }

    /// Makes a path of the command line absolute.
    ///
    /// Errors: a relative path if the current directory was removed.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf> {
        if path.is_absolute() { Ok(path.to_owned()) } else { Ok(self.cwd()?.join(path)) }
    }

    fn cwd(&self) -> Result<&Path> {
        self.cwd.as_deref().ok_or_else(|| {
            Error::new(Code::PathInvalid, "The current directory no longer exists, or cannot be used.")
                .next("Change to another directory, or give absolute paths and --root.")
        })
    }

    /// The accessible root directories.
    pub(crate) fn roots(&self) -> Result<Vec<PathBuf>> {
        let named = self.named_roots();
        if !named.is_empty() {
            return named.iter().map(|root| self.absolute(root)).collect();
        }
        if !self.directories.is_empty() {
            return Ok(self.directories.clone());
        }
        let cwd = self.cwd()?;
        // `.git` is a file in worktrees and submodules.
        let repository = cwd.ancestors().find(|folder| folder.join(".git").exists());
        Ok(vec![repository.unwrap_or(cwd).to_owned()])
    }

    /// The roots given explicitly. Not parsed by clap, which would split the option's values at colons too.
    fn named_roots(&self) -> Vec<PathBuf> {
        if !self.global.root.is_empty() {
            return self.global.root.clone();
        }
        let variable = std::env::var_os("EMEND_ROOT").unwrap_or_default();
        std::env::split_paths(&variable).filter(|root| !root.as_os_str().is_empty()).collect()
    }

    /// The location of session state. Without a home directory, there is none. A dry run leaves it as it is.
    pub(crate) fn state(&self) -> StateLocation {
        match self.kept_state() {
            StateLocation::Directory(directory) if self.global.dry_run => StateLocation::Throwaway(directory),
            state => state,
        }
    }

    fn kept_state(&self) -> StateLocation {
        match &self.global.state {
            Some(word) if word == Path::new("none") => StateLocation::Nowhere,
            Some(directory) => self.absolute(directory).map_or(StateLocation::Nowhere, StateLocation::Directory),
            None => {
                // Windows has one directory for what stays on this machine.
                let home = choose_base_strategy().ok().map(|base| base.state_dir().unwrap_or_else(|| base.cache_dir()));
                home.map_or(StateLocation::Nowhere, |home| StateLocation::Directory(home.join(XDG_SUBDIRECTORY)))
            }
        }
    }

    /// The user's own configuration file, whether it exists or not.
    pub(crate) fn user_file() -> Option<PathBuf> {
        choose_base_strategy().ok().map(|base| base.config_dir().join(XDG_SUBDIRECTORY).join("config.toml"))
    }

    /// Returns the user's configuration with the related flags. The engine adds the project's.
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = Config::default().with_home(std::env::home_dir()).with_user_file_loader(Arc::new(own_file));
        if let Some(path) = CliContext::user_file() {
            match std::fs::read_to_string(&path) {
                Ok(text) => config = config.with_file(&text, &path.display().to_string(), true)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
                // A directory that cannot be searched was not set up for this user.
                Err(error)
                    if error.kind() == std::io::ErrorKind::PermissionDenied && path.symlink_metadata().is_err() =>
                {
                    output::note(&format!(
                        "{} cannot be read, so the built-in settings apply: {error}.",
                        path.display()
                    ));
                }
                // The file may contain deny rules, so continuing without them is not an option.
                Err(error) => return Err(io_error(&path.display().to_string(), &error)),
            }
        }
        if config.imports_claude() {
            config = claude_settings(config)?;
        }
        config = trust::with_remembered_rules(self, config)?;
        let typed = &self.global;
        let lists: [(&[String], &str, &str, PolicyMode); 3] = [
            (&typed.allow, "--allow", "EMEND_ALLOW", PolicyMode::Allow),
            (&typed.ask, "--ask", "EMEND_ASK", PolicyMode::Ask),
            (&typed.deny, "--deny", "EMEND_DENY", PolicyMode::Deny),
        ];
        for (flags, flag, variable, mode) in lists {
            let rules = std::env::var(variable).unwrap_or_default();
            let rules = rules.split(':').filter(|rule| !rule.is_empty()).map(|rule| (rule, variable));
            for (rule, origin) in flags.iter().map(|rule| (&**rule, flag)).chain(rules) {
                config = config.with_rule(mode, rule, origin)?;
            }
        }
        if let Some(file) = self.global.events.as_ref().filter(|file| !file.is_empty()) {
            let path =
                if file == "none" { file.clone() } else { self.absolute(Path::new(file))?.display().to_string() };
            config = config.with_events(&path, "--events");
        }
        Ok(match self.global.durability {
            Some(durability) => config.with_durability(durability),
            None => config,
        })
    }

    /// Returns advice on an error for the command line, beyond the next step that the error names.
    pub(crate) fn advice(&self, error: &Error) -> Option<&'static str> {
        Some(match error.code() {
            Code::PathOutside if self.named_roots().is_empty() => {
                "Or add --root with a directory that contains the file."
            }
            // A limit on the size of files is no lack of space.
            Code::IoNoSpace if !error.contexts().iter().any(|it| matches!(it, ErrorContext::SizeLimit(_))) => {
                "`emend gc --days 7` frees space of the history, if it is on that disk."
            }
            Code::ReadRequired => "A read counts in the same --session; --unread allow needs none.",
            _ => return None,
        })
    }
}

/// Returns the text of a schema that the user's own configuration names.
///
/// Errors: the reason, as part of a sentence.
fn own_file(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !size.is_file() || size.len() > USER_SCHEMA_BYTES_MAX {
        return Err("it is not a file, or larger than 4 MiB".to_owned());
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error))
}

/// Describes a file that cannot be read.
fn unreadable(error: &std::io::Error) -> String {
    format!("it cannot be read: {error}")
}

/// Adds the rules for files from the user's and the administrator's settings of Claude Code.
///
/// Errors: existing settings that cannot be read.
fn claude_settings(mut config: Config) -> Result<Config> {
    // Linux, and macOS.
    let managed =
        ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];
    let own = std::env::home_dir().map(|home| home.join(".claude/settings.json"));
    for path in own.into_iter().chain(managed.map(PathBuf::from)) {
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let base = path.parent().unwrap_or(Path::new("/"));
                config = config.with_claude_settings(&text, &path.display().to_string(), base, true)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error(&path.display().to_string(), &error)),
        }
    }
    Ok(config)
}
