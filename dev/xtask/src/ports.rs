//! `cargo xtask ports`: builds `emend` for other systems, and runs it where this machine can.
//!
//! The linker and the C compiler are zig's, from `PyPI`, so one machine builds for all. `docs/platforms.md` has the table of
//! what was run where.

use crate::command::{cargo, output, run};
use crate::portable::has_target;
use crate::wine::{self, COMPILER, Wine};
use external::is_on_path;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A system for which `emend` is built.
pub(crate) struct Port {
    /// The word on the command line.
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    /// The way in which this machine runs the program.
    runner: Runner,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// The system of this machine.
    Here,
    /// An emulator from Debian's `qemu-user-static`.
    Emulator(&'static str),
    /// Wine.
    Wine,
    /// This machine can only link the program.
    None,
}

impl Port {
    /// True for Windows.
    pub(crate) fn is_windows(&self) -> bool {
        self.target.contains("windows")
    }

    /// True if this machine can link libraries that Python and Node load; those for macOS are built there.
    pub(crate) fn has_bindings(&self) -> bool {
        !self.target.contains("apple")
    }
}

pub(crate) const PORTS: &[Port] = &[
    Port { name: "musl", target: "x86_64-unknown-linux-musl", runner: Runner::Here },
    Port { name: "arm", target: "aarch64-unknown-linux-musl", runner: Runner::Emulator("qemu-aarch64-static") },
    Port { name: "windows", target: "x86_64-pc-windows-gnu", runner: Runner::Wine },
    Port { name: "mac", target: "aarch64-apple-darwin", runner: Runner::None },
    Port { name: "mac-intel", target: "x86_64-apple-darwin", runner: Runner::None },
];

/// The packages of the tools, from `PyPI`.
const TOOLS: &[&str] = &["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];

/// The folder of libraries that other programs load. Their flags would compile everything below the programs again.
const SHARED_LIBRARIES: &str = "target/ports-shared";
/// The oldest glibc that the modules for Node need, which is that of Node 20 itself.
const GLIBC: &str = "2.28";

/// The part of CoreFoundation that a time zone needs. Apple's own description is part of its SDK, which is not free; the
/// system has the library itself.
const CORE_FOUNDATION: &str = "\
--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos ]
install-name:    '/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation'
current-version: 1
exports:
  - targets:         [ x86_64-macos, arm64-macos ]
    symbols:         [ _CFRelease, _CFStringGetBytes, _CFStringGetCStringPtr, _CFStringGetLength, _CFTimeZoneCopySystem,
                       _CFTimeZoneGetName, _CFTimeZoneResetSystem ]
...
";

/// Builds every port, or those named in the arguments, and makes an edit with each that runs here. Windows programs are
/// tested under Wine, and scenes are played with programs that need no emulator. `--check` only checks
/// the types.
///
/// Errors: the first port that does not build, or whose program does not edit a file correctly.
pub(crate) fn ports(arguments: &[String]) -> Result<String, String> {
    let only_check = arguments.iter().any(|argument| argument == "--check");
    let arguments: Vec<&String> = arguments.iter().filter(|argument| *argument != "--check").collect();
    let unknown = arguments.iter().find(|name| PORTS.iter().all(|port| port.name != ***name));
    if let Some(unknown) = unknown {
        let names: Vec<&str> = PORTS.iter().map(|port| port.name).collect();
        return Err(format!("there is no port `{unknown}`; the ports are {}", names.join(", ")));
    }
    let selected = PORTS.iter().filter(|port| arguments.is_empty() || arguments.iter().any(|name| *name == port.name));
    let toolchain = Toolchain::install()?;
    let mut said = Vec::new();
    for port in selected {
        if !has_target(port.target) {
            said.push(format!("{}: NOT BUILT: `rustup target add {0}` failed", port.target));
            continue;
        }
        if only_check {
            toolchain.check(port)?;
            said.push(format!("{}: types checked", port.target));
            continue;
        }
        if port.runner == Runner::Wine && !is_on_path(COMPILER) {
            said.push(format!("{}: NOT BUILT: {COMPILER} is missing", port.target));
            continue;
        }
        let program = toolchain.build(port, "dev")?;
        let mut done = try_program(port, &program)?;
        match port.runner {
            Runner::Wine => done += &toolchain.test_under_wine(port, &program)?,
            Runner::Here => done += &play_scenes(&toolchain.root, &program)?,
            // An emulated program of this profile takes a quarter of an hour.
            Runner::Emulator(_) | Runner::None => {}
        }
        said.push(format!("{}: {done}", port.target));
    }
    Ok(said.join("\n"))
}

/// The tools that build for other systems.
pub(crate) struct Toolchain {
    root: PathBuf,
    /// The directory of the tools.
    bin: PathBuf,
    frameworks: PathBuf,
}

impl Toolchain {
    /// Installs the tools below `target/`.
    ///
    /// Errors: `PyPI` or Python is missing.
    pub(crate) fn install() -> Result<Toolchain, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
        let venv = root.join("target/ports-tools");
        let bin = venv.join("bin");
        if !bin.join("cargo-zigbuild").exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
            run(Command::new(bin.join("pip")).args(["install", "--quiet"]).args(TOOLS))?;
        }
        let frameworks = root.join("target/ports-frameworks");
        let folder = frameworks.join("CoreFoundation.framework");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        fs::write(folder.join("CoreFoundation.tbd"), CORE_FOUNDATION).map_err(|error| error.to_string())?;
        Ok(Toolchain { root, bin, frameworks })
    }

    /// Checks the types of everything in `emend`. The code in C is not compiled: nothing is linked, and it would take
    /// longer than the check.
    ///
    /// Errors: the check fails.
    fn check(&self, port: &Port) -> Result<(), String> {
        let mut cargo = self.cargo(port.target, "check", "dev")?;
        run(cargo.args(["-p", "emendate-cli"]).envs(["CC", "CXX", "AR"].map(|tool| (tool, "true"))))
    }

    /// Builds `emend` with a profile (`dev` or `dist`); returns the program.
    ///
    /// Errors: the build fails.
    pub(crate) fn build(&self, port: &Port, profile: &str) -> Result<PathBuf, String> {
        let mut cargo = self.cargo(port.target, "rustc", profile)?;
        cargo.args(["-p", "emendate-cli", "--bin", "emend"]);
        if port.target.ends_with("musl") {
            // Both zig and rustc bring the objects that start a program; one set is enough.
            cargo.args(["--", "-Clink-self-contained=no"]);
        }
        run(&mut cargo)?;
        Ok(self.program(port, profile))
    }

    /// Returns the path of the program that was built.
    pub(crate) fn program(&self, port: &Port, profile: &str) -> PathBuf {
        let name = if port.is_windows() { "emend.exe" } else { "emend" };
        self.root.join("target/ports").join(port.target).join(folder_of(profile)).join(name)
    }

    /// Builds the module for Node, and returns its path.
    ///
    /// Errors: the build fails.
    pub(crate) fn build_module(&self, target: &str, profile: &str) -> Result<PathBuf, String> {
        let folder = self.root.join(SHARED_LIBRARIES);
        let is_glibc = target.ends_with("linux-gnu");
        let linked = if is_glibc { format!("{target}.{GLIBC}") } else { target.to_owned() };
        let mut cargo = self.cargo(&linked, "build", profile)?;
        cargo.args(["-p", "emendate-node"]).env("CARGO_TARGET_DIR", &folder);
        if target.ends_with("musl") {
            // A library that a program loads shares that program's C library.
            cargo.env("RUSTFLAGS", "-Ctarget-feature=-crt-static");
        }
        if target.contains("windows") {
            cargo.env("LIBNODE_PATH", empty_node_library(&folder)?);
        }
        run(&mut cargo)?;
        let name = if target.contains("windows") { "emendate_node.dll" } else { "libemendate_node.so" };
        Ok(folder.join(target).join(folder_of(profile)).join(name))
    }

    /// Builds a wheel with maturin into a folder.
    ///
    /// Errors: the build fails.
    pub(crate) fn build_wheel(
        &self,
        maturin: &Path,
        target: &str,
        compatibility: Option<&str>,
        profile: &str,
        out: &Path,
    ) -> Result<(), String> {
        let mut command = Command::new(maturin);
        command.args(["build", "--locked", "--quiet", "--strip", "--target", target, "--profile", profile, "--out"]);
        command.arg(out).env("PATH", self.path()?).env_remove("RUSTFLAGS");
        if let Some(compatibility) = compatibility {
            command.args(["--zig", "--compatibility", compatibility]);
        }
        command.env("CARGO_TARGET_DIR", self.root.join(SHARED_LIBRARIES));
        run(command.current_dir(self.root.join("bindings/python")))
    }

    /// Runs the tests that need no other programs, and all scenes with this program, under Wine; returns what was done.
    ///
    /// Errors: a test fails.
    fn test_under_wine(&self, port: &Port, program: &Path) -> Result<String, String> {
        let Some(wine) = Wine::prepare(&self.root.join("target/ports"))? else { return Ok(String::new()) };
        let mut printed = String::new();
        for tests in wine::TESTS {
            let mut cargo = self.cargo(port.target, "test", "dev")?;
            wine.as_runner(cargo.args(*tests));
            // Drive Z: is the directory that is above all others.
            cargo.env("EMEND_BIN", format!("Z:{}", program.display())).env("EMEND_UNDER_WINE", "1");
            printed += &output(&mut cargo)?;
        }
        let passed = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
        let passed = passed.filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok()).sum::<usize>();
        Ok(format!("; {passed} tests pass under Wine"))
    }

    /// Returns the search path on which the tools come first.
    fn path(&self) -> Result<OsString, String> {
        let mut paths = vec![self.bin.clone()];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        std::env::join_paths(paths).map_err(|error| error.to_string())
    }

    /// Returns a command of cargo for a target, which may end with a version of glibc.
    fn cargo(&self, target: &str, command: &str, profile: &str) -> Result<Command, String> {
        let path = self.path()?;
        // For Windows, the compiler of Debian: zig has no tool for the libraries that rustc describes itself.
        let mut cargo = if target.contains("windows") || command == "check" {
            cargo()
        } else {
            Command::new(self.bin.join("cargo-zigbuild"))
        };
        cargo.args([command, "--locked", "--quiet", "--target", target, "--profile", profile]);
        if profile == "dev" {
            // The programs of these builds make one edit.
            cargo.args(["--config", "profile.dev.package.\"*\".opt-level=0"]);
        }
        // The settings are not those of other builds, which must not be repeated because of them.
        cargo.env("CARGO_TARGET_DIR", self.root.join("target/ports")).env("PATH", path).current_dir(&self.root);
        if target.ends_with("apple-darwin") {
            cargo.env("RUSTFLAGS", format!("-Lframework={}", self.frameworks.display()));
        } else {
            cargo.env_remove("RUSTFLAGS");
        }
        Ok(cargo)
    }
}

/// Plays all scenes through the command line of this program; returns what was done.
///
/// Errors: a scene fails.
fn play_scenes(root: &Path, program: &Path) -> Result<String, String> {
    let mut cargo = cargo();
    cargo.args(["run", "--locked", "--quiet", "-p", "scenes", "--", "--driver", "cli"]);
    let printed = output(cargo.env("EMEND_BIN", program).current_dir(root))?;
    Ok(format!("; {}", printed.trim_end()))
}

/// Makes a library for the linker, which napi names to it, and returns its folder. The module uses nothing of it: it looks
/// up the functions of Node when it is loaded, in the program that loads it.
fn empty_node_library(folder: &Path) -> Result<PathBuf, String> {
    let folder = folder.join("node");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let library = folder.join("libnode.dll");
    run(Command::new(COMPILER).args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]).arg(library))?;
    Ok(folder)
}

/// Returns the name of the folder that cargo has for a profile.
fn folder_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Makes an edit with the program; returns what was done.
fn try_program(port: &Port, program: &Path) -> Result<String, String> {
    let mut command = match port.runner {
        Runner::Here => Command::new(program),
        Runner::Emulator(emulator) if !is_on_path(emulator) => {
            return Ok(format!("built; NOT RUN, because {emulator} is missing"));
        }
        Runner::Emulator(emulator) => {
            let mut command = Command::new(emulator);
            command.arg(program);
            command
        }
        Runner::Wine => {
            let folder = program.ancestors().nth(3).unwrap_or(program);
            let Some(wine) = Wine::prepare(folder)? else {
                return Ok("built; NOT RUN, because wine64 is missing".to_owned());
            };
            let mut command = wine.command();
            command.arg(program);
            command
        }
        Runner::None => return Ok("built and linked; it does not run here".to_owned()),
    };
    let folder = std::env::temp_dir().join(format!("emend-port-{}-{}", port.name, std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join("a.rs");
    fs::write(&file, "fn main() {\r\n    let x = 1;\r\n}\r\n").map_err(|error| error.to_string())?;
    command.args(["edit", "a.rs", "--old", "let x = 1;", "--new", "let x = 2;"]);
    command.current_dir(&folder).env("HOME", &folder).env_remove("XDG_STATE_HOME");
    let done = output(&mut command);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_dir_all(&folder);
    done?;
    if text == "fn main() {\r\n    let x = 2;\r\n}\r\n" {
        Ok("built; it edited a file".to_owned())
    } else {
        Err(format!("{}: the edited file is {text:?}", port.target))
    }
}
