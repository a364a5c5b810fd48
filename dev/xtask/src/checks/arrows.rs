//! Checks the picture of ARCHITECTURE.md: every crate is in it, and dependencies point down.

use crate::repo::Repo;

/// The workspace crates that each crate may depend on. A crate that is not listed may depend on none.
const MAY: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("clients", &["core"]),
    ("os", &[]),
    ("events", &["os"]),
    ("fs", &["core", "os"]),
    ("history", &["core", "fs", "os"]),
    ("lsp", &["core", "os", "run"]),
    ("media", &["core"]),
    ("run", &["core", "os"]),
    ("schema", &[]),
    ("syntax", &["core", "os"]),
    ("engine", &["core", "events", "fs", "history", "lsp", "media", "os", "run", "schema", "syntax"]),
    ("arrow", &["core", "engine"]),
    ("http", &["core", "os"]),
    ("mcp", &["engine", "http", "os"]),
    ("review", &["engine", "http", "os"]),
    ("cli", &["arrow", "clients", "engine", "mcp", "os", "review"]),
];

/// The workspace crates that each binding may depend on: what runs in a browser is above the core only.
const BINDINGS_MAY: &[(&str, &[&str])] = &[
    ("javascript", &["core"]),
    ("node", &["core", "engine", "javascript"]),
    ("python", &["arrow", "core", "engine", "os"]),
    ("wasm", &["javascript"]),
];

/// Returns the folder of a crate by its package name.
fn folder(package: &str) -> &str {
    match package {
        "emendate" => "engine",
        other => other.strip_prefix("emendate-").unwrap_or(other),
    }
}

/// Returns the folder and manifest of every crate in a folder.
fn crates<'r>(repo: &'r Repo, above: &'r str) -> impl Iterator<Item = (&'r str, &'r str)> {
    repo.below(above, "/Cargo.toml").filter_map(move |file| {
        let name = file.path.strip_prefix(above)?.strip_suffix("/Cargo.toml")?;
        (!name.contains('/')).then_some((name, &*file.text))
    })
}

pub(super) fn architecture(repo: &Repo) -> Vec<String> {
    let Some(text) = repo.text("ARCHITECTURE.md") else { return vec!["ARCHITECTURE.md is missing".to_owned()] };
    let unnamed = crates(repo, "crates/").filter(|(name, _)| !text.contains(&format!("`{name}`")));
    unnamed.map(|(name, _)| format!("ARCHITECTURE.md does not name `{name}`")).collect()
}

pub(super) fn arrows(repo: &Repo) -> Vec<String> {
    let bindings =
        crates(repo, "bindings/").flat_map(|(name, manifest)| wrong("bindings/", BINDINGS_MAY, name, manifest));
    crates(repo, "crates/").flat_map(|(name, manifest)| wrong("crates/", MAY, name, manifest)).chain(bindings).collect()
}

fn wrong(above: &str, may: &[(&str, &[&str])], name: &str, manifest: &str) -> Vec<String> {
    let may = may.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, may)| may);
    let depends = dependencies(manifest);
    let wrong = depends.into_iter().filter(|dependency| !may.contains(dependency));
    wrong.map(|dependency| format!("{above}{name} depends on {dependency}")).collect()
}

/// Returns the workspace crates that a manifest depends on, except for tests.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut section = "";
    let mut out = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && !section.contains("dev-") {
            let package = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if package.starts_with("emendate") {
                out.push(folder(package));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{BINDINGS_MAY, MAY, wrong};

    #[test]
    fn dependencies_point_down() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nemendate-core.workspace = true\nemendate.workspace = true\n[dev-dependencies]\nemendate-mcp = { path = \"x\" }\n";
        let of_crate = |name: &str, manifest: &str| wrong("crates/", MAY, name, manifest);
        assert_eq!(of_crate("fs", manifest), ["crates/fs depends on engine"]);
        assert!(
            of_crate("core", manifest).len() == 2
                && of_crate("engine", "[dependencies]\nemendate-fs.workspace = true\n").is_empty()
        );
        let found = wrong("bindings/", BINDINGS_MAY, "javascript", manifest);
        assert_eq!(found, ["bindings/javascript depends on engine"]);
    }
}
