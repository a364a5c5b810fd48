//! `cargo xtask wasm`: builds the package `@emendate/core`, and tests it in Node, in Chromium and in its workers.

use crate::command::{cargo, run};
use crate::npm_package::{self, Npm};
use crate::portable;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of the module.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";
/// The most that the module may take when it is compressed, in bytes of gzip.
const COMPRESSED_BYTES_MAX: usize = 1_275_000;

/// The driver of the browser.
pub(crate) const BROWSER_DRIVER: &str = "playwright-core@1.65.1";
/// Debian's browser.
const BROWSER: &str = "/usr/bin/chromium";

/// Builds the package and tests it from its tarball.
///
/// Errors: the first step that fails.
pub(crate) fn wasm() -> Result<String, String> {
    let npm = Npm::new()?;
    let (package, size) = built(&npm)?;
    let tarball = npm.pack(&package)?;
    let project = npm.project("core-project", &[&tarball])?;
    let tests = npm.root.join("bindings/wasm/tests");
    npm.check_types(&project, &tests.join("types.ts"))?;
    let mut said = vec![size, format!("Node: {}", npm.test(&project, &tests.join("package.test.js"))?)];
    said.push(match browser(&npm)? {
        Some(driver) => format!("Chromium: {}", driver.run(&npm, &tests.join("browser.test.js"), &package)?),
        None => format!("Chromium: skipped, there is no {BROWSER}"),
    });
    said.push(format!("package: {}", tarball.display()));
    Ok(said.join("\n"))
}

/// Builds the package below `target/npm`; returns its directory, and a sentence about its size.
///
/// Errors: if it cannot be built, or is too large.
pub(crate) fn built(npm: &Npm) -> Result<(PathBuf, String), String> {
    if !portable::is_installed(TARGET) && !portable::install(TARGET) {
        return Err(format!("`rustup target add {TARGET}` failed"));
    }
    let build = ["build", "--quiet", "--locked", "-p", "emendate-wasm", "--profile", "wasm", "--target", TARGET];
    run(cargo().args(build).env_remove("RUSTFLAGS").current_dir(&npm.root))?;
    let package = npm.staged("core")?;
    let bindgen = npm.root.join("bindings/wasm/bindgen/Cargo.toml");
    let module = npm.target.join(TARGET).join("wasm/emendate_core_wasm.wasm");
    run(cargo()
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(bindgen)
        .arg("--target-dir")
        .arg(npm.target.join("bindgen"))
        .arg("--")
        .args([&module, &package]))?;
    npm.copy("bindings/wasm", &["index.js", "index.d.ts", "README.md"], &package)?;
    npm.write_manifest("bindings/wasm", [], &package)?;
    npm.copy("bindings/javascript", npm_package::SHARED, &package)?;
    npm.copy("", npm_package::LICENSES, &package)?;
    let module = package.join("module_bg.wasm");
    let size = fs::metadata(&module).map_err(|error| error.to_string())?.len();
    let compressed = compressed(&module)?;
    let said = format!("module: {size} bytes, {compressed} compressed, at most {COMPRESSED_BYTES_MAX}");
    if compressed > COMPRESSED_BYTES_MAX { Err(said) } else { Ok((package, said)) }
}

/// Returns the bytes of a file after gzip.
fn compressed(file: &Path) -> Result<usize, String> {
    let done = Command::new("gzip").args(["-9", "-c"]).arg(file).output().map_err(|error| format!("gzip: {error}"))?;
    if done.status.success() { Ok(done.stdout.len()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// A browser, and the folder with its driver.
pub(crate) struct Browser {
    folder: PathBuf,
}

/// Returns the browser, if this machine has one.
///
/// Errors: if its driver cannot be installed, and where tests must not be skipped, if there is no browser.
pub(crate) fn browser(npm: &Npm) -> Result<Option<Browser>, String> {
    if !Path::new(BROWSER).exists() {
        let missing = format!("There is no {BROWSER}: install Debian's package `chromium`.");
        return if external::never_skips() { Err(missing) } else { Ok(None) };
    }
    let folder = npm.target.join("npm/browser");
    let driver = folder.join("node_modules/playwright-core/index.js");
    external::install::npm(&folder, &[BROWSER_DRIVER], || driver.exists()).map_err(|error| error.to_string())?;
    Ok(Some(Browser { folder }))
}

impl Browser {
    /// Runs tests with the browser on a folder of files, and returns their summary.
    ///
    /// Errors: what the tests print, if one fails.
    pub(crate) fn run(&self, npm: &Npm, tests: &Path, served: &Path) -> Result<String, String> {
        let mut command = npm.command("node");
        command.arg("--test").arg(tests).env("EMEND_BROWSER", BROWSER).env("EMEND_SERVED", served);
        command.env("EMEND_DRIVER", self.folder.join("node_modules/playwright-core/index.js"));
        npm_package::test(&mut command)
    }
}
