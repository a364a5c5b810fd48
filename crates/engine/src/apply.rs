//! The tool `apply`: edits written as text, in any of the text formats, for any number of files, all or nothing.

use crate::caller::Caller;
use crate::engine::Engine;
use crate::options::Options;
use crate::reply::Answer;
use emendate_core::formats::recognise::{self, Understood};
use emendate_core::formats::stream::Manner;
use emendate_core::formats::{self, Format, Input};
use emendate_core::{Ask, Code, Error, Locator, Op, Request, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The input of `apply`, beside the option fields.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The edits, as text.
    input: String,
    /// The format of the text (default: recognised).
    #[serde(default)]
    format: Option<String>,
    /// The directory that relative file names start from (default: the first root).
    #[serde(default)]
    directory: Option<String>,
}

impl Engine {
    /// The tool `apply`.
    pub(crate) fn apply_text(&self, caller: &Caller, mut input: Value) -> Result<Answer> {
        let options = Options::take(&mut input, caller, self.config())?;
        let args: Args = formats::from_json(Input::Json(input))?;
        let named = args.format.as_deref().map(chosen).transpose()?;
        let Understood { format, mut request, directory } =
            recognise::understand(&args.input, named, &Manner::default())?;
        let start = self.directory(args.directory.as_deref())?;
        let directory = directory.map_or(start.clone(), |said| start.join(said));
        for file in &mut request.files {
            file.path = self.named(caller, &directory, &file.path, &file.ask)?;
        }
        self.answer_all(caller, request, &options, format)
    }

    fn answer_all(&self, caller: &Caller, request: Request, options: &Options, format: &dyn Format) -> Result<Answer> {
        let notes = request.notes.clone();
        let receipts = self.apply(caller, request, options)?;
        let mut answer = Answer::default();
        for note in &notes {
            answer.text.push_str("Note: ");
            answer.text.push_str(note);
            answer.text.push('\n');
        }
        let mut files: Vec<Value> = Vec::with_capacity(receipts.len());
        for receipt in receipts {
            if !receipt.is_told_elsewhere() {
                let one = receipt.answer(false);
                answer.text.push_str(&one.text);
                files.push(Value::Object(one.data));
            }
            self.finish(receipt.into_plan());
        }
        let mut data = Map::new();
        data.insert("format".to_owned(), format.spec().name.into());
        data.insert("dryRun".to_owned(), options.dry_run.into());
        data.insert("notes".to_owned(), notes.into());
        data.insert("files".to_owned(), files.into());
        answer.data = data;
        Ok(answer)
    }

    fn directory(&self, named: Option<&str>) -> Result<PathBuf> {
        let root = self.roots().first().map(|root| root.to_path_buf()).unwrap_or_default();
        match named.map(Path::new) {
            None => Ok(root),
            Some(directory) if directory.is_absolute() => Ok(directory.to_owned()),
            Some(directory) => Err(Error::new(Code::PathInvalid, "directory must be an absolute path.")
                .evidence(directory.display().to_string())
                .next(format!("Use {}.", root.join(directory).display()))),
        }
    }

    /// The absolute path that a name in the text stands for: that very path, or else the one file of that base name that
    /// this session knows.
    fn named(&self, caller: &Caller, directory: &Path, name: &str, ask: &Ask) -> Result<String> {
        let exact = directory.join(name);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let place = self.store().admit(&exact)?;
        let creates = matches!(ask, Ask::Write(_)) || matches!(ask, Ask::Edit { ops, .. } if fills(ops));
        if creates || self.store().stamp(&place).is_ok_and(|stamp| stamp.is_some()) {
            return Ok(text(&exact));
        }
        let wanted = Path::new(name).file_name();
        let known = self.sessions(&place).paths(&caller.session)?;
        let mut same =
            known.iter().map(|path| Path::new(OsStr::from_bytes(path))).filter(|path| path.file_name() == wanted);
        match (same.next(), same.next()) {
            (Some(only), None) => Ok(text(only)),
            // Missing, or more than one: the usual answer for a file that is not there.
            _ => Ok(text(&exact)),
        }
    }
}

fn fills(ops: &[Op]) -> bool {
    matches!(ops.first(), Some(Op { at: Locator::Blank, .. }))
}

/// The text format a call names.
fn chosen(name: &str) -> Result<&'static dyn Format> {
    formats::textual().find(|format| format.spec().name == name).ok_or_else(|| {
        let names: Vec<&str> = formats::textual().map(|format| format.spec().name).collect();
        Error::new(Code::CallInvalid, format!("`{name}` is not a text format."))
            .next(format!("Use one of: {}.", names.join(", ")))
    })
}
