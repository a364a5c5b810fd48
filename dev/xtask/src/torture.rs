//! Runs the long versions of tests that the suite runs in short: thousands of kills and power cuts, racing writers,
//! constrained machines.

use crate::command::cargo;
use std::process::Command;
use std::time::Instant;

/// A run of a test program: its name, arguments and number of rounds, the programs it needs, and whether it needs root.
struct Run {
    name: &'static str,
    /// Package and test program.
    program: (&'static str, &'static str),
    /// The number of times that the suite's rounds are played.
    times: usize,
    arguments: &'static [&'static str],
    /// The argument `--rounds`, for programs that support it.
    rounds: Option<usize>,
    needs: &'static [&'static str],
    root: bool,
}

const KILLING: (&str, &str) = ("emendate-fs", "killing");
const COMMAND: (&str, &str) = ("emendate-cli", "command");

const PLAIN: Run =
    Run { name: "", program: KILLING, times: 1, arguments: &["--nocapture"], rounds: None, needs: &[], root: false };

const RUNS: [Run; 9] = [
    Run {
        name: "racers: 30,000 edits under a link swapper, eight writers, 3,000 saves by rename and in place each",
        program: ("emendate-fs", "racing"),
        times: 20,
        ..PLAIN
    },
    Run {
        name: "eight processes, 1,000 edits each, of one file and of 100; FIFOs, a sparse giant, limits",
        program: COMMAND,
        arguments: &["--nocapture", "hostile::"],
        times: 25,
        needs: &["mkfifo"],
        ..PLAIN
    },
    Run {
        name: "full, read-only and foreign file systems",
        program: COMMAND,
        arguments: &["--nocapture", "mounts::"],
        needs: &["unshare", "setpriv"],
        root: true,
        ..PLAIN
    },
    Run { name: "random kills of an 8 MB edit and of a batch", arguments: &[], rounds: Some(1000), ..PLAIN },
    Run {
        name: "kills at every system call of edits, a batch and a recovery of the store",
        arguments: &["--exact"],
        needs: &["strace"],
        ..PLAIN
    },
    Run {
        name: "kills of the whole program in an edit, a batch, an undo and a recovery, 1,000 at random and at every call",
        program: COMMAND,
        arguments: &["--nocapture", "dying::"],
        times: 34,
        needs: &["strace"],
        ..PLAIN
    },
    Run {
        name: "power cuts on ext4",
        arguments: &["--cuts", "ext4"],
        rounds: Some(100),
        needs: &["mkfs.ext4", "mount", "python3"],
        root: true,
        ..PLAIN
    },
    Run {
        name: "power cuts on XFS",
        arguments: &["--cuts", "xfs"],
        rounds: Some(100),
        needs: &["mkfs.xfs", "mount", "python3"],
        root: true,
        ..PLAIN
    },
    Run {
        name: "kills at every system call on the disk of the temporary folder",
        arguments: &["--exact", "--folder", "/var/tmp"],
        needs: &["strace"],
        ..PLAIN
    },
];

/// The command line arguments.
struct Asked {
    /// The divisor of all round counts.
    part: usize,
    /// Plays only runs whose name contains one of these; all if there are none.
    names: Vec<String>,
}

fn asked(arguments: &[String]) -> Result<Asked, String> {
    let (mut part, mut names) = (1, Vec::new());
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        if argument == "--part" {
            let number = left.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
            part = number.ok_or("--part N plays the N-th part of all rounds")?;
        } else {
            names.push(argument.clone());
        }
    }
    match names.iter().find(|name| !RUNS.iter().any(|run| run.name.contains(&***name))) {
        Some(unknown) => {
            let known: Vec<&str> = RUNS.iter().map(|run| run.name).collect();
            Err(format!("no run has {unknown} in its name; there are:\n{}", known.join("\n")))
        }
        None => Ok(Asked { part, names }),
    }
}

/// Plays all runs that this machine supports, or the named ones; reports the others, and fails if a run fails.
pub(crate) fn torture(arguments: &[String]) -> Result<String, String> {
    let asked = asked(arguments)?;
    let root = output("id", &["-u"]).is_some_and(|user| user.trim() == "0");
    let mut left_out = Vec::new();
    let named = |run: &&Run| asked.names.is_empty() || asked.names.iter().any(|name| run.name.contains(&**name));
    for run in RUNS.iter().filter(named) {
        let missing = run.needs.iter().find(|program| output("which", &[program]).is_none());
        if let Some(program) = missing {
            left_out.push(format!("{} ({program} is not installed)", run.name));
            continue;
        }
        if run.root && !root {
            left_out.push(format!("{} (only root can)", run.name));
            continue;
        }
        println!("== {}", run.name);
        let started = Instant::now();
        let mut command = cargo();
        let (package, test) = run.program;
        command.args(["test", "--quiet", "-p", package, "--test", test, "--"]).args(run.arguments);
        if let Some(rounds) = run.rounds {
            command.args(["--rounds", &rounds.div_ceil(asked.part).to_string()]);
        }
        command.env("EMEND_TEST_TIMES", run.times.div_ceil(asked.part).to_string());
        let status = command.status().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("{}: something was wrong; the lines above say what", run.name));
        }
        println!("{} s", started.elapsed().as_secs());
    }
    match left_out.len() {
        0 => Ok("torture: all runs, nothing wrong".to_owned()),
        _ => Ok(format!("torture: nothing wrong; left out: {}", left_out.join(", "))),
    }
}

/// Returns the output of a program, if it is installed and succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
