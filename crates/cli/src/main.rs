//! The command `emend`: the engine at a terminal, for scripts, and as a server.
//!
//! A front end translates and decides nothing: arguments become the JSON input of a tool, the reply becomes text, JSON
//! and an exit status.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is the process's front: it reads arguments, environment and streams, and passes values down"
)]

mod allocator;
mod approval;
mod args;
mod bulk;
mod clients;
mod config;
mod context;
mod diff;
mod disconnect;
mod doctor;
mod elsewhere;
mod files;
mod flags;
mod follow;
mod formats;
mod git_patch;
mod global;
mod help;
mod history;
mod hook;
#[cfg(feature = "http")]
mod http;
mod input;
mod install;
mod line_slice;
mod listing;
mod notebook;
mod output;
mod pager;
mod parse_worker;
mod preview;
mod probe;
mod programs;
mod progress;
mod questions;
mod reject_file;
mod relative_names;
mod remarks;
mod requests;
#[cfg(feature = "http")]
mod review;
mod serve;
mod session;
mod setup;
mod signals;
mod stats;
mod styled;
mod tools;
mod tour;
mod trust;
mod usage;
mod waiting_calls;

use args::{Cli, Command, NoArgs, ServeArgs};
use context::CliContext;
use emendate::core::{Code, Error};
use emendate::{Reply, SeedCodes, UnreadPolicy, exit_status};
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().skip(1).eq([parse_worker::WORKER_COMMAND]) {
        return parse_worker::run_worker();
    }
    emendate::fs::outlive_size_limit();
    allocator::trim_after_large_calls();
    std::panic::set_hook(Box::new(|panic| {
        // The message is for a user, not for a developer: one line, and where to report it.
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what = text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text)).unwrap_or("no message");
        let line = format!("error: a bug in emend, please report it: {what} ({place}) [internal.bug]\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }));
    // Unwinding to here, rather than ending in the hook, drops the engine: its database has to be closed.
    let status = std::panic::catch_unwind(run).unwrap_or(exit_status(Code::InternalBug));
    ExitCode::from(status)
}

/// Does what the arguments say; the exit status.
fn run() -> u8 {
    let line: Vec<std::ffi::OsString> = std::env::args_os().collect();
    match Cli::parse_line(&line) {
        Ok(cli) => run_command(&cli),
        Err(error) => usage::show(error, &line),
    }
}

/// Runs the command; returns the exit status.
fn run_command(cli: &Cli) -> u8 {
    styled::choose_color(cli.global.color);
    output::choose_quiet(cli.global.quiet);
    if let Err(error) = enter(cli.directory.as_deref()) {
        return show_refusal(cli, error);
    }
    pager::start(&cli.global, cli.command.only_shows());
    let status = dispatch(cli);
    match styled::ignore_broken_pipe(pager::show_held()) {
        Err(error) if status == 0 => {
            output::error(&error);
            exit_status(error.code())
        }
        _ => status,
    }
}

/// Runs the command itself.
fn dispatch(cli: &Cli) -> u8 {
    let context = |unread| CliContext::new(&cli.global, unread);
    let outcome = match &cli.command {
        Command::Outline(args) => return files::run(&context(UnreadPolicy::Allow), Ok(files::outline(args))),
        Command::Check(args) => return check(&context(UnreadPolicy::Allow), args),
        Command::Search(args) => return files::run(&context(UnreadPolicy::Allow), Ok(files::search(args))),
        Command::Read(args) => return files::read_all(&context(UnreadPolicy::Allow), args),
        Command::Edit(args) => return files::run(&context(UnreadPolicy::Allow), files::edit(args)),
        Command::MultiEdit(args) => return files::run(&context(UnreadPolicy::Allow), files::multi_edit(args)),
        Command::NotebookEdit(args) => return files::run(&context(UnreadPolicy::Allow), notebook::edit(args)),
        Command::Write(args) => return files::run(&context(UnreadPolicy::Allow), files::write(args)),
        Command::Apply(args) => return files::run(&context(UnreadPolicy::Allow), files::apply(args)),
        Command::Replace(args) => return files::run(&context(UnreadPolicy::Allow), Ok(files::replace(args))),
        Command::Undo(args) => return files::run(&context(UnreadPolicy::Allow), history::undo(args, false)),
        Command::Redo(args) => return files::run(&context(UnreadPolicy::Allow), history::undo(args, true)),
        Command::History(args) if args.follow => follow::follow(&context(UnreadPolicy::Allow), args),
        Command::History(args) => return files::run(&context(UnreadPolicy::Allow), history::history(args)),
        Command::Show(args) => return files::run(&context(UnreadPolicy::Allow), history::show(args)),
        Command::Diff(args) => return files::run(&context(UnreadPolicy::Allow), history::diff(args)),
        Command::Restore(args) => return files::run(&context(UnreadPolicy::Allow), history::restore(args)),
        Command::Mark(args) => return files::run(&context(UnreadPolicy::Allow), Ok(history::mark(&args.name))),
        Command::Rewind(args) => return files::run(&context(UnreadPolicy::Allow), Ok(history::rewind(args))),
        Command::Snapshot(args) => return files::run(&context(UnreadPolicy::Allow), Ok(history::snapshot(args))),
        #[cfg(feature = "http")]
        Command::Review(args) => review::run(&context(UnreadPolicy::Allow), args),
        Command::Comment(args) => remarks::comment(&context(UnreadPolicy::Allow), args),
        Command::Comments(args) => remarks::comments(&context(UnreadPolicy::Allow), args),
        Command::Reviewed(args) => remarks::reviewed(&context(UnreadPolicy::Allow), args),
        Command::Pending(args) => questions::pending(&context(UnreadPolicy::Allow), args),
        Command::Approve(args) => questions::approve(&context(UnreadPolicy::Allow), args),
        Command::Deny(args) => questions::deny(&context(UnreadPolicy::Allow), args),
        Command::Correct(args) => questions::correct(&context(UnreadPolicy::Allow), args),
        Command::Gc(args) => history::gc(&context(UnreadPolicy::Allow), args),
        Command::Call(args) => return serve::call(&context(UnreadPolicy::Deny), args),
        Command::Serve(ServeArgs { ndjson: _ }) => serve::serve(&context(UnreadPolicy::Deny)),
        Command::Mcp(args::McpArgs { command: Some(change), .. }) => {
            install::run(&context(UnreadPolicy::Allow), change)
        }
        Command::Mcp(args::McpArgs { place: Some(place), program, .. }) => elsewhere::run(place, program.as_deref()),
        Command::Mcp(args) => serve::mcp(&context(UnreadPolicy::Deny), args),
        Command::Setup(args) => setup::run(&context(UnreadPolicy::Allow), args),
        Command::Tools(args) => tools::run(args, cli.global.json),
        Command::Convert(args) => return files::run(&context(UnreadPolicy::Allow), files::convert(args)),
        Command::Bulk(args) => bulk::run(args, &cli.global),
        Command::Preview(args) => preview::run(&context(UnreadPolicy::Allow), args),
        Command::Prompt(args) => formats::prompt(args, cli.global.json),
        Command::Schema(args) => formats::schema(args, cli.global.json),
        Command::Hook(args) => hook::run(context(UnreadPolicy::Allow), args),
        Command::Config(args) => config::run(&context(UnreadPolicy::Allow), &args.command),
        Command::Trust(args) => trust::trust(&context(UnreadPolicy::Allow), args.revoke),
        Command::Stats(args) => stats::run(&context(UnreadPolicy::Allow), args),
        Command::Doctor(NoArgs {}) => doctor::run(&context(UnreadPolicy::Allow), cli.global.json),
        Command::Tour(NoArgs {}) => as_text(cli, "tour").and_then(|()| tour::run(cli.global.dry_run)),
        Command::Completions(args) => as_text(cli, "completions").and_then(|()| help::completions(args.shell)),
        Command::Man(args) => as_text(cli, "man").and_then(|()| help::man(args.command.as_deref())),
    };
    outcome.unwrap_or_else(|error| show_refusal(cli, error))
}

/// Refuses `--json` for a command that prints a text which is no data.
fn as_text(cli: &Cli, command: &str) -> emendate::core::Result<()> {
    if cli.global.json {
        return Err(files::usage(&format!("emend {command} has no output in JSON."), "Omit --json."));
    }
    Ok(())
}

/// Shows an error of a command without a tool; returns the exit status.
fn show_refusal(cli: &Cli, error: Error) -> u8 {
    // `serve` and `mcp` print only answers to their clients, and this is not one.
    let machine = matches!(&cli.command, Command::Serve(_) | Command::Mcp(args::McpArgs { command: None, .. }));
    if cli.global.json && !machine {
        return output::json(&Reply::refusal(error, SeedCodes::None), "");
    }
    // No tool was called, so the advice has no words yet. Edits as text are the only input of such commands that the
    // engine parses.
    output::error(&error.clone().rendered_for(&flags::Flags::of("apply", false)));
    exit_status(error.code())
}

/// Runs `emend check`.
fn check(context: &CliContext<'_>, args: &args::CheckArgs) -> u8 {
    files::run(context, files::check(context, args))
}

/// Makes the directory of `-C` the current one.
fn enter(directory: Option<&std::path::Path>) -> emendate::core::Result<()> {
    let Some(directory) = directory else { return Ok(()) };
    std::env::set_current_dir(directory).map_err(|error| io_error(&emendate::fs::shown(directory), &error))
}

/// The definition of the command line with the options of all commands, for everything that is generated from it.
fn command() -> clap::Command {
    let command = <Cli as clap::CommandFactory>::command();
    command.mut_subcommands(|row| match Command::definition(row.get_name()) {
        Some(whole) => whole.clone().display_order(row.get_display_order()),
        None => row,
    })
}

/// The error for standard streams and files named on the command line.
fn io_error(what: &str, error: &std::io::Error) -> Error {
    let code = match error.kind() {
        std::io::ErrorKind::PermissionDenied => Code::IoPermission,
        std::io::ErrorKind::StorageFull => Code::IoNoSpace,
        std::io::ErrorKind::NotFound => Code::CallInvalid,
        _ => Code::IoFailed,
    };
    Error::new(code, format!("{what}: {error}.")).next("Nothing was changed; correct this and repeat the command.")
}
