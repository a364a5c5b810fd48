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
