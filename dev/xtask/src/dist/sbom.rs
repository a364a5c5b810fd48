//! The list of the libraries in the program, as `CycloneDX` 1.6.

use super::{NAME, Release};
use crate::command::{cargo, output};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Writes `emend-VERSION.cdx.json`.
///
/// Errors: those of `cargo metadata` and of the file system.
pub(super) fn write(release: &Release) -> Result<(), String> {
    let text = output(cargo().args(["metadata", "--locked", "--format-version", "1"]).current_dir(&release.root))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let linked = linked(&metadata);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let components: Vec<Value> =
        packages.filter(|it| it["id"].as_str().is_some_and(|id| linked.contains(id))).map(component).collect();
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": NAME, "version": release.version } },
        "components": components,
    });
    let path = release.out.join(format!("{NAME}-{}.cdx.json", release.version));
    let text = serde_json::to_string_pretty(&bom).map_err(|error| error.to_string())?;
    fs::write(path, text + "\n").map_err(|error| error.to_string())
}

/// Returns the packages that the command links, on any system: what it depends on except for tests and builds.
fn linked(metadata: &Value) -> BTreeSet<&str> {
    let nodes: Vec<&Value> = metadata["resolve"]["nodes"].as_array().into_iter().flatten().collect();
    let id_of =
        |node: &Value| metadata_id(node).is_some_and(|id| id.contains("emendate-cli") || id.contains("crates/cli"));
    let mut open: Vec<&str> = nodes.iter().filter(|node| id_of(node)).filter_map(|node| metadata_id(node)).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let deps = nodes.iter().filter(|node| metadata_id(node) == Some(id)).filter_map(|node| node["deps"].as_array());
        for dep in deps.flatten() {
            let kinds = dep["dep_kinds"].as_array().into_iter().flatten();
            if kinds.into_iter().any(|kind| kind["kind"].is_null()) {
                open.extend(dep["pkg"].as_str());
            }
        }
    }
    found
}

fn metadata_id(node: &Value) -> Option<&str> {
    node["id"].as_str()
}

fn component(package: &Value) -> Value {
    let (name, version) = (package["name"].as_str().unwrap_or(""), package["version"].as_str().unwrap_or(""));
    let purl = format!("pkg:cargo/{name}@{version}");
    let mut out = json!({ "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl });
    if let Some(license) = package["license"].as_str() {
        out["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    out
}
