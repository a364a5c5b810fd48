//! `emend mcp install` and `uninstall`: adds our server to the files of clients, written through the engine like any
//! edit.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use crate::args::profile_parser;
use crate::clients::{self, ConfigLocation, of, places, project_root, variable};
use crate::config::installed;
use crate::context::CliContext;
use crate::flags::quoted;
use crate::{approval, help, output};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use emendate::core::{Code, Error, Result, Snapshot};
use emendate::fs::{Durability, FileWrite, LocalStore, NewState, Precondition, Store as _, shown};
use emendate::{Answer, Engine, Profile, Reply, ReplyLimits, SeedCodes};
use emendate_clients::{
    BUILTINS, CLIENTS, CREATED_VARIABLE, Client, InstallScope, REPLACES_VARIABLE, RootDiscovery, ServerEntry, allow,
    client, deny, hook_reads, unhook_reads,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Suffix of the backup of a file.
const BACKUP_SUFFIX: &str = ".emend-backup";

/// Other commands of `emend mcp`.
#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Add this server to the configuration of a client
    #[command(after_help = help::INSTALL)]
    Install(InstallArgs),
    /// Remove this server from the configuration of a client
    #[command(after_help = help::INSTALL)]
    Uninstall(ClientArgs),
}

/// A client and which of its files.
#[derive(Args)]
pub(crate) struct ClientArgs {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = client_parser())]
    pub(crate) client: &'static Client,
    /// The file for all your sessions, or the one in the project
    #[arg(long, value_name = "SCOPE", value_enum, default_value = "user")]
    pub(crate) scope: ScopeArg,
}

/// `emend mcp install`.
#[derive(Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) at: ClientArgs,
    /// Set of tools to offer, and their names [default: default; claude with --replace-builtins]
    #[arg(long, value_name = "P", value_parser = profile_parser())]
    pub(crate) profile: Option<&'static Profile>,
    /// Deny the client's own tools for editing, so that it uses these (Claude Code)
    #[arg(long)]
    pub(crate) replace_builtins: bool,
    /// Create the file even if the client does not seem to be installed
    #[arg(long)]
    pub(crate) force: bool,
}

/// Whose sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// All of yours
    User,
    /// Those in this project, for all who work on it
    Project,
}

fn client_parser() -> impl clap::builder::TypedValueParser<Value = &'static Client> {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
        .try_map(|name| client(&name).ok_or("there is no such client"))
}

/// Runs the command; returns the exit status.
///
/// Errors: refused edits.
pub(crate) fn run(desk: &CliContext<'_>, command: &McpCommand) -> Result<u8> {
    match command {
        McpCommand::Install(args) => install(desk, args),
        McpCommand::Uninstall(args) => uninstall(desk, args),
    }
}

/// The files of one client in one scope.
struct ClientFiles {
    client: &'static Client,
    scope: InstallScope,
    /// The file with its servers.
    servers: ConfigLocation,
    /// The file in which its own tools are denied.
    settings: Option<ConfigLocation>,
    project: PathBuf,
    /// The client seems to be installed.
    installed: bool,
}

impl ClientFiles {
    fn of(desk: &CliContext<'_>, args: &ClientArgs) -> Result<ClientFiles> {
        let (client, places, project) = (args.client, places()?, project_root(desk)?);
        let scope = if args.scope == ScopeArg::User { InstallScope::User } else { InstallScope::Project };
        let file = client.file(scope, &places, &project, variable).ok_or_else(|| {
            Error::new(Code::CallInvalid, format!("{} has no configuration of a project.", client.title))
                .next("Omit --scope, and name the directories with --root.")
        })?;
        let within = (scope == InstallScope::Project).then_some(&*project);
        let settings = client.settings(scope, &places, &project, variable);
        let settings = settings.map(|file| ConfigLocation::locate(&file, within)).transpose()?;
        // A client that was never started has no file yet.
        let on_path = client.program.is_some_and(installed);
        let installed = on_path || file.exists() || client.installed_marker(&places, variable).exists();
        Ok(ClientFiles { client, scope, servers: ConfigLocation::locate(&file, within)?, settings, project, installed })
    }
}

fn install(desk: &CliContext<'_>, args: &InstallArgs) -> Result<u8> {
    let files = ClientFiles::of(desk, &args.at)?;
    let client = files.client;
    if files.scope == InstallScope::User && !files.installed && !args.force {
        let what =
            format!("{} does not seem to be installed: {} is not there.", client.title, shown(&files.servers.path));
        return Err(Error::new(Code::FileMissing, what).next("Start it once, or repeat the command with --force."));
    }
    if args.replace_builtins && files.settings.is_none() {
        let what = format!("The built-in tools of {} cannot be disabled from here.", client.title);
        return Err(Error::new(Code::CallInvalid, what).next("Omit --replace-builtins."));
    }
    let before = PriorFile::read(files.servers)?;
    let known = client.entry(before.text(), &before.name())?;
    let is_first = known.is_none();
    let mut marker = known.as_ref().and_then(ServerEntry::replaced_tools).unwrap_or_default();
    let mut created = known.as_ref().map_or([0, 0], ServerEntry::created_directories);
    created[0] += before.missing_directories();
    let mut changes = Vec::new();
    let mut taken = Vec::new();
    let mut entry =
        ServerEntry { command: program()?, args: arguments(desk, client, files.scope, args)?, env: Vec::new() };
    if let Some(spot) = files.settings.filter(|_| args.replace_builtins) {
        let before = PriorFile::read(spot)?;
        let (text, fresh) = deny(before.text(), BUILTINS, &before.name())?;
        let text = hook_reads(&text, &quoted(&entry.command), &hook_options(&entry), &before.name())?;
        created[1] += before.missing_directories();
        let is_original = marker.is_empty();
        taken.clone_from(&fresh);
        marker.extend(fresh);
        changes.push(before.to(text, is_original));
    }
    if !marker.is_empty() {
        entry.env.push((REPLACES_VARIABLE.to_owned(), marker.join(",")));
    }
    if created != [0, 0] {
        entry.env.push((CREATED_VARIABLE.to_owned(), format!("{},{}", created[0], created[1])));
    }
    let text = client.install(before.text(), &entry, &before.name())?;
    // Servers first: an entry whose tools are not denied yet is harmless, denied tools without an entry are not.
    changes.insert(0, before.to(text, is_first));
    let mut told = vec![format!("{} starts: {} {}", client.title, entry.command, entry.args.join(" "))];
    if !taken.is_empty() {
        told.push(format!(
            "{} can no longer use its own {} (permissions.deny), so it edits with emend's tools. A hook makes what its own Read shows count as read. Your earlier deny rules are unchanged.",
            client.title,
            taken.join(", ")
        ));
    }
    told.push(format!("To remove it: emend mcp uninstall {}{}", client.name, of(files.scope)));
    finish(desk, client, files.scope, &files.project, changes, told)
}

fn uninstall(desk: &CliContext<'_>, args: &ClientArgs) -> Result<u8> {
    let files = ClientFiles::of(desk, args)?;
    let client = files.client;
    let before = PriorFile::read(files.servers)?;
    let entry = client.entry(before.text(), &before.name())?;
    let text = if before.snapshot.is_some() { client.uninstall(before.text(), &before.name())? } else { String::new() };
    let mut changes = Vec::new();
    let marker = entry.as_ref().and_then(ServerEntry::replaced_tools).unwrap_or_default();
    let created = entry.as_ref().map_or([0, 0], ServerEntry::created_directories);
    let mut told = Vec::new();
    if let Some(spot) = files.settings {
        let settings = PriorFile::read(spot)?;
        if settings.snapshot.is_some() {
            let text = allow(settings.text(), &marker, &settings.name())?;
            let text = unhook_reads(&text, &settings.name())?;
            changes.push(settings.to(text, false).taken_out(created[1])?);
        }
        if !marker.is_empty() {
            told.push(format!("{} has its own {} again.", client.title, marker.join(", ")));
        }
    }
    changes.push(before.to(text, false).taken_out(created[0])?);
    finish(desk, client, files.scope, &files.project, changes, told)
}

/// Returns the options of the hooks' commands: the roots of the server.
fn hook_options(entry: &ServerEntry) -> String {
    let roots = entry.args.windows(2).filter(|pair| pair[0] == "--root");
    roots.map(|pair| format!(" --root {}", quoted(&pair[1]))).collect()
}

/// Returns the path of this program.
///
/// Errors: it is unknown, or cannot be written into such a file.
fn program() -> Result<String> {
    let path = std::env::current_exe()
        .map_err(|error| path_refusal(format!("The path of this program cannot be determined: {error}.")))?;
    if !path.exists() {
        return Err(path_refusal(format!("This program is no longer at {}.", shown(&path))));
    }
    path.into_os_string()
        .into_string()
        .map_err(|path| path_refusal(format!("{} is not text.", shown(Path::new(&path)))))
}

/// Refuses a path that clients could not start.
fn path_refusal(what: String) -> Error {
    Error::new(Code::PathInvalid, what).next("Start emend by the path it is installed at.")
}

/// Returns the arguments of the server.
///
/// Errors: a client that requires explicit directories; missing directories.
fn arguments(desk: &CliContext<'_>, client: &Client, scope: InstallScope, args: &InstallArgs) -> Result<Vec<String>> {
    let mut words = vec!["mcp".to_owned()];
    let replaced = args.replace_builtins.then(|| emendate::profile("claude")).flatten();
    if let Some(profile) = args.profile.or(replaced) {
        words.extend(["--profile".to_owned(), profile.name.to_owned()]);
    }
    let mut roots = Vec::new();
    // In a project's file the directory is the project, wherever it is on the machine that reads the file.
    if scope == InstallScope::User {
        for root in &desk.global.root {
            let root = desk.absolute(root)?;
            let real = root.canonicalize().map_err(|error| crate::io_error(&shown(&root), &error))?;
            let text = real.into_os_string().into_string();
            roots.push(text.map_err(|_| Error::new(Code::PathInvalid, format!("{} is not text.", shown(&root))))?);
        }
    }
    match client.roots {
        RootDiscovery::Variable(variable) if roots.is_empty() => roots.push(variable.to_owned()),
        RootDiscovery::Named if roots.is_empty() => {
            let what = format!(
                "{} does not start its servers in a project directory, so you must name the directories that may be accessed.",
                client.title
            );
            return Err(Error::new(Code::CallInvalid, what)
                .next(format!("emend mcp install {} --root DIR, once or several times.", client.name)));
        }
        _ => {}
    }
    words.extend(roots.into_iter().flat_map(|root| ["--root".to_owned(), root]));
    Ok(words)
}

/// A file before the change.
struct PriorFile {
    spot: ConfigLocation,
    snapshot: Option<Snapshot>,
}

impl PriorFile {
    fn read(spot: ConfigLocation) -> Result<PriorFile> {
        let snapshot = spot.read()?;
        Ok(PriorFile { spot, snapshot })
    }

    fn text(&self) -> &str {
        self.snapshot.as_ref().map_or("", Snapshot::text)
    }

    fn name(&self) -> String {
        shown(&self.spot.path)
    }

    /// Returns the change to this text; `is_original` for a file that this program has not changed before.
    fn to(self, text: String, is_original: bool) -> ConfigChange {
        ConfigChange { before: self, text, is_original, removal: None, restored_backup: false }
    }

    /// Returns how many directories above the file do not exist.
    fn missing_directories(&self) -> usize {
        self.spot.path.ancestors().skip(1).take_while(|directory| !directory.exists()).count()
    }

    /// Returns the path of the backup.
    fn backup_path(&self) -> PathBuf {
        PathBuf::from(format!("{}{BACKUP_SUFFIX}", self.name()))
    }
}

/// A file and its new content.
struct ConfigChange {
    before: PriorFile,
    text: String,
    /// The file is its owner's, without anything of ours; only such a file is backed up.
    is_original: bool,
    /// The file was created by this program and is removed, with this many directories above it if they are empty.
    removal: Option<usize>,
    /// The file becomes what its backup is, so the backup is removed.
    restored_backup: bool,
}

impl ConfigChange {
    fn is_one(&self) -> bool {
        self.before.text() != self.text || self.removal.is_some()
    }

    /// The same change for an uninstallation: a file that the installation created is removed, and so is a backup that is
    /// no longer needed. Every file that existed before has a backup.
    ///
    /// Errors: a backup that cannot be read.
    fn taken_out(mut self, created_directories: usize) -> Result<ConfigChange> {
        let backup = self.before.backup_path();
        let kept = ConfigLocation { path: backup.clone(), root: self.before.spot.root.clone() }.read()?;
        let changes = self.before.text() != self.text;
        match kept {
            Some(kept) => self.restored_backup = changes && kept.text() == self.text,
            None if changes && matches!(self.text.trim(), "" | "{}") => self.removal = Some(created_directories),
            None => {}
        }
        Ok(self)
    }

    /// Removes what the installation created beside the content of the file. Failures leave something that does no harm.
    fn clean_up(&self) {
        if self.restored_backup {
            let _ = std::fs::remove_file(self.before.backup_path());
        }
        for directory in self.before.spot.path.ancestors().skip(1).take(self.removal.unwrap_or(0)) {
            // A directory that is not empty stays.
            let _ = std::fs::remove_dir(directory);
        }
    }

    /// Opens an engine that may edit this file and no other guarded one. Denials by the user remain in force.
    fn engine(&self, desk: &CliContext<'_>) -> Result<Engine> {
        // The person's own command about this very file: the guard is for models.
        let rule = approval::rule_about(&self.before.name());
        let config = desk.config()?.with_allow_rule(&rule, "emend mcp")?;
        Engine::open(std::slice::from_ref(&self.before.spot.root), desk.state(), config)
    }

    fn call(&self, desk: &CliContext<'_>, engine: &Engine, dry_run: bool) -> Reply {
        if self.removal.is_some() {
            let patch = format!("*** Begin Patch\n*** Delete File: {}\n*** End Patch\n", self.before.name());
            let input = json!({ "input": patch, "directory": self.before.spot.root, "dry_run": dry_run });
            return approval::call(desk, |caller| engine.call(caller, "apply", input.clone()));
        }
        let mut input =
            json!({ "file_path": self.before.name(), "content": self.text, "on_stale": "reject", "dry_run": dry_run });
        if let Some(snapshot) = &self.before.snapshot {
            input["tag"] = snapshot.id().tag().to_string().into();
        }
        approval::call(desk, |caller| engine.call(caller, "write", input.clone()))
    }

    /// Copies the file next to itself, byte for byte, with the same mode. A later installation keeps the copy of the
    /// first one.
    fn back_up(&self, durability: Durability) -> Result<Option<PathBuf>> {
        let Some(snapshot) = self.before.snapshot.as_ref().filter(|_| self.is_original) else { return Ok(None) };
        let path = self.before.backup_path();
        let store = LocalStore::open(std::slice::from_ref(&self.before.spot.root))?;
        let (original, place) = (store.resolve_path(&self.before.spot.path)?, store.resolve_path(&path)?);
        let old = store.read(&place, u64::MAX - 1, Vec::new())?;
        let expect = old
            .as_ref()
            .map_or(Precondition::Missing, |old| Precondition::Version { bytes: &old.bytes, meta: &old.meta });
        let pieces = [snapshot.raw()];
        let goal =
            NewState::File { chunks: &pieces, executable: None, mode: None, like: Some(&original), attributes: None };
        store.stage(&[FileWrite { path: &place, precondition: expect, new_state: goal }], durability)?.commit()?;
        Ok(Some(path))
    }
}

/// Makes the changes, after a dry run of all of them, and reports the result.
fn finish(
    desk: &CliContext<'_>,
    client: &Client,
    scope: InstallScope,
    project: &Path,
    changes: Vec<ConfigChange>,
    told: Vec<String>,
) -> Result<u8> {
    let dry_run = desk.global.dry_run;
    let changes: Vec<ConfigChange> = changes.into_iter().filter(ConfigChange::is_one).collect();
    let mut done = Vec::new();
    for change in &changes {
        let engine = change.engine(desk)?;
        if !dry_run {
            change.call(desk, &engine, true).result?;
        }
    }
    for change in &changes {
        let engine = change.engine(desk)?;
        let backup = if dry_run { None } else { change.back_up(desk.global.durability.unwrap_or_default())? };
        let reply = change.call(desk, &engine, dry_run);
        output::notices(&engine);
        let Answer { text, data, .. } = reply.result?;
        if !dry_run {
            change.clean_up();
        }
        done.push((Answer { text, data, ..Answer::default() }, backup, engine.roots()[0].to_owned()));
    }
    let head = match (changes.is_empty(), dry_run) {
        (true, _) => format!("{}: nothing to do; the configuration is as it should be.", client.title),
        (false, true) => format!("{}: nothing was written.", client.title),
        (false, false) => format!("{}: done. Restart {0} for the change to take effect.", client.title),
    };
    if desk.global.json {
        let mut data = Map::new();
        data.insert("client".to_owned(), client.name.into());
        data.insert("scope".to_owned(), clients::word(scope).into());
        data.insert("project".to_owned(), shown(project).into());
        data.insert(
            "files".to_owned(),
            done.iter().map(|(answer, backup, root)| answer_data(answer, backup.as_deref(), root)).collect(),
        );
        data.insert("notes".to_owned(), told.into());
        return Ok(output::json(&Reply::new(
            Ok(Answer { text: head, data, ..Answer::default() }),
            SeedCodes::None,
            ReplyLimits::default(),
            "",
        )));
    }
    let mut out = output::stdout();
    let listed = done.iter().try_for_each(|(answer, backup, root)| {
        out.answer(answer)?;
        if let Some(backup) = backup {
            out.plain(&format!("backup: {}", shown(backup)))?;
        }
        undo_command(answer, root).map_or(Ok(()), |command| out.plain(&format!("undo: {command}")))
    });
    let rest = listed.and_then(|()| told.iter().try_for_each(|line| out.plain(line)));
    output::ignore_broken_pipe(rest.and_then(|()| out.heading(&head)).and_then(|()| out.flush()))?;
    Ok(0)
}

/// Returns the data of one changed configuration.
fn answer_data(answer: &Answer, backup: Option<&Path>, root: &Path) -> Value {
    let mut data = answer.data.clone();
    data.insert("backup".to_owned(), backup.map(shown).into());
    data.insert("root".to_owned(), shown(root).into());
    Value::Object(data)
}

/// Returns the command that takes the change of a client's file back.
fn undo_command(answer: &Answer, root: &Path) -> Option<String> {
    let id = answer.data.get("operation").and_then(Value::as_str)?;
    // A removal is an edit of any number of files.
    let file = answer.data.get("filePath").or_else(|| answer.data.get("files")?[0].get("filePath"));
    let allow = approval::rule_about(file.and_then(Value::as_str).unwrap_or_default());
    Some(format!("emend undo {id} --root '{}' --allow '{allow}'", root.display()))
}
