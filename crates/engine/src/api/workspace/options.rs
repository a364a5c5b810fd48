//! Options that every call which changes files has.

use crate::context::call::Call;
use crate::context::encoding::encoding_from_call;
use crate::context::options::CallOptions;
use crate::model::call_context::{OptionValue as _, StalePolicy};
use crate::model::call_origin::CallOrigin;
use emendate_core::{Code, Error, Handle, Matching, Result, Tag};
use serde::Deserialize;

/// Options of a call that changes files.
///
/// ```
/// use emendate::{EditOptions, Workspace};
/// use emendate::core::Matching;
///
/// let session = Workspace::in_memory([("a.txt", "one\n")])?.session("agent-1");
/// session.read("a.txt").run()?;
/// let options = EditOptions::new().matching(Matching::Exact).dry_run().diff();
/// let planned = session.edit("a.txt").replace("one", "two").options(options).run()?;
/// assert_eq!(planned.diff(), "--- /a.txt\n+++ /a.txt\n@@ -1 +1 @@\n-one\n+two\n");
/// assert_eq!(session.read("a.txt").run()?.text, "one\n");
/// # Ok::<(), emendate::core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct EditOptions {
    tag: Option<Tag>,
    encoding: Option<String>,
    on_stale: Option<StalePolicy>,
    matching: Option<Matching>,
    pub(super) dry_run: bool,
    partial: bool,
    allow_invalid: bool,
    pub(super) irreversible: bool,
    repeat: bool,
    pub(super) diff: bool,
}

emendate_core::setters! {
    impl EditOptions {
        /// Sets the version that the edit is based on: a tag that a read or an edit returned (default: the last version
        /// that the session saw).
        tag(tag: Tag) { tag = Some(tag) }
        /// Sets the encoding of the file, if it is neither UTF-8 nor marked.
        encoding(label: impl Into<String>) { encoding = Some(label.into()) }
        /// Sets the reaction to a file that changed since it was read (default: the session's).
        on_stale(on_stale: StalePolicy) { on_stale = Some(on_stale) }
        /// Sets the tolerance of matching (default: the configuration's).
        matching(matching: Matching) { matching = Some(matching) }
        /// Makes the call a dry run: it plans everything and writes nothing.
        dry_run() { dry_run = true }
        /// Applies the edits that can be applied, and reports the others.
        partial() { partial = true }
        /// Allows the edit to make JSON, TOML or YAML invalid.
        allow_invalid() { allow_invalid = true }
        /// Allows a change that cannot be undone afterwards.
        irreversible() { irreversible = true }
        /// Applies the edit again although the file already has its result.
        repeat() { repeat = true }
        /// Requests the change of each file as a unified diff.
        diff() { diff = true }
    }
}

impl EditOptions {
    /// Creates options that are all unset.
    pub fn new() -> EditOptions {
        EditOptions::default()
    }

    /// Returns the origin of a call with these options; `parts` identify its input.
    pub(super) fn origin(&self, tool: &'static str, format: &'static str, parts: &[&[u8]]) -> CallOrigin<'static> {
        CallOrigin {
            format,
            allows_invalid: self.allow_invalid,
            irreversible: self.irreversible,
            repeat: self.repeat,
            ..CallOrigin::of_parts(tool, parts)
        }
    }

    /// Returns the options of the call.
    ///
    /// Errors: `call.invalid` for an encoding that does not exist.
    pub(super) fn for_call(&self, call: Call<'_>, origin: CallOrigin<'static>) -> Result<CallOptions> {
        let plain = CallOptions::new(call.caller, call.config(), origin);
        Ok(CallOptions {
            tag: self.tag.map(Handle::Tag),
            declared: self.encoding.as_deref().map(encoding_from_call).transpose()?,
            on_stale: self.on_stale.unwrap_or(plain.on_stale),
            on_stale_asked: self.on_stale.is_some() || plain.on_stale_asked,
            matching: self.matching.unwrap_or(plain.matching),
            dry_run: self.dry_run || plain.dry_run,
            partial: self.partial,
            ..plain
        })
    }
}

/// Options of a call that changes files, as words: how programs in other languages pass them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EditOptionWords {
    /// [`EditOptions::tag`].
    pub tag: Option<String>,
    /// [`EditOptions::encoding`].
    pub encoding: Option<String>,
    /// [`EditOptions::on_stale`].
    pub on_stale: Option<String>,
    /// [`EditOptions::matching`]: exact, strict or standard.
    pub r#match: Option<String>,
    /// [`EditOptions::dry_run`].
    pub dry_run: bool,
    /// [`EditOptions::partial`].
    pub partial: bool,
    /// [`EditOptions::allow_invalid`].
    pub allow_invalid: bool,
    /// [`EditOptions::irreversible`].
    pub irreversible: bool,
    /// [`EditOptions::repeat`].
    pub repeat: bool,
    /// [`EditOptions::diff`].
    pub diff: bool,
}

impl EditOptionWords {
    /// Converts to options. `on_stale` is the name of that option in the language.
    ///
    /// Errors: `call.invalid` for a value that an option does not have.
    pub fn parse(self, on_stale: &str) -> Result<EditOptions> {
        Ok(EditOptions {
            tag: self.tag.as_deref().map(named_tag).transpose()?,
            encoding: self.encoding,
            on_stale: self.on_stale.map(|word| StalePolicy::parse(on_stale, &word)).transpose()?,
            matching: self.r#match.as_deref().map(Matching::from_name).transpose()?,
            dry_run: self.dry_run,
            partial: self.partial,
            allow_invalid: self.allow_invalid,
            irreversible: self.irreversible,
            repeat: self.repeat,
            diff: self.diff,
        })
    }
}

fn named_tag(tag: &str) -> Result<Tag> {
    tag.parse().map_err(|()| {
        Error::new(Code::CallInvalid, format!("`{tag}` is not the tag of a version."))
            .next("Pass `tag` of a read or of a change.")
    })
}
