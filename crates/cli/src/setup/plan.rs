//! Plans of the changes of one client's files.

use super::change::{ConfigChange, PriorFile};
use crate::clients::{ConfigLocation, places, variable};
use crate::context::CliContext;
use crate::flags::quoted;
use crate::programs::installed;
use emendate::core::{Code, Error, Result};
use emendate::fs::shown;
use emendate::{Profile, StateLocation, profile};
use emendate_clients::{
    CREATED_VARIABLE, Client, ClientSettings, ConfigFormat, InstallScope, REPLACES_VARIABLE, RootDiscovery,
    SERVER_NAME, ServerEntry,
};
use etcetera::base_strategy::{BaseStrategy as _, choose_base_strategy};
use std::path::{Path, PathBuf};

/// Variable of an entry that names the state directory.
const STATE_VARIABLE: &str = "EMEND_STATE";

/// Choices of an installation.
#[derive(Clone, Copy, Default)]
pub(crate) struct InstallOptions {
    pub(crate) profile: Option<&'static Profile>,
    /// The client's own tools for editing are replaced.
    pub(crate) replaces: bool,
    /// The client's hooks are installed.
    pub(crate) hooks: bool,
    /// A client that does not say where it works gets the project as its only directory.
    pub(crate) project_as_root: bool,
    /// Files may be links to elsewhere.
    pub(crate) follow_links: bool,
}

/// The files of one client in one scope.
pub(crate) struct ClientFiles {
    pub(crate) client: &'static Client,
    pub(crate) scope: InstallScope,
    pub(crate) project: PathBuf,
    /// The file with its servers.
    pub(crate) servers: PathBuf,
    /// The file with its hooks, in which its own tools are denied.
    settings: Option<PathBuf>,
    /// The scripts of ours that it runs: the file of each, and our name of its event.
    scripts: Vec<(PathBuf, &'static str)>,
    /// The file of ours that replaces its tools.
    drop_in: Option<PathBuf>,
    /// The reason why the client seems to be installed.
    pub(crate) installed: Option<String>,
}

impl ClientFiles {
    /// Finds the files.
    ///
    /// Errors: no home directory; a client without files of a project.
    pub(crate) fn of(client: &'static Client, scope: InstallScope, project: &Path) -> Result<ClientFiles> {
        let places = places()?;
        let servers = client.file(scope, &places, project, variable).ok_or_else(|| {
            Error::new(Code::CallInvalid, format!("{} has no configuration of a project.", client.title))
                .next("Omit --scope, and name the directories with --root.")
        })?;
        let marker = client.installed_marker(&places, variable);
        // A client that was never started has no file yet.
        let installed = if let Some(program) = client.program.filter(|program| installed(program)) {
            Some(format!("the program {program} is on the search path"))
        } else {
            [&servers, &marker].into_iter().find(|path| path.exists()).map(|path| format!("{} exists", shown(path)))
        };
        Ok(ClientFiles {
            client,
            scope,
            project: project.to_owned(),
            settings: client.settings(scope, &places, project, variable),
            // Elsewhere, scripts would have another form.
            scripts: if scope == InstallScope::User && emendate_os::paths::RUNS_SCRIPTS {
                client.scripts(&places)
            } else {
                Vec::new()
            },
            drop_in: client.drop_in(&places, variable).filter(|_| scope == InstallScope::User),
            servers,
            installed,
        })
    }

    /// Returns the location of one of the files, whose links are followed only where that is wanted.
    ///
    /// Errors: `path.symlink`.
    fn locate(&self, file: &Path, follow_links: bool) -> Result<ConfigLocation> {
        let within = (self.scope == InstallScope::Project).then_some(&*self.project);
        if !follow_links && within.is_none() {
            refuse_links(file, &places()?.home)?;
        }
        ConfigLocation::locate(file, within)
    }
}

/// Refuses a file that is a link, or below a directory of the home that is one: what is there may be shared, or belong to
/// a repository of settings.
///
/// Errors: `path.symlink`.
fn refuse_links(file: &Path, home: &Path) -> Result<()> {
    let below = file.strip_prefix(home).ok();
    let mut parts: Vec<&Path> = file.ancestors().take(below.map_or(1, |below| below.components().count())).collect();
    parts.reverse();
    let Some(link) = parts.into_iter().find(|path| path.is_symlink()) else { return Ok(()) };
    let target = std::fs::read_link(link).unwrap_or_default();
    let what = format!("{} is a symbolic link to {}.", shown(link), shown(&target));
    Err(Error::new(Code::PathSymlink, what).next(
        "Nothing was changed. Repeat the command with --follow-links to change what the link leads to, or put a file in \
         place of the link.",
    ))
}

/// The changes of one client's files, in the order in which they are made.
pub(crate) struct ClientPlan {
    pub(crate) client: &'static Client,
    pub(crate) scope: InstallScope,
    pub(crate) project: PathBuf,
    pub(crate) changes: Vec<ConfigChange>,
    /// Files without anything of ours, of which an installation still has a record: it was taken back by `emend undo`.
    pub(crate) leftovers: Vec<PriorFile>,
    /// Notes for people about the situation after the change.
    pub(crate) notes: Vec<String>,
}

/// A file while its changes are planned; the files with servers and settings may be one.
struct Draft {
    prior: PriorFile,
    /// The text with the changes so far.
    text: String,
    /// The present text without anything of ours.
    removed: String,
    format: ConfigFormat,
    meaning: Vec<String>,
    is_executable: bool,
}

/// Opens the draft of a file, or returns the one that is open.
fn draft<'d>(
    context: &CliContext<'_>,
    drafts: &'d mut Vec<Draft>,
    spot: ConfigLocation,
    format: ConfigFormat,
) -> Result<&'d mut Draft> {
    let known = drafts.iter().position(|draft| draft.prior.spot.path == spot.path);
    let at = if let Some(at) = known {
        at
    } else {
        let prior = PriorFile::read(context, spot)?;
        let text = prior.text().to_owned();
        let removed = text.clone();
        drafts.push(Draft { removed, text, prior, format, meaning: Vec::new(), is_executable: false });
        drafts.len() - 1
    };
    Ok(&mut drafts[at])
}

/// Plans an installation.
///
/// Errors: files that cannot be parsed, or must not be changed; unusable directories.
pub(crate) fn install(context: &CliContext<'_>, files: &ClientFiles, wanted: InstallOptions) -> Result<ClientPlan> {
    let client = files.client;
    let mut drafts = Vec::new();
    let mut notes = Vec::new();
    let servers = draft(context, &mut drafts, files.locate(&files.servers, wanted.follow_links)?, client.format)?;
    let name = servers.prior.name();
    client.check_version(&servers.text, &name, client.format)?;
    let known = client.entry(&servers.text, &name)?;
    let has_entry = client.has_entry(&servers.text, &name)?;
    // An entry that somebody else wrote is not ours to take out.
    if has_entry && !is_foreign(client, servers, known.as_ref())? {
        servers.removed = client.uninstall(&servers.removed, &name)?;
    }
    let mut marker = known.as_ref().and_then(ServerEntry::replaced_tools).unwrap_or_default();
    let mut created = known.as_ref().map_or([0, 0], ServerEntry::created_directories);
    created[0] += servers.prior.missing_directories();
    let mut entry = ServerEntry {
        command: program()?,
        args: arguments(context, files, wanted)?,
        env: state_entry(context, files.scope),
    };
    if let (Some(file), Some(settings)) = (&files.settings, client.settings.filter(|_| wanted.replaces || wanted.hooks))
    {
        let draft = draft(context, &mut drafts, files.locate(file, wanted.follow_links)?, ConfigFormat::Json)?;
        if file != &files.servers {
            created[1] += draft.prior.missing_directories();
        }
        let fresh = change_settings(client, &settings, draft, &marker, &entry, wanted.replaces)?;
        if !fresh.is_empty() {
            notes.push(format!(
                "{} can no longer use its own {}, so it edits with emend's tools. What its own reading tool shows counts as \
                 read. Your earlier deny rules are unchanged.",
                client.title,
                fresh.join(", ")
            ));
        }
        marker.extend(fresh);
    }
    if !marker.is_empty() {
        entry.env.push((REPLACES_VARIABLE.to_owned(), marker.join(",")));
    }
    if created != [0, 0] {
        entry.env.push((CREATED_VARIABLE.to_owned(), format!("{},{}", created[0], created[1])));
    }
    // Servers first: an entry whose tools are not denied yet is harmless, denied tools without an entry are not.
    let servers = &mut drafts[0];
    servers.text = client.install(&servers.text, &entry, &servers.prior.name())?;
    let line = format!("{} {}", entry.command, entry.args.join(" "));
    let verb = if has_entry { "changes" } else { "adds" };
    servers.meaning.insert(0, format!("{verb} the server emend: {line}"));
    if client.roots == RootDiscovery::Named && context.global.root.is_empty() {
        // The client would not say where it works, so this is easily missed.
        servers.meaning.insert(1, "which reaches only that directory; --root DIR names others".to_owned());
    }
    notes.insert(0, format!("{} starts: {line}", client.title));
    if wanted.hooks {
        scripts(context, files, wanted, &entry, &mut drafts)?;
    }
    if wanted.replaces {
        drop_in(context, files, wanted, &entry.command, &mut drafts)?;
    }
    let changes = drafts.into_iter().map(|draft| {
        let mut change = ConfigChange::install(draft.prior, draft.text, &draft.removed, draft.format);
        change.meaning = draft.meaning;
        change.is_executable = draft.is_executable;
        change
    });
    Ok(planned(files, changes.filter(ConfigChange::is_one).collect(), notes))
}

/// True for an entry that no installation made: one that starts no program (`None`), or without a record and a backup of
/// an installation, and without anything that only installations write.
///
/// Errors: a backup that cannot be read.
fn is_foreign(client: &Client, draft: &Draft, entry: Option<&ServerEntry>) -> Result<bool> {
    let Some(entry) = entry else { return Ok(true) };
    if draft.prior.stored.is_some() {
        return Ok(false);
    }
    let is_marked = entry.env.iter().any(|(name, _)| [CREATED_VARIABLE, REPLACES_VARIABLE].contains(&name.as_str()));
    Ok(!is_marked && !client.is_only_entry(&draft.text, entry) && draft.prior.backup()?.is_none())
}

/// Adds hooks and denials to a draft; returns the tools that were not denied before.
fn change_settings(
    client: &Client,
    settings: &ClientSettings,
    draft: &mut Draft,
    marker: &[String],
    entry: &ServerEntry,
    replaces: bool,
) -> Result<Vec<String>> {
    let name = draft.prior.name();
    client.check_version(&draft.text, &name, ConfigFormat::Json)?;
    let original = draft.prior.original()?;
    draft.removed = settings.unhook(&settings.allow(&draft.removed, marker, &name)?, original.as_deref(), &name)?;
    let mut fresh = Vec::new();
    if replaces {
        (draft.text, fresh) = settings.deny(&draft.text, &name)?;
        if settings.denied.is_some() {
            draft
                .meaning
                .push(format!("takes {} out of the tools that the model is offered", settings.builtins.join(", ")));
        }
    }
    draft.text = settings.hook(&draft.text, &quoted(&entry.command), &hook_options(client, entry), &name)?;
    let events: Vec<&str> = settings.hooks.iter().map(|hook| hook.event).collect();
    draft.meaning.push(format!("adds hooks: {}", events.join(", ")));
    Ok(fresh)
}

/// Adds the scripts of ours. One of somebody else stays: a client runs only one for each event.
///
/// Errors: files that cannot be read, or are links.
fn scripts(
    context: &CliContext<'_>,
    files: &ClientFiles,
    wanted: InstallOptions,
    entry: &ServerEntry,
    drafts: &mut Vec<Draft>,
) -> Result<()> {
    let Some(ours) = files.client.scripts else { return Ok(()) };
    let (program, options) = (quoted(&entry.command), hook_options(files.client, entry));
    for (file, moment) in &files.scripts {
        let text = ours.text(moment, &program, &options);
        let draft = draft(context, drafts, files.locate(file, wanted.follow_links)?, ConfigFormat::Json)?;
        if draft.prior.snapshot.is_some() && !ours.is_ours(draft.prior.text()) {
            let command = text.lines().last().unwrap_or_default().trim_start_matches("exec ").to_owned();
            drafts[0].meaning.push(format!(
                "leaves {} alone, which is not of emend; its event is only reported if that script runs `{command}`",
                shown(file)
            ));
            continue;
        }
        draft.removed = String::new();
        draft.text = text;
        draft.is_executable = true;
        draft.meaning.push(format!("adds the hook {}", file.file_name().unwrap_or_default().display()));
    }
    Ok(())
}

/// Adds the file of ours that replaces tools.
///
/// Errors: a file of somebody else in its place.
fn drop_in(
    context: &CliContext<'_>,
    files: &ClientFiles,
    wanted: InstallOptions,
    program: &str,
    drafts: &mut Vec<Draft>,
) -> Result<()> {
    let (Some(file), Some(ours)) = (&files.drop_in, files.client.drop_in) else { return Ok(()) };
    let draft = draft(context, drafts, files.locate(file, wanted.follow_links)?, ConfigFormat::Json)?;
    if draft.prior.snapshot.is_some() && !is_drop_in(draft.prior.text(), ours.text) {
        let what = format!("{} is there already, and is not of emend.", shown(file));
        return Err(
            Error::new(Code::FileExists, what).next("Nothing was changed. Move it away, or use --keep-builtins.")
        );
    }
    draft.removed = String::new();
    draft.text = ours.starting(program);
    draft.meaning.push(ours.meaning.to_owned());
    Ok(())
}

/// True for a file of ours, also of another version.
fn is_drop_in(text: &str, ours: &str) -> bool {
    text.lines().next() == ours.lines().next()
}

/// Plans the removal of everything that installations added.
///
/// Errors: as [`install`].
pub(crate) fn uninstall(context: &CliContext<'_>, files: &ClientFiles, follow_links: bool) -> Result<ClientPlan> {
    let client = files.client;
    let mut drafts = Vec::new();
    let mut notes = Vec::new();
    let servers = draft(context, &mut drafts, files.locate(&files.servers, follow_links)?, client.format)?;
    let name = servers.prior.name();
    let entry = client.entry(&servers.text, &name)?;
    // An entry that starts no program is not one of ours.
    if entry.is_some() {
        servers.text = client.uninstall(&servers.text, &name)?;
    }
    servers.meaning.push("removes the server emend".to_owned());
    let marker = entry.as_ref().and_then(ServerEntry::replaced_tools).unwrap_or_default();
    let created = entry.as_ref().map_or([0, 0], ServerEntry::created_directories);
    if let (Some(file), Some(settings)) = (&files.settings, client.settings) {
        let draft = draft(context, &mut drafts, files.locate(file, follow_links)?, ConfigFormat::Json)?;
        if draft.prior.snapshot.is_some() {
            let name = draft.prior.name();
            let original = draft.prior.original()?;
            let freed = settings.allow(&draft.text, &marker, &name);
            match freed.and_then(|text| settings.unhook(&text, original.as_deref(), &name)) {
                Ok(text) => draft.text = text,
                // A file that no installation changed may be broken.
                Err(_) if draft.prior.stored.is_none() && !draft.text.contains(SERVER_NAME) => {}
                Err(error) => return Err(error),
            }
        }
        draft.meaning.push("removes its hooks".to_owned());
        if !marker.is_empty() {
            draft.meaning.push(format!("allows {} again", marker.join(", ")));
            notes.push(format!("{} has its own {} again.", client.title, marker.join(", ")));
        }
    }
    for (file, _) in &files.scripts {
        let draft = draft(context, &mut drafts, files.locate(file, follow_links)?, ConfigFormat::Json)?;
        if client.scripts.is_some_and(|ours| ours.is_ours(&draft.text)) {
            draft.text = String::new();
        }
        draft.meaning.push("removes the hook".to_owned());
    }
    if let (Some(file), Some(ours)) = (&files.drop_in, client.drop_in) {
        let draft = draft(context, &mut drafts, files.locate(file, follow_links)?, ConfigFormat::Json)?;
        if is_drop_in(&draft.text, ours.text) {
            draft.text = String::new();
        }
        draft.meaning.push(format!("gives {} its own {} back", client.title, ours.replaces.join(", ")));
    }
    // Settings first, as denied tools without a server are harmful.
    let changes = drafts.into_iter().enumerate().rev().map(|(nth, draft)| {
        let directories = created.get(nth).copied().unwrap_or(0);
        let mut change = ConfigChange::uninstall(draft.prior, draft.text, directories, draft.format)?;
        change.meaning = draft.meaning;
        Ok(change)
    });
    let (changes, unchanged): (Vec<_>, Vec<_>) =
        changes.collect::<Result<Vec<_>>>()?.into_iter().partition(ConfigChange::is_one);
    let leftovers = unchanged.into_iter().map(|change| change.before).filter(|prior| prior.stored.is_some());
    Ok(ClientPlan { leftovers: leftovers.collect(), ..planned(files, changes, notes) })
}

fn planned(files: &ClientFiles, changes: Vec<ConfigChange>, notes: Vec<String>) -> ClientPlan {
    let project = files.project.clone();
    ClientPlan { client: files.client, scope: files.scope, project, changes, leftovers: Vec::new(), notes }
}

/// Returns the options of the hooks' commands: the roots and the state directory of the server. Clients replace variables
/// in the arguments of servers only; their events name the open directories.
fn hook_options(client: &Client, entry: &ServerEntry) -> String {
    let is_variable = |root: &str| matches!(client.roots, RootDiscovery::Variable(variable) if variable == root);
    let roots = entry.args.windows(2).filter(|pair| pair[0] == "--root" && !is_variable(&pair[1]));
    let state = entry.env.iter().filter(|(name, _)| name == STATE_VARIABLE);
    let options = roots.map(|pair| ("--root", &pair[1])).chain(state.map(|(_, directory)| ("--state", directory)));
    options.map(|(option, value)| format!(" {option} {}", quoted(value))).collect()
}

/// Returns the state directory as a variable of the entry, unless it is the one that every process finds by itself:
/// clients pass different parts of their environment on, and servers and hooks have to share sessions.
fn state_entry(context: &CliContext<'_>, scope: InstallScope) -> Vec<(String, String)> {
    let usual = choose_base_strategy().ok().map(|base| base.home_dir().join(".local/state/emendate"));
    let state = match context.state() {
        StateLocation::Directory(state) | StateLocation::Throwaway(state) if scope == InstallScope::User => state,
        _ => return Vec::new(),
    };
    if cfg!(target_os = "linux") && Some(&state) != usual.as_ref() {
        let text = state.into_os_string().into_string();
        return text.into_iter().map(|text| (STATE_VARIABLE.to_owned(), text)).collect();
    }
    Vec::new()
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
fn arguments(context: &CliContext<'_>, files: &ClientFiles, wanted: InstallOptions) -> Result<Vec<String>> {
    let client = files.client;
    let mut words = vec!["mcp".to_owned()];
    let replaced = client.profile.filter(|_| wanted.replaces).and_then(profile);
    if let Some(profile) = wanted.profile.or(replaced) {
        words.extend(["--profile".to_owned(), profile.name.to_owned()]);
    }
    let mut roots = Vec::new();
    // In a project's file the directory is the project, wherever it is on the machine that reads the file.
    if files.scope == InstallScope::User {
        for root in &context.global.root {
            let root = context.absolute(root)?;
            let real = root.canonicalize().map_err(|error| crate::io_error(&shown(&root), &error))?;
            let text = real.into_os_string().into_string();
            roots.push(text.map_err(|_| Error::new(Code::PathInvalid, format!("{} is not text.", shown(&root))))?);
        }
    }
    match client.roots {
        RootDiscovery::Variable(variable) if roots.is_empty() => roots.push(variable.to_owned()),
        RootDiscovery::Named if roots.is_empty() => {
            let Some(root) = named_root(files, wanted)? else {
                let what = format!(
                    "{} does not start its servers in a project directory, so you must name the directories that may be accessed.",
                    client.title
                );
                return Err(Error::new(Code::CallInvalid, what).next(format!(
                    "emend setup --client {0} --root DIR, or emend mcp install {0} --root DIR.",
                    client.name
                )));
            };
            roots.push(root);
        }
        _ => {}
    }
    words.extend(roots.into_iter().flat_map(|root| ["--root".to_owned(), root]));
    Ok(words)
}

/// Returns the project as the directory of a client that does not say where it works, unless it is as good as everything
/// that this user has.
fn named_root(files: &ClientFiles, wanted: InstallOptions) -> Result<Option<String>> {
    let home = places()?.home;
    let home = home.canonicalize().unwrap_or(home);
    let usable = wanted.project_as_root && files.scope == InstallScope::User && !home.starts_with(&files.project);
    Ok(if usable { files.project.to_str().map(str::to_owned) } else { None })
}
