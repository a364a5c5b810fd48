//! The tool `replace_in_files`: one replacement in every file below a directory that contains the text, as one
//! operation for all files or none.

mod gather;
mod told;
mod what;

use crate::caller::{Caller, Unread};
use crate::engine::{Engine, Opened};
use crate::limits::check_together;
use crate::log::Cause;
use crate::notebook;
use crate::plan::Plan;
use crate::policy::Access;
use crate::reply::Answer;
use crate::search::{Scope, Walked};
use crate::shelves::key;
use crate::watch::{Step, Watch};
use emendate_core::{Code, Error, Resolved, Result, formats};
use emendate_fs::{MAX_PATH, Place};
use emendate_history::{Lines, Record};
use gather::{Looked, look_at_all};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use what::What;

/// Files that one call may change.
pub(crate) const MOST_REPLACED: usize = 10_000;
/// Advice where too much would change.
const NARROWER: &str = "Narrow path or glob, and send several calls. Nothing was written.";
/// Files whose failures are reported.
const FAILURES: usize = 20;

/// The input of `replace_in_files`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The absolute path of the folder or file.
    path: String,
    /// The text to replace everywhere, exactly as in the files.
    #[serde(default)]
    old_string: Option<String>,
    /// Instead of `old_string`, with regex: a regular expression, in the syntax of search.
    #[serde(default)]
    pattern: Option<String>,
    /// The text to put there; empty deletes, plain text along with lines that would be left blank. With regex, $1 or ${name} is what that group matched, $$ a dollar sign.
    new_string: String,
    /// pattern is a regular expression.
    #[serde(default)]
    regex: bool,
    /// With regex: capital and small letters count as the same.
    #[serde(default)]
    ignore_case: bool,
    /// With regex: the pattern may reach over line ends, and `.` matches them.
    #[serde(default)]
    multiline: bool,
    /// Which files: `*.rs`, `src/**`; with `!` in front, which not.
    #[serde(default, alias = "globs")]
    glob: Vec<String>,
    /// Also files and folders whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Also what .gitignore and .ignore files leave out.
    #[serde(default)]
    no_ignore: bool,
    /// How many replacements there must be in all files together; nothing is written if there are more or fewer.
    #[serde(default)]
    expected: Option<usize>,
    /// How many files must change.
    #[serde(default)]
    expected_files: Option<usize>,
    /// Work everything out and show it, write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Write JSON, TOML or YAML that is invalid, because it is meant to be (default: refused).
    #[serde(default)]
    allow_invalid: bool,
    /// Write what cannot be undone afterwards (default: refused).
    #[serde(default)]
    irreversible: bool,
    /// Replace once more although this very call was done already (default: refused).
    #[serde(default)]
    repeat: bool,
}

/// The matches below the directory.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) plans: Vec<Plan>,
    /// Replacements in each file.
    pub(crate) places: Vec<usize>,
    pub(crate) searched: usize,
    pub(crate) left: Left,
}

impl Found {
    fn total(&self) -> usize {
        self.places.iter().sum()
    }
}

/// Skipped files.
#[derive(Clone, Default)]
pub(crate) struct Left {
    /// They contain the text and may not be edited.
    pub(crate) guarded: Vec<String>,
    /// They contain the text and are notebooks.
    pub(crate) notebooks: Vec<String>,
    /// They may not be read.
    pub(crate) denied: usize,
    pub(crate) binary: usize,
    pub(crate) unread: usize,
    /// Directories that could not be read.
    pub(crate) closed: usize,
}

impl Engine {
    /// Runs the tool `replace_in_files`.
    pub(crate) fn replace_in_files(&self, caller: &Caller, tool: &'static str, input: Value) -> Result<Answer> {
        self.rules_are_known()?;
        let mut cause = Cause::new(tool, &input);
        let args: Args = formats::from_json(formats::Input::Json(input))?;
        cause.allows_invalid = args.allow_invalid;
        cause.irreversible = args.irreversible;
        cause.repeat = args.repeat;
        let what = What::new(&args)?;
        let dry_run = args.dry_run || caller.dry_run;
        let watch = caller.watch.clone().unwrap_or_default();
        let (mut places, mut searched, mut left) = (Vec::new(), 0, Left::default());
        let plan = || {
            let mut found = self.found_in_files(caller, &args, &what, &watch)?;
            check_counts(caller, &args, &found, dry_run)?;
            self.warn_of_syntax(&mut found.plans);
            (places, searched, left) = (found.places, found.searched, found.left);
            Ok(found.plans)
        };
        let mut receipts = self.carry_out(caller, cause, dry_run, plan)?;
        self.diagnose(&mut receipts);
        let answer = told::answer(&receipts, &places, searched, &left, dry_run);
        for receipt in receipts {
            self.finish(receipt.into_plan());
        }
        Ok(answer)
    }

    /// Scans every file, and plans the changes.
    ///
    /// Errors: `match.not_found` if no file has the text; `call.too_large`; every file that has the text and cannot
    /// take the new one; `call.cancelled`.
    fn found_in_files(&self, caller: &Caller, args: &Args, what: &What, watch: &Watch) -> Result<Found> {
        let (places, walked) = self.files(args, watch)?;
        watch.begin(Step::Reading, places.len());
        let looked = look_at_all(self, &places, what, watch)?;
        let mut found = Found { searched: places.len(), ..Found::default() };
        (found.left.denied, found.left.closed) = (walked.denied, walked.closed);
        found.left.unread = walked.unreached;
        let (mut failed, mut bytes, mut names) = (Vec::new(), 0, HashSet::new());
        let mut changing = Vec::new();
        for (place, looked) in places.into_iter().zip(looked) {
            match looked {
                Looked::Without => {}
                Looked::Binary => found.left.binary += 1,
                Looked::Unread => found.left.unread += 1,
                Looked::Guarded => found.left.guarded.push(place.shown()),
                Looked::Failed(error) => failed.push(error.prefixed(&format!("{}: ", place.shown()))),
                Looked::With(now, resolved, count) => {
                    let now = *now;
                    bytes += now.snapshot.raw().len().max(resolved.changes.len_after(&now.snapshot));
                    if notebook::is_named(&place) {
                        found.left.notebooks.push(place.shown());
                    } else if now.stamp.links < 2 || names.insert((now.stamp.dev, now.stamp.ino)) {
                        // Two names of one file count once.
                        found.places.push(count);
                        changing.push((place, now, resolved));
                    }
                }
            }
            if changing.len() > MOST_REPLACED {
                return Err(too_many());
            }
            check_together(changing.len(), bytes).map_err(|error| error.next(NARROWER))?;
        }
        let of = changing.len() + failed.len();
        failed.truncate(FAILURES);
        match Error::all(failed, of) {
            Some(error) => Err(error),
            None if changing.is_empty() => Err(told::nowhere(&args.path, &found)),
            None => {
                found.plans = self.plans_of(caller, changing)?;
                Ok(found)
            }
        }
    }

    /// Returns the files to scan.
    fn files(&self, args: &Args, watch: &Watch) -> Result<(Vec<Place>, Walked)> {
        let place = self.store().admit(Path::new(&args.path))?;
        if self.store().list(&place)?.is_none() {
            return Ok((vec![self.admit(&args.path, Access::Write)?], Walked::default()));
        }
        let globs = Scope::globs(place.absolute(), &args.glob)?;
        let scope = Scope { globs, hidden: args.hidden, all: args.no_ignore, watch: Some(watch.clone()) };
        let mut places = Vec::new();
        watch.begin(Step::Listing, 0);
        let walked = self.walk(&place, &scope, &mut |place| {
            watch.advance(1);
            places.push(place.clone());
            Ok(ControlFlow::Continue(()))
        })?;
        watch.check()?;
        if walked.cut {
            return Err(Error::new(Code::CallTooLarge, format!("There are too many files beneath {}.", args.path))
                .next("Name a folder further down, and send one call for each."));
        }
        if let Some((_, number)) = &walked.long {
            let what = format!("{number} paths beneath {} have more than {MAX_PATH} bytes.", args.path);
            return Err(Error::new(Code::CallTooLarge, what).next(
                "Leave them out with a glob such as \"!name/**\", or name another directory. Nothing was written.",
            ));
        }
        Ok((places, walked))
    }

    /// Creates the plans. Replaced text was not shown, so it is not known afterwards either, unless the session had
    /// read it.
    fn plans_of(&self, caller: &Caller, changing: Vec<(Place, Opened, Resolved)>) -> Result<Vec<Plan>> {
        // All files are below one directory, so they have one history.
        let Some((first, ..)) = changing.first() else { return Ok(Vec::new()) };
        let paths: Vec<&[u8]> = changing.iter().map(|(place, ..)| key(place)).collect();
        let known = self.sessions(first).latest_of(&caller.session, &paths)?;
        let plan = |((place, now, resolved), known): ((Place, Opened, Resolved), Option<Record>)| {
            let known = known.filter(|record| record.content == now.snapshot.id());
            let unseen = known.is_none();
            let lines = known.map_or_else(Lines::all, |record| {
                crate::seen::after_writing(&record.lines, &now.snapshot, &resolved.changes)
            });
            Plan { unseen, ..Plan::edit(place, now, resolved, lines) }
        };
        Ok(changing.into_iter().zip(known).map(plan).collect())
    }
}

fn too_many() -> Error {
    Error::new(Code::CallTooLarge, format!("More than {MOST_REPLACED} files would change.")).next(NARROWER)
}

/// Checks the expected counts before anything is written. A model was shown none of the files, so it has to state the
/// counts.
///
/// Errors: `match.count`; `read.required` if a model states no count.
fn check_counts(caller: &Caller, args: &Args, found: &Found, dry_run: bool) -> Result<()> {
    let (places, files) = (found.total(), found.plans.len());
    let differs = |expected: Option<usize>, count: usize| expected.is_some_and(|expected| expected != count);
    if differs(args.expected, places) || differs(args.expected_files, files) {
        return Err(told::miscounted(args, found));
    }
    if !dry_run && caller.unread == Unread::Deny && args.expected.is_none() {
        return Err(told::uncounted(found));
    }
    Ok(())
}
