//! `emend mcp install` and `uninstall`: adds our server to the files of clients, written through the engine like any
//! edit.

use crate::args::{ClientArgs, InstallArgs, McpCommand, ScopeArg};
use crate::clients::{self, of, project_root};
use crate::context::CliContext;
use crate::setup::{ClientFiles, ClientPlan, InstallOptions, apply, note_rules, plan};
use crate::{output, styled};
use emendate::core::{Code, Error, Result};
use emendate::fs::shown;
use emendate::{Answer, Reply, ReplyLimits, SeedCodes};
use emendate_clients::InstallScope;
use serde_json::Map;

/// Runs the command; returns the exit status.
///
/// Errors: refused edits.
pub(crate) fn run(context: &CliContext<'_>, command: &McpCommand) -> Result<u8> {
    match command {
        McpCommand::Install(args) => install(context, args),
        McpCommand::Uninstall(args) => uninstall(context, args),
    }
}

impl ClientArgs {
    /// Finds the client's files.
    fn files(&self, context: &CliContext<'_>) -> Result<ClientFiles> {
        let scope = if self.scope == ScopeArg::User { InstallScope::User } else { InstallScope::Project };
        ClientFiles::of(self.client, scope, &project_root(context)?)
    }
}

fn install(context: &CliContext<'_>, args: &InstallArgs) -> Result<u8> {
    let files = args.at.files(context)?;
    let client = files.client;
    if files.scope == InstallScope::User && files.installed.is_none() && !args.force {
        let what = format!("{} does not seem to be installed: {} is not there.", client.title, shown(&files.servers));
        return Err(Error::new(Code::FileMissing, what).next("Start it once, or repeat the command with --force."));
    }
    let replaces = client.drop_in.is_some() || client.settings.is_some_and(|settings| settings.denied.is_some());
    if args.replace_builtins && !replaces {
        let what = format!("The built-in tools of {} cannot be disabled from here.", client.title);
        return Err(Error::new(Code::CallInvalid, what).next("Omit --replace-builtins."));
    }
    let wanted = InstallOptions {
        profile: args.profile,
        replaces: args.replace_builtins,
        follow_links: args.at.follow_links,
        ..InstallOptions::default()
    };
    let mut plan = plan::install(context, &files, wanted)?;
    note_rules(context);
    plan.notes.push(format!("To remove it: emend mcp uninstall {}{}", client.name, of(files.scope)));
    finish(context, &plan)
}

fn uninstall(context: &CliContext<'_>, args: &ClientArgs) -> Result<u8> {
    finish(context, &plan::uninstall(context, &args.files(context)?, args.follow_links)?)
}

/// Makes the changes, and reports the result.
fn finish(context: &CliContext<'_>, plan: &ClientPlan) -> Result<u8> {
    let (client, dry_run) = (plan.client, context.global.dry_run);
    let done = apply::apply(context, plan)?;
    let head = match (plan.changes.is_empty(), dry_run) {
        (true, _) => format!("{}: nothing to do; the configuration is as it should be.", client.title),
        (false, true) => format!("{}: nothing was written.", client.title),
        (false, false) => format!("{}: done. Restart {0} for the change to take effect.", client.title),
    };
    if context.global.json {
        let mut data = Map::new();
        data.insert("client".to_owned(), client.name.into());
        data.insert("scope".to_owned(), clients::word(plan.scope).into());
        data.insert("project".to_owned(), shown(&plan.project).into());
        data.insert("files".to_owned(), done.iter().map(apply::AppliedChange::data).collect());
        data.insert("notes".to_owned(), plan.notes.clone().into());
        let answer = Answer { text: head, data, ..Answer::default() };
        return Ok(output::json(&Reply::new(Ok(answer), SeedCodes::None, ReplyLimits::default(), ""), ""));
    }
    if output::is_quiet() {
        return Ok(0);
    }
    let mut out = styled::stdout();
    let listed = done.iter().try_for_each(|applied| applied.print(&mut out));
    let rest = listed.and_then(|()| plan.notes.iter().try_for_each(|line| out.plain(line)));
    styled::ignore_broken_pipe(rest.and_then(|()| out.heading(&head)).and_then(|()| out.flush()))?;
    Ok(0)
}
