//! The schemas of a file, and their sources: files below the roots are read subject to the policy; files named by the
//! user's own configuration may be anywhere. Nothing is fetched.

use crate::context::Context;
use crate::context::config::Config;
use crate::context::policy::Access;
use emendate_core::{Code, Error, Result};
use emendate_fs::{SafePath, shown};
use emendate_schema::{DataFormat, SETTINGS, Schema};
use std::path::{Path, PathBuf};

/// Bytes of a schema file.
const SCHEMA_BYTES_MAX: u64 = 4 << 20;

/// A schema for a file.
pub(super) enum SchemaSource {
    /// The settings of Claude Code.
    Claude,
    /// Our own configuration.
    Emend,
    /// A schema that a configuration names.
    Named { path: PathBuf, own: bool, origin: String },
}

impl SchemaSource {
    /// The name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            SchemaSource::Claude => "the schema of Claude Code's settings".to_owned(),
            SchemaSource::Emend => "the schema of emend.toml".to_owned(),
            SchemaSource::Named { path, .. } => format!("the schema {}", shown(path)),
        }
    }

    /// The origin of the requirement.
    pub(super) fn origin(&self) -> &str {
        match self {
            SchemaSource::Claude | SchemaSource::Emend => "emend itself",
            SchemaSource::Named { origin, .. } => origin,
        }
    }
}

/// Returns the problem that the program which reads the file would report beyond the schema.
pub(super) fn also_wrong(source: &SchemaSource, text: &str) -> Option<String> {
    if !matches!(source, SchemaSource::Emend) {
        return None;
    }
    let config = Config::default().with_home(Some(PathBuf::from("/")));
    config.with_file(text, "emend.toml", true).err().map(|error| error.message().to_owned())
}

/// Returns the schemas that a file has to fit.
pub(super) fn schemas_of(context: &Context, path: &SafePath) -> Vec<SchemaSource> {
    let absolute = path.absolute();
    // Bytes first: parsing a path is expensive, and every edit comes here.
    let bytes = absolute.as_os_str().as_encoded_bytes();
    let ends = |end: &str| {
        let name = end.rsplit('/').next().unwrap_or(end);
        bytes.ends_with(name.as_bytes()) && absolute.ends_with(end)
    };
    let mut out = Vec::new();
    // The last two are the administrator's: on Linux, and on macOS and Windows.
    if [
        ".claude/settings.json",
        ".claude/settings.local.json",
        "claude-code/managed-settings.json",
        "ClaudeCode/managed-settings.json",
    ]
    .into_iter()
    .any(ends)
    {
        out.push(SchemaSource::Claude);
    }
    if ["emend.toml", ".emend.toml", "emendate/config.toml"].into_iter().any(ends) {
        out.push(SchemaSource::Emend);
    }
    let covers = context.config().schemas.iter().filter(|it| it.files.matches(path.relative(), path.absolute()));
    out.extend(covers.map(|it| SchemaSource::Named {
        path: it.path.clone(),
        own: it.own,
        origin: it.files.origin.clone(),
    }));
    out
}

/// Loads a schema; it is not cached, because the previous call may have changed it.
///
/// Errors: `schema.invalid`.
pub(super) fn compiled(context: &Context, source: &SchemaSource) -> Result<Schema> {
    let none = &mut |_: &str| Err("it has no file beside it".to_owned());
    let compiled = match source {
        SchemaSource::Claude => Schema::compile(SETTINGS, DataFormat::Json, none),
        SchemaSource::Emend => Schema::compile(&Config::schema().to_string(), DataFormat::Json, none),
        SchemaSource::Named { path, own, .. } => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            let text = schema_file(context, path, *own).map_err(|why| unusable(source, path, &why))?;
            let kind = DataFormat::of(path).unwrap_or(DataFormat::Json);
            Schema::compile(&text, kind, &mut |name| {
                // Files outside the roots are read only for their user, and nothing above the schema.
                let above = *own && (name.starts_with("../") || name.starts_with('/'));
                if above {
                    Err("that is not below its directory".to_owned())
                } else {
                    schema_file(context, &folder.join(name), *own)
                }
            })
        }
    };
    compiled.map_err(|broken| {
        let at = broken.place.map_or(String::new(), |it| format!("{}:{}: ", it.line, it.column));
        let file = match source {
            SchemaSource::Named { path, .. } if broken.file.is_empty() => path.clone(),
            SchemaSource::Named { path, .. } => path.parent().unwrap_or(Path::new("/")).join(&broken.file),
            _ => PathBuf::from(source.name()),
        };
        unusable(source, &file, &format!("{at}{}", broken.what))
    })
}

/// Returns the text of a schema file.
///
/// Errors: the reason, as part of a sentence.
fn schema_file(context: &Context, path: &Path, own: bool) -> Result<String, String> {
    if let Some(files) = context.config().user_file_loader().filter(|_| own) {
        return files(path);
    }
    let safe_path = context.resolve_path(path, Access::Read).map_err(|error| unreadable(&error))?;
    let version = context.store().read(&safe_path, SCHEMA_BYTES_MAX, Vec::new()).map_err(|error| unreadable(&error))?;
    let version = version.ok_or_else(|| "there is no such file".to_owned())?;
    String::from_utf8(version.bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Describes a file that cannot be read.
fn unreadable(error: &Error) -> String {
    let message = error.message().trim_end_matches('.').to_owned();
    format!("it cannot be read: {message}")
}

fn unusable(source: &SchemaSource, file: &Path, why: &str) -> Error {
    Error::new(Code::SchemaInvalid, "The schema that the file has to fit cannot be used; nothing was written.")
        .evidence(format!("{}: {why}.", shown(file)))
        .evidence(format!("It is named by {}.", source.origin()))
        .next("Correct the schema, or ask a person to take it out of the configuration; then send this call again.")
        .fact("schema", shown(file))
        .fact("origin", source.origin())
}
