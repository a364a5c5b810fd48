//! The long forms of what the suite shows in short: real kills and real power cuts, by the thousand.

use std::process::Command;

/// One run: what it is called, the arguments of the test program `killing`, the programs it needs, and whether only root can.
struct Run {
    name: &'static str,
    arguments: &'static [&'static str],
    needs: &'static [&'static str],
    root: bool,
}

const RUNS: [Run; 4] = [
    Run { name: "random kills", arguments: &["--rounds", "1000"], needs: &[], root: false },
    Run { name: "kills at every system call", arguments: &["--exact"], needs: &["strace"], root: false },
    Run {
        name: "power cuts on ext4",
        arguments: &["--cuts", "ext4", "--rounds", "100"],
        needs: &["mkfs.ext4", "mount", "python3"],
        root: true,
    },
    Run {
        name: "power cuts on XFS",
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
        command.args(["test", "--quiet", "-p", "emendate-fs", "--test", "killing", "--"]).args(run.arguments);
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
