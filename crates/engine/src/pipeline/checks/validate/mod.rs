//! Validation of results before they are written, after formatters and hooks. A valid JSON, JSONC, TOML or YAML file
//! must remain valid, and a file with a schema must fit it; existing problems are only reported. An undo is not
//! validated, because it restores an earlier state.

pub(crate) mod messages;
pub(crate) mod schemas;

use crate::context::Context;
use crate::context::config::Strictness;
use crate::pipeline::checks::validate::schemas::{SchemaSource, compiled, schemas_of};
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use emendate_core::{Error, Note, Result, Snapshot, work};
use emendate_fs::SafePath;
use emendate_schema::{
    CheckReport, DataFormat, Document, DuplicateName, SyntaxError, TEXT_BYTES_MAX, looks_like_a_template,
    new_violations, read,
};

/// Bytes of all files of a call that are validated.
const VALIDATED_BYTES_MAX: usize = 64 << 20;

/// The reactions to invalid results.
#[derive(Clone, Copy)]
struct ValidationPolicy {
    /// The treatment of a file that no longer parses.
    syntax: Strictness,
    /// True if schema violations are refused, false if they are only reported.
    refuses: bool,
}

/// One file, before and after.
struct ValidationCase<'p> {
    path: &'p SafePath,
    kind: DataFormat,
    before: &'p str,
    after: &'p str,
    sources: Vec<SchemaSource>,
    policy: ValidationPolicy,
    /// Changes to the caller's text by others.
    others: Vec<&'p Note>,
    notes: Vec<String>,
}

/// Refuses plans that leave a file invalid; tolerated problems become notes.
///
/// Errors: `schema.violation`, `schema.invalid`.
pub(crate) fn validate(context: &Context, plans: &mut [FilePlan], allows_invalid: bool) -> Result<()> {
    let (of, mut left, mut errors) = (plans.len(), VALIDATED_BYTES_MAX, Vec::new());
    for plan in plans.iter_mut().filter(|plan| plan.writes()) {
        work::spend_bytes(4 * plan.before.text().len())?;
        let syntax = if allows_invalid || plan.outcome.has_conflict_markers {
            Strictness::Warn
        } else {
            context.config().strictness
        };
        let policy = ValidationPolicy {
            syntax: syntax.min(context.config().strictness),
            refuses: !plan.outcome.has_conflict_markers,
        };
        match validate_plan(context, plan, policy, &mut left) {
            Ok(notes) => plan.outcome.notes.extend(notes),
            Err(error) => errors.push(error),
        }
    }
    Error::combine(errors, of).map_or(Ok(()), Err)
}

/// Reports problems in a text that a person changed, without refusing it.
pub(crate) fn validate_user_text(context: &Context, plans: &mut [FilePlan]) {
    for plan in plans.iter_mut().filter(|plan| plan.outcome.user_modified) {
        let policy = ValidationPolicy { syntax: Strictness::Warn.min(context.config().strictness), refuses: false };
        let notes = validate_plan(context, plan, policy, &mut VALIDATED_BYTES_MAX.clone());
        plan.outcome.notes.extend(notes.unwrap_or_else(|error| vec![error.message().to_owned()]));
    }
}

/// True when the syntax of a plan's file is validated here.
pub(crate) fn validates(context: &Context, plan: &FilePlan) -> bool {
    let known = DataFormat::of(plan.path.absolute()).is_some() && context.config().strictness > Strictness::Off;
    known && plan.before.text().len() <= TEXT_BYTES_MAX && !is_skipped(context, &plan.path)
}

fn is_skipped(context: &Context, path: &SafePath) -> bool {
    context.config().unchecked.iter().any(|rule| rule.matches(path.relative(), path.absolute()))
}

/// Validates one plan; returns the notes.
///
/// Errors: as `validate`.
fn validate_plan(
    context: &Context,
    plan: &FilePlan,
    policy: ValidationPolicy,
    left: &mut usize,
) -> Result<Vec<String>> {
    let text = plan.target == TargetState::File && !plan.before.is_binary();
    if !text || is_skipped(context, &plan.path) {
        return Ok(Vec::new());
    }
    let sources = schemas_of(context, &plan.path);
    let named = DataFormat::of(plan.path.absolute()).filter(|_| policy.syntax > Strictness::Off || !sources.is_empty());
    if named.is_none() && sources.is_empty() {
        return Ok(Vec::new());
    }
    if plan.source.is_some() {
        // Of a large file only the parts around the edit are loaded.
        return Ok(vec![messages::unchecked_note(&plan.path, "it is too large")]);
    }
    // Text that cannot be decoded any more is reported elsewhere.
    let Ok(after) = plan.after() else { return Ok(Vec::new()) };
    let size = after.text().len();
    if size > TEXT_BYTES_MAX || size > *left {
        return Ok(vec![messages::unchecked_note(&plan.path, "it is too large")]);
    }
    *left -= size;
    let others = plan.outcome.notes.iter().filter(|note| note.is_foreign_change()).collect();
    let kind = named.unwrap_or_else(|| by_content(after.text()));
    let stands = matches!(plan.current, CurrentState::File(_)) || plan.source_file.is_some();
    let before = if stands { plan.before.text() } else { "" };
    let case = ValidationCase {
        path: &plan.path,
        kind,
        before,
        after: after.text(),
        sources,
        policy,
        others,
        notes: Vec::new(),
    };
    case.judge(context, &after)
}

/// Detects the type of a file by its content, if its name does not show it.
fn by_content(text: &str) -> DataFormat {
    if text.trim_start().starts_with(['{', '[', '/']) { DataFormat::Jsonc } else { DataFormat::Yaml }
}

impl ValidationCase<'_> {
    fn judge(mut self, context: &Context, after: &Snapshot) -> Result<Vec<String>> {
        let before = self.read_before();
        match read(self.kind, self.after) {
            Err(fault) if fault.limit_reached => self.notes.push(messages::unchecked_note(self.path, &fault.what)),
            Err(fault) => self.handle_syntax_error(&before, &fault, after)?,
            Ok(document) => {
                if let PriorValidity::Broken = before {
                    self.notes.push(format!("The file is valid {} again.", self.kind.name()));
                }
                self.note_duplicate_names(&before, document.duplicates());
                for source in std::mem::take(&mut self.sources) {
                    self.fits(context, &source, &before, &document, after)?;
                }
            }
        }
        Ok(self.notes)
    }

    /// Parses the former text. JSON with comments in a file of unspecified type is treated as JSONC from then on.
    fn read_before(&mut self) -> PriorValidity {
        if self.before.trim().is_empty() {
            return PriorValidity::Nothing;
        }
        match read(self.kind, self.before) {
            Ok(document) => PriorValidity::Sound(document),
            Err(fault) if fault.limit_reached => PriorValidity::Unknown,
            Err(_) => match read(DataFormat::Jsonc, self.before).ok().filter(|_| self.kind == DataFormat::Json) {
                Some(document) => {
                    self.kind = DataFormat::Jsonc;
                    PriorValidity::Sound(document)
                }
                None => PriorValidity::Broken,
            },
        }
    }

    /// Handles a text with invalid syntax.
    fn handle_syntax_error(&mut self, before: &PriorValidity, fault: &SyntaxError, after: &Snapshot) -> Result<()> {
        let wrong = messages::fault(self.after, fault);
        let line = after.text()[..fault.at.min(after.text().len())].rfind('\n').map_or(0, |end| end + 1);
        let line = after.text()[line..].lines().next().unwrap_or_default();
        let is_template = match before {
            PriorValidity::Nothing if self.kind == DataFormat::Yaml => looks_like_a_template(self.after),
            _ => looks_like_a_template(line),
        };
        match before {
            PriorValidity::Broken => {
                self.notes
                    .push(format!("The file was not valid {} before this edit either: {wrong}", self.kind.name()));
            }
            PriorValidity::Unknown => self.notes.push(messages::unchecked_note(self.path, "it was too large before")),
            _ if is_template => self.notes.push(format!("This is not valid by itself, as templates are: {wrong}")),
            // An unparsable text cannot fit a schema.
            _ if self.policy.syntax == Strictness::Refuse || (self.policy.refuses && !self.sources.is_empty()) => {
                return Err(messages::broken(self, fault));
            }
            _ => self.notes.push(format!("The file is not valid {}: {wrong}", self.kind.name())),
        }
        Ok(())
    }

    /// Notes new duplicate names in an object: they are valid syntax, but hardly ever intended.
    fn note_duplicate_names(&mut self, before: &PriorValidity, repeated: &[DuplicateName]) {
        let old = if let PriorValidity::Sound(document) = before { document.duplicates() } else { &[] };
        let new: Vec<&DuplicateName> =
            repeated.iter().filter(|it| count_named(repeated, &it.name) > count_named(old, &it.name)).take(3).collect();
        self.notes.extend(new.into_iter().map(|it| messages::repeated(self.after, it)));
    }

    fn fits(
        &mut self,
        context: &Context,
        source: &SchemaSource,
        before: &PriorValidity,
        document: &Document,
        after: &Snapshot,
    ) -> Result<()> {
        let schema = compiled(context, source)?;
        let CheckReport { violations, more, limit_reached: beyond, untried_patterns: untried } = schema.check(document);
        if beyond {
            self.notes
                .push(messages::unchecked_note(self.path, &format!("{} would take too many steps", source.name())));
            return Ok(());
        }
        self.notes.extend(messages::untried_note(source, &untried));
        if violations.is_empty() {
            if let Some(what) = schemas::also_wrong(source, self.after) {
                let was =
                    schemas::also_wrong(source, self.before).is_some() && !matches!(before, PriorValidity::Nothing);
                if self.policy.refuses && !was {
                    return Err(messages::invalid_for_reader(self, source, &what));
                }
                self.notes.push(format!("{} is not content: {what}", source.name()));
            }
            return Ok(());
        }
        let old = match before {
            PriorValidity::Nothing => {
                CheckReport { violations: Vec::new(), more: false, limit_reached: false, untried_patterns: Vec::new() }
            }
            PriorValidity::Sound(document) => schema.check(document),
            // Former violations are unknown; this result is still better than an unparsable text.
            PriorValidity::Broken | PriorValidity::Unknown => CheckReport { more: true, ..schema.check(document) },
        };
        let new = if old.more || old.limit_reached { Vec::new() } else { new_violations(&old.violations, &violations) };
        if new.is_empty() {
            self.notes.push(messages::old_problems_note(source, violations.len(), more));
        } else if self.policy.refuses && !(matches!(source, SchemaSource::Claude) && was_invalid(before, &old)) {
            return Err(messages::violations(self, source, &new, violations.len() - new.len(), more, after));
        } else {
            self.notes.push(messages::new_problems_note(self.after, source, &new));
        }
        Ok(())
    }
}

/// Counts the duplicates of a name.
fn count_named(all: &[DuplicateName], name: &str) -> usize {
    all.iter().filter(|it| it.name == name).count()
}

/// True for a text that did not fit its schema before: the settings of Claude Code may be edited then (seed 001).
fn was_invalid(before: &PriorValidity, old: &CheckReport) -> bool {
    matches!(before, PriorValidity::Broken) || !old.violations.is_empty()
}

/// The former validity of a file.
enum PriorValidity {
    /// Missing or blank.
    Nothing,
    Sound(Document),
    Broken,
    /// Unknown.
    Unknown,
}
