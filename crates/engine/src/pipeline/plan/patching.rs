//! Options of `apply` other than the patch, as on the command lines of `git apply` and `patch`: fields for people and
//! scripts. Profiles for models omit them.

use crate::context::options::{CallOptions, PatchOptions, take_fields};
use crate::context::walk::check_globs;
use crate::model::call_origin::Whitespace;
use crate::pipeline::plan::file_plan::{FilePlan, TargetState};
use data_encoding::BASE64;
use emendate_core::formats::line_parser::{ParseOptions, TextEncoding};
use emendate_core::{
    Advice, Charset, Code, DeclaredEncoding, Error, FileRequest, Request, Result, whitespace_faults, work,
};
use emendate_fs::shown;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Names that a note lists.
const NAMES_MAX: usize = 10;

/// The names of the fields below.
pub(crate) const PATCH_FIELDS: &[&str] = &["input_b64", "only", "context", "whitespace", "three_way", "reject"];

/// Fields that only `apply` takes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PatchFields {
    /// The text in base64, instead of `input`, if it is not UTF-8; the text and its files are then compared as bytes, unless `encoding` is given.
    input_b64: Option<String>,
    /// Patterns of the names of files to change; the first that matches decides, and one that starts with `!` excludes (default: all files).
    only: Option<Vec<String>>,
    /// Lines of context that must match on each side of a change; others may differ, if the place is still unique (default: all that the file has, within the usual tolerance).
    context: Option<usize>,
    /// Trailing whitespace in new lines, spaces before tabs, and empty lines at the end of a file: nowarn (default), warn, fix or error.
    whitespace: Option<String>,
    /// Merge with the version that the patch was made for, which the git repository of the file has under the id in the index line; conflicts are refused, or marked with `on_stale`. Only for callers that may edit files they have not read, and not over MCP.
    three_way: bool,
    /// Apply the hunks that can be applied and write the others to FILE.rej beside each file.
    reject: bool,
}

/// The files of a text that a call changes.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    patterns: Vec<Pattern>,
    /// The text was not UTF-8: characters of names are bytes.
    bytes: bool,
}

#[derive(Debug)]
struct Pattern {
    matcher: GlobSet,
    keeps: bool,
}

impl PatchFields {
    /// Removes the fields from an input and completes `options`. A text in base64 becomes `input`.
    ///
    /// Errors: `call.invalid` for invalid values.
    pub(crate) fn take(input: &mut Value, options: &mut CallOptions) -> Result<Selection> {
        let Some(fields) = take_fields::<PatchFields>(input, PATCH_FIELDS)? else { return Ok(Selection::default()) };
        let bytes = fields.input_b64.as_deref().map_or(Ok(false), |text| decode(text, input, options))?;
        let whitespace = fields.whitespace.as_deref().map_or(Ok(Whitespace::Ignore), whitespace)?;
        options.origin.whitespace = whitespace;
        options.patch = PatchOptions { context: fields.context, three_way: fields.three_way, reject: fields.reject };
        options.partial |= fields.reject;
        // These options examine or compare the whole text.
        options.whole |= fields.three_way || whitespace != Whitespace::Ignore;
        // The library panics at a pattern that is too large.
        check_globs(fields.only.as_deref().unwrap_or_default())?;
        let patterns = fields.only.iter().flatten().map(|text| pattern(text)).collect::<Result<_>>()?;
        Ok(Selection { patterns, bytes })
    }
}

/// Decodes a text in base64 into `input`. Returns true if its bytes are neither UTF-8 nor in an encoding that the call
/// names; each byte becomes one character then.
fn decode(text: &str, call: &mut Value, options: &mut CallOptions) -> Result<bool> {
    if call.get("input").and_then(Value::as_str).is_some_and(|input| !input.is_empty()) {
        return Err(Error::new(Code::CallInvalid, "The call has input and input_b64.").next("Omit one of them."));
    }
    let bytes = BASE64.decode(text.as_bytes()).map_err(|_| {
        Error::new(Code::CallInvalid, "input_b64 is not base64 (with `=` at the end where it needs them).")
            .next("Encode the bytes of the patch, or give the text as input.")
    })?;
    let (text, raw) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => {
            if let Some(DeclaredEncoding { charset: Charset::Legacy(encoding), .. }) = options.declared {
                let (text, broken) = encoding.decode_without_bom_handling(error.as_bytes());
                if broken {
                    let what = format!("The text is not in {}, the encoding of the call.", encoding.name());
                    return Err(Error::new(Code::CallInvalid, what).next(
                        Advice::named("Omit {encoding}, or name the right one.").or("Name the right one, or none."),
                    ));
                }
                (text.into_owned(), false)
            } else {
                options.declared = Some(DeclaredEncoding { charset: Charset::Bytes, by_call: true });
                (error.into_bytes().into_iter().map(char::from).collect(), true)
            }
        }
    };
    call["input"] = text.into();
    Ok(raw)
}

fn whitespace(word: &str) -> Result<Whitespace> {
    match word {
        "nowarn" => Ok(Whitespace::Ignore),
        "warn" => Ok(Whitespace::Warn),
        "fix" | "strip" => Ok(Whitespace::Fix),
        "error" | "error-all" => Ok(Whitespace::Refuse),
        _ => Err(Error::new(Code::CallInvalid, format!("`{word}` is not a way to treat whitespace.")).next(
            Advice::named("Use nowarn, warn, fix or error as {whitespace}.")
                .or("Use nowarn, warn, fix or error as \"whitespace\"."),
        )),
    }
}

/// Characters shown of a pattern, and of the library's message about it.
const PATTERN_CHARS_SHOWN: usize = 300;

/// Parses a pattern as git parses those of `--include`: `*` also matches slashes.
fn pattern(text: &str) -> Result<Pattern> {
    let (keeps, glob) = text.strip_prefix('!').map_or((true, text), |rest| (false, rest));
    let built = GlobBuilder::new(glob).literal_separator(false).backslash_escape(true).build();
    // A set reports a pattern that is nested too deeply; a single matcher panics.
    let matcher = built.and_then(|glob| GlobSetBuilder::new().add(glob).build()).map_err(|error| {
        let shown: String = glob.chars().take(PATTERN_CHARS_SHOWN).collect();
        let why: String = error.kind().to_string().chars().take(PATTERN_CHARS_SHOWN).collect();
        Error::new(Code::CallInvalid, format!("`{shown}` is not a pattern of names: {why}."))
            .next("Use * for any characters, ? for one, [a-z] for one of several.")
    })?;
    Ok(Pattern { matcher, keeps })
}

/// Finds whitespace errors in the lines that plans add, and removes them if the call says so.
///
/// Errors: `edit.unparsable` if the call refuses them.
pub(crate) fn check_blanks(plans: &mut [FilePlan], whitespace: Whitespace) -> Result<()> {
    if whitespace == Whitespace::Ignore {
        return Ok(());
    }
    let mut refused = Vec::new();
    for plan in plans.iter_mut().filter(|plan| plan.target == TargetState::File && !plan.before.is_binary()) {
        let after = plan.after()?;
        let (faults, fixed) = whitespace_faults(&plan.before, &plan.changes, after.text());
        if faults.is_empty() {
            continue;
        }
        let list: Vec<String> = faults.iter().map(|fault| format!("line {}: {}", fault.line, fault.what)).collect();
        let list = listed(&list);
        match whitespace {
            Whitespace::Fix => plan.replace_text("whitespace: fix", &fixed)?,
            Whitespace::Refuse => refused.push(format!("{}: {list}", plan.path.shown())),
            Whitespace::Warn | Whitespace::Ignore => {
                plan.outcome.notes.push(format!("Whitespace errors in new lines: {list}."));
            }
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(Error::new(Code::EditUnparsable, "New lines have whitespace errors, which the call refuses.")
        .evidence(refused.join("\n"))
        .next(
            Advice::named("Send the lines without them, or remove them with {whitespace=\"fix\"}.")
                .or(r#"Send the lines without them, or remove them with "whitespace": "fix"."#),
        ))
}

impl Selection {
    /// Removes the files of a request that the patterns exclude.
    ///
    /// Errors: `edit.no_change` if no file is left.
    pub(crate) fn select(&self, directory: &Path, request: &mut Request) -> Result<()> {
        if self.patterns.is_empty() {
            return Ok(());
        }
        let default = !self.patterns.iter().any(|pattern| pattern.keeps);
        let mut left_out: Vec<String> = Vec::new();
        request.files.retain(|file| {
            let path = file.action.destination().unwrap_or(&file.path);
            let name = Path::new(path).strip_prefix(directory).unwrap_or(Path::new(path));
            let bytes = path.len();
            let decides = self
                .patterns
                .iter()
                .find(|it| !work::spend_or_end(1 + bytes / work::STEP_BYTES) && it.matcher.is_match(name));
            let keeps = decides.map_or(default, |pattern| pattern.keeps);
            if !keeps {
                left_out.push(shown(name));
            }
            keeps
        });
        left_out.dedup();
        let list = listed(&left_out);
        if request.files.is_empty() {
            return Err(Error::new(Code::EditNoChange, "The patterns leave no file to change.")
                .evidence(format!("Left out: {list}"))
                .next(
                    Advice::named(
                        "Correct the patterns in {only} (`!` in front excludes; the first that matches decides).",
                    )
                    .or("Correct the patterns in \"only\" (`!` in front excludes; the first that matches decides)."),
                ));
        }
        if !left_out.is_empty() {
            request.notes.push(format!("Excluded by the patterns: {list}."));
        }
        Ok(())
    }

    /// Returns the options for parsing the text. In a text that is read byte by byte, a name from the call is, too.
    pub(crate) fn parse_options(&self, options: ParseOptions) -> ParseOptions {
        if !self.bytes {
            return options;
        }
        let file = options.file.map(|name| name.bytes().map(char::from).collect());
        ParseOptions { file, encoding: TextEncoding::Bytes, ..options }
    }

    /// Converts the names of files in a text that was read byte by byte, where each character of a name is one byte. An
    /// escape of JSON may have made a character already: another name for which `there` finds a file remains as it is.
    pub(crate) fn name_bytes(&self, request: &mut Request, there: impl Fn(&str) -> bool) -> Result<()> {
        if !self.bytes {
            return Ok(());
        }
        request.notes.push("The text is not UTF-8: it and its files were treated as bytes.".to_owned());
        for file in &mut request.files {
            let FileRequest { path, alternatives: also, bare_destination, rivals, action, .. } = file;
            let names = std::iter::once(path).chain(action.destination_mut()).chain(also).chain(bare_destination);
            for name in names {
                *name = name_of_bytes(name, &there)?;
            }
            // A line of the text that only may be a name need not be one.
            *rivals = rivals.iter().filter_map(|name| name_of_bytes(name, &there).ok()).collect();
        }
        Ok(())
    }
}

/// Converts a name in which each character is one byte to the name that these bytes are in UTF-8.
fn name_of_bytes(name: &str, there: impl Fn(&str) -> bool) -> Result<String> {
    let bytes: Option<Vec<u8>> = name.chars().map(|ch| u8::try_from(u32::from(ch)).ok()).collect();
    let Some(bytes) = bytes else { return Ok(name.to_owned()) };
    match String::from_utf8(bytes) {
        Ok(name) => Ok(name),
        Err(_) if there(name) => Ok(name.to_owned()),
        Err(_) => Err(Error::new(Code::PathInvalid, format!("The name {} in the text is not UTF-8.", shown(name)))
            .next("Rename the file to a name in UTF-8, then make the patch again.")),
    }
}

/// Lists the first names and the number of the others.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    names[..names.len() - more].join(", ") + &rest
}

#[cfg(test)]
mod tests {
    use super::{PatchFields, pattern};
    use crate::context::config::Config;
    use crate::context::options::CallOptions;
    use crate::model::call_context::CallContext;
    use crate::tools::search::GLOB_BYTES_MAX;
    use emendate_core::Code;
    use serde_json::{Value, json};

    #[test]
    fn patterns_have_a_size_that_can_be_compiled() {
        let options = || {
            let caller = CallContext::default();
            CallOptions::take(&mut Value::Null, &caller, &Config::default(), "apply").unwrap()
        };
        let taken = |only: &[String]| PatchFields::take(&mut json!({ "only": only }), &mut options()).map(|_| ());
        for unit in ["?", "*a", "[a-z]", "{a,b}", "é"] {
            let glob = unit.repeat(GLOB_BYTES_MAX / unit.len());
            assert_eq!(taken(std::slice::from_ref(&glob)), Ok(()));
            let error = taken(&[glob.clone(), glob]).unwrap_err();
            assert_eq!(error.code(), Code::CallTooLarge);
        }
    }

    #[test]
    fn star_matches_slashes_too() {
        let matches = |glob: &str, name: &str| pattern(glob).unwrap().matcher.is_match(name);
        assert!(matches("src/*", "src/a/b.rs") && matches("*.rs", "src/a/b.rs") && matches("!a?", "ab"));
        assert!(!matches("src", "src/a") && !matches("*.rs", "a.rs2"));
        assert!(!pattern("!x").unwrap().keeps && pattern("x").unwrap().keeps && pattern("[").is_err());
    }

    #[test]
    fn deeply_nested_pattern_is_refused() {
        let nested = "{a".repeat(300) + &"}".repeat(300);
        let refusal = pattern(&nested).map(|_| ()).unwrap_err().to_string();
        assert!(refusal.contains("is not a pattern of names") && refusal.len() < 2_000, "{refusal}");
        assert!(pattern("!{a,b}*.rs").is_ok());
    }
}
