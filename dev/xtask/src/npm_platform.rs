//! Packages of npm with a binary, one for each platform: npm installs the one whose `os`, `cpu` and `libc` fit.

use crate::npm_package::{self, Npm};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A platform with a package of its own.
pub(crate) struct NpmPlatform {
    /// The end of the package's name: what Node calls the system and the processor, and the C library.
    pub(crate) name: &'static str,
    os: &'static str,
    cpu: &'static str,
    /// The C library that the binary needs; none if it runs with each.
    libc: Option<&'static str>,
    /// The target, as Rust calls it.
    pub(crate) target: &'static str,
}

/// A package that has a part for each platform.
pub(crate) struct NpmBinary {
    /// The word in the names of the parts.
    kind: &'static str,
    /// The name of the file in the parts, without the ending of a program.
    file: &'static str,
    pub(crate) platforms: &'static [NpmPlatform],
}

/// The command. On Linux it is linked statically, so it runs with each C library.
pub(crate) const COMMAND: NpmBinary = NpmBinary {
    kind: "cli",
    file: "emend",
    platforms: &[
        platform("linux-x64", "linux", "x64", None, "x86_64-unknown-linux-musl"),
        platform("linux-arm64", "linux", "arm64", None, "aarch64-unknown-linux-musl"),
        platform("darwin-x64", "darwin", "x64", None, "x86_64-apple-darwin"),
        platform("darwin-arm64", "darwin", "arm64", None, "aarch64-apple-darwin"),
        platform("win32-x64", "win32", "x64", None, "x86_64-pc-windows-gnu"),
    ],
};

/// The native module.
pub(crate) const MODULE: NpmBinary = NpmBinary {
    kind: "node",
    file: "emendate.node",
    platforms: &[
        platform("linux-x64-gnu", "linux", "x64", Some("glibc"), "x86_64-unknown-linux-gnu"),
        platform("linux-x64-musl", "linux", "x64", Some("musl"), "x86_64-unknown-linux-musl"),
        platform("linux-arm64-gnu", "linux", "arm64", Some("glibc"), "aarch64-unknown-linux-gnu"),
        platform("linux-arm64-musl", "linux", "arm64", Some("musl"), "aarch64-unknown-linux-musl"),
        platform("darwin-x64", "darwin", "x64", None, "x86_64-apple-darwin"),
        platform("darwin-arm64", "darwin", "arm64", None, "aarch64-apple-darwin"),
        platform("win32-x64", "win32", "x64", None, "x86_64-pc-windows-gnu"),
    ],
};

const fn platform(
    name: &'static str,
    os: &'static str,
    cpu: &'static str,
    libc: Option<&'static str>,
    target: &'static str,
) -> NpmPlatform {
    NpmPlatform { name, os, cpu, libc, target }
}

impl NpmPlatform {
    /// True for the platform of this program.
    fn is_this_one(&self) -> bool {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            os => os,
        };
        let cpu = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            cpu => cpu,
        };
        let libc = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
        self.os == os && self.cpu == cpu && self.libc.is_none_or(|needed| needed == libc)
    }
}

impl NpmBinary {
    /// Returns the platform of this program.
    ///
    /// Errors: it has no package.
    pub(crate) fn here(&self) -> Result<&'static NpmPlatform, String> {
        let here = self.platforms.iter().find(|platform| platform.is_this_one());
        here.ok_or_else(|| format!("There is no package `@emendate/{}-…` for this platform.", self.kind))
    }

    /// Returns the name of the package for a platform.
    pub(crate) fn package_name(&self, platform: &NpmPlatform) -> String {
        format!("@emendate/{}-{}", self.kind, platform.name)
    }

    /// Returns the name of a platform's tarball without its ending.
    pub(crate) fn file_stem(&self, platform: &NpmPlatform) -> String {
        format!("emendate-{}-{}-{}", self.kind, platform.name, env!("CARGO_PKG_VERSION"))
    }

    /// Returns the packages of all platforms, as the optional dependencies of the package that needs one of them.
    pub(crate) fn dependencies(&self) -> Value {
        let version = || Value::from(env!("CARGO_PKG_VERSION"));
        self.platforms.iter().map(|platform| (self.package_name(platform), version())).collect::<Map<_, _>>().into()
    }

    /// Packs a binary of a platform, and returns the tarball.
    ///
    /// Errors: those of the disk and of `npm pack`.
    pub(crate) fn pack(&self, npm: &Npm, platform: &NpmPlatform, binary: &Path) -> Result<PathBuf, String> {
        let package = npm.staged(&format!("{}-{}", self.kind, platform.name))?;
        let is_program = binary.extension().is_some_and(|ending| ending == "exe");
        let name = if is_program { format!("{}.exe", self.file) } else { self.file.to_owned() };
        let to = package.join(&name);
        fs::copy(binary, &to).map_err(|error| format!("{}: {error}", binary.display()))?;
        if platform.is_this_one() {
            // Symbols would make a large package; without `strip` it only is larger.
            let _ = Command::new("strip").arg(&to).status();
        }
        npm.copy("", npm_package::LICENSES, &package)?;
        let mut manifest = json!({
            "name": self.package_name(platform),
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("The part of Emendate for {}", platform.name),
            "license": "MIT OR Apache-2.0",
            "os": [platform.os],
            "cpu": [platform.cpu],
            "main": name,
            "files": [name],
            "preferUnplugged": true,
        });
        if let Some(libc) = platform.libc {
            manifest["libc"] = json!([libc]);
        }
        fs::write(package.join("package.json"), format!("{manifest:#}\n")).map_err(|error| error.to_string())?;
        npm.pack(&package)
    }
}

/// Packs `@emendate/cli`, which starts the command of its platform; returns the tarball.
///
/// Errors: those of the disk and of `npm pack`.
pub(crate) fn pack_command(npm: &Npm) -> Result<PathBuf, String> {
    let package = npm.staged("cli")?;
    npm.copy("bindings/node/cli", &["emend.js", "README.md"], &package)?;
    npm.copy("", npm_package::LICENSES, &package)?;
    npm.write_manifest("bindings/node/cli", [("optionalDependencies", COMMAND.dependencies())], &package)?;
    npm.pack(&package)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `emend.js` and `loader.js` compute the names of these packages.
    #[test]
    fn names_are_made_of_what_node_reports() {
        for (binary, has_library) in [(&COMMAND, false), (&MODULE, true)] {
            for platform in binary.platforms {
                let library = match platform.libc {
                    Some("glibc") => "-gnu",
                    Some(libc) => &format!("-{libc}"),
                    None => "",
                };
                assert_eq!(platform.name, format!("{}-{}{library}", platform.os, platform.cpu));
                assert_eq!(platform.libc.is_some(), has_library && platform.os == "linux", "{}", platform.name);
            }
        }
    }

    #[test]
    fn every_port_has_a_command() {
        let targets: Vec<&str> = COMMAND.platforms.iter().map(|platform| platform.target).collect();
        assert!(crate::ports::PORTS.iter().all(|port| targets.contains(&port.target)), "{targets:?}");
    }
}
