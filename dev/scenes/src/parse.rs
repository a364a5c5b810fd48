//! Parses scene files, whose syntax `scenes/README.md` describes.

use crate::block::{Block, Row};
use crate::scene::{Act, Call, Expect, Input, Need, Scene, Skip, Step, Thing};
use crate::style::Style;
use serde_json::Value;

/// Parses a scene.
///
/// # Errors
/// Returns the mistake and its line.
pub fn parse(source: &str) -> Result<Scene, String> {
    let mut reader = Reader { lines: source.split('\n').collect(), at: 0 };
    let title = reader.lines.first().and_then(|line| line.strip_prefix("# ")).unwrap_or_default().trim().to_owned();
    if title.is_empty() {
        return Err("line 1: a scene begins with `# ` and its title".to_owned());
    }
    let mut scene = Scene { title, skips: Vec::new(), needs: Vec::new(), steps: Vec::new() };
    while let Some(line) = reader.lines.get(reader.at).copied() {
        let number = reader.at + 1;
        reader.at += 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        reader.statement(line, &mut scene).map_err(|error| format!("line {number}: {error}"))?;
    }
    Ok(scene)
}

struct Reader<'s> {
    lines: Vec<&'s str>,
    /// Index of the next line.
    at: usize,
}

impl Reader<'_> {
    fn statement(&mut self, line: &str, scene: &mut Scene) -> Result<(), String> {
        let number = self.at;
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        if verb == "skip" {
            scene.skips.extend(skips(rest)?);
            return Ok(());
        }
        if verb == "needs" {
            let need = rest.split_once(": ").and_then(|(name, _)| Need::parse(name));
            scene.needs.push(need.ok_or("a need looks like `needs unix: REASON`")?);
            return Ok(());
        }
        let act = if verb == "call" { Act::Call(self.call(rest)?) } else { self.act(verb, rest)? };
        scene.steps.push(Step { line: number, act });
        Ok(())
    }

    fn act(&mut self, verb: &str, rest: &str) -> Result<Act, String> {
        let (name, rest) = name(rest)?;
        let none = |act| if rest.is_empty() { Ok(act) } else { Err(format!("`{rest}` is too much")) };
        match verb {
            "file" => Ok(Act::Make(name, self.file(rest)?)),
            "append" => match self.file(rest)? {
                Thing::File(bytes, _) => Ok(Act::Append(name, bytes)),
                _ => Err("append needs lines".to_owned()),
            },
            "dir" => none(Act::Make(name, Thing::Folder)),
            "fifo" => none(Act::Make(name, Thing::Fifo)),
            "link" => Ok(Act::Make(name, Thing::Link(arrow(rest)?))),
            "hardlink" => Ok(Act::Make(name, Thing::HardLink(arrow(rest)?))),
            "delete" => none(Act::Delete(name)),
            "touch" => none(Act::Touch(name)),
            "chmod" => {
                let mode = u32::from_str_radix(rest, 8).map_err(|_| format!("`{rest}` is not an octal mode"))?;
                Ok(Act::Chmod(name, mode))
            }
            "events" => {
                let values = self.block()?.text()?.lines().map(serde_json::from_str).collect::<Result<_, _>>();
                none(Act::Events(name, values.map_err(|error| format!("a line is not JSON: {error}"))?))
            }
            "after" => match rest {
                "gone" => Ok(Act::After(name, None)),
                "dir" => Ok(Act::After(name, Some(Thing::Folder))),
                _ => Ok(Act::After(name, Some(self.file(rest)?))),
            },
            _ => Err(format!("`{verb}` is not a step")),
        }
    }

    fn file(&mut self, words: &str) -> Result<Thing, String> {
        let style = Style::parse(words.split_whitespace())?;
        let block = self.block()?;
        Ok(Thing::File(style.bytes(&block)?, style))
    }

    fn block(&mut self) -> Result<Block, String> {
        let mut block = Block::default();
        while let Some(row) = self.lines.get(self.at).and_then(|line| Row::parse(line)) {
            block.rows.push(row.map_err(|error| format!("(line {}) {error}", self.at + 1))?);
            self.at += 1;
        }
        if self.lines.get(self.at) == Some(&"\\ no final newline") {
            block.open = true;
            self.at += 1;
        }
        Ok(block)
    }

    fn call(&mut self, rest: &str) -> Result<Call, String> {
        let (tool, rest) = rest.split_once(' ').ok_or("a call needs a tool and an input")?;
        let input = match rest.strip_prefix("raw") {
            Some(raw) => Input::Raw(raw.strip_prefix(' ').unwrap_or(raw).to_owned()),
            None => Input::Json(self.json(rest)?),
        };
        let from = self.at;
        let expect = self.expect()?;
        Ok(Call { tool: tool.to_owned(), input, expect, lines: from..self.at })
    }

    /// Parses JSON that begins in `rest`, the end of the current line, and may continue on the lines below.
    fn json(&mut self, rest: &str) -> Result<Value, String> {
        let whole = [&[rest], &self.lines[self.at..]].concat().join("\n");
        let mut values = serde_json::Deserializer::from_str(&whole).into_iter::<Value>();
        let value = values.next().ok_or("JSON is missing")?.map_err(|error| error.to_string())?;
        let end = values.byte_offset();
        let tail = whole[end..].split('\n').next().unwrap_or_default();
        if !tail.trim().is_empty() {
            return Err(format!("`{tail}` behind the JSON"));
        }
        self.at += whole[..end].matches('\n').count();
        Ok(value)
    }

    fn expect(&mut self) -> Result<Option<Expect>, String> {
        let Some(line) = self.lines.get(self.at).copied() else { return Ok(None) };
        let error = if line == "ok" {
            None
        } else if let Some(rest) = line.strip_prefix("error ") {
            let (code, seed) = rest.split_once(' ').unwrap_or((rest, ""));
            let seed = if seed.is_empty() {
                None
            } else {
                Some(seed.parse().map_err(|_| format!("`{seed}` is not a number"))?)
            };
            Some((code.to_owned(), seed))
        } else {
            return Ok(None);
        };
        self.at += 1;
        let text = self.block()?;
        let data = match self.lines.get(self.at).and_then(|line| line.strip_prefix("data ")) {
            Some(rest) => {
                self.at += 1;
                Some(self.json(rest)?)
            }
            None => None,
        };
        Ok(Some(Expect { error, text, data }))
    }
}

/// Splits a name, plain or as a JSON string, from the rest of the line.
fn name(rest: &str) -> Result<(String, &str), String> {
    if !rest.starts_with('"') {
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        return if name.is_empty() { Err("a name is missing".to_owned()) } else { Ok((name.to_owned(), rest.trim())) };
    }
    let mut names = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let name = names.next().ok_or("a name is missing")?.map_err(|error| error.to_string())?;
    Ok((name, rest[names.byte_offset()..].trim()))
}

fn arrow(rest: &str) -> Result<String, String> {
    rest.strip_prefix("-> ").map(str::to_owned).ok_or_else(|| format!("`{rest}` should be `-> TARGET`"))
}

fn skips(rest: &str) -> Result<Vec<Skip>, String> {
    let (drivers, reason) = rest.split_once(": ").ok_or("a skip needs a reason: `skip mcp, serve: REASON`")?;
    let skip = |driver: &str| {
        let driver = driver.trim();
        let known = crate::driver::KINDS.iter().any(|kind| kind.name() == driver);
        let skip = Skip { driver: driver.to_owned(), reason: reason.trim().to_owned() };
        if known { Ok(skip) } else { Err(format!("there is no driver `{driver}`")) }
    };
    drivers.split(',').map(skip).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::scene::{Act, Input, Need, Thing};

    const SOURCE: &str = "\
# One word

# why
skip mcp, serve: a reason
needs unix: a reason
file \"a b.txt\" crlf
| one
\\ no final newline
link l -> $BASE/x
call edit {
  \"file_path\": \"$ROOT/a b.txt\"}
error match.not_found 8
| No.
data {\"count\": 0}
call read raw {x
after l gone
";

    #[test]
    fn scene_is_parsed() {
        let scene = parse(SOURCE).unwrap();
        assert_eq!((&*scene.title, scene.skips.len(), scene.steps.len()), ("One word", 2, 5));
        assert_eq!(scene.needs, [Need::Unix]);
        let Act::Make(name, Thing::File(bytes, _)) = &scene.steps[0].act else { panic!() };
        assert_eq!((&**name, &**bytes), ("a b.txt", &b"one"[..]));
        let Act::Call(call) = &scene.steps[2].act else { panic!() };
        let expect = call.expect.as_ref().unwrap();
        assert_eq!((call.lines.clone(), expect.error.clone()), (11..14, Some(("match.not_found".to_owned(), Some(8)))));
        let Act::Call(call) = &scene.steps[3].act else { panic!() };
        assert_eq!((&call.input, &call.expect), (&Input::Raw("{x".to_owned()), &None));
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (source, part) in [
            ("no title", "line 1"),
            ("# t\nskip mcp", "line 2: a skip needs a reason"),
            ("# t\nskip abacus: x", "no driver"),
            ("# t\nneeds windows: x", "a need looks like"),
            ("# t\n\ndance a", "line 3: `dance` is not a step"),
            ("# t\ncall edit {", "line 2"),
            ("# t\ncall edit {} x", "behind the JSON"),
            ("# t\nfile a loud\n| x", "says nothing"),
            ("# t\nfile a\n...", "replies only"),
            ("# t\n| x", "line 2"),
            ("# t\nevents e\n| x", "a line is not JSON"),
        ] {
            let error = parse(source).unwrap_err();
            assert!(error.contains(part), "{source}: {error}");
        }
    }
}
