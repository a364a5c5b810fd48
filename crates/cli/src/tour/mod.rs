//! `emend tour`: the main job on real input, checked while it is shown.

mod steps;

use crate::{show, sources};
use emendate::core::{Code, Error, Result};
use emendate::{Caller, Config, Engine, Reply, State};
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Lines of a reply that are shown.
const SHOWN: usize = 16;
/// Characters of a string in a call that are shown.
const STRING: usize = 100;

/// The tour under way.
struct Tour<W: Write> {
    out: show::Paper<W>,
    engine: Engine,
    caller: Caller,
    work: PathBuf,
    step: usize,
    failed: usize,
}

/// Copies the sources, walks through the steps; 1 when a step did not behave.
pub(crate) fn run() -> Result<u8> {
    let checkout = sources::checkout()?;
    let scratch = sources::scratch()?;
    let work = scratch.join("work");
    let files = sources::copy(&checkout, &work)?;
    let subject = sources::subject(&files)?;
    let state = State::Directory(scratch.join("state"));
    let engine = Engine::open(std::slice::from_ref(&work), state, Config::default())?;
    let other = files.iter().find(|path| **path != subject.path && steps::begins(path)).cloned();
    let caller = Caller { session: "tour".to_owned(), ..Caller::default() };
    let mut tour = Tour { out: show::stdout(), engine, caller, work, step: 0, failed: 0 };
    let start = format!(
        "{} source files of {} were copied to {}.\nAn agent works there; the session is kept in an embedded database beside it.",
        files.len(),
        checkout.display(),
        tour.work.display()
    );
    let walked = tour.out.plain(&start).and_then(|()| steps::walk(&mut tour, &subject, other.as_deref()));
    let ended = walked.and_then(|()| tour.end(&scratch));
    show::quiet_pipe(ended)?;
    show::notices(&tour.engine);
    Ok(u8::from(tour.failed > 0))
}

impl<W: Write> Tour<W> {
    /// A new step's heading, and a sentence on it.
    fn heading(&mut self, title: &str, about: &str) -> io::Result<()> {
        self.step += 1;
        self.out.plain("")?;
        self.out.heading(&format!("{}. {title}", self.step))?;
        self.out.plain(&format!("   {about}"))
    }

    /// Calls a tool and shows both sides of it.
    fn call(&mut self, tool: &str, input: Value) -> io::Result<Reply> {
        self.out.label("   the model sends")?;
        self.out.plain(&format!("   │ {tool} {}", shortened(input.clone())))?;
        let reply = self.engine.call(&self.caller, tool, input);
        self.out.label("   the model sees")?;
        let text = reply.text();
        let lines = text.lines().count();
        for line in text.lines().take(SHOWN) {
            self.out.plain(&format!("   │ {line}"))?;
        }
        if lines > SHOWN {
            self.out.plain(&format!("   │ … {} more lines", lines - SHOWN))?;
        }
        let changed = reply.result.as_ref().ok().filter(|answer| answer.data.contains_key("structuredPatch"));
        if let Some(answer) = changed {
            self.out.label("   a person sees")?;
            self.out.diff("   ", &answer.data)?;
        }
        Ok(reply)
    }

    /// Checks that a call worked and that `also` holds.
    fn expect(&mut self, reply: &Reply, what: &str, also: impl FnOnce(&Value) -> bool) -> io::Result<()> {
        let fine = reply.result.as_ref().is_ok_and(|answer| also(&Value::Object(answer.data.clone())));
        self.verdict(fine, what)
    }

    /// Checks that a call was refused with this code and left the file alone.
    fn expect_refusal(&mut self, reply: &Reply, code: Code, path: &Path, before: &[u8]) -> io::Result<()> {
        let refused = reply.result.as_ref().is_err_and(|error: &Error| error.code() == code);
        let untouched = fs::read(path).is_ok_and(|now| now == before);
        self.verdict(refused && untouched, &format!("refused with {}, nothing was changed", code.as_str()))
    }

    fn verdict(&mut self, fine: bool, what: &str) -> io::Result<()> {
        self.failed += usize::from(!fine);
        self.out.verdict(fine, what)
    }

    fn end(&mut self, scratch: &Path) -> io::Result<()> {
        self.out.plain("")?;
        let (steps, failed) = (self.step, self.failed);
        self.out.heading(&match failed {
            0 => format!("All {steps} steps behaved."),
            _ => format!("{failed} of {steps} steps did not behave; please report it."),
        })?;
        self.out.plain(&format!("The scratch folder is {}; look around, then remove it.", scratch.display()))?;
        self.out.flush()
    }
}

/// The same JSON with long strings cut.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > STRING => {
            let cut: String = text.chars().take(STRING).collect();
            Value::String(format!("{cut}…"))
        }
        Value::Array(items) => items.into_iter().map(shortened).collect(),
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(name, it)| (name, shortened(it))).collect()),
        other => other,
    }
}
