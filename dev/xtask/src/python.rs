//! `cargo xtask python`: builds the Python package, installs it in fresh virtual environments, and tests it there.

use crate::command::{build_emend, output, run};
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names of interpreters that the package supports.
const NAMES: &[&str] =
    &["python3.10", "python3.11", "python3.12", "python3.13", "python3.14", "python3", "/usr/bin/python3"];

/// Names of free-threaded interpreters. A wheel for one of them does not fit any other version.
const FREE_THREADED_NAMES: &[&str] = &["python3.15t", "python3.14t"];

/// The argument that selects the test with such an interpreter.
const FREE_THREADED: &str = "free-threaded";

/// Tests with packages that need an environment of their own: its requirements are in `requirements-NAME.txt`, and its
/// tests in `tests_NAME`. Packages in `requirements-NAME-alone.txt` are installed without their dependencies.
const ENVIRONMENTS: &[&str] = &["adapters", "openhands", "engines", "trainers"];

/// The tools that build the wheel.
pub(crate) const BUILD_REQUIREMENTS: &str = "bindings/python/requirements-build.txt";

/// The oldest Python for which all packages of these environments exist.
const ENVIRONMENT_MINOR: u32 = 12;

/// The checker of types that is not published for Python.
const PYRIGHT: &str = "pyright@1.1.414";

/// Builds the wheel, and tests it with the oldest and the newest Python of this machine; or, with names of environments
/// as arguments, with the packages of these; or, with `free-threaded`, with an interpreter that has no lock.
///
/// Errors: the first step that fails.
pub(crate) fn python(arguments: &[String]) -> Result<String, String> {
    let is_release = arguments.iter().any(|argument| argument == "--release");
    let place = Place::new();
    if arguments.iter().any(|argument| argument == FREE_THREADED) {
        return place.free_threaded(is_release);
    }
    let wheel = place.wheel(is_release, None)?;
    let pythons = interpreters();
    let mut said = vec![format!("wheel: {}", wheel.display())];
    let (Some(oldest), Some(newest)) = (pythons.first(), pythons.last()) else {
        return Err("There is no Python 3.10 or later with ensurepip.".to_owned());
    };
    let selected: Vec<&str> =
        ENVIRONMENTS.iter().copied().filter(|name| arguments.iter().any(|it| it == name)).collect();
    if selected.is_empty() {
        let mut tested = vec![oldest];
        tested.extend((oldest != newest).then_some(newest));
        for python in &tested {
            let venv = place.fresh(python, &wheel)?;
            said.push(format!("Python 3.{}: {}", python.minor, place.test(&venv, "tests")?));
        }
        place.types(&place.venv(newest))?;
        said.push("stubtest and pyright: nothing found".to_owned());
        if tested.len() == 1 {
            said.push("Only one version of Python is here, so no other was tried.".to_owned());
        }
        said.push(format!(
            "Tests with other packages were not run; `cargo xtask python {}` does.",
            ENVIRONMENTS.join(" ")
        ));
        return Ok(said.join("\n"));
    }
    let Some(python) = pythons.iter().find(|python| python.minor >= ENVIRONMENT_MINOR) else {
        said.push(format!("There is no Python 3.{ENVIRONMENT_MINOR}, so the tests with other packages were skipped."));
        return Ok(said.join("\n"));
    };
    if selected.contains(&"engines") {
        output(Command::new("java").arg("-version"))
            .map_err(|error| format!("Spark needs Java, such as Debian's openjdk-17-jre-headless: {error}"))?;
    }
    for name in &selected {
        let venv = place.environment(name, python, &wheel)?;
        said.push(format!("{name}: {}", place.test(&venv, &format!("tests_{name}"))?));
    }
    Ok(said.join("\n"))
}

/// Puts the command where the next wheel takes it from.
///
/// Errors: those of the disk.
pub(crate) fn stage_command(root: &Path, program: &Path) -> Result<(), String> {
    let scripts = root.join("bindings/python/emendate.data/scripts");
    // The command of another system must not be in the wheel, too.
    let _ = fs::remove_dir_all(&scripts);
    fs::create_dir_all(&scripts).map_err(|error| error.to_string())?;
    let copied = scripts.join(program.file_name().unwrap_or_default());
    fs::copy(program, &copied).map_err(|error| format!("{}: {error}", program.display()))?;
    // Symbols would make a large wheel; without a `strip` that knows the format it only is larger.
    let _ = Command::new("strip").arg(&copied).stderr(Stdio::null()).status();
    Ok(())
}

/// The directories of the package.
struct Place {
    root: PathBuf,
    package: PathBuf,
    target: PathBuf,
}

/// An interpreter of this machine.
#[derive(PartialEq)]
struct Interpreter {
    program: PathBuf,
    /// The second number of its version.
    minor: u32,
}

impl Place {
    fn new() -> Place {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Place { package: root.join("bindings/python"), target, root }
    }

    /// Builds the wheel of a free-threaded interpreter, and tests it there.
    fn free_threaded(&self, is_release: bool) -> Result<String, String> {
        let python = found(FREE_THREADED_NAMES.iter().map(PathBuf::from)).pop();
        let python = python.ok_or_else(|| format!("None of {} is here.", FREE_THREADED_NAMES.join(", ")))?;
        let wheel = self.wheel(is_release, Some(&python.program))?;
        let venv = self.target.join("python/venv-free-threaded");
        self.install(&venv, &python, &wheel, "requirements-free-threaded.txt")?;
        Ok(format!("Python 3.{}, free-threaded: {}", python.minor, self.test(&venv, "tests")?))
    }

    /// Builds the command, and the wheel with it: for the stable ABI, or for one interpreter.
    fn wheel(&self, is_release: bool, interpreter: Option<&Path>) -> Result<PathBuf, String> {
        let profile: &[&str] = if is_release { &["--release"] } else { &["--profile", "dev"] };
        build_emend(&self.root, profile)?;
        let command = format!("emend{EXE_SUFFIX}");
        stage_command(&self.root, &self.target.join(if is_release { "release" } else { "debug" }).join(command))?;
        let tools = self.target.join("python/build");
        external::install::python(&tools, &self.root.join(BUILD_REQUIREMENTS)).map_err(|error| error.to_string())?;
        let wheels = self.target.join("wheels");
        // An older wheel must not be the one that is tested.
        let _ = fs::remove_dir_all(&wheels);
        let options = ["build", "--locked", "--quiet", "--auditwheel", "skip", "--compatibility", "linux", "--out"];
        run(Command::new(tools.join("bin/maturin"))
            .args(options)
            .arg(&wheels)
            .args(profile)
            .arg("--strip")
            .args(interpreter.into_iter().flat_map(|it| [Path::new("--interpreter"), it]))
            .current_dir(&self.package))?;
        let mut built = fs::read_dir(&wheels).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
        built.next().ok_or_else(|| format!("maturin left no wheel in {}", wheels.display()))
    }

    /// The virtual environment of an interpreter.
    fn venv(&self, python: &Interpreter) -> PathBuf {
        self.target.join(format!("python/venv-3.{}", python.minor))
    }

    /// Makes a new virtual environment with the wheel and what its tests need.
    fn fresh(&self, python: &Interpreter, wheel: &Path) -> Result<PathBuf, String> {
        let venv = self.venv(python);
        self.install(&venv, python, wheel, "requirements-test.txt")?;
        Ok(venv)
    }

    /// Makes a virtual environment with the wheel and these packages.
    fn install(&self, venv: &Path, python: &Interpreter, wheel: &Path, requirements: &str) -> Result<(), String> {
        // The environment may not exist.
        let _ = fs::remove_dir_all(venv);
        run(Command::new(&python.program).args(["-m", "venv"]).arg(venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "5"];
        let install = || {
            let mut command = Command::new(venv.join("bin/python"));
            command.args(pip);
            command
        };
        let requirements = self.package.join(requirements);
        run(install().args(["--require-hashes", "--only-binary", ":all:", "--requirement"]).arg(requirements))?;
        run(install().arg("--no-deps").arg(wheel))
    }

    /// Makes a new virtual environment with the wheel and the packages of an environment. They are many, so `uv` installs
    /// them, which keeps what it downloaded.
    fn environment(&self, name: &str, python: &Interpreter, wheel: &Path) -> Result<PathBuf, String> {
        let venv = self.target.join("python").join(name);
        let uv = || Command::new(self.target.join("python/build/bin/uv"));
        run(uv().args(["venv", "--quiet", "--clear", "--python"]).arg(&python.program).arg(&venv))?;
        let install = || {
            let mut command = uv();
            command.args(["pip", "install", "--quiet", "--python"]).arg(venv.join("bin/python"));
            command
        };
        let requirements = self.package.join(format!("requirements-{name}.txt"));
        run(install().arg("--require-hashes").arg("--requirement").arg(requirements))?;
        let alone = self.package.join(format!("requirements-{name}-alone.txt"));
        if alone.exists() {
            run(install().args(["--no-deps", "--require-hashes", "--requirement"]).arg(alone))?;
        }
        run(install().args(["--no-deps", "--reinstall"]).arg(wheel))?;
        Ok(venv)
    }

    /// Runs tests, and returns their summary.
    fn test(&self, venv: &Path, tests: &str) -> Result<String, String> {
        let pytest = ["-m", "pytest", "-p", "no:cacheprovider", tests];
        let passed = output(Command::new(venv.join("bin/python")).args(pytest).current_dir(&self.package))?;
        Ok(passed.trim_end().lines().last().unwrap_or_default().to_owned())
    }

    /// Compares the stub with the module, and checks the types of the package and its tests.
    fn types(&self, venv: &Path) -> Result<(), String> {
        let python = venv.join("bin/python");
        let stubtest = ["-m", "mypy.stubtest", "emendate", "--mypy-config-file"];
        let config = self.package.join("stubtest.ini");
        let allowed = self.package.join("stubtest-allowed.txt");
        let mut command = Command::new(&python);
        run(command.args(stubtest).arg(config).arg("--allowlist").arg(allowed).current_dir(&self.target))?;
        let node = self.target.join("python/pyright");
        let program = node.join("node_modules/.bin/pyright");
        external::install::npm(&node, &[PYRIGHT], || program.exists()).map_err(|error| error.to_string())?;
        run(Command::new(&program).arg("--pythonpath").arg(&python).current_dir(&self.package))
    }
}

/// Returns the interpreters of this machine by version, each version once: those on PATH, and those of pyenv, which puts
/// only one there.
fn interpreters() -> Vec<Interpreter> {
    let mut programs: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    if let Some(pyenv) = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home) {
        let versions = fs::read_dir(pyenv.join("versions")).into_iter().flatten().flatten();
        programs.extend(versions.map(|version| version.path().join("bin/python3")));
    }
    found(programs)
}

/// Returns those of these interpreters that are here, by version, each version once.
fn found(programs: impl IntoIterator<Item = PathBuf>) -> Vec<Interpreter> {
    const PRINT: &str = "import ensurepip, sys; print(sys.version_info[1] * (sys.version_info[0] == 3))";
    let mut found: Vec<Interpreter> = Vec::new();
    for program in programs {
        let Ok(output) = Command::new(&program).args(["-c", PRINT]).output() else { continue };
        let minor = String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().ok();
        if let Some(minor) = minor.filter(|minor| *minor >= 10 && found.iter().all(|python| python.minor != *minor)) {
            found.push(Interpreter { program, minor });
        }
    }
    found.sort_by_key(|python| python.minor);
    found
}
