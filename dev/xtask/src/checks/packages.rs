//! Checks that every crate can be published: its manifest states what a registry shows.

use crate::repo::Repo;

/// Lines that the manifest of a crate must have, besides a description of its own.
const LINES: &[&str] = &[
    "version.workspace = true", "license.workspace = true", "readme.workspace = true", "keywords.workspace = true",
    "categories.workspace = true",
];

pub(super) fn manifests(repo: &Repo) -> Vec<String> {
    let manifests = repo.below("crates/", "/Cargo.toml").filter(|file| file.path.matches('/').count() == 2);
    manifests.flat_map(|file| faults(&file.text).into_iter().map(|what| format!("{} {what}", file.path))).collect()
}

fn faults(manifest: &str) -> Vec<String> {
    let has = |wanted: &str| manifest.lines().any(|line| line == wanted);
    let mut out: Vec<String> = LINES.iter().filter(|line| !has(line)).map(|line| format!("lacks `{line}`")).collect();
    if !manifest.lines().any(|line| line.starts_with("description = \"")) {
        out.push("lacks a description".to_owned());
    }
    if manifest.lines().any(|line| line.starts_with("publish")) {
        out.push("has `publish`: only programs of dev/ are not published".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{LINES, faults};

    #[test]
    fn missing_lines_are_named() {
        let whole = format!("description = \"x\"\n{}\n", LINES.join("\n"));
        assert_eq!(faults(&whole), Vec::<String>::new());
        assert_eq!(faults(&whole.replace("readme", "read")), ["lacks `readme.workspace = true`"]);
        assert_eq!(faults(&(whole + "publish.workspace = true\n")).len(), 1);
        assert_eq!(faults("").len(), LINES.len() + 1);
    }
}
