//! `cargo xtask release VERSION`: one version in every manifest, and a dated section in the changelog.

use crate::command::{cargo, output, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets the version of all packages, moves the unreleased changes below it, and updates the lock file. Commits nothing.
///
/// Errors: a version that is not newer, a changelog without unreleased changes, and those of the file system.
pub(crate) fn release(arguments: &[String]) -> Result<String, String> {
    let [new] = arguments else { return Err("usage: cargo xtask release VERSION, for example 0.2.0".to_owned()) };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
    let manifest = read(&root.join("Cargo.toml"))?;
    let old = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    let old = old.ok_or("Cargo.toml has no version")?.to_owned();
    if number(new)? <= number(&old)? {
        return Err(format!("{new} is not newer than {old}"));
    }
    let changelog = read(&root.join("CHANGELOG.md"))?;
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let changelog = dated(&changelog, new, date.trim())?;
    let manifest = manifest.replace(&format!("version = \"{old}\""), &format!("version = \"{new}\""));
    write(&root.join("CHANGELOG.md"), &changelog)?;
    write(&root.join("Cargo.toml"), &manifest)?;
    run(cargo().args(["update", "--workspace", "--offline", "--quiet"]).current_dir(&root))?;
    Ok(format!(
        "version {old} became {new}; check the difference, then:\n  git commit -am 'Version {new}' && git tag v{new} && git push \
         --follow-tags"
    ))
}

/// Puts the unreleased changes below a heading with version and date.
fn dated(changelog: &str, version: &str, date: &str) -> Result<String, String> {
    let (before, after) =
        changelog.split_once("## Unreleased\n").ok_or("CHANGELOG.md has no section `## Unreleased`")?;
    let changes = after.split("\n## ").next().unwrap_or(after);
    if changes.trim().is_empty() {
        return Err("CHANGELOG.md has no unreleased changes".to_owned());
    }
    Ok(format!("{before}## Unreleased\n\n## {version} ({date})\n{after}"))
}

/// Parses a version of three numbers.
fn number(version: &str) -> Result<[u32; 3], String> {
    let parts: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    parts.and_then(|parts| parts.try_into().ok()).ok_or_else(|| format!("`{version}` is no version such as 1.2.3"))
}

fn read(path: &PathBuf) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{dated, number};

    #[test]
    fn unreleased_changes_get_version_and_date() {
        let old = "# Changelog\n\n## Unreleased\n\n- One.\n\n## 0.1.0 (2026-01-01)\n\n- Zero.\n";
        let new =
            "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n- One.\n\n## 0.1.0 (2026-01-01)\n\n- Zero.\n";
        assert_eq!(dated(old, "0.2.0", "2026-02-03").as_deref(), Ok(new));
        assert!(dated(new, "0.3.0", "2026-02-04").unwrap_err().contains("no unreleased changes"));
        assert!(dated("# Changelog\n", "0.3.0", "2026-02-04").is_err());
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(number("0.10.0").unwrap() > number("0.9.9").unwrap());
        assert!(number("1.2").is_err() && number("1.2.x").is_err());
    }
}
