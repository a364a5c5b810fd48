//! Install scripts and the files of package managers, from the templates in `packaging/`.

use super::Release;
use crate::plugins::REGISTRY_NAME;
use std::collections::BTreeMap;
use std::fs;

/// A published file and its template below `packaging/`.
struct Template {
    from: &'static str,
    to: &'static str,
}

const TEMPLATES: &[Template] = &[
    Template { from: "install.sh", to: "install.sh" },
    Template { from: "install.ps1", to: "install.ps1" },
    Template { from: "homebrew/emend.rb", to: "emend.rb" },
    Template { from: "scoop/emend.json", to: "emend.json" },
    Template { from: "aur/PKGBUILD", to: "PKGBUILD" },
    Template { from: "docker/Dockerfile", to: "Dockerfile" },
];

/// Archives that a template cannot do without, because it installs nothing else.
const NEEDED: &[(&str, &str)] = &[("install.ps1", "x86_64-pc-windows-gnu")];

/// Fills the templates with version and checksums; returns a line for each that needs an archive which is missing.
///
/// Errors: a template with an unknown field, and those of the file system.
pub(super) fn write(release: &Release, archives: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
    let mut said = Vec::new();
    for Template { from, to } in TEMPLATES {
        let path = release.root.join("packaging").join(from);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let out = release.out.join(to);
        match missing(from, &text, archives) {
            Some(target) => {
                // An old one would name other checksums.
                let _ = fs::remove_file(&out);
                said.push(format!("NOT MADE: {to}, because there is no archive for {target}"));
            }
            None => fs::write(&out, filled(release, &text, archives)?).map_err(|error| error.to_string())?,
        }
    }
    Ok(said)
}

/// Returns the first archive that a template needs and that is missing.
fn missing(from: &str, text: &str, archives: &BTreeMap<String, String>) -> Option<String> {
    let named = text.split("{{sha256:").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(target, _)| target);
    let needed = NEEDED.iter().filter(|(name, _)| *name == from).map(|(_, target)| *target);
    named.chain(needed).find(|target| !archives.contains_key(*target)).map(str::to_owned)
}

/// Replaces the fields of a template.
fn filled(release: &Release, text: &str, archives: &BTreeMap<String, String>) -> Result<String, String> {
    let sums: Vec<String> = archives
        .iter()
        .map(|(target, sum)| {
            let ending = if target.contains("windows") { "zip" } else { "tar.gz" };
            format!("{sum}  {}.{ending}", release.stem(target))
        })
        .collect();
    let mut out = text
        .replace("{{version}}", &release.version)
        .replace("{{description}}", &release.description)
        .replace("{{repository}}", &release.repository)
        .replace("{{base}}", &release.base())
        .replace("{{mcp-name}}", REGISTRY_NAME)
        .replace("{{sums}}", &sums.join("\n"));
    for (target, sum) in archives {
        out = out.replace(&format!("{{{{sha256:{target}}}}}"), sum);
    }
    let unknown = out.split("{{").nth(1);
    match unknown {
        Some(rest) => Err(format!("unknown field {{{{{}", rest.split('}').next().unwrap_or(rest))),
        None => Ok(out),
    }
}
