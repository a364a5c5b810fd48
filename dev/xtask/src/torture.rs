//! The long forms of what the suite shows in short: real kills and real power cuts, by the thousand.

use std::process::Command;

/// One run: what it is called, the test program and its arguments, how many times its rounds are played, the programs it
/// needs, and whether only root can.
struct Run {
    name: &'static str,
    /// Package and test program.
    program: (&'static str, &'static str),
    times: &'static str,
    arguments: &'static [&'static str],
    needs: &'static [&'static str],
    root: bool,
}

const KILLING: (&str, &str) = ("emendate-fs", "killing");

const RUNS: [Run; 6] = [
    Run {
        name: "racers: swapped links, eight writers, users who save",
        program: ("emendate-fs", "racing"),
        times: "20",
        arguments: &["--nocapture"],
        needs: &[],
        root: false,
    },
    Run {
        name: "eight processes, a thousand edits each",
        program: ("emendate-cli", "hostile"),
        times: "25",
        arguments: &[],
        needs: &["mkfifo"],
        root: false,
    },
    Run {
        name: "random kills",
        program: KILLING,
        times: "1",
        arguments: &["--rounds", "1000"],
        needs: &[],
        root: false,
    },
    Run {
        name: "kills at every system call",
        program: KILLING,
        times: "1",
        arguments: &["--exact"],
        needs: &["strace"],
        root: false,
    },
    Run {
        name: "power cuts on ext4",
        program: KILLING,
        times: "1",
        arguments: &["--cuts", "ext4", "--rounds", "100"],
        needs: &["mkfs.ext4", "mount", "python3"],
        root: true,
    },
    Run {
        name: "power cuts on XFS",
        program: KILLING,
        times: "1",
        arguments: &["--cuts", "xfs", "--rounds", "100"],
        needs: &["mkfs.xfs", "mount", "python3"],
        root: true,
    },
];

/// Runs all that this machine allows; says what it left out, and fails if anything went wrong.
pub(crate) fn torture() -> Result<String, String> {
    let root = output("id", &["-u"]).is_some_and(|user| user.trim() == "0");
    let mut left_out = Vec::new();
    for run in RUNS {
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
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let (package, test) = run.program;
        command.args(["test", "--quiet", "-p", package, "--test", test, "--"]).args(run.arguments);
        command.env("EMEND_TEST_TIMES", run.times);
        let status = command.status().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("{}: something was wrong; the lines above say what", run.name));
        }
    }
    match left_out.len() {
        0 => Ok("torture: all runs, nothing wrong".to_owned()),
        _ => Ok(format!("torture: nothing wrong; left out: {}", left_out.join(", "))),
    }
}

/// What a program prints, if it is there and succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
