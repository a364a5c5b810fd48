//! Plays a scene through one driver.

use crate::disk::{self, Node, Tree};
use crate::driver::{Driver, Kind, Reply, Stage};
use crate::fill::{Names, without_path};
use crate::scene::{Act, Call, Expect, Input, Scene, Thing};
use emendate::{ATTACHMENTS, READ_REPLY_CHARS_MAX, REPLY_DATA_BYTES_MAX, REPLY_TEXT_CHARS_MAX};
use serde_json::Value;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The outcome of a scene.
#[derive(Debug, Default)]
pub struct Played {
    /// One reply per call with the placeholders `$ROOT` and `#TAG`; fewer if a call got no reply.
    pub replies: Vec<Reply>,
    /// Every deviation from the scene.
    pub failures: Vec<String>,
}

/// Plays a scene. `emend` is the binary, which the library driver does not need.
pub fn play(scene: &Scene, kind: Kind, emend: Option<&Path>) -> Played {
    let mut played = Played::default();
    if let Err(error) = Play::open(kind, emend).and_then(|mut play| play.all(scene, &mut played)) {
        played.failures.push(error);
    }
    played
}

struct Play {
    kind: Kind,
    stage: Stage,
    names: Names,
    /// The connection to the engine, opened by the first call, when the files are ready.
    driver: Option<Box<dyn Driver>>,
    /// The entries that must exist, by path below the base.
    wanted: Tree,
    _base: tempfile::TempDir,
}

/// Maximum number of characters that the header and notes of a read may add to its lines.
const BESIDE_LINES: usize = 8_192;

/// Checks that a reply observes the limits on replies, whatever the scene is about.
fn is_bounded(tool: &str, reply: &Reply) -> Result<(), String> {
    let text =
        if matches!(tool, "read" | "text_editor") { READ_REPLY_CHARS_MAX + BESIDE_LINES } else { REPLY_TEXT_CHARS_MAX };
    let mut data = reply.data.clone();
    // Images and documents that the caller asked for have limits of their own.
    data.as_object_mut().and_then(|fields| fields.shift_remove(ATTACHMENTS));
    let (chars, bytes) = (reply.text.chars().count(), data.to_string().len());
    if chars > text || bytes > REPLY_DATA_BYTES_MAX {
        return Err(format!("the reply has {chars} characters of text and {bytes} bytes of data"));
    }
    Ok(())
}

/// Directories of the base that are not part of the scene.
const OURS: [&str; 2] = ["state", "home"];

impl Play {
    fn open(kind: Kind, emend: Option<&Path>) -> Result<Play, String> {
        let told = |error: std::io::Error| error.to_string();
        let base = tempfile::Builder::new().prefix("scene").tempdir().map_err(told)?;
        let path = emendate_os::paths::canonical(base.path()).map_err(told)?;
        for name in OURS.into_iter().chain(["root"]) {
            fs::create_dir(path.join(name)).map_err(told)?;
        }
        let names = Names::new(&path);
        let stage = Stage {
            emend: emend.map(Path::to_owned),
            root: names.root.clone(),
            state: path.join("state"),
            home: path.join("home"),
        };
        Ok(Play { kind, stage, names, driver: None, wanted: Tree::new(), _base: base })
    }

    fn all(&mut self, scene: &Scene, played: &mut Played) -> Result<(), String> {
        for step in &scene.steps {
            let told = |error: String| format!("line {}: {error}", step.line);
            match &step.act {
                Act::Call(call) => {
                    let reply = self.call(call).map_err(told)?;
                    played.failures.extend(unlike(call.expect.as_ref(), &reply).into_iter().map(told));
                    played.replies.push(reply);
                }
                Act::After(name, thing) => {
                    played.failures.extend(self.after(name, thing.as_ref()).map_err(told)?.map(told));
                }
                Act::Events(name, wanted) => {
                    // The events of a process are complete only after it has ended.
                    if let Some(mut driver) = self.driver.take() {
                        driver.close().map_err(told)?;
                    }
                    played.failures.extend(self.events(name, wanted).err().map(told));
                }
                Act::Make(name, _)
                | Act::Append(name, _)
                | Act::Delete(name)
                | Act::Chmod(name, _)
                | Act::Touch(name) => {
                    self.outside(name, &step.act).map_err(told)?;
                }
            }
        }
        if let Some(mut driver) = self.driver.take() {
            driver.close()?;
        }
        played.failures.extend(self.leftovers()?);
        Ok(())
    }

    /// Applies a change by another program. The changed state is the expected one from now on.
    fn outside(&mut self, name: &str, act: &Act) -> Result<(), String> {
        let before = self.tree()?;
        disk::act(&self.names.root.join(name), act, |text| self.names.text(text))?;
        let mut after = self.tree()?;
        for (path, node) in before {
            match after.remove(&path) {
                None => drop(self.wanted.remove(&path)),
                Some(now) if now != node => drop(self.wanted.insert(path, now)),
                Some(_) => {}
            }
        }
        self.wanted.extend(after);
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<Reply, String> {
        let input = match &call.input {
            Input::Json(value) => self.names.value(value)?.to_string(),
            Input::Raw(text) => self.names.text(text)?,
        };
        if self.driver.is_none() {
            self.driver = Some(self.kind.open(&self.stage)?);
        }
        let driver = self.driver.as_mut().ok_or("no driver")?;
        let mut reply = driver.call(&call.tool, &input)?;
        is_bounded(&call.tool, &reply)?;
        self.names.tags.push(reply.data.get("tag").and_then(Value::as_str).unwrap_or_default().to_owned());
        let operation = reply.data.get("operation").and_then(Value::as_str);
        // Listed operations are included, because a change by others is in no other reply.
        let list = |field| reply.data.get(field).and_then(Value::as_array).into_iter().flatten();
        let listed = list("operations").filter_map(|row| row["id"].as_str());
        let named = list("undone").chain(list("kept")).filter_map(Value::as_str);
        self.names.operations.extend(operation.into_iter().chain(listed).chain(named).map(str::to_owned));
        reply.text = self.names.plain(&reply.text);
        reply.data = self.names.plain_value(&reply.data);
        for (from, to) in [(&self.stage.state, "$STATE"), (&self.stage.home, "$HOME")] {
            reply.text = without_path(&reply.text, from, to);
        }
        if let Some(tag) = reply.data.get_mut("tag") {
            *tag = "#TAG".into();
        }
        Ok(reply)
    }

    /// Compares one path with the expectation of the scene, and expects it to remain so.
    fn after(&mut self, name: &str, thing: Option<&Thing>) -> Result<Option<String>, String> {
        let path = self.names.root.join(name);
        let key = key(name);
        let found = disk::look(&path).map_err(|error| error.to_string())?;
        let wanted = thing.map(|thing| match thing {
            Thing::File(bytes, style) => Node::File(bytes.clone(), self.mode(&key, style.mode, found.as_ref())),
            _ => Node::Folder,
        });
        let failure = disk::difference(wanted.as_ref(), found.as_ref()).map(|it| format!("{name}: {it}"));
        match wanted {
            None => drop(self.wanted.remove(&key)),
            Some(node) => {
                let parents = key.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty());
                self.wanted.extend(parents.map(|parent| (parent.to_owned(), Node::Folder)));
                self.wanted.insert(key, node);
            }
        }
        Ok(failure)
    }

    /// Compares the lines of a file with the fields that each line must have.
    fn events(&self, name: &str, wanted: &[Value]) -> Result<(), String> {
        let text = fs::read_to_string(self.names.root.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let found = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        let found = found.map_err(|error| format!("{name}: a line is not JSON: {error}"))?;
        let found: Vec<Value> = found.iter().map(|line| self.names.plain_value(line)).collect();
        if found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| holds(found, wanted)) {
            return Ok(());
        }
        let wanted: Vec<String> = wanted.iter().map(|line| format!("{line}\n")).collect();
        Err(format!("{name}: events wanted:\n{}events found:\n{text}", wanted.concat()))
    }

    /// Returns the mode that a file must have: that of the scene, else its previous one, else that of any new file.
    fn mode(&self, key: &Path, said: Option<u32>, found: Option<&Node>) -> u32 {
        let of = |node: Option<&Node>| match node {
            Some(Node::File(_, mode)) => Some(*mode),
            _ => None,
        };
        said.or_else(|| of(self.wanted.get(key))).or_else(|| of(found)).unwrap_or(0)
    }

    fn tree(&self) -> Result<Tree, String> {
        let mut tree = disk::tree(&self.names.base).map_err(|error| error.to_string())?;
        tree.retain(|path, _| !OURS.iter().any(|ours| path.starts_with(ours)));
        Ok(tree)
    }

    /// Returns every change that the scene does not mention.
    fn leftovers(&self) -> Result<Vec<String>, String> {
        let found = self.tree()?;
        let mut wanted = self.wanted.clone();
        wanted.insert("root".into(), Node::Folder);
        let mut names: Vec<&PathBuf> = wanted.keys().chain(found.keys()).collect();
        names.sort();
        names.dedup();
        let different = |name: &PathBuf| {
            disk::difference(wanted.get(name), found.get(name))
                .map(|it| format!("at the end, {}: {it}", name.display()))
        };
        Ok(names.into_iter().filter_map(different).collect())
    }
}

/// Converts a name to a path below the base.
fn key(name: &str) -> PathBuf {
    let mut key = PathBuf::from("root");
    for part in Path::new(name).components() {
        match part {
            Component::ParentDir => drop(key.pop()),
            Component::Normal(part) => key.push(part),
            _ => {}
        }
    }
    key
}

/// Describes how a reply differs from what the scene expects.
fn unlike(expect: Option<&Expect>, reply: &Reply) -> Vec<String> {
    let head = |error: &Option<(String, Option<u64>)>| crate::bless::head(error.as_ref());
    let Some(expect) = expect else {
        return vec![format!(
            "no reply is written down; it was: {}\n{}",
            head(&reply.error),
            crate::block::Block::of(&reply.text).source()
        )];
    };
    let mut out = Vec::new();
    if expect.error != reply.error {
        out.push(format!("`{}` is wanted, the reply is `{}`", head(&expect.error), head(&reply.error)));
    }
    if !expect.text.matches(&reply.text) {
        out.push(format!(
            "text wanted:\n{}text found:\n{}",
            expect.text.source(),
            crate::block::Block::of(&reply.text).source()
        ));
    }
    if let Some(data) = &expect.data
        && !holds(&reply.data, data)
    {
        out.push(format!("data wanted:\n{data}\ndata found:\n{}", crate::bless::selected(data, &reply.data)));
    }
    out
}

/// Returns true if `all` contains everything in `part`.
fn holds(all: &Value, part: &Value) -> bool {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => {
            part.iter().all(|(key, part)| all.get(key).map_or(part.is_null(), |all| holds(all, part)))
        }
        (Value::Array(all), Value::Array(part)) => {
            all.len() == part.len() && all.iter().zip(part).all(|(all, part)| holds(all, part))
        }
        _ => all == part,
    }
}

#[cfg(test)]
mod tests {
    use super::holds;
    use serde_json::json;

    #[test]
    fn only_the_listed_fields_of_data_are_compared() {
        let all = json!({"a": 1, "b": [{"c": 2, "d": 3}], "n": null});
        assert!(holds(&all, &json!({"a": 1, "b": [{"c": 2}], "missing": null})));
        assert!(!holds(&all, &json!({"a": 2})) && !holds(&all, &json!({"b": []})) && !holds(&all, &json!({"x": 1})));
    }
}
