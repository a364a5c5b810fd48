//! Checks the lock files of workspaces beside this one: cargo reads them only in continuous integration.

use toml::{Table, Value};

use crate::repo::Repo;

/// Returns what the lock files say differently from the manifests of our crates.
pub(super) fn locks(repo: &Repo) -> Vec<String> {
    let manifests: Vec<Table> =
        repo.below("crates/", "/Cargo.toml").filter_map(|file| file.text.parse().ok()).collect();
    let locks = repo.files.iter().filter(|file| file.path.ends_with("/Cargo.lock"));
    let faults = locks.flat_map(|file| {
        let faults = file.text.parse().map_or_else(|error| vec![format!("{error}")], |lock| stale(&lock, &manifests));
        faults.into_iter().map(|fault| format!("{} {fault}", file.path)).collect::<Vec<_>>()
    });
    faults.collect()
}

/// Returns the dependencies that a lock file lacks for a crate, and those that the crate no longer has.
fn stale(lock: &Table, manifests: &[Table]) -> Vec<String> {
    let packages = lock.get("package").and_then(Value::as_array);
    let names = |package: &Value| -> Vec<String> {
        let listed = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        // A name that has several versions is followed by one of them.
        let first_word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        listed.filter_map(Value::as_str).map(first_word).collect()
    };
    let mut out = Vec::new();
    for manifest in manifests {
        let crate_name = manifest.get("package").and_then(|package| package.get("name"));
        let locked = packages.into_iter().flatten().find(|package| package.get("name") == crate_name);
        let (Some(locked), Some(Value::String(crate_name))) = (locked, crate_name) else { continue };
        let (locked, declared) = (names(locked), dependencies(manifest));
        let missing = declared.iter().filter(|one| !one.is_optional && !locked.contains(&one.name));
        out.extend(missing.map(|one| format!("lacks {} for {crate_name}", one.name)));
        let removed = locked.iter().filter(|name| !declared.iter().any(|one| one.name == **name));
        out.extend(removed.map(|name| format!("has {name} for {crate_name}, which no longer uses it")));
    }
    out
}

/// A dependency that a manifest declares for use on some system.
struct Dependency {
    name: String,
    /// Whether only a feature adds it.
    is_optional: bool,
}

fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let systems = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = systems.filter_map(|(_, system)| system.as_table()).chain([manifest]);
    let sections = tables.flat_map(|table| [table.get("dependencies"), table.get("build-dependencies")]);
    let rows = sections.flatten().filter_map(Value::as_table).flatten();
    let dependency = |(key, row): (&String, &Value)| Dependency {
        name: row.get("package").and_then(Value::as_str).unwrap_or(key).to_owned(),
        is_optional: row.get("optional").and_then(Value::as_bool).unwrap_or(false),
    };
    rows.map(dependency).collect()
}

#[cfg(test)]
mod tests {
    use super::stale;

    #[test]
    fn dependencies_that_a_lock_file_lacks_or_keeps_are_named() {
        let lock = "[[package]]\nname = \"ours\"\ndependencies = [\"kept 1.0.0\", \"gone\"]\n".parse().unwrap();
        let manifest = "[package]\nname = \"ours\"\n[dependencies]\nkept.workspace = true\nextra = { optional = true }\n\
                        [target.'cfg(unix)'.dependencies]\nnew = \"1\"\n[dev-dependencies]\ntests = \"1\"\n";
        let faults = stale(&lock, &[manifest.parse().unwrap()]);
        assert_eq!(faults, ["lacks new for ours", "has gone for ours, which no longer uses it"]);
        let other = manifest.replace("ours", "another");
        assert_eq!(stale(&lock, &[other.parse().unwrap()]), Vec::<String>::new());
    }
}
