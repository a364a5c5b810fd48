//! The native modules for Node, and the wheels: those of a port for each C library of its system.

use super::Release;
use super::npm::publish;
use crate::node::main_package;
use crate::npm_package::Npm;
use crate::npm_platform::MODULE;
use crate::portable::has_target;
use crate::ports::{Port, Toolchain};
use crate::python::{BUILD_REQUIREMENTS, stage_command};
use crate::wasm;
use std::fs;

/// A wheel, and the systems that can use it.
struct Wheel {
    /// The port whose command it contains.
    port: &'static str,
    target: &'static str,
    /// The oldest C library, as the names of wheels call it; none for systems without a choice.
    compatibility: Option<&'static str>,
}

const WHEELS: &[Wheel] = &[
    wheel("musl", "x86_64-unknown-linux-gnu", Some("manylinux_2_28")),
    wheel("musl", "x86_64-unknown-linux-musl", Some("musllinux_1_2")),
    wheel("arm", "aarch64-unknown-linux-gnu", Some("manylinux_2_28")),
    wheel("arm", "aarch64-unknown-linux-musl", Some("musllinux_1_2")),
    wheel("windows", "x86_64-pc-windows-gnu", None),
];

const fn wheel(port: &'static str, target: &'static str, compatibility: Option<&'static str>) -> Wheel {
    Wheel { port, target, compatibility }
}

/// Makes the packages of npm that are the same for every system: `emendate` and `@emendate/core`. Returns their names.
///
/// Errors: those of the build and of `npm pack`.
pub(super) fn write_portable(release: &Release) -> Result<String, String> {
    let npm = Npm::new()?;
    let (core, size) = wasm::built(&npm)?;
    let names = [publish(release, &npm.pack(&main_package(&npm)?)?)?, publish(release, &npm.pack(&core)?)?];
    Ok(format!("{} ({size})", names.join(", ")))
}

/// Builds the modules and wheels of a port of which the command was built. Returns their names.
///
/// Errors: the first one that does not build.
pub(super) fn write(release: &Release, toolchain: &Toolchain, port: &Port, profile: &str) -> Result<String, String> {
    let npm = Npm::new()?;
    let mut made = Vec::new();
    for platform in MODULE.platforms.iter().filter(|platform| is_of(port, platform.target)) {
        if !has_target(platform.target) {
            return Err(format!("`rustup target add {}` failed", platform.target));
        }
        let module = toolchain.build_module(platform.target, profile)?;
        made.push(publish(release, &MODULE.pack(&npm, platform, &module)?)?);
    }
    let tools = release.root.join("target/python/build");
    external::install::python(&tools, &release.root.join(BUILD_REQUIREMENTS)).map_err(|error| error.to_string())?;
    stage_command(&release.root, &toolchain.program(port, profile))?;
    for wheel in WHEELS.iter().filter(|wheel| wheel.port == port.name) {
        let folder = release.root.join("target/ports/wheels");
        // An older wheel must not be the one that is published.
        let _ = fs::remove_dir_all(&folder);
        toolchain.build_wheel(&tools.join("bin/maturin"), wheel.target, wheel.compatibility, profile, &folder)?;
        for file in fs::read_dir(&folder).map_err(|error| error.to_string())?.flatten() {
            made.push(publish(release, &file.path())?);
        }
    }
    Ok(made.join(", "))
}

/// True if a target is that of a port, with any C library.
fn is_of(port: &Port, target: &str) -> bool {
    let without_library = |target: &str| target.rsplit_once('-').map(|(system, _)| system.to_owned());
    without_library(port.target) == without_library(target)
}
