//! Archives of one target each, and the checksums of all files.

use super::{NAME, Release};
use crate::command::{build_emend, output, run};
use crate::ports::Port;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the repository that every archive contains.
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Shells with completions, and the names of their files.
pub(super) const SHELLS: &[(&str, &str)] = &[
    ("bash", "emend.bash"),
    ("elvish", "emend.elv"),
    ("fish", "emend.fish"),
    ("powershell", "_emend.ps1"),
    ("zsh", "_emend"),
];

/// Packs a directory as Windows expects it; all times are the first that the format has.
const ZIP: &str = "\
import os, sys, zipfile
archive, above, stem = sys.argv[1:]
with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as out:
    for folder, folders, files in os.walk(os.path.join(above, stem)):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            entry = zipfile.ZipInfo(os.path.relpath(path, above).replace(os.sep, '/'))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with open(path, 'rb') as file:
                out.writestr(entry, file.read(), compresslevel=9)
";

/// Collects the content of an archive in a directory, and returns that.
///
/// Errors: those of the file system, and of the program that prints completions and manual page.
pub(super) fn content(release: &Release, port: &Port, program: &Path) -> Result<PathBuf, String> {
    let folder = release.root.join("target/dist-content").join(release.stem(port.target));
    let _ = fs::remove_dir_all(&folder);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder.join("completions")).map_err(failed)?;
    fs::copy(program, folder.join(program.file_name().unwrap_or(NAME.as_ref()))).map_err(failed)?;
    for name in DOCUMENTS {
        fs::copy(release.root.join(name), folder.join(name)).map_err(failed)?;
    }
    let own = own_program(release)?;
    for (shell, file) in SHELLS {
        let text = output(Command::new(&own).args(["completions", shell]))?;
        fs::write(folder.join("completions").join(file), text).map_err(failed)?;
    }
    fs::write(folder.join("emend.1"), output(Command::new(&own).arg("man"))?).map_err(failed)?;
    Ok(folder)
}

/// Returns a program for this machine, which prints what all targets share.
fn own_program(release: &Release) -> Result<PathBuf, String> {
    build_emend(&release.root, &[])?;
    Ok(release.root.join("target/debug").join(NAME))
}

/// Packs the directory, the same for the same content; returns the size of the archive.
///
/// Errors: those of `tar` and `gzip`.
pub(super) fn write(release: &Release, port: &Port, content: &Path) -> Result<u64, String> {
    let stem = release.stem(port.target);
    if port.is_windows() {
        let packed = release.out.join(format!("{stem}.zip"));
        run(Command::new("python3")
            .args(["-c", ZIP])
            .arg(&packed)
            .arg(content.parent().unwrap_or(content))
            .arg(&stem))?;
        return fs::metadata(&packed).map(|meta| meta.len()).map_err(|error| error.to_string());
    }
    let tar = release.out.join(format!("{stem}.tar"));
    let mut command = Command::new("tar");
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--format=ustar", "-cf"]);
    run(command.arg(&tar).arg("-C").arg(content.parent().unwrap_or(content)).arg(&stem))?;
    run(Command::new("gzip").args(["-9nf"]).arg(&tar))?;
    let packed = release.out.join(format!("{stem}.tar.gz"));
    fs::metadata(&packed).map(|meta| meta.len()).map_err(|error| error.to_string())
}

/// Returns the checksums of the archives of this version, by target.
///
/// Errors: those of the file system.
pub(super) fn list(release: &Release) -> Result<BTreeMap<String, String>, String> {
    let prefix = format!("{NAME}-{}-", release.version);
    let mut out = BTreeMap::new();
    for name in names(release)? {
        let stem = name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".zip"));
        if let Some(target) = stem.and_then(|stem| stem.strip_prefix(&prefix)) {
            out.insert(target.to_owned(), checksum(&release.out.join(&name))?);
        }
    }
    Ok(out)
}

/// Writes `SHA256SUMS` over all files of the release.
///
/// Errors: those of the file system.
pub(super) fn write_checksums(release: &Release) -> Result<(), String> {
    let mut text = String::new();
    for name in names(release)?.iter().filter(|name| *name != "SHA256SUMS") {
        let sum = checksum(&release.out.join(name))?;
        text.extend([&sum, "  ", name, "\n"]);
    }
    fs::write(release.out.join("SHA256SUMS"), text).map_err(|error| error.to_string())
}

/// Returns the names of the release's files, sorted.
fn names(release: &Release) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(&release.out).map_err(|error| error.to_string())?;
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Returns the SHA-256 of a file in hexadecimal.
fn checksum(path: &Path) -> Result<String, String> {
    let text = output(Command::new("sha256sum").arg(path))?;
    text.split(' ').next().map(str::to_owned).ok_or_else(|| "sha256sum printed nothing".to_owned())
}
