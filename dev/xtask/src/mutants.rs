//! Takes one safety step at a time out of a copy of `crates/fs` and runs its tests: each of them must be missed by some test,
//! or the step is not shown to be there.

use crate::repo::Repo;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One step taken out: its name, and in which file which text becomes which.
struct Mutant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "data-sync",
        file: "stage.rs",
        from: "if self.durability.syncs() {\n            let files",
        to: "if false {\n            let files",
    },
    Mutant { name: "folder-sync", file: "publish.rs", from: "sys::fsync(&folder.fd)?;", to: "" },
    Mutant {
        name: "re-hash",
        file: "publish.rs",
        from: r#"same_bytes(&file, bytes).map_err(|errno| fault::os("compare", path, errno))?;"#,
        to: "true;",
    },
    Mutant {
        name: "exchange-check",
        file: "publish.rs",
        from: "            (Some(file), Expect::Version { bytes, .. }) => same_bytes(file, bytes),\n",
        to: "",
    },
    Mutant {
        name: "exchange-identity",
        file: "publish.rs",
        from: "if identity_at(folder, temp)? != (self.stamp.dev, self.stamp.ino) {",
        to: "if false {",
    },
    Mutant {
        name: "record",
        file: "publish.rs",
        from: "self.book.note(&Frame::Commit(self.entries.iter().map(Entry::step).collect()))?;",
        to: "",
    },
    Mutant { name: "record-sync", file: "journal.rs", from: "sys::fdatasync(&record.file).map_err(failed)?;", to: "" },
    Mutant {
        name: "beneath",
        file: "kernel.rs",
        from: "ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;",
        to: "ResolveFlags::empty();",
    },
    Mutant { name: "nonblock", file: "look.rs", from: ".union(OFlags::NONBLOCK)", to: "" },
    Mutant {
        name: "mode-copy",
        file: "stage.rs",
        from: ".and_then(|()| sys::fchmod(fd, Mode::from_raw_mode(mode)))",
        to: "",
    },
    Mutant { name: "lock", file: "publish.rs", from: "folder::lock_all(self.local, &self.folders)?;", to: "" },
    Mutant {
        name: "regular-only",
        file: "look.rs",
        from: "FileType::RegularFile => Ok(stamp_of(&stat)),",
        to: "_ => Ok(stamp_of(&stat)),",
    },
];

/// Steps whose loss changes nothing that a test could see, because another one stands behind them.
const TWICE: &[(&str, &str)] =
    &[("re-hash", "the check after the exchange finds the same; it counts alone where names cannot be exchanged")];

/// Longer than any run that ends: a step whose loss makes a test hang is noticed as well.
const PATIENCE: Duration = Duration::from_secs(400);

/// Tries every mutant, or the named ones; an error if the tests miss nothing in one of them.
pub(crate) fn mutants(names: &[String]) -> Result<String, String> {
    if let Some(unknown) = names.iter().find(|name| !MUTANTS.iter().any(|mutant| mutant.name == **name)) {
        let known: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
        return Err(format!("there is no mutant {unknown}; there are {}", known.join(", ")));
    }
    let repo = Repo::open()?;
    let scratch = repo.root.join("target/mutants");
    let (mut seen, mut missed) = (0, Vec::new());
    for mutant in MUTANTS.iter().filter(|mutant| names.is_empty() || names.iter().any(|name| name == mutant.name)) {
        copied(&repo, &scratch, mutant)?;
        if let Some(by) = noticed(&scratch)? {
            seen += 1;
            println!("{}: {by}", mutant.name);
        } else if let Some((_, why)) = TWICE.iter().find(|(name, _)| *name == mutant.name) {
            println!("{}: not noticed: {why}", mutant.name);
        } else {
            missed.push(mutant.name);
            println!("{}: NOT NOTICED", mutant.name);
        }
    }
    match missed.len() {
        0 => Ok(format!("mutants: {seen}, each noticed")),
        _ => Err(format!("mutants: no test misses {}", missed.join(", "))),
    }
}

/// A workspace with the crates that `fs` needs, one step taken out.
fn copied(repo: &Repo, scratch: &Path, mutant: &Mutant) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
    let work = scratch.join("work");
    let _ = std::fs::remove_dir_all(work.join("crates"));
    let path = format!("crates/fs/src/local/{}", mutant.file);
    let wanted = |file: &&crate::repo::File| {
        ["crates/core/", "crates/fs/"].iter().any(|part| file.path.starts_with(part))
            || ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml"].contains(&&*file.path)
    };
    for file in repo.files.iter().filter(wanted) {
        let text = match &*file.path {
            "Cargo.toml" => file
                .text
                .replace(r#"members = ["crates/*", "dev/*"]"#, r#"members = ["crates/core", "crates/fs"]"#)
                .replace("default-members = [\"crates/cli\"]\n", ""),
            at if at == path => taken_out(&file.text, mutant)?,
            _ => file.text.clone(),
        };
        let to = work.join(&file.path);
        std::fs::create_dir_all(to.parent().unwrap_or(&work)).map_err(failed)?;
        std::fs::write(to, text).map_err(failed)?;
    }
    Ok(())
}

fn taken_out(text: &str, mutant: &Mutant) -> Result<String, String> {
    match text.matches(mutant.from).count() {
        1 => Ok(text.replacen(mutant.from, mutant.to, 1)),
        found => Err(format!("{}: its text is {found} times in {}; correct the list", mutant.name, mutant.file)),
    }
}

/// Runs the tests; the first one that failed.
fn noticed(scratch: &Path) -> Result<Option<String>, String> {
    let log: PathBuf = scratch.join("log");
    let file = std::fs::File::create(&log).map_err(|error| error.to_string())?;
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).args(["-p", "emendate-fs"]).current_dir(scratch.join("work"));
        command.env("CARGO_TARGET_DIR", scratch.join("target"));
        command
    };
    let built = cargo(&["test", "--quiet", "--no-run"]).stderr(Stdio::null()).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("the copy in {} does not build", scratch.display()));
    }
    let errors = file.try_clone().map_err(|error| error.to_string())?;
    let mut tests =
        cargo(&["test"]).process_group(0).stdout(file).stderr(errors).spawn().map_err(|error| error.to_string())?;
    let Some(good) = ended(&mut tests)? else { return Ok(Some("a test hangs".to_owned())) };
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    let failed = said.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    Ok((!good).then(|| failed.map_or_else(|| "a test program failed".to_owned(), |name| format!("{name} fails"))))
}

/// Waits; `None` when it took too long and was ended.
fn ended(child: &mut Child) -> Result<Option<bool>, String> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status.success()));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    // The test program would go on without cargo, so the whole group goes.
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
    let _ = child.wait();
    Ok(None)
}
