//! Removes one safety step at a time from a copy of `crates/fs` and runs its tests. Some test must fail for each step;
//! otherwise nothing proves that the step works.

use crate::command::cargo;
use crate::repo::Repo;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A removed step: its name, the file and text to replace, and the test that covers it, in the library (`lib`) or in a
/// test program.
struct Mutant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    shown_by: (&'static str, &'static str),
}

const fn mutant(
    name: &'static str,
    (file, from, to): (&'static str, &'static str, &'static str),
    shown_by: (&'static str, &'static str),
) -> Mutant {
    Mutant { name, file, from, to, shown_by }
}

const MUTANTS: &[Mutant] = &[
    mutant(
        "data-sync",
        ("stage.rs", "if self.durability.syncs() {\n            let files", "if false {\n            let files"),
        ("lib", "power_cut_leaves_old_or_new_state"),
    ),
    mutant(
        "sync-before-publishing",
        ("publish.rs", "            self.sync(0)?;\n", ""),
        ("lib", "power_cut_leaves_old_or_new_state"),
    ),
    mutant("folder-sync", ("publish.rs", "sys::fsync(&folder.fd)?;", ""), ("lib", "power_cut_leaves_old_or_new_state")),
    mutant(
        "made-folder-sync",
        ("publish.rs", "self.created_dirs.iter().rev().try_for_each(|made| made.sync_parent(&mut synced))?;", ""),
        ("lib", "power_cut_leaves_old_or_new_state"),
    ),
    mutant(
        "in-place-sync",
        ("publish.rs", "if sync { sys::fdatasync(file) } else { Ok(()) }", "let _ = sync;\n    Ok(())"),
        ("lib", "power_cut_leaves_old_or_new_state"),
    ),
    mutant(
        "re-hash",
        (
            "precondition.rs",
            "if now.size == bytes.len() as u64 => same_bytes(file, bytes),",
            "if now.size == bytes.len() as u64 => Ok(std::mem::size_of_val(file) > 0),",
        ),
        ("lib", "last_comparison_protects_plain_renames"),
    ),
    mutant(
        "spliced-look",
        (
            "lease.rs",
            "file.still_has_content(now, source.meta(), content))",
            "file.still_has_content(now, source.meta(), content).map(|_| true))",
        ),
        ("splicing", "change_before_the_lease_stays"),
    ),
    mutant(
        "spliced-lease",
        (
            "publish.rs",
            "&& source.leased().is_some_and(splice::LeasedSource::has_waiting_writer)",
            "&& source.meta().size > u64::MAX - 1",
        ),
        ("splicing", "concurrent_change_stays"),
    ),
    mutant(
        "identity",
        ("precondition.rs", "if !now.same_file(meta) {", "if false {"),
        ("writing", "concurrent_save_is_never_replaced"),
    ),
    mutant(
        "exchange-together",
        (
            "publish_batch.rs",
            "kernel::exchange(here, &temp.name, entry.name).is_err()",
            "sys::rename(here, &temp.name, entry.name, rustix::fs::RenameFlags::empty()).is_err()",
        ),
        ("lib", "save_right_before_the_exchange_is_put_back"),
    ),
    mutant(
        "together-put-back",
        (
            "publish.rs",
            "if let Err(error) = self.exchange_in_parallel() {\n            return Err(rollback::undo(&mut self, error));",
            "if let Err(error) = self.exchange_in_parallel() {\n            return Err(error);",
        ),
        ("lib", "failure_in_one_thread_rolls_everything_back"),
    ),
    mutant(
        "exchange",
        (
            "publish.rs",
            "kernel::exchange(folder, &temp.name, entry.name) {",
            "sys::rename(folder, &temp.name, entry.name, RenameFlags::empty()) {",
        ),
        ("lib", "save_right_before_the_exchange_is_put_back"),
    ),
    mutant(
        "exchange-check",
        ("lease.rs", "            (Some(file), Precondition::Version { bytes, .. }) => same_bytes(file, bytes),\n", ""),
        ("lib", "save_right_before_the_exchange_is_put_back"),
    ),
    mutant(
        "exchange-identity",
        ("lease.rs", "if identity_at(folder, temp)? != (self.meta.dev, self.meta.ino) {", "if false {"),
        ("lib", "save_right_before_the_exchange_is_put_back"),
    ),
    mutant(
        "second-name",
        ("publish.rs", "Ok(()) => second.exists = true,", "Ok(()) => {}"),
        ("lib", "save_right_before_the_exchange_is_put_back"),
    ),
    mutant(
        "lease",
        ("precondition.rs", "let leases = look == OpenMode::Lease &&", "let leases = look != look &&"),
        ("lib", "blocked_writer_finds_the_old_file_at_its_name"),
    ),
    mutant(
        "lease-check",
        (
            "lease.rs",
            "        if self.has_waiting_writer() || self.lost {\n            return Ok(false);\n        }\n",
            "",
        ),
        ("lib", "blocked_writer_finds_the_old_file_at_its_name"),
    ),
    mutant(
        "lease-to-the-end",
        (
            "publish.rs",
            "entry.displaced.as_ref().is_some_and(LeasedFile::has_waiting_writer)",
            "entry.displaced.as_ref().is_some_and(|_| false)",
        ),
        ("lib", "blocked_writer_finds_the_old_file_at_its_name"),
    ),
    mutant(
        "open-writer",
        ("publish.rs", "if old.is_open_for_writing() {", "if false {"),
        ("lib", "file_kept_open_by_a_writer_is_written_in_place"),
    ),
    mutant(
        "record",
        (
            "publish.rs",
            "self.record.append(&JournalFrame::Commit(self.entries.iter().map(StagedFile::step).collect()))?;",
            "",
        ),
        ("lib", "death_at_any_call_leaves_old_or_new_state"),
    ),
    mutant(
        "record-of-bytes",
        (
            "publish.rs",
            "            self.record.append(&entry.bytes(index))?;\n",
            "            let _ = (index, entry);\n",
        ),
        ("lib", "death_at_any_call_leaves_old_or_new_state"),
    ),
    mutant(
        "record-sync",
        ("journal.rs", "sys::fdatasync(&record.file).inspect_err(|_| record.sync_failed = true).map_err(failed)?;", ""),
        ("lib", "power_cut_leaves_old_or_new_state"),
    ),
    mutant(
        "failed-sync",
        ("journal.rs", "if record.sync_failed {", "if record.sync_failed && false {"),
        ("lib", "reply_is_true_after_any_failure"),
    ),
    mutant(
        "record-lock",
        ("journal.rs", "Err(Errno::WOULDBLOCK) => return Ok(None),\n            other", "other"),
        ("lib", "records_of_live_processes_and_other_roots_are_left_alone"),
    ),
    mutant(
        "abort",
        ("journal.rs", "if self.is_committed() && !self.aborted {", "if self.is_committed() && false {"),
        ("lib", "reply_is_true_after_any_failure"),
    ),
    mutant(
        "beneath",
        (
            "sys/linux.rs",
            "ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;",
            "ResolveFlags::empty();",
        ),
        ("paths", "links_are_followed_within_the_roots_only"),
    ),
    mutant(
        "nonblock",
        ("read.rs", ".union(OFlags::NONBLOCK)", ""),
        ("reading", "only_regular_files_are_read_without_blocking"),
    ),
    mutant(
        "regular-only",
        ("read.rs", "FileType::RegularFile => Ok(file_meta(&stat)),", "_ => Ok(file_meta(&stat)),"),
        ("reading", "only_regular_files_are_read_without_blocking"),
    ),
    mutant(
        "mode-copy",
        ("write_temp.rs", ".and_then(|()| sys::fchmod(fd, sys::mode(mode)))", ""),
        ("writing", "mode_and_attributes_are_preserved"),
    ),
    mutant(
        "attributes",
        (
            "write_temp.rs",
            "attributes::copy_xattrs(model, fd, &mut entry.notes)",
            "attributes::copy_xattrs(fd, fd, &mut entry.notes)",
        ),
        ("writing", "mode_and_attributes_are_preserved"),
    ),
    mutant(
        "owner",
        (
            "write_temp.rs",
            "let given = sys::fchown(fd, uid, gid);",
            "let given = { let _ = (uid, gid); rustix::io::Result::Ok(()) };",
        ),
        ("writing", "owner_is_preserved"),
    ),
    mutant(
        "private",
        (
            "write_temp.rs",
            "TempFile::create(folder.fd.as_fd(), entry.name, Mode::from_raw_mode(0o600), options.batch) {",
            "TempFile::create(folder.fd.as_fd(), entry.name, Mode::from_raw_mode(0o666), options.batch) {",
        ),
        ("lib", "temporary_file_is_never_more_readable_than_the_old_one"),
    ),
    mutant(
        "permission",
        (
            "write_temp.rs",
            "    if !is_decided_by_mode(path, &meta)? {\n        check_access(folder, entry.name, path)?;\n    }\n",
            "",
        ),
        ("writing", "forbidden_files_are_refused_and_irreplaceable_ones_written_in_place"),
    ),
    mutant(
        "hard-links",
        ("write_temp.rs", "    if meta.links > 1 {", "    if meta.links > 9 {"),
        ("writing", "hard_links_stay_one_file"),
    ),
    mutant(
        "lock",
        ("publish.rs", "parent_dir::lock_all(self.local, &self.folders)?;", ""),
        ("writing", "lock_held_elsewhere_times_out"),
    ),
    mutant(
        "new-name",
        (
            "publish.rs",
            "match kernel::rename_new(folder, from, to) {",
            "match sys::rename(folder, from, to, RenameFlags::empty()) {",
        ),
        ("lib", "file_created_before_ours_is_published_stays"),
    ),
    mutant(
        "read-back",
        ("stage.rs", "if kept { Ok(()) }", "if kept || !kept { Ok(()) }"),
        ("lib", "file_system_that_loses_writes_is_detected"),
    ),
    mutant(
        "sweep",
        ("stage.rs", "sweep::sweep(self.local, &folder);", "let _ = sweep::sweep;"),
        ("lib", "next_write_sweeps_orphaned_temporary_files_only"),
    ),
    mutant(
        "unopened-directory",
        (
            "recover.rs",
            "Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,",
            "Err(errno) if errno != Errno::NOSYS => None,",
        ),
        ("lib", "recovery_that_fails_at_any_call_is_completed_by_the_next"),
    ),
    mutant(
        "settled-steps",
        ("recover.rs", "record.append(&JournalFrame::Settled(done))?;", "drop(done);"),
        ("lib", "settled_steps_are_not_repeated"),
    ),
    mutant(
        "open-record",
        ("mod.rs", "self.check_unfinished(writes)?;", ""),
        ("lib", "files_of_an_open_record_are_not_changed"),
    ),
    mutant(
        "damaged-record",
        ("recover.rs", "if !is_torn(&bytes[end..]) {", "if false {"),
        ("lib", "damaged_record_stays_with_its_temporary_files"),
    ),
];

/// Longer than any test run that terminates. A test that hangs here lacks a time limit and proves nothing.
const PATIENCE: Duration = Duration::from_secs(900);

/// Tries every mutant, or the named ones. Fails if no test notices one of them.
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
        if let Some(by) = noticed(&scratch, mutant)? {
            seen += 1;
            println!("{}: {by}", mutant.name);
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

/// Copies the crates that `fs` needs into a workspace, with one step removed.
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

/// Runs the test that covers the step, then all others; returns the first that failed.
fn noticed(scratch: &Path, mutant: &Mutant) -> Result<Option<String>, String> {
    let cargo = |arguments: &[&str]| {
        let mut command = cargo();
        command.args(["test", "-p", "emendate-fs"]).args(arguments).current_dir(scratch.join("work"));
        command.env("CARGO_TARGET_DIR", scratch.join("target"));
        command
    };
    let (program, test) = mutant.shown_by;
    let program = if program == "lib" { vec!["--lib"] } else { vec!["--test", program] };
    let built = cargo(&["--quiet", "--no-run"]).args(&program).stderr(Stdio::null()).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("{}: the copy in {} does not build", mutant.name, scratch.display()));
    }
    let of_test = [&program[..], &["--", test]].concat();
    let failed = failed(cargo(&of_test), scratch)?;
    if failed.is_some() { Ok(failed) } else { self::failed(cargo(&[]), scratch) }
}

/// Returns the first test that fails; `None` if all pass or one hangs.
fn failed(mut tests: Command, scratch: &Path) -> Result<Option<String>, String> {
    let log: PathBuf = scratch.join("log");
    let file = std::fs::File::create(&log).map_err(|error| error.to_string())?;
    let errors = file.try_clone().map_err(|error| error.to_string())?;
    let started = tests.process_group(0).stdout(file).stderr(errors).spawn();
    let Some(good) = ended(&mut started.map_err(|error| error.to_string())?)? else {
        println!("a test hangs and has no limit of its own");
        return Ok(None);
    };
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    let failed = said.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    Ok((!good).then(|| failed.map_or_else(|| "a test program failed".to_owned(), |name| format!("{name} fails"))))
}

/// Waits for the process; returns `None` if it took too long and was killed.
fn ended(child: &mut Child) -> Result<Option<bool>, String> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status.success()));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    // The test program would outlive cargo, so the whole process group is killed.
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
    let _ = child.wait();
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{MUTANTS, taken_out};
    use crate::repo::Repo;

    /// The mutants themselves take hours; this shows that each of them still has its step and its test.
    #[test]
    fn each_mutant_has_its_step_and_its_test() {
        let repo = Repo::open().unwrap();
        for mutant in MUTANTS {
            let path = format!("crates/fs/src/local/{}", mutant.file);
            let file = repo.files.iter().find(|file| file.path == path);
            let file = file.unwrap_or_else(|| panic!("{}: there is no {path}", mutant.name));
            taken_out(&file.text, mutant).unwrap();
            let test = format!("fn {}", mutant.shown_by.1);
            let mut sources = repo.files.iter().filter(|file| file.path.starts_with("crates/fs/"));
            assert!(sources.any(|file| file.text.contains(&test)), "{}: no {test}", mutant.name);
        }
    }
}
