//! Options of a call: the fields that every changing tool has in addition to its edit.

use crate::context::config::Config;
use crate::context::encoding;
use crate::model::call_context::{CallContext, OptionValue, StalePolicy};
use crate::model::call_origin::CallOrigin;
use emendate_core::formats::{FormatInput, canonical_name, from_json};
use emendate_core::line_format::{LINE_FORMATS, LineFormat};
use emendate_core::{
    Advice, Code, DeclaredEncoding, Error, Handle, HeaderStyle, Matching, ResolveSettings, Result, ShortTag,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Fields that every changing tool takes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OptionFields {
    /// The version this is based on: the tag that a read or an edit returned (default: the last one this session saw).
    tag: Option<String>,
    /// The file's encoding, if it is neither UTF-8 nor marked.
    encoding: Option<String>,
    /// Treatment of a file that changed since it was read: merge (default; of a whole text, reject), reject, markers or
    /// ask.
    on_stale: Option<String>,
    /// How much matching may forgive: standard (default), strict or exact.
    r#match: Option<String>,
    /// Show what would change; write nothing.
    dry_run: Option<bool>,
    /// Apply the edits that can be applied, and report the others (default: all or nothing).
    partial: Option<bool>,
    /// Allow the edit to make JSON, TOML or YAML invalid, if that is intended (default: refused).
    allow_invalid: Option<bool>,
    /// Write what cannot be undone afterwards (default: refused).
    irreversible: Option<bool>,
    /// Apply the edit again although the file already has its result (default: refused).
    repeat: Option<bool>,
    /// How the reply shows changed lines, as in read's format (default: as the edits were written).
    marks: Option<String>,
}

/// The names of these fields.
pub(crate) const OPTION_FIELDS: &[&str] =
    &["tag", "encoding", "on_stale", "match", "dry_run", "partial", "allow_invalid", "irreversible", "repeat", "marks"];

/// Removes these fields from an input and parses them; `None` if it has none of them, as most calls.
///
/// Errors: `call.invalid` for values of another type.
pub(crate) fn take_fields<T: DeserializeOwned>(input: &mut Value, names: &[&str]) -> Result<Option<T>> {
    let Value::Object(input) = input else { return Ok(None) };
    // Looking up every name would cost more.
    if !input.keys().any(|name| names.contains(&&**name)) {
        return Ok(None);
    }
    let fields: Map<String, Value> = names.iter().filter_map(|name| input.shift_remove_entry(*name)).collect();
    from_json(FormatInput::Json(fields.into())).map(Some)
}

/// The options of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOptions {
    pub(crate) tag: Option<Handle>,
    pub(crate) declared: Option<DeclaredEncoding>,
    pub(crate) on_stale: StalePolicy,
    /// The policy above was set explicitly, and is not the default.
    pub(crate) on_stale_asked: bool,
    pub(crate) matching: Matching,
    pub(crate) dry_run: bool,
    pub(crate) partial: bool,
    /// The header above changed lines in the reply, if they are shown with one.
    pub(crate) header: Option<HeaderStyle>,
    /// The line format of changed lines, if they are shown with anchors.
    pub(crate) anchor_format: Option<&'static LineFormat>,
    /// Created or moved files may replace existing ones.
    pub(crate) overwrite: bool,
    /// A large file is loaded whole, because its content goes into an existing file.
    pub(crate) whole: bool,
    /// Options that only patches have.
    pub(crate) patch: PatchOptions,
    /// The origin of the call, for the log.
    pub(crate) origin: CallOrigin<'static>,
}

impl CallOptions {
    /// Returns the settings for resolving edits in a file that is as the caller saw it.
    pub(crate) fn resolve_settings(&self) -> ResolveSettings {
        ResolveSettings {
            matching: self.matching,
            partial: self.partial,
            omissions: self.origin.allows_invalid,
            context: self.patch.context,
            ..ResolveSettings::default()
        }
    }

    /// Returns the style of the header that names the version.
    pub(crate) fn header_style(&self) -> HeaderStyle {
        match self.tag {
            Some(Handle::Lines(header, _) | Handle::Headed(header, _)) => header,
            _ => HeaderStyle::Pilcrow,
        }
    }

    /// Creates the options of a call that sets none.
    pub(crate) fn new(caller: &CallContext, config: &Config, origin: CallOrigin<'static>) -> CallOptions {
        CallOptions {
            tag: None,
            declared: None,
            on_stale: caller.on_stale.unwrap_or(config.on_stale),
            on_stale_asked: caller.on_stale.is_some(),
            matching: config.matching,
            dry_run: caller.dry_run,
            partial: false,
            header: None,
            anchor_format: None,
            overwrite: false,
            whole: false,
            patch: PatchOptions::default(),
            origin,
        }
    }

    /// Removes the option fields from the input of a call of `tool`; the rest is the edit.
    ///
    /// Errors: `call.invalid` for invalid values.
    pub(crate) fn take(
        input: &mut Value,
        caller: &CallContext,
        config: &Config,
        tool: &'static str,
    ) -> Result<CallOptions> {
        let mut origin = CallOrigin::new(tool, input);
        let fields: OptionFields = take_fields(input, OPTION_FIELDS)?.unwrap_or_default();
        let on_stale = fields.on_stale.as_deref().map(|word| StalePolicy::parse("on_stale", word)).transpose()?;
        let line_format = fields.marks.as_deref().map(line_format_named).transpose()?.or(caller.line_format);
        origin.allows_invalid = fields.allow_invalid.unwrap_or(false);
        origin.repeat = fields.repeat.unwrap_or(false);
        origin.irreversible = fields.irreversible.unwrap_or(false);
        let plain = CallOptions::new(caller, config, origin);
        Ok(CallOptions {
            tag: fields.tag.as_deref().map(tag).transpose()?,
            declared: fields.encoding.as_deref().map(encoding::encoding_from_call).transpose()?,
            on_stale: on_stale.unwrap_or(plain.on_stale),
            on_stale_asked: on_stale.is_some() || plain.on_stale_asked,
            matching: fields.r#match.as_deref().map_or(Ok(config.matching), |word| Matching::parse("match", word))?,
            dry_run: fields.dry_run.unwrap_or(false) || caller.dry_run,
            partial: fields.partial.unwrap_or(false),
            header: line_format.and_then(|line_format| line_format.header),
            anchor_format: line_format.filter(|line_format| line_format.anchors),
            ..plain
        })
    }
}

/// Parses the tag of a reply, or the four digits of a header.
fn tag(text: &str) -> Result<Handle> {
    let short =
        ShortTag::parse(text.trim().trim_start_matches('#')).map(|tag| Handle::Lines(HeaderStyle::Pilcrow, tag));
    text.parse().map(Handle::Tag).ok().or(short).ok_or_else(|| {
        Error::new(Code::CallInvalid, format!("`{text}` is not a tag: a tag is eight hexadecimal digits."))
            .next(Advice::named("Use the `tag` in the data of a reply, or omit {tag}."))
    })
}

/// The options of a patch that hold for each of its files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatchOptions {
    pub(crate) context: Option<usize>,
    pub(crate) three_way: bool,
    pub(crate) reject: bool,
}

/// Returns the line format of that name.
pub(crate) fn line_format_named(name: &str) -> Result<&'static LineFormat> {
    LineFormat::by_name(&canonical_name(name)).ok_or_else(|| {
        let names: Vec<&str> = LINE_FORMATS.iter().map(|line_format| line_format.name).collect();
        Error::new(Code::CallInvalid, format!("`{name}` is not a way to show lines."))
            .next(format!("Use one of: {}.", names.join(", ")))
    })
}
