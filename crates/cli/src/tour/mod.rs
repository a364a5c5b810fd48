//! `emend tour`: four commands on a small file, run by this very program and checked while they are shown.

use crate::{io_error, output, styled};
use emendate::core::{Code, Error, Result};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The file that the tour works on, and the patch that it applies.
const TOUR_FILES: &[(&str, &str)] = &[("shop.py", include_str!("shop.py")), ("fix.patch", include_str!("fix.patch"))];
/// Directory names that are tried for the tour.
const DIRECTORIES_MAX: usize = 1000;

/// One command of the tour.
struct TourStep {
    title: &'static str,
    about: &'static str,
    args: &'static [&'static str],
    /// The expected exit status.
    status: i32,
    /// Text that the file must contain afterwards.
    contains: &'static str,
    /// The expectation in words.
    verdict: &'static str,
}

static TOUR_STEPS: &[TourStep] = &[
    TourStep {
        title: "A lenient match",
        about: "The old text has lost its indentation. The place is found, and the new text is indented to fit.",
        args: &[
            "edit",
            "shop.py",
            "--old",
            "for item in items:\n    result += item.price",
            "--new",
            "for item in items:\n    result += item.price * item.amount",
        ],
        status: 0,
        contains: "            result += item.price * item.amount\n        return result\n",
        verdict: "one line changed, with the file's indentation; the note reports it",
    },
    TourStep {
        title: "A patch, as a model wrote it",
        about: "It has no line numbers, and its spacing differs from the file's. `apply` takes diffs and search/replace blocks, too.",
        args: &["apply", "fix.patch"],
        status: 0,
        contains: "        return sum(item.amount for item in items)\n",
        verdict: "the patch is applied; only its marked line changed",
    },
    TourStep {
        title: "A refusal that teaches",
        about: "The old text occurs twice. Emendate never guesses: it shows both places and how to choose.",
        args: &["edit", "shop.py", "--old", "return ", "--new", "yield "],
        status: 11,
        contains: "        return result\n",
        verdict: "refused; the file is as it was",
    },
    TourStep {
        title: "Undo",
        about: "The last change is reverted, from any process and for all files of the call.",
        args: &["undo"],
        status: 0,
        contains: "        return len(items)\n",
        verdict: "the patch is undone, the first edit remains",
    },
];

/// Runs all commands in a new directory; returns 1 if one of them failed its check.
pub(crate) fn run(dry_run: bool) -> Result<u8> {
    if dry_run {
        return list_steps();
    }
    let directory = new_directory()?;
    for (name, text) in TOUR_FILES {
        fs::write(directory.join(name), text).map_err(|error| io_error(name, &error))?;
    }
    let mut out = styled::stdout();
    let walked = walk(&mut out, &directory);
    let failed = *walked.as_ref().unwrap_or(&0);
    styled::ignore_broken_pipe(walked.map(drop))?;
    Ok(u8::from(failed > 0))
}

/// Lists the commands that the tour would run, without making its directory.
fn list_steps() -> Result<u8> {
    let steps = TOUR_STEPS.iter().map(|step| (step.title, format!("emend {}", quoted(step.args))));
    let list = styled::columns("   ", steps);
    output::page(&format!("The tour would run these commands in a new directory:\n{list}"))?;
    Ok(0)
}

/// Shows every step; returns the number of those that failed their check.
fn walk<W: Write>(out: &mut styled::StyledWriter<W>, directory: &Path) -> io::Result<usize> {
    out.plain(&format!("Four commands in a new directory: cd {}", directory.display()))?;
    let mut failed = 0;
    for (index, step) in TOUR_STEPS.iter().enumerate() {
        out.plain("")?;
        out.heading(&format!("{}. {}", index + 1, step.title))?;
        out.plain(&format!("   {}", step.about))?;
        out.label(&format!("   $ emend {}", quoted(step.args)))?;
        let output = command(directory, step, out.has_color()).output()?;
        for text in [&output.stdout, &output.stderr] {
            for line in String::from_utf8_lossy(text).lines().filter(|line| !line.is_empty()) {
                out.rendered(&format!("   {line}"))?;
            }
        }
        let behaved = has_behaved(step, &output, directory);
        out.verdict(behaved, step.verdict)?;
        failed += usize::from(!behaved);
    }
    out.plain("")?;
    out.heading(&match failed {
        0 => "All four commands worked. What next:".to_owned(),
        _ => format!("{failed} of {} commands did not work as expected; please report it.", TOUR_STEPS.len()),
    })?;
    for (name, text) in show_next(directory) {
        out.plain(&format!("   {name:34} {text}"))?;
    }
    out.flush()?;
    Ok(failed)
}

fn show_next(directory: &Path) -> [(String, &'static str); 4] {
    [
        ("emend setup".to_owned(), "add Emendate to Claude Code, Codex, Cursor and others"),
        ("emend doctor".to_owned(), "check this machine and the installed servers"),
        ("emend help COMMAND".to_owned(), "examples of each command"),
        (format!("rm -r {}", directory.display()), "remove what the tour left"),
    ]
}

/// Creates the step's command. It uses neither the user's configuration nor the user's history.
fn command(directory: &Path, step: &TourStep, has_color: bool) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("emend"));
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("EMEND_")) {
        command.env_remove(name);
    }
    command
        .args(["--color", if has_color { "always" } else { "never" }, "--root", "."])
        .args(step.args)
        .env("EMEND_STATE", directory.join(".state"))
        .env("XDG_CONFIG_HOME", directory.join(".config"))
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}

fn has_behaved(step: &TourStep, output: &Output, directory: &Path) -> bool {
    let text = fs::read_to_string(directory.join("shop.py")).unwrap_or_default();
    output.status.code() == Some(step.status) && text.contains(step.contains)
}

/// Formats the arguments as a person would type them.
fn quoted(args: &[&str]) -> String {
    args.iter()
        .map(|arg| match arg {
            arg if arg.contains('\n') => format!("$'{}'", arg.replace('\n', "\\n")),
            arg if arg.contains(' ') => format!("'{arg}'"),
            arg => (*arg).to_owned(),
        })
        .collect::<Vec<String>>()
        .join(" ")
}

/// Creates a directory with a short name below the one for temporary files.
///
/// Errors: it cannot be created.
fn new_directory() -> Result<PathBuf> {
    let base = std::env::temp_dir();
    for number in 1..=DIRECTORIES_MAX {
        let name = if number == 1 { "emend-tour".to_owned() } else { format!("emend-tour-{number}") };
        let directory = base.join(name);
        match fs::create_dir(&directory) {
            Ok(()) => {
                return directory.canonicalize().map_err(|error| io_error(&directory.display().to_string(), &error));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error(&directory.display().to_string(), &error)),
        }
    }
    Err(Error::new(Code::IoFailed, format!("{} is full of old tours.", base.display())).next("Remove them."))
}
