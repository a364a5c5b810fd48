//! `cargo xtask dist`: everything that a release publishes, in `target/dist`: archives, packages, install scripts and the
//! files of package managers, with checksums and a list of the libraries.
//!
//! A release is built on several machines. Each makes the archives of its targets; the last one, with all archives in the
//! directory, makes the files that name their checksums (`--assemble`).

mod archive;
mod bindings;
mod install_check;
mod npm;
mod sbom;
mod system_packages;
mod templates;
mod wine_check;

use crate::portable::has_target;
use crate::ports::{PORTS, Port, Toolchain};
use std::fs;
use std::path::{Path, PathBuf};

/// The program's name, and that of its packages.
const NAME: &str = "emend";

/// What is published.
pub(crate) struct Release {
    root: PathBuf,
    /// The directory of the published files.
    out: PathBuf,
    version: String,
    description: String,
    repository: String,
}

impl Release {
    /// Reads the version and the addresses from the workspace's manifest.
    fn open() -> Result<Release, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
        let text = fs::read_to_string(root.join("Cargo.toml")).map_err(|error| error.to_string())?;
        let manifest: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let package = &manifest["workspace"]["package"];
        let field = |name: &str| {
            let value = package.get(name).and_then(toml::Value::as_str);
            value.map(str::to_owned).ok_or_else(|| format!("Cargo.toml: [workspace.package] lacks {name}"))
        };
        let out = root.join("target/dist");
        fs::create_dir_all(&out).map_err(|error| error.to_string())?;
        Ok(Release {
            version: field("version")?,
            description: field("description")?,
            repository: field("repository")?,
            root,
            out,
        })
    }

    /// The address of the files of this version.
    fn base(&self) -> String {
        format!("{}/releases/download/v{}", self.repository, self.version)
    }

    /// The name of an archive without its ending.
    fn stem(&self, target: &str) -> String {
        format!("{NAME}-{}-{target}", self.version)
    }
}

/// Builds the release files; `--assemble` builds no program, `--dev` builds them fast and large, for tests, and without
/// modules and wheels unless `--bindings` is there; names of ports select them. Afterwards installs each channel that works
/// here into a clean root, uses it and removes it.
///
/// Errors: the first step that fails.
pub(crate) fn dist(arguments: &[String]) -> Result<String, String> {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if let Some(unknown) = names.iter().find(|name| PORTS.iter().all(|port| port.name != ***name)) {
        return Err(format!("there is no port `{unknown}`"));
    }
    let release = Release::open()?;
    let mut said = Vec::new();
    if !has("--assemble") {
        let toolchain = Toolchain::install()?;
        let profile = if has("--dev") { "dev" } else { "dist" };
        let with_bindings = !has("--dev") || has("--bindings");
        if with_bindings {
            said.push(bindings::write_portable(&release)?);
        }
        for port in PORTS.iter().filter(|port| names.is_empty() || names.iter().any(|name| *name == port.name)) {
            if has_target(port.target) {
                said.push(one_port(&release, &toolchain, port, profile)?);
                if with_bindings && port.has_bindings() {
                    said.push(bindings::write(&release, &toolchain, port, profile)?);
                }
            } else {
                said.push(format!("{}: NOT BUILT: `rustup target add {0}` failed", port.target));
            }
        }
    }
    sbom::write(&release)?;
    write_notes(&release)?;
    let archives = archive::list(&release)?;
    said.extend(templates::write(&release, &archives)?);
    said.push(npm::write(&release, &archives)?);
    archive::write_checksums(&release)?;
    said.extend(install_check::all(&release, &archives)?);
    said.push(format!("release files: {}", release.out.display()));
    Ok(said.join("\n"))
}

/// Writes the changelog's section of this version, which describes the release.
fn write_notes(release: &Release) -> Result<(), String> {
    let changelog = fs::read_to_string(release.root.join("CHANGELOG.md")).map_err(|error| error.to_string())?;
    let heading = format!("\n## {} (", release.version);
    // A build before the release describes what will be in it.
    let section = changelog.split_once(&heading).or_else(|| changelog.split_once("\n## Unreleased"));
    let section = section.map_or("", |(_, rest)| rest.split_once('\n').map_or("", |(_, rest)| rest));
    let section = section.split("\n## ").next().unwrap_or(section);
    fs::write(release.out.join("NOTES.md"), section).map_err(|error| error.to_string())
}

/// Builds the program of a port, its archive and its packages; returns their sizes.
fn one_port(release: &Release, toolchain: &Toolchain, port: &Port, profile: &str) -> Result<String, String> {
    let program = toolchain.build(port, profile)?;
    let size = fs::metadata(&program).map_err(|error| error.to_string())?.len();
    let content = archive::content(release, port, &program)?;
    let packed = archive::write(release, port, &content)?;
    let mut line = format!("{}: program {}, archive {}", port.target, megabytes(size), megabytes(packed));
    for package in system_packages::write(release, port, &content)? {
        line.push_str(", ");
        line.push_str(&package);
    }
    Ok(line)
}

/// A size for people.
fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}
