//! Wine, in which programs for Windows run here: Debian's package `wine64`, or another one on the search path.

use crate::command::run;
use external::is_on_path;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of Wine's programs that are not on the search path.
const DEBIAN: &str = "/usr/lib/wine/wine64";
/// The C compiler and linker, from Debian's `gcc-mingw-w64-x86-64`.
pub(crate) const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// A library that Rust programs need, and that Wine has since version 9.
const RANDOM_LIBRARY: &str = "bcryptprimitives.dll";
/// The source of that library: its only function, which calls one that older versions of Wine have.
const RANDOM_SOURCE: &str = "\
unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length) {
    while (length > 0) {
        unsigned long part = length > 65536 ? 65536 : (unsigned long)length;
        if (!SystemFunction036(buffer, part)) return 0;
        buffer += part;
        length -= part;
    }
    return 1;
}
";

/// The tests that are run, as arguments of `cargo test`.
pub(crate) const TESTS: &[&[&str]] = &[
    &["-p", "emendate-os"],
    &["-p", "emendate-core", "-p", "emendate-schema"],
    &["-p", "emendate-clients", "-p", "emendate-http", "-p", "emendate-media", "-p", "emendate-syntax"],
    STATE_TESTS,
    ENGINE_UNIT_TESTS,
    ENGINE_TESTS,
    // It starts a program of POSIX.
    &["-p", "emendate-mcp", "--lib", "--", "--skip=a_closed_connection"],
    REVIEW_TESTS,
    &["-p", "emendate-fs", "--test", "windows"],
    &["-p", "scenes", "--test", "scenes", "every_scene"],
];

/// Tests of what the state directory has. SQLite does not share its files for renaming, so a damaged database cannot be
/// set aside while another connection is open; and Wine neither renames onto an open file, nor frees the name of a removed
/// one at once.
const STATE_TESTS: &[&str] = &[
    "-p",
    "emendate-events",
    "-p",
    "emendate-history",
    "--",
    "--skip=connection_to_a_set_aside_file",
    "--skip=damage_found_concurrently",
    "--skip=set_aside_database_takes_no_spool",
    "--skip=compacting_keeps_the_counts",
    "--skip=counters_stay_small",
    "--skip=file_keeps_the_newer_half",
    "--skip=database_of_several_processes",
];

/// Unit tests of the engine. One has names of POSIX, and one starts a program of POSIX.
const ENGINE_UNIT_TESTS: &[&str] =
    &["-p", "emendate", "--lib", "--", "--skip=calls_of_other_clients", "--skip=cancelled_call_does_not_wait"];

/// Tests of the engine through its library. Those of formatters, hooks and language servers start programs of POSIX.
/// Wine cannot rename onto an open file, which large files and the removal of a cancelled call's directory need, and eight
/// engines at once take longer than a call waits.
const ENGINE_TESTS: &[&str] = &[
    "-p",
    "emendate",
    "--test",
    "library",
    "--",
    "--skip=formatters::",
    "--skip=hooks::",
    "--skip=servers::",
    "--skip=output_of_formatters_and_hooks",
    "--skip=big::",
    "--skip=exceeded_limits_are_reported",
    "--skip=files_of_any_kind_and_size",
    "--skip=removed_or_rewritten_large_files",
    "--skip=cancelled_call_leaves_no_trace",
    "--skip=words_of_a_concurrently_changed_file",
];

/// Tests of the review page. The names in three of them are those of POSIX, and the runtime of a fourth one, which passes,
/// does not end under Wine.
const REVIEW_TESTS: &[&str] = &[
    "-p",
    "emendate-review",
    "--lib",
    "--",
    "--skip=hostile_names",
    "--skip=not_text",
    "--skip=fields_are_decoded",
    "--skip=workspaces_are_told_apart",
];

/// Wine with a drive of its own.
pub(crate) struct Wine {
    program: PathBuf,
    prefix: PathBuf,
}

impl Wine {
    /// Prepares a drive in a directory; `None` without Wine.
    ///
    /// Errors: Wine does not start, or the compiler is missing.
    pub(crate) fn prepare(folder: &Path) -> Result<Option<Wine>, String> {
        let debian = Path::new(DEBIAN);
        let program = match ["wine64", "wine"].into_iter().find(|name| is_on_path(name)) {
            Some(name) => PathBuf::from(name),
            None if debian.exists() => debian.to_owned(),
            None => return Ok(None),
        };
        let prefix = folder.join("wine");
        let wine = Wine { program, prefix };
        let system = wine.prefix.join("drive_c/windows/system32");
        if !system.exists() {
            fs::create_dir_all(&wine.prefix).map_err(|error| error.to_string())?;
            run(wine.command().arg("wineboot").arg("-i"))?;
        }
        if !system.join(RANDOM_LIBRARY).exists() {
            let source = wine.prefix.join("random.c");
            fs::write(&source, RANDOM_SOURCE).map_err(|error| error.to_string())?;
            let library = system.join(RANDOM_LIBRARY);
            run(Command::new(COMPILER)
                .args(["-shared", "-Os", "-s", "-o"])
                .arg(library)
                .arg(source)
                .arg("-ladvapi32"))?;
        }
        Ok(Some(wine))
    }

    /// Returns a command of Wine; the first argument is the program.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.set(&mut command);
        command
    }

    /// Lets a command of cargo run what it builds.
    pub(crate) fn as_runner(&self, cargo: &mut Command) {
        cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", &self.program);
        self.set(cargo);
    }

    fn set(&self, command: &mut Command) {
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        // Programs that it starts are started in the same way.
        command.env("WINELOADER", &self.program);
    }
}
