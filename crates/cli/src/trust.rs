//! Permanent decisions of a person, one per line in the state directory: rules answered with "always", and trusted
//! project files.

use crate::context::CliContext;
use crate::{io_error, output};
use emendate::core::{Code, Error, Result};
use emendate::fs::{LocalStore, Store as _};
use emendate::{Config, PolicyMode, project_file};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// File of allow rules.
const ALLOWED_RULES_FILE: &str = "always";
/// File of trusted files: a digest, a space and a path per line.
const TRUSTED_FILES_FILE: &str = "trusted";

/// Returns the path of a list in the state directory; `None` without one.
fn list(context: &CliContext<'_>, name: &str) -> Option<PathBuf> {
    context.state().directory().map(|directory| directory.join(name))
}

/// Reads the lines of a list; none if it does not exist.
///
/// Errors: an existing list that cannot be read.
fn lines(path: &Path) -> Result<Vec<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(io_error(&path.display().to_string(), &error)),
    }
}

/// Adds the decisions to a configuration.
///
/// Errors: as [`lines`]; an invalid rule.
pub(crate) fn with_remembered_rules(context: &CliContext<'_>, mut config: Config) -> Result<Config> {
    if let Some(path) = list(context, ALLOWED_RULES_FILE) {
        for rule in lines(&path)? {
            config = config.with_rule(PolicyMode::Allow, &rule, &path.display().to_string())?;
        }
    }
    let Some(path) = list(context, TRUSTED_FILES_FILE) else { return Ok(config) };
    for line in lines(&path)? {
        let Some((digest, file)) = line.split_once(' ') else { continue };
        config = config.with_trusted_file(PathBuf::from(file), digest);
    }
    Ok(config)
}

/// Appends lines to a list.
///
/// Errors: no state directory, or one that cannot be written.
fn append(context: &CliContext<'_>, name: &str, fresh: &[String]) -> Result<()> {
    let path = list(context, name).ok_or_else(|| {
        Error::new(Code::CallInvalid, "There is no state directory, so this cannot be remembered.")
            .next("Name one with --state, or answer yes each time.")
    })?;
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).map_err(|error| trust_failure(&path, &error))?;
    let known = lines(&path)?;
    let text: String = fresh.iter().filter(|line| !known.contains(line)).map(|line| format!("{line}\n")).collect();
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| trust_failure(&path, &error))
}

/// Returns the error of a list that cannot be written.
fn trust_failure(path: &Path, error: &std::io::Error) -> Error {
    io_error(&path.display().to_string(), error)
}

/// Remembers allow rules.
///
/// Errors: as [`append`].
pub(crate) fn remember_rules(context: &CliContext<'_>, rules: &[String]) -> Result<()> {
    append(context, ALLOWED_RULES_FILE, rules)
}

/// `emend trust`: the project files of the roots count as the person's own, as long as they are unchanged.
///
/// Errors: no project file, or one that cannot be read, such as a link that leaves the roots; a mistake in it; as
/// [`append`].
pub(crate) fn trust(context: &CliContext<'_>, revoke: bool) -> Result<u8> {
    let store = LocalStore::open(&context.roots()?)?;
    let mut files = Vec::new();
    for root in store.roots() {
        // Only a file that is in force can be trusted.
        files.extend(project_file(&root.canonical, &store)?);
    }
    if files.is_empty() {
        return Err(Error::new(Code::FileMissing, "There is no emend.toml in the roots.")
            .next("Go to the project, or name it with --root."));
    }
    for (file, bytes) in &files {
        let name = file.to_str().filter(|name| !name.contains('\n')).ok_or_else(|| {
            Error::new(Code::PathInvalid, "A file whose path is not text of one line cannot be trusted.")
        })?;
        let dry_run = context.global.dry_run;
        if revoke {
            if !dry_run {
                forget(context, name)?;
            }
            let verb = if dry_run { "would no longer be" } else { "is no longer" };
            output::note(&format!("{name} {verb} trusted: it can only make rules stricter."));
            continue;
        }
        // With a mistake, none of its rules apply.
        Config::default().with_file(&String::from_utf8_lossy(bytes), name, true)?;
        // A person should have seen the file before trusting it.
        output::page(&String::from_utf8_lossy(bytes))?;
        if !dry_run {
            append(context, TRUSTED_FILES_FILE, &[format!("{} {name}", Config::digest(bytes))])?;
        }
        let verb = if dry_run { "would be" } else { "is" };
        output::note(&format!("{name} {verb} trusted until it changes; `emend trust --revoke` ends that."));
    }
    Ok(0)
}

/// Removes a path from the list of trusted ones.
fn forget(context: &CliContext<'_>, name: &str) -> Result<()> {
    let Some(path) = list(context, TRUSTED_FILES_FILE) else { return Ok(()) };
    let kept = lines(&path)?.into_iter().filter(|line| line.split_once(' ').is_none_or(|(_, file)| file != name));
    let text: String = kept.map(|line| line + "\n").collect();
    std::fs::write(&path, text).map_err(|error| io_error(&path.display().to_string(), &error))
}
