//! `emend setup`: finds the clients on this machine, says what it would do for each, and does it after one confirmation.

pub(crate) mod apply;
mod change;
pub(crate) mod plan;
mod record;

pub(crate) use plan::{ClientFiles, ClientPlan, InstallOptions};

use crate::args::SetupArgs;
use crate::clients::{self, Registration, project_root};
use crate::context::CliContext;
use crate::styled::StyledWriter;
use crate::{output, styled};
use apply::AppliedChange;
use emendate::core::{Code, Error, Result};
use emendate::{Answer, Reply, ReplyLimits, SeedCodes, exit_status};
use emendate_clients::{CLIENTS, Client, InstallScope};
use serde_json::{Map, Value, json};
use std::io::{self, BufRead as _, IsTerminal as _, Write};

/// The setup of one client, planned and then made.
struct ClientSetup {
    client: &'static Client,
    /// The reason why the client seems to be installed.
    found: Option<String>,
    plan: Result<ClientPlan>,
    applied: Vec<AppliedChange>,
    /// The server, started as the client does.
    server: Option<Registration>,
}

/// Says that an installed server does not have the rules of the command line.
pub(crate) fn note_rules(context: &CliContext<'_>) {
    let lists = [("deny", &context.global.deny), ("ask", &context.global.ask), ("allow", &context.global.allow)];
    for (name, rules) in lists.into_iter().filter(|(_, rules)| !rules.is_empty()) {
        output::note(&format!(
            "--{name} counts for this command only; for the server, put `{name} = {rules:?}` below [policy] in your \
             config.toml."
        ));
    }
}

/// Runs the command; returns the exit status: that of the first client for which something failed.
///
/// Errors: no client; nobody who can be asked.
pub(crate) fn run(context: &CliContext<'_>, args: &SetupArgs) -> Result<u8> {
    let mut setups = planned(context, args)?;
    let json = context.global.json;
    if setups.is_empty() {
        return nothing_found(context, args);
    }
    let open = setups.iter().filter(|setup| setup.has_changes()).count();
    if !args.undo {
        note_rules(context);
    }
    // Whoever is asked has to see the plan.
    let is_silent = json || output::is_quiet() && args.yes;
    if !is_silent {
        let mut out = styled::stdout();
        styled::ignore_broken_pipe(
            setups.iter().try_for_each(|setup| setup.announce(&mut out)).and_then(|()| out.flush()),
        )?;
    }
    if open > 0 && !context.global.dry_run && !args.yes && !confirmed(context, args.undo, open)? {
        output::note("Nothing was changed.");
        return Ok(0);
    }
    for setup in &mut setups {
        setup.carry_out(context);
    }
    if !args.undo && !context.global.dry_run {
        let mut servers = clients::find_registrations(context);
        for setup in &mut setups {
            let own = servers.iter().position(|it| it.is_of(setup.client, InstallScope::User));
            setup.server = own.map(|at| servers.swap_remove(at));
        }
    }
    if json {
        return Ok(report_json(context, args, &setups));
    }
    let mut out = styled::stdout();
    let mut reported = setups.iter().filter(|setup| !output::is_quiet() || setup.has_failed());
    let printed = reported.try_for_each(|setup| setup.report(&mut out, context, args.undo));
    styled::ignore_broken_pipe(printed.and_then(|()| out.flush()))?;
    Ok(status(&setups))
}

/// Plans the changes of every client that is installed, or that was named.
fn planned(context: &CliContext<'_>, args: &SetupArgs) -> Result<Vec<ClientSetup>> {
    let project = project_root(context)?;
    let mut out = Vec::new();
    for client in CLIENTS {
        let named = args.clients.iter().any(|it| it.name == client.name);
        let files = ClientFiles::of(client, InstallScope::User, &project)?;
        if !args.clients.is_empty() && !named || args.clients.is_empty() && files.installed.is_none() {
            continue;
        }
        let plan = if args.undo {
            plan::uninstall(context, &files, args.follow_links)
        } else {
            let wanted = InstallOptions {
                profile: None,
                replaces: !args.keep_builtins,
                hooks: true,
                project_as_root: true,
                follow_links: args.follow_links,
            };
            plan::install(context, &files, wanted)
        };
        // Files that cannot be changed are found before anybody is asked.
        let plan = plan.and_then(|plan| plan.changes.iter().try_for_each(change::ConfigChange::check).map(|()| plan));
        out.push(ClientSetup { client, found: files.installed, plan, applied: Vec::new(), server: None });
    }
    Ok(out)
}

/// Reports that there is no client.
///
/// Errors: unless there was nothing to undo.
fn nothing_found(context: &CliContext<'_>, args: &SetupArgs) -> Result<u8> {
    if args.undo {
        if context.global.json {
            return Ok(report_json(context, args, &[]));
        }
        output::heading("No client is installed, so there is nothing to undo.")?;
        return Ok(0);
    }
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    Err(Error::new(Code::FileMissing, "No client was found on this machine.")
        .next(format!("Install one, or name one with --client: {}.", names.join(", "))))
}

/// Asks the person at the terminal.
///
/// Errors: there is none.
fn confirmed(context: &CliContext<'_>, undo: bool, clients: usize) -> Result<bool> {
    if context.global.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Error::new(Code::CallInvalid, "Nobody can be asked here whether to make these changes.")
            .next("Nothing was changed. Repeat the command with --yes, perhaps with --client NAME."));
    }
    let what = if undo { "Take emend out of" } else { "Set up" };
    let noun = if clients == 1 { "this client" } else { "these clients" };
    let mut line = String::new();
    let asked = write!(io::stderr(), "{what} {noun}? [y/N] ").and_then(|()| io::stderr().flush());
    let answered = asked.and_then(|()| io::stdin().lock().read_line(&mut line));
    answered.map_err(|error| crate::io_error("the terminal", &error))?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// The exit status.
fn status(setups: &[ClientSetup]) -> u8 {
    let refused = setups.iter().find_map(|setup| setup.plan.as_ref().err()).map(|error| exit_status(error.code()));
    refused.unwrap_or_else(|| u8::from(setups.iter().any(|setup| setup.broken_server().is_some())))
}

impl ClientSetup {
    fn has_changes(&self) -> bool {
        self.plan.as_ref().is_ok_and(|plan| !plan.changes.is_empty())
    }

    /// True if the changes were not made, or the server does not work.
    fn has_failed(&self) -> bool {
        self.plan.is_err() || self.broken_server().is_some()
    }

    /// Makes the changes.
    fn carry_out(&mut self, context: &CliContext<'_>) {
        let Ok(plan) = &self.plan else { return };
        match apply::apply(context, plan) {
            Ok(applied) => self.applied = applied,
            Err(error) => self.plan = Err(error),
        }
    }

    /// Returns what is wrong with the server.
    fn broken_server(&self) -> Option<String> {
        self.server.as_ref().and_then(Registration::problem)
    }

    /// Prints what would be done.
    fn announce<W: Write>(&self, out: &mut StyledWriter<W>) -> io::Result<()> {
        let found = self.found.as_ref().map_or(String::new(), |found| format!(" ({found})"));
        out.heading(&format!("{}{found}", self.client.title))?;
        match &self.plan {
            Ok(plan) if plan.changes.is_empty() => out.plain("  nothing to do"),
            Ok(plan) => plan.changes.iter().try_for_each(|change| {
                out.plain(&format!("  {}", change.before.name()))?;
                change.meaning.iter().try_for_each(|what| out.plain(&format!("    {what}")))
            }),
            Err(error) => out.plain(&format!("  cannot be changed: {}", error.message())),
        }
    }

    /// Prints what was done, and what a person has to do.
    fn report<W: Write>(&self, out: &mut StyledWriter<W>, context: &CliContext<'_>, undo: bool) -> io::Result<()> {
        let title = self.client.title;
        let plan = match &self.plan {
            Ok(plan) => plan,
            Err(error) => {
                out.heading(&format!("{title}: nothing was changed."))?;
                return out.error(error, None);
            }
        };
        if context.global.dry_run {
            self.applied.iter().try_for_each(|applied| applied.print(out))?;
            return out.heading(&format!("{title}: nothing was written."));
        }
        let head = match (plan.changes.is_empty(), undo) {
            (true, true) => "nothing of emend is there.",
            (true, false) => "was set up already.",
            (false, true) => "as it was before emend.",
            (false, false) => "done.",
        };
        out.heading(&format!("{title}: {head}"))?;
        if undo {
            return Ok(());
        }
        match (self.broken_server(), &self.server) {
            (Some(problem), _) => out.plain(&format!("  problem: {problem}"))?,
            (None, Some(server)) => out.plain(&format!("  the server {}", server.behavior()))?,
            (None, None) => {}
        }
        let steps = self.client.steps.iter().filter(|_| !plan.changes.is_empty());
        steps.into_iter().try_for_each(|step| out.plain(&format!("  next: {step}")))
    }

    fn json(&self, dry_run: bool) -> Value {
        let mut out = json!({ "client": self.client.name, "title": self.client.title, "found": self.found });
        let state = match &self.plan {
            Err(error) => {
                out["code"] = error.code().as_str().into();
                out["problem"] = error.message().into();
                out["next"] = error.next_step().into();
                "failed"
            }
            Ok(plan) if plan.changes.is_empty() => "unchanged",
            Ok(_) if dry_run => "planned",
            Ok(_) => "changed",
        };
        out["state"] = state.into();
        if let Ok(plan) = &self.plan {
            let planned =
                plan.changes.iter().map(|change| json!({ "file": change.before.name(), "changes": change.meaning }));
            out["plan"] = planned.collect();
            out["files"] = self.applied.iter().map(AppliedChange::data).collect();
            out["steps"] = self.client.steps.into();
        }
        if let Some(server) = &self.server {
            out["server"] = server.json();
        }
        out
    }
}

fn report_json(context: &CliContext<'_>, args: &SetupArgs, setups: &[ClientSetup]) -> u8 {
    let mut data = Map::new();
    data.insert("undo".to_owned(), args.undo.into());
    data.insert("clients".to_owned(), setups.iter().map(|setup| setup.json(context.global.dry_run)).collect());
    let failed: Vec<&str> = setups.iter().filter(|it| it.has_failed()).map(|it| it.client.name).collect();
    data.insert("failed".to_owned(), failed.into());
    let text = format!("{} clients", setups.len());
    let answer = Answer { text, data, ..Answer::default() };
    output::json(&Reply::new(Ok(answer), SeedCodes::None, ReplyLimits::default(), ""), "");
    status(setups)
}
