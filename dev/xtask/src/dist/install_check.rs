//! Installs each channel into a clean root, makes an edit, undoes it, and removes everything again; checks the syntax of
//! the files of channels that do not exist here.

use super::{Release, wine_check};
use crate::command::run;
use crate::npm_package::Npm;
use crate::npm_platform::{COMMAND, MODULE};
use external::is_on_path;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The step of the GitHub Action that applies a reply.
const APPLY_STEP: &str = "packaging/action/apply.sh";

/// The target that runs on this machine without any library.
const HERE: &str = "x86_64-unknown-linux-musl";

/// A channel, and how it is tried; returns what was done, or why it was not tried.
struct Channel {
    name: &'static str,
    /// The program that the trial needs besides those that every system has.
    needs: &'static str,
    check: fn(&Release, &Path) -> Result<String, String>,
}

const CHANNELS: &[Channel] = &[
    Channel { name: "install.sh", needs: "sh", check: install_script },
    Channel { name: ".deb", needs: "dpkg", check: deb },
    Channel { name: ".rpm", needs: "rpm", check: rpm },
    Channel { name: "image from scratch", needs: "chroot", check: scratch },
    Channel { name: "npm, the command", needs: "npm", check: npm_command },
    Channel { name: "npm, the module", needs: "npm", check: npm_module },
    Channel { name: "npm for Windows", needs: "npm", check: wine_check::npm },
    Channel { name: "wheel", needs: "python3", check: wheel },
    Channel { name: "GitHub Action", needs: "jq", check: action },
    Channel { name: "syntax of the other files", needs: "sh", check: syntax },
];

/// Tries every channel. Returns a line for each.
///
/// Errors: the first channel that does not install, edit, undo or remove.
pub(super) fn all(release: &Release, archives: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
    let mut said = Vec::new();
    if !archives.contains_key(HERE) {
        return Ok(vec![format!("channels NOT TRIED: there is no archive for {HERE}")]);
    }
    for channel in CHANNELS {
        if !is_on_path(channel.needs) {
            said.push(format!("{}: NOT TRIED, because {} is missing", channel.name, channel.needs));
            continue;
        }
        let root = std::env::temp_dir().join(format!("emend-dist-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).map_err(|error| error.to_string())?;
        let done = (channel.check)(release, &root);
        let _ = fs::remove_dir_all(&root);
        said.push(format!("{}: {}", channel.name, done.map_err(|error| format!("{}: {error}", channel.name))?));
    }
    Ok(said)
}

/// Runs the install script as a user with an empty home directory would.
fn install_script(release: &Release, root: &Path) -> Result<String, String> {
    let home = root.join("home");
    fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let script = release.out.join("install.sh");
    let installer = |base: &Path, argument: Option<&str>| {
        let mut command = Command::new("sh");
        command
            .arg(&script)
            .args(argument)
            .env("HOME", &home)
            .env("EMEND_BASE_URL", format!("file://{}", base.display()));
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME").env_remove("EMEND_INSTALL_DIR");
        command
    };
    damaged_archive(release, root, |base| installer(base, None))?;
    if !files(&home)?.is_empty() {
        return Err("a damaged archive left files behind".to_owned());
    }
    run(&mut installer(&release.out, None))?;
    // A second installation replaces the first.
    run(&mut installer(&release.out, None))?;
    use_program(&home.join(".local/bin/emend"), &home)?;
    run(&mut installer(&release.out, Some("--uninstall")))?;
    let left: Vec<PathBuf> =
        files(&home)?.into_iter().filter(|path| !path.starts_with(home.join(".local/state"))).collect();
    if !left.is_empty() {
        return Err(format!("left after the removal: {left:?}"));
    }
    Ok("installed, used and removed; a damaged archive was refused".to_owned())
}

/// Makes sure that an archive with another checksum is refused.
fn damaged_archive(release: &Release, root: &Path, installer: impl Fn(&Path) -> Command) -> Result<(), String> {
    let base = root.join("damaged");
    fs::create_dir_all(&base).map_err(|error| error.to_string())?;
    let name = format!("{}.tar.gz", release.stem(HERE));
    let mut bytes = fs::read(release.out.join(&name)).map_err(|error| error.to_string())?;
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    fs::write(base.join(&name), bytes).map_err(|error| error.to_string())?;
    match run(&mut installer(&base)) {
        Ok(()) => Err("a damaged archive was installed".to_owned()),
        Err(text) if text.contains("checksum") => Ok(()),
        Err(text) => Err(format!("a damaged archive was refused for another reason: {text}")),
    }
}

fn deb(release: &Release, root: &Path) -> Result<String, String> {
    let package = release.out.join(format!("emend_{}_amd64.deb", release.version));
    if !package.exists() {
        return Ok("NOT TRIED, because there is no package".to_owned());
    }
    let database = root.join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        fs::create_dir_all(database.join(folder)).map_err(|error| error.to_string())?;
    }
    fs::write(database.join("status"), "").map_err(|error| error.to_string())?;
    let dpkg = || {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).args(["--force-not-root", "--force-script-chrootless"]);
        command
    };
    run(dpkg().arg("-i").arg(&package))?;
    use_program(&root.join("usr/bin/emend"), &root.join("home"))?;
    run(dpkg().args(["-P", "emend"]))?;
    removed(root, "installed, used and removed")
}

fn rpm(release: &Release, root: &Path) -> Result<String, String> {
    let package = release.out.join(format!("emend-{}-1.x86_64.rpm", release.version));
    if !package.exists() {
        return Ok("NOT TRIED, because there is no package".to_owned());
    }
    let rpm = || {
        let mut command = Command::new("rpm");
        command.arg("--root").arg(root);
        command
    };
    run(rpm().arg("--initdb"))?;
    run(rpm().args(["-i", "--nosignature"]).arg(&package))?;
    use_program(&root.join("usr/bin/emend"), &root.join("home"))?;
    run(rpm().args(["-e", "emend"]))?;
    removed(root, "installed, used and removed")
}

/// Makes sure that a package manager left nothing.
fn removed(root: &Path, said: &str) -> Result<String, String> {
    let left: Vec<PathBuf> =
        files(&root.join("usr"))?.into_iter().filter(|path| !path.starts_with(root.join("usr/lib"))).collect();
    if left.is_empty() { Ok(said.to_owned()) } else { Err(format!("left after the removal: {left:?}")) }
}

/// Runs the program in a root that contains nothing else, as in the image.
fn scratch(release: &Release, root: &Path) -> Result<String, String> {
    let archive = release.out.join(format!("{}.tar.gz", release.stem(HERE)));
    run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(root))?;
    let unpacked = root.join(release.stem(HERE));
    let empty = root.join("root");
    fs::create_dir_all(empty.join("work")).map_err(|error| error.to_string())?;
    fs::copy(unpacked.join("emend"), empty.join("emend")).map_err(|error| error.to_string())?;
    fs::write(empty.join("work/a.txt"), "one\ntwo\n").map_err(|error| error.to_string())?;
    let emend = |arguments: &[&str]| {
        let mut command = Command::new("chroot");
        command
            .arg(&empty)
            .arg("/emend")
            .args(["-C", "/work"])
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/state");
        command
    };
    if let Err(error) = run(&mut emend(&["--version"])) {
        return Ok(format!("NOT TRIED, because a root cannot be entered here: {}", error.lines().last().unwrap_or("")));
    }
    run(&mut emend(&["edit", "a.txt", "--old", "two", "--new", "three"]))?;
    expect(&empty.join("work/a.txt"), "one\nthree\n")?;
    run(&mut emend(&["undo"]))?;
    expect(&empty.join("work/a.txt"), "one\ntwo\n")?;
    Ok("ran in a root with nothing else".to_owned())
}

/// Installs the packages of the command in an empty project, without the network.
fn npm_command(release: &Release, root: &Path) -> Result<String, String> {
    let npm = Npm::new()?;
    let here = COMMAND.here()?;
    let names = [format!("emendate-cli-{}", release.version), COMMAND.file_stem(here)];
    let tarballs = names.map(|name| release.out.join(format!("{name}.tgz")));
    let project = npm.project("dist-project", &tarballs.each_ref().map(PathBuf::as_path))?;
    use_program(&project.join("node_modules/.bin/emend"), &root.join("home"))?;
    let names = ["@emendate/cli".to_owned(), COMMAND.package_name(here)];
    run(npm.command("npm").args(["uninstall", "--offline", "--silent"]).args(names).current_dir(&project))?;
    let left = files(&project.join("node_modules"))?;
    if left.iter().any(|path| !path.ends_with(".package-lock.json")) {
        return Err(format!("left after the removal: {left:?}"));
    }
    Ok("installed, used and removed".to_owned())
}

/// Installs the module for Node in an empty project, and makes an edit with it.
fn npm_module(release: &Release, _root: &Path) -> Result<String, String> {
    const EDIT: &str = "import { edit } from 'emendate'
        if ((await edit('one\\ntwo\\n', 'two', 'three')).text !== 'one\\nthree\\n') process.exit(1)";
    let npm = Npm::new()?;
    let names = [format!("emendate-{}.tgz", release.version), format!("{}.tgz", MODULE.file_stem(MODULE.here()?))];
    let tarballs = names.map(|name| release.out.join(name));
    if tarballs.iter().any(|tarball| !tarball.exists()) {
        return Ok("NOT TRIED, because modules were not built".to_owned());
    }
    let project = npm.project("dist-project", &tarballs.each_ref().map(PathBuf::as_path))?;
    run(npm.command("node").args(["--input-type=module", "-e", EDIT]).current_dir(&project))?;
    Ok("installed and used".to_owned())
}

/// Installs the wheel for this system in a new virtual environment, uses its command and its module, and removes it.
fn wheel(release: &Release, root: &Path) -> Result<String, String> {
    const EDIT: &str = "import emendate; assert emendate.edit('one\\ntwo\\n', 'two', 'three').text == 'one\\nthree\\n'";
    let wheels = files(&release.out)?;
    let is_ours = |name: &str| name.ends_with("_x86_64.whl") && name.contains("-manylinux");
    let ours = wheels.iter().find(|path| path.file_name().is_some_and(|name| is_ours(&name.to_string_lossy())));
    let Some(wheel) = ours else { return Ok("NOT TRIED, because wheels were not built".to_owned()) };
    let bin = root.join("venv/bin");
    run(Command::new("python3").args(["-m", "venv"]).arg(root.join("venv")))?;
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(bin.join("python"));
        command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
        command
    };
    run(pip(&["install", "--no-index"]).arg(wheel))?;
    use_program(&bin.join("emend"), &root.join("home"))?;
    run(Command::new(bin.join("python")).args(["-c", EDIT]))?;
    run(&mut pip(&["uninstall", "--yes", "emendate"]))?;
    if bin.join("emend").exists() {
        return Err("the command is left after the removal".to_owned());
    }
    Ok("installed, used and removed".to_owned())
}

/// Runs the action's step as GitHub's runner does.
fn action(release: &Release, root: &Path) -> Result<String, String> {
    run(Command::new("tar")
        .arg("-xzf")
        .arg(release.out.join(format!("{}.tar.gz", release.stem(HERE))))
        .arg("-C")
        .arg(root))?;
    let checkout = root.join("checkout");
    fs::create_dir_all(&checkout).map_err(|error| error.to_string())?;
    fs::write(checkout.join("a.txt"), "one\ntwo\n").map_err(|error| error.to_string())?;
    let output = root.join("output");
    let mut paths = vec![root.join(release.stem(HERE))];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(paths).map_err(|error| error.to_string())?;
    let step = |reply: &str| {
        let mut command = Command::new("bash");
        command.arg(release.root.join(APPLY_STEP)).current_dir(&checkout).env("HOME", root).env("PATH", &path);
        command.env("EMEND_REPLY", reply).env("GITHUB_OUTPUT", &output).env_remove("XDG_STATE_HOME");
        command
    };
    let block = |old: &str| format!("a.txt\n```\n<<<<<<< SEARCH\n{old}\n=======\nthree\n>>>>>>> REPLACE\n```\n");
    run(&mut step(&block("two")))?;
    expect(&checkout.join("a.txt"), "one\nthree\n")?;
    let said = fs::read_to_string(&output).unwrap_or_default();
    if !said.contains("changed=1\n") {
        return Err(format!("the outputs are {said}"));
    }
    match run(&mut step(&block("absent line"))) {
        Err(text) if text.contains("::error") => {
            Ok("applied a reply; a reply without a place failed with its reason".to_owned())
        }
        other => Err(format!("a reply without a place: {other:?}")),
    }
}

/// Checks files for programs that are not here.
fn syntax(release: &Release, _root: &Path) -> Result<String, String> {
    let mut said = Vec::new();
    let mut check = |file: &str, program: &str, arguments: &[&str]| {
        let path = if file == APPLY_STEP { release.root.join(file) } else { release.out.join(file) };
        if !path.exists() {
            return Ok(());
        }
        if !is_on_path(program) {
            said.push(format!("{file} NOT CHECKED ({program} is missing)"));
            return Ok(());
        }
        said.push(format!("{file} by {program}"));
        run(Command::new(program).args(arguments).arg(&path))
    };
    check("install.sh", "sh", &["-n"])?;
    check("install.sh", "shellcheck", &["--shell=sh"])?;
    check(APPLY_STEP, "shellcheck", &[])?;
    check("PKGBUILD", "bash", &["-n"])?;
    check("emend.rb", "ruby", &["-c"])?;
    check("emend.json", "jq", &["-e", ".architecture"])?;
    check(
        "install.ps1",
        "pwsh",
        &["-NoProfile", "-Command", "$null = [ScriptBlock]::Create((Get-Content -Raw $args[0]))", "-args"],
    )?;
    Ok(said.join(", "))
}

/// Makes an edit with an installed program, undoes it, and lets it check its installation.
fn use_program(program: &Path, home: &Path) -> Result<(), String> {
    let work = home.join("work");
    fs::create_dir_all(&work).map_err(|error| error.to_string())?;
    let file = work.join("a.txt");
    fs::write(&file, "one\ntwo\n").map_err(|error| error.to_string())?;
    let emend = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&work).env("HOME", home).env_remove("XDG_STATE_HOME");
        run(&mut command)
    };
    emend(&["edit", "a.txt", "--old", "two", "--new", "three"])?;
    expect(&file, "one\nthree\n")?;
    emend(&["undo"])?;
    expect(&file, "one\ntwo\n")?;
    emend(&["doctor"])?;
    fs::remove_dir_all(&work).map_err(|error| error.to_string())
}

fn expect(file: &Path, text: &str) -> Result<(), String> {
    let found = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    if found == text { Ok(()) } else { Err(format!("{} is {found:?}, not {text:?}", file.display())) }
}

/// Returns all files below a directory; nothing if it does not exist.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            if kind.is_dir() { open.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    Ok(found)
}
