//! Packages of Debian and of Red Hat, made by the systems' own tools.

use super::{NAME, Release, megabytes};
use crate::command::{output, run};
use crate::ports::Port;
use external::is_on_path;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installed files: the name in the archive, and the path below the root.
const FILES: &[(&str, &str, &str)] = &[
    ("emend", "usr/bin/emend", "755"),
    ("completions/emend.bash", "usr/share/bash-completion/completions/emend", "644"),
    ("completions/_emend", "usr/share/zsh/vendor-completions/_emend", "644"),
    ("completions/emend.fish", "usr/share/fish/vendor_completions.d/emend.fish", "644"),
    ("LICENSE-MIT", "usr/share/doc/emend/copyright", "644"),
];

/// Makes the packages of a port; returns a line for each.
///
/// Errors: those of the tools.
pub(super) fn write(release: &Release, port: &Port, content: &Path) -> Result<Vec<String>, String> {
    let (debian, red_hat) = match port.target {
        "x86_64-unknown-linux-musl" => ("amd64", "x86_64"),
        "aarch64-unknown-linux-musl" => ("arm64", "aarch64"),
        _ => return Ok(Vec::new()),
    };
    let root = release.root.join("target/dist-package").join(debian);
    let _ = fs::remove_dir_all(&root);
    lay_out(content, &root)?;
    Ok(vec![deb(release, &root, debian)?, rpm(release, &root, red_hat)?])
}

/// Copies the files to where a package installs them.
fn lay_out(content: &Path, root: &Path) -> Result<(), String> {
    for (from, to, mode) in FILES {
        run(Command::new("install").args(["-D", "-m", mode]).arg(content.join(from)).arg(root.join(to)))?;
    }
    let manual = root.join("usr/share/man/man1");
    fs::create_dir_all(&manual).map_err(|error| error.to_string())?;
    fs::copy(content.join("emend.1"), manual.join("emend.1")).map_err(|error| error.to_string())?;
    run(Command::new("gzip").args(["-9nf"]).arg(manual.join("emend.1")))
}

fn deb(release: &Release, root: &Path, architecture: &str) -> Result<String, String> {
    if !is_on_path("dpkg-deb") {
        return Ok("NO .deb (dpkg-deb is missing)".to_owned());
    }
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).map_err(|error| error.to_string())?;
    let size = output(Command::new("du").args(["-sk"]).arg(root.join("usr")))?;
    let text = format!(
        "Package: {NAME}\nVersion: {}\nArchitecture: {architecture}\nMaintainer: The Emendate authors <authors@emendate.invalid>\n\
         Section: devel\nPriority: optional\nInstalled-Size: {}\nHomepage: {}\nDescription: {}\n A model says how a file should \
         change; emend makes exactly that change, or\n refuses with an answer that lets the model succeed on its next call.\n",
        release.version,
        size.split('\t').next().unwrap_or("0"),
        release.repository,
        release.description,
    );
    fs::write(control.join("control"), text).map_err(|error| error.to_string())?;
    let out = release.out.join(format!("{NAME}_{}_{architecture}.deb", release.version));
    run(Command::new("dpkg-deb").args(["--root-owner-group", "-Zxz", "--build"]).arg(root).arg(&out))?;
    fs::remove_dir_all(&control).map_err(|error| error.to_string())?;
    size_line(&out)
}

fn rpm(release: &Release, root: &Path, architecture: &str) -> Result<String, String> {
    if !is_on_path("rpmbuild") {
        return Ok("NO .rpm (rpmbuild is missing; Debian's package rpm has it)".to_owned());
    }
    let top = release.root.join("target/dist-rpm").join(architecture);
    let _ = fs::remove_dir_all(&top);
    fs::create_dir_all(&top).map_err(|error| error.to_string())?;
    let spec = top.join("emend.spec");
    let text = format!(
        "Name: {NAME}\nVersion: {}\nRelease: 1\nSummary: {}\nLicense: MIT OR Apache-2.0\nURL: {}\nAutoReqProv: no\n\
         %description\nA model says how a file should change; emend makes exactly that change, or\nrefuses with an answer that \
         lets the model succeed on its next call.\n%install\nmkdir -p %{{buildroot}}\ncp -a {}/usr %{{buildroot}}/usr\n\
         %files\n%defattr(-,root,root)\n/usr/bin/emend\n/usr/share/bash-completion/completions/emend\n\
         /usr/share/zsh/vendor-completions/_emend\n/usr/share/fish/vendor_completions.d/emend.fish\n\
         /usr/share/doc/emend/copyright\n/usr/share/man/man1/emend.1.gz\n",
        release.version,
        release.description,
        release.repository,
        root.display(),
    );
    fs::write(&spec, text).map_err(|error| error.to_string())?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--target", architecture, "--define"]).arg(format!("_topdir {}", top.display()));
    build.args([
        "--define", "_build_id_links none", "--define", "__os_install_post %{nil}", "--define", "debug_package %{nil}",
    ]);
    run(build.arg(&spec))?;
    let name = format!("{NAME}-{}-1.{architecture}.rpm", release.version);
    let made: PathBuf = top.join("RPMS").join(architecture).join(&name);
    let out = release.out.join(&name);
    fs::copy(&made, &out).map_err(|error| format!("{}: {error}", made.display()))?;
    size_line(&out)
}

fn size_line(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    Ok(format!(".{ending} {}", megabytes(size)))
}
