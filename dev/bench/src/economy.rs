//! `economy`: the cost of reading and editing in tokens. Each counted edit was applied by the engine without a warning,
//! with the right bytes as its result.
#![allow(clippy::cast_precision_loss, reason = "counts of tokens are small")]

mod edits;
mod payload;

use crate::exact::scratch;
use crate::server::{self, Server};
use crate::startup::emend_alike;
use edits::{Edit, SAMPLE};
use emendate::core::line_format::LINE_FORMATS;
use emendate::{CallContext, Config, Engine, PROFILES, Profile, StateLocation, UnreadPolicy};
use oracles::vocabularies::{NAMES, Vocabularies};
use payload::{FORMATS, Format, MEASURE, Payload, Shown};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum cost of the cheapest format, as a share of [`MEASURE`]: 490 tokens of 1,091.
const CHEAPEST: f64 = 490.0 / 1091.0;
/// Maximum number of tokens of a model profile's tools, which every request includes.
const PROFILE: usize = 2000;
const FILE: &str = "src/search.rs";

/// A row of a table: name, tokens per vocabulary, and tokens of its parts in the first vocabulary.
struct Row {
    name: String,
    totals: Vec<usize>,
    parts: Vec<usize>,
}

/// A directory with the sample, and an engine that works there.
struct SampleProject {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl SampleProject {
    fn new() -> SampleProject {
        let folder = tempfile::tempdir_in(scratch()).unwrap_or_else(|error| panic!("{error}"));
        let root = folder.path().canonicalize().unwrap_or_else(|error| panic!("{error}"));
        SampleProject { folder, root }
    }

    fn file(&self) -> PathBuf {
        self.root.join(FILE)
    }

    /// Creates an engine on a new copy of the sample.
    fn engine(&self) -> Engine {
        let done = fs::create_dir_all(self.root.join("src")).and_then(|()| fs::write(self.file(), SAMPLE));
        assert!(done.is_ok(), "no sample in {}", self.folder.path().display());
        Engine::open(std::slice::from_ref(&self.root), StateLocation::Memory, Config::default())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Makes paths relative to the directory, because the location of a project is not part of a format.
    fn bare(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "")
    }
}

fn called(engine: &Engine, tool: &str, input: Value) -> (String, Value) {
    let caller = CallContext { unread: UnreadPolicy::Deny, ..CallContext::default() };
    match engine.call(&caller, tool, input).result {
        Ok(answer) => (answer.text, Value::Object(answer.data)),
        Err(error) => panic!("{tool}: {error}"),
    }
}

/// Prints the tables, or writes them as JSON.
pub(crate) fn run(as_json: bool) {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let vocabularies = Vocabularies::install(&peers).unwrap_or_else(|error| panic!("{error}"));
    let project = SampleProject::new();
    let (reads, edits, profiles) = (reads(&project), edited(&project), profiles());
    let texts: Vec<String> =
        [&reads, &edits, &profiles].into_iter().flatten().flat_map(|(_, texts)| texts.clone()).collect();
    let counts = vocabularies.count(&texts).unwrap_or_else(|error| panic!("{error}"));
    let mut at = 0;
    let mut rows = |table: Vec<(String, Vec<String>)>| {
        let row = |(name, texts): (String, Vec<String>)| {
            let range = at..at + texts.len();
            at = range.end;
            let totals = counts.iter().map(|all| all[range.clone()].iter().sum()).collect();
            Row { name, totals, parts: counts[0][range].to_vec() }
        };
        table.into_iter().map(row).collect::<Vec<Row>>()
    };
    let (reads, edits, profiles) = (rows(reads), rows(edits), rows(profiles));
    if as_json {
        let table = |rows: &[Row]| -> Value {
            rows.iter().map(|row| json!({ "name": row.name, "tokens": row.totals, "parts": row.parts })).collect()
        };
        println!(
            "{}",
            json!({ "vocabularies": NAMES, "reads": table(&reads), "edits": table(&edits), "profiles": table(&profiles) })
        );
        return;
    }
    print_reads(&reads);
    print_edits(&edits);
    print_profiles(&profiles);
}

/// Returns the sample in every layout that `read` offers.
fn reads(project: &SampleProject) -> Vec<(String, Vec<String>)> {
    let shown = |name: &str| {
        let (text, _) = called(&project.engine(), "read", json!({ "file_path": project.file(), "format": name }));
        (name.to_owned(), vec![project.bare(&text)])
    };
    let others = LINE_FORMATS.iter().map(|marks| marks.name).filter(|name| *name != "plain");
    std::iter::once("plain").chain(others).map(shown).collect()
}

/// Returns the edits in every format, each applied.
fn edited(project: &SampleProject) -> Vec<(String, Vec<String>)> {
    let edits = edits::all();
    let of =
        |format: &Format| (format.name.to_owned(), edits.iter().map(|edit| applied(project, format, edit)).collect());
    let mut out: Vec<(String, Vec<String>)> = FORMATS.iter().map(of).collect();
    out.push(("(the new lines alone)".to_owned(), edits.iter().map(Edit::new_text).collect()));
    out
}

/// Returns the text that a model writes for an edit, after checking that it makes the edit.
fn applied(project: &SampleProject, format: &Format, edit: &Edit) -> String {
    let engine = project.engine();
    let path = project.file().display().to_string();
    let (text, data) = called(&engine, "read", json!({ "file_path": path, "format": format.marks }));
    let words = text.lines().filter_map(|line| line.split_once(':')).map(|(word, _)| word.to_owned()).collect();
    let header = data["header"].as_str().unwrap_or_default();
    let shown = Shown { path, name: FILE, header: project.bare(header), words };
    let payload = (format.write)(edit, &shown);
    let (said, input) = match payload {
        Payload::Text(text) => (text.clone(), json!({ "input": text })),
        Payload::Json(input) => (input.to_string(), input),
    };
    let (_, data) = called(&engine, format.tool, input);
    let whose = format!("{}, {}", format.name, edit.name);
    assert_eq!(fs::read_to_string(project.file()).ok(), Some(edit.after()), "{whose}");
    for told in [&data["notes"], &data["files"][0]["notes"]] {
        assert!(told.as_array().is_none_or(Vec::is_empty), "{whose}: {told}");
    }
    project.bare(&said)
}

/// Returns the text that a client receives for each profile: the list of tools and the instructions.
fn profiles() -> Vec<(String, Vec<String>)> {
    let program = emend_alike();
    let of = |profile: &Profile| {
        let mut command = server::emend(&program, &scratch(), "none", "none");
        command.args(["--profile", profile.name]);
        let list = Server::start(command).request("tools/list", &json!({}));
        vec![list["result"].to_string(), profile.instructions.to_owned()]
    };
    PROFILES.iter().map(|profile| (profile.name.to_owned(), of(profile))).collect()
}

fn heads(title: &str) {
    println!("\n{title}\n  {:<36}{}", "", NAMES.iter().map(|name| format!("{name:>13}")).collect::<String>());
}

fn print_reads(rows: &[Row]) {
    let lines = SAMPLE.lines().count() as f64;
    heads("Reading: tokens per line, more than the text alone");
    for row in &rows[1..] {
        let more = row.totals.iter().zip(&rows[0].totals).map(|(all, plain)| (*all as f64 - *plain as f64) / lines);
        println!("  {:<36}{}", row.name, more.map(|more| format!("{more:>13.2}")).collect::<String>());
    }
    let plain = rows[0].totals.iter().map(|all| format!("{:>13.2}", *all as f64 / lines));
    println!("  {:<36}{}", "(the text alone)", plain.collect::<String>());
}

fn print_edits(rows: &[Row]) {
    println!("\nEditing: tokens of the same ten edits in {}, each applied and compared\n", NAMES[0]);
    let measure = rows.iter().find(|row| row.name == MEASURE).map_or(0, |row| row.totals[0]);
    let share = |row: &Row| row.totals[0] as f64 / measure as f64;
    for row in rows {
        let parts: String = row.parts.iter().map(|part| format!("{part:>6}")).collect();
        println!("  {:<36}{parts}{:>8}{:>8.0} %", row.name, row.totals[0], 100.0 * share(row));
    }
    for (nth, edit) in (1..).zip(edits::all()) {
        println!("  {nth:>4} {}", edit.name);
    }
    let ours = rows.iter().filter(|row| !row.name.starts_with('('));
    if let Some(best) = ours.min_by_key(|row| row.totals[0]) {
        let verdict = if share(best) <= CHEAPEST { "met" } else { "MISSED" };
        let (best_share, goal) = (100.0 * share(best), 100.0 * CHEAPEST);
        println!("  cheapest: {}, {best_share:.1} % of {MEASURE}, goal ≤ {goal:.1} %: {verdict}", best.name);
    }
    heads("Editing: totals in every vocabulary");
    for row in rows {
        println!("  {:<36}{}", row.name, row.totals.iter().map(|all| format!("{all:>13}")).collect::<String>());
    }
}

fn print_profiles(rows: &[Row]) {
    heads("Profiles: tokens of the list of tools as it is sent, and the instructions");
    for row in rows {
        let verdict = match (&*row.name, row.totals[0] <= PROFILE) {
            ("full", _) => "",
            (_, true) => "  met",
            (_, false) => "  MISSED",
        };
        let totals: String = row.totals.iter().map(|all| format!("{all:>13}")).collect();
        println!("  {:<36}{totals}{verdict}", row.name);
    }
    println!("  goal ≤ {PROFILE} in {}", NAMES[0]);
}

#[cfg(test)]
mod tests {
    use super::{MEASURE, SampleProject, edited};

    /// A failed edit panics. The order of the formats by tokens is also their order by bytes.
    #[test]
    fn every_edit_is_applied_in_every_format() {
        let bytes = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        let all: Vec<(String, usize)> =
            edited(&SampleProject::new()).into_iter().map(|(name, texts)| (name, bytes(&texts))).collect();
        let of = |name: &str| all.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
        assert!(of("hashline PUT/CUT") < of("anchors, word alone, JSON"), "{all:?}");
        assert!(of("anchors, word alone, JSON") < of(MEASURE), "{all:?}");
    }
}
