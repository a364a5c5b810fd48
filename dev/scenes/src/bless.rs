//! Records the library's replies in the scenes. The reviewer reads the difference.

use crate::block::Block;
use crate::driver::{Kind, Reply};
use crate::parse::parse;
use crate::play::play;
use crate::scene::{Act, Call};
use serde_json::{Map, Value};

/// Returns the source of a scene with the library's replies in place of the recorded ones. Replies that still match are
/// kept.
///
/// # Errors
/// Fails if the scene cannot be read or its run stops early.
pub fn blessed(source: &str) -> Result<String, String> {
    let scene = parse(source)?;
    let calls: Vec<&Call> =
        scene.steps.iter().filter_map(|step| if let Act::Call(call) = &step.act { Some(call) } else { None }).collect();
    let played = play(&scene, Kind::Library, None);
    if played.replies.len() < calls.len() {
        return Err(played.failures.last().cloned().unwrap_or_else(|| "a call had no reply".to_owned()));
    }
    let lines: Vec<&str> = source.split('\n').collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut at = 0;
    for (call, reply) in calls.into_iter().zip(&played.replies) {
        out.extend(lines[at..call.lines.start].iter().map(|&line| line.to_owned()));
        out.extend(written(call, reply).lines().map(str::to_owned));
        at = call.lines.end;
    }
    out.extend(lines[at..].iter().map(|&line| line.to_owned()));
    Ok(out.join("\n"))
}

/// Formats the first line of a recorded reply.
pub(crate) fn head(error: Option<&(String, Option<u64>)>) -> String {
    match error {
        None => "ok".to_owned(),
        Some((code, None)) => format!("error {code}"),
        Some((code, Some(seed))) => format!("error {code} {seed}"),
    }
}

fn written(call: &Call, reply: &Reply) -> String {
    let expect = call.expect.as_ref();
    let text = match expect {
        Some(expect) if expect.text.matches(&reply.text) => expect.text.clone(),
        _ => Block::of(&reply.text),
    };
    let data = match expect.and_then(|expect| expect.data.as_ref()) {
        Some(data) => format!("data {}\n", selected(data, &reply.data)),
        None => String::new(),
    };
    format!("{}\n{}{data}", head(reply.error.as_ref()), text.source())
}

/// Returns the fields of `all` that `pattern` has.
pub(crate) fn selected(pattern: &Value, all: &Value) -> Value {
    match (pattern, all) {
        (Value::Object(pattern), Value::Object(all)) => {
            let field = |(key, pattern): (&String, &Value)| {
                (key.clone(), all.get(key).map_or(Value::Null, |all| selected(pattern, all)))
            };
            Value::Object(pattern.iter().map(field).collect::<Map<String, Value>>())
        }
        (Value::Array(pattern), Value::Array(all)) if pattern.len() == all.len() => {
            pattern.iter().zip(all).map(|(pattern, all)| selected(pattern, all)).collect()
        }
        _ => all.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::blessed;

    const BEFORE: &str = "\
# A title
file a.txt
| one
call read {\"file_path\": \"$ROOT/a.txt\"}
error internal.bug
| nonsense
data {\"lines\": 7, \"tag\": 0}

call dance {}
# the end
";

    #[test]
    fn replies_are_recorded_and_kept() {
        let after = blessed(BEFORE).unwrap();
        assert!(
            after.contains(
                "ok\n|      1\tone\ndata {\"lines\":1,\"tag\":\"#TAG\"}\n\ncall dance {}\nerror call.unknown_tool\n"
            ),
            "{after}"
        );
        assert!(after.starts_with("# A title\n") && after.ends_with("# the end\n"), "{after}");
        assert_eq!(blessed(&after).unwrap(), after);
    }
}
