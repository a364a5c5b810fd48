//! `emend doctor`: the capabilities of this machine, and problems.

use crate::clients::{Registration, find_registrations, hook_problems};
use crate::context::CliContext;
use crate::programs::installed;
use crate::{output, styled};
use emendate::core::Result;
use emendate::fs::{LocalStore, Probe, Store as _};
use emendate::history::{Database, HistoryLimits, root_key};
use emendate::tallies::EventFileCheck;
use emendate::{Engine, PROJECT_FILES};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The findings.
#[derive(Default)]
struct Findings {
    roots: Vec<(PathBuf, Option<Probe>)>,
    /// Existing configuration files with their owners.
    config: Vec<(PathBuf, &'static str)>,
    /// Databases, and whether they can be opened.
    databases: Vec<(PathBuf, bool)>,
    /// Clients that start this server.
    clients: Vec<Registration>,
    /// Language servers: name, program, whether it exists, and the file that configures it.
    servers: Vec<(String, String, bool, String)>,
    /// The file of events, if there is one.
    events: Option<EventFileCheck>,
    notices: Vec<String>,
    problems: Vec<String>,
}

/// Checks everything, prints the findings, and returns the exit status.
pub(crate) fn run(context: &CliContext<'_>, json: bool) -> Result<u8> {
    let found = gather_findings(context);
    if json {
        output::value(&as_json(context, &found))?;
    } else {
        let mut out = styled::stdout();
        styled::ignore_broken_pipe(print(&mut out, context, &found))?;
    }
    Ok(u8::from(!found.problems.is_empty()))
}

fn gather_findings(context: &CliContext<'_>) -> Findings {
    let mut found = Findings::default();
    let user = CliContext::user_file().filter(|path| path.exists());
    found.config.extend(user.map(|path| (path, "user")));
    let roots = match context.roots().and_then(|roots| LocalStore::open(&roots)) {
        Ok(local) => {
            let roots: Vec<PathBuf> = local.roots().iter().map(|root| root.canonical.clone()).collect();
            for (index, root) in roots.iter().enumerate() {
                if context.global.dry_run {
                    // A probe of the file system creates files in the root, which a dry run must not do.
                    found.roots.push((root.clone(), None));
                } else {
                    found.probe(root, local.probe(index));
                }
            }
            roots
        }
        Err(error) => {
            found.problems.push(error.to_string());
            Vec::new()
        }
    };
    for root in &roots {
        let file = PROJECT_FILES.iter().map(|name| root.join(name)).find(|path| path.exists());
        found.config.extend(file.map(|path| (path, "project")));
    }
    if let Some(directory) = context.state().directory() {
        for root in &roots {
            found.database(&directory.join(root_key(root)), context.global.dry_run);
        }
    }
    found.clients = find_registrations(context);
    found.problems.extend(found.clients.iter().filter_map(Registration::problem));
    found.problems.extend(hook_problems());
    found.notices.extend(found.clients.iter().flat_map(Registration::remarks));
    match context.open() {
        Ok(engine) => {
            let unfinished = engine.unfinished_calls();
            found.notices.extend(engine.notices().into_iter().filter(|notice| !unfinished.contains(notice)));
            found.problems.extend(unfinished);
            found.problems.extend(engine.config().broken().map(str::to_owned));
            found.servers(&engine);
            found.events = engine.examine_event_file();
            found.problems.extend(found.events.iter().filter_map(|events| events.problem.clone()));
            found.formatters(&engine);
            found.hooks(&engine);
        }
        // A root that cannot be opened has already been reported.
        Err(error) if !roots.is_empty() => found.problems.push(error.to_string()),
        Err(_) => {}
    }
    found
}

impl Findings {
    fn probe(&mut self, root: &Path, probe: Result<Probe>) {
        let probe = match probe {
            Ok(probe) => Some(probe),
            Err(error) => {
                self.problems.push(error.to_string());
                None
            }
        };
        if probe.as_ref().is_some_and(|probe| !probe.writable) {
            self.problems.push(format!("{} is not writable: files can be read, but not edited.", root.display()));
        }
        self.roots.push((root.to_owned(), probe));
    }

    fn database(&mut self, directory: &Path, dry_run: bool) {
        use emendate::history::{OperationLog as _, Sessions as _};
        let open = if dry_run { Database::open_throwaway } else { Database::open };
        let opened = open(directory, HistoryLimits::default());
        self.databases.push((directory.join("sessions.db"), opened.is_ok()));
        match opened {
            Ok(database) => {
                let gaps = database.gaps();
                // A dry run examines a copy.
                let space = if dry_run { Ok(()) } else { database.check_space() };
                self.problems.extend(space.err().map(|error| {
                    format!("New operations cannot be logged, so they could not be undone: {}", error.message())
                }));
                self.notices.extend(database.notices());
                match gaps {
                    Ok(gaps) => {
                        self.notices.extend(gaps.into_iter().map(|gap| {
                            format!(
                                "{}: {gap}, because it was damaged or could not be written.",
                                database.path().display()
                            )
                        }));
                    }
                    Err(error) => self.problems.push(error.to_string()),
                }
            }
            Err(error) => self.problems.push(format!("What was read cannot be remembered: {}", error.message())),
        }
    }
}

impl Findings {
    /// Adds a problem for each formatter whose program is not installed.
    fn formatters(&mut self, engine: &Engine) {
        let missing: BTreeSet<&str> =
            engine.config().formatter_programs().filter(|program| !installed(program)).collect();
        let problems = missing
            .into_iter()
            .map(|program| format!("A formatter is not installed: there is no program `{program}`."));
        self.problems.extend(problems);
    }

    /// Adds a problem for each hook whose program is not installed.
    fn hooks(&mut self, engine: &Engine) {
        // A path is relative to the root, where the program runs.
        let is_below_root =
            |program: &str| program.contains('/') && engine.roots().iter().any(|root| root.join(program).is_file());
        let missing: BTreeSet<&str> =
            engine.config().hook_programs().filter(|program| !installed(program) && !is_below_root(program)).collect();
        let problems =
            missing.into_iter().map(|program| format!("A hook is not installed: there is no program `{program}`."));
        self.problems.extend(problems);
    }

    fn servers(&mut self, engine: &Engine) {
        for (name, command, origin) in engine.config().language_servers() {
            let program = command.first().cloned().unwrap_or_default();
            let there = installed(&program);
            if !there {
                self.problems.push(format!(
                    "The language server {name} of {origin} is not installed: there is no program `{program}`."
                ));
            }
            self.servers.push((name.to_owned(), program, there, origin.to_owned()));
        }
    }
}

/// The platform of this build.
fn target() -> String {
    let libc = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else {
        ""
    };
    format!("{}-{}{libc}", std::env::consts::ARCH, std::env::consts::OS)
}

fn state_name(context: &CliContext<'_>) -> Option<PathBuf> {
    context.state().directory().map(Path::to_owned)
}

fn as_json(context: &CliContext<'_>, found: &Findings) -> Value {
    let config: Vec<Value> =
        found.config.iter().map(|(path, owner)| json!({ "path": path_text(path), "owner": owner })).collect();
    let databases: Vec<Value> =
        found.databases.iter().map(|(path, opens)| json!({ "path": path_text(path), "opens": opens })).collect();
    json!({
        "ok": found.problems.is_empty(),
        "version": env!("CARGO_PKG_VERSION"),
        "target": target(),
        "roots": found.roots.iter().map(|(path, probe)| root_data(path, probe.as_ref())).collect::<Vec<Value>>(),
        "config": config,
        "session": context.session("cli"),
        "state": { "directory": state_name(context).map(|path| path_text(&path)), "databases": databases },
        "clients": found.clients.iter().map(Registration::json).collect::<Vec<Value>>(),
        "languageServers": found.servers.iter().map(|(name, program, there, origin)| json!({ "name": name, "program": program, "installed": there, "origin": origin })).collect::<Vec<Value>>(),
        "events": found.events.as_ref().map(|events| json!({ "path": path_text(&events.path), "writable": events.problem.is_none() })),
        "notices": found.notices,
        "problems": found.problems,
        "telemetry": false,
    })
}

/// Returns what the report says about a root as JSON.
fn root_data(path: &Path, probe: Option<&Probe>) -> Value {
    let mut out = json!({ "path": path_text(path) });
    if let Some(probe) = probe {
        out["fileSystem"] = probe.file_system.clone().into();
        for (name, value, _) in abilities(probe) {
            out[name] = value.into();
        }
    }
    out
}

/// Returns a path as text.
fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Lists the capabilities found by a probe: name for programs, value, name for people.
fn abilities(probe: &Probe) -> [(&'static str, bool, &'static str); 6] {
    [
        ("writable", probe.writable, "writable"),
        ("exchange", probe.exchange, "two files can be exchanged atomically"),
        ("leases", probe.leases, "programs that save in place wait while a file is replaced (leases)"),
        ("openat2", probe.openat2, "the kernel confines paths (openat2)"),
        ("xattr", probe.xattr, "extended attributes"),
        ("caseSensitive", probe.case_sensitive, "names differ by case"),
    ]
}

fn print<W: std::io::Write>(
    out: &mut styled::StyledWriter<W>,
    context: &CliContext<'_>,
    found: &Findings,
) -> std::io::Result<()> {
    out.heading(&format!("emend {} ({})", env!("CARGO_PKG_VERSION"), target()))?;
    for (path, probe) in &found.roots {
        let unknown = if context.global.dry_run { "not examined in a dry run" } else { "could not be examined" };
        let kind = probe.as_ref().map_or(unknown, |probe| &probe.file_system);
        out.plain(&format!("root      {} ({kind})", path.display()))?;
        for (_, yes, what) in probe.iter().flat_map(abilities) {
            out.plain(&format!("          {} {what}", if yes { "yes" } else { "no " }))?;
        }
    }
    for (path, owner) in &found.config {
        out.plain(&format!("config    {} ({owner})", path.display()))?;
    }
    if found.config.is_empty() {
        out.plain("config    no file; the defaults apply")?;
    }
    out.plain(&format!("session   {}", context.session("cli")))?;
    match state_name(context) {
        Some(directory) => out.plain(&format!("state     {}", directory.display()))?,
        None => out.plain("state     in memory: reads are forgotten when the process ends")?,
    }
    for (path, opens) in &found.databases {
        out.plain(&format!("          {} {}", if *opens { "opens" } else { "does not open:" }, path.display()))?;
    }
    if let Some(EventFileCheck { path, problem }) = &found.events {
        let cannot = if problem.is_some() { "cannot be written: " } else { "" };
        out.plain(&format!("events    {cannot}{}", path.display()))?;
    }
    for client in &found.clients {
        out.plain(&format!("client    {}", client.line()))?;
    }
    for (name, program, there, _) in &found.servers {
        out.plain(&format!("server    {} {name} ({program})", if *there { "yes" } else { "no " }))?;
    }
    out.plain("telemetry none: emend opens no network connection")?;
    for notice in &found.notices {
        out.plain(&format!("note      {notice}"))?;
    }
    for problem in &found.problems {
        out.plain(&format!("problem   {}", problem.replace('\n', "\n          ")))?;
    }
    let count = found.problems.len();
    out.heading(&match count {
        0 => "All is well.".to_owned(),
        1 => "One thing needs attention.".to_owned(),
        _ => format!("{count} things need attention."),
    })?;
    out.flush()
}
