//! The packages of npm for the command: `@emendate/cli`, and one for each system with an archive.

use super::{NAME, Release};
use crate::command::output;
use crate::npm_package::Npm;
use crate::npm_platform::{self, COMMAND};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Extracts the program of an archive for Windows.
const UNZIP: &str = "\
import sys, zipfile
archive, entry, folder = sys.argv[1:]
zipfile.ZipFile(archive).extract(entry, folder)
";

/// Packs the programs of the archives, so that those of other machines are packed, too. Returns the systems.
///
/// Errors: an archive without a program, and those of the disk and of `npm pack`.
pub(super) fn write(release: &Release, archives: &BTreeMap<String, String>) -> Result<String, String> {
    let npm = Npm::new()?;
    publish(release, &npm_platform::pack_command(&npm)?)?;
    let mut systems = Vec::new();
    for platform in COMMAND.platforms.iter().filter(|platform| archives.contains_key(platform.target)) {
        let program = extracted(release, platform.target)?;
        publish(release, &COMMAND.pack(&npm, platform, &program)?)?;
        systems.push(platform.name);
    }
    Ok(format!("npm: @emendate/cli for {}", systems.join(", ")))
}

/// Moves a package to the files of the release, and returns its name.
///
/// Errors: those of the disk.
pub(super) fn publish(release: &Release, package: &Path) -> Result<String, String> {
    let name = package.file_name().unwrap_or_default();
    fs::rename(package, release.out.join(name)).map_err(|error| format!("{}: {error}", package.display()))?;
    Ok(name.to_string_lossy().into_owned())
}

/// Extracts the program from an archive, and returns its path.
fn extracted(release: &Release, target: &str) -> Result<PathBuf, String> {
    let folder = release.root.join("target/dist-content/npm");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let stem = release.stem(target);
    let is_windows = target.contains("windows");
    let entry = format!("{stem}/{NAME}{}", if is_windows { ".exe" } else { "" });
    let archive = release.out.join(format!("{stem}.{}", if is_windows { "zip" } else { "tar.gz" }));
    let mut command = if is_windows {
        let mut python = Command::new("python3");
        python.args(["-c", UNZIP]).arg(&archive).arg(&entry).arg(&folder);
        python
    } else {
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(&folder).arg(&entry);
        tar
    };
    output(&mut command)?;
    Ok(folder.join(entry))
}
