//! The messages that we use, and those that a server may send.

use crate::position::PositionEncoding;
use crate::spec::ServerSpec;
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The protocol's code for an unknown method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// Error codes that only mean "try again": the text changed, the server was busy, the request was cancelled.
pub(crate) const RETRY_CODES: [i64; 3] = [-32800, -32801, -32802];

/// The command of `typescript-language-server` that forwards to its `tsserver`.
pub(crate) const TSSERVER_COMMAND: &str = "typescript.tsserverRequest";

/// Any message of a server.
#[derive(Deserialize)]
pub(crate) struct Message {
    #[serde(default)]
    pub(crate) id: Value,
    pub(crate) method: Option<String>,
    #[serde(default)]
    pub(crate) params: Value,
    #[serde(default)]
    pub(crate) result: Value,
    pub(crate) error: Option<ResponseError>,
}

/// An error response.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResponseError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

/// Form in which a server wants changes of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SyncKind {
    #[default]
    None,
    Full,
    Incremental,
}

/// Capabilities of a server, as far as we use them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerCapabilities {
    pub(crate) encoding: PositionEncoding,
    pub(crate) sync: SyncKind,
    pub(crate) opens: bool,
    pub(crate) saves: bool,
    /// The server wants the text in save notifications.
    pub(crate) saves_text: bool,
    pub(crate) pull: bool,
    /// The server knows where names are used.
    pub(crate) references: bool,
    /// Problems of one file may depend on another, according to the server.
    pub(crate) between_files: bool,
    /// The `tsserver` of the server can be asked.
    pub(crate) tsserver: bool,
}

impl ServerCapabilities {
    /// True if it can be asked which problems a change of another file caused.
    pub(crate) fn can_relate_files(&self) -> bool {
        self.tsserver || (self.pull && self.between_files)
    }

    /// Reads them from the answer to `initialize`.
    pub(crate) fn of(result: &Value) -> ServerCapabilities {
        let all = &result["capabilities"];
        let sync = &all["textDocumentSync"];
        let kind = match sync.as_u64().or_else(|| sync["change"].as_u64()) {
            Some(1) => SyncKind::Full,
            Some(2) => SyncKind::Incremental,
            _ => SyncKind::None,
        };
        let save = &sync["save"];
        let commands = all["executeCommandProvider"]["commands"].as_array();
        ServerCapabilities {
            encoding: if all["positionEncoding"] == "utf-8" { PositionEncoding::Utf8 } else { PositionEncoding::Utf16 },
            sync: kind,
            opens: sync.as_u64().is_some_and(|kind| kind > 0) || sync["openClose"] == true,
            saves: save == true || save.is_object(),
            saves_text: save["includeText"] == true,
            pull: all["diagnosticProvider"].is_object(),
            references: all["referencesProvider"] == true || all["referencesProvider"].is_object(),
            between_files: all["diagnosticProvider"]["interFileDependencies"] == true,
            tsserver: commands.is_some_and(|all| all.iter().any(|command| command == TSSERVER_COMMAND)),
        }
    }
}

/// Returns the parameters of `initialize`.
pub(crate) fn initialize(spec: &ServerSpec, root: &Path) -> Value {
    let uri = uri(root);
    json!({
        "processId": std::process::id(),
        "clientInfo": { "name": "emend", "version": env!("CARGO_PKG_VERSION") },
        "rootPath": root.to_string_lossy(),
        "rootUri": uri,
        "workspaceFolders": workspace_folders(root),
        "initializationOptions": spec.options,
        "capabilities": {
            "general": { "positionEncodings": ["utf-8", "utf-16"] },
            "textDocument": {
                "synchronization": { "didSave": true },
                "publishDiagnostics": { "versionSupport": true },
                "diagnostic": {},
                "references": {},
            },
            "workspace": { "configuration": true, "workspaceFolders": true, "didChangeConfiguration": {} },
            "window": { "workDoneProgress": true },
            "experimental": { "serverStatusNotification": true },
        },
    })
}

/// Returns the directories of the workspace: one.
pub(crate) fn workspace_folders(root: &Path) -> Value {
    let name = root.file_name().unwrap_or(OsStr::new("root")).to_string_lossy();
    json!([{ "uri": uri(root), "name": name }])
}

/// Answers a request for settings.
pub(crate) fn configuration(settings: &Value, params: &Value) -> Value {
    params["items"].as_array().into_iter().flatten().map(|item| setting_at(settings, item)).collect()
}

/// Returns the section of the settings that a server asks for.
fn setting_at(settings: &Value, item: &Value) -> Value {
    match item["section"].as_str().filter(|section| !section.is_empty()) {
        None => settings.clone(),
        Some(section) => {
            let found = section.split('.').try_fold(settings, |at, name| at.get(name));
            found.or_else(|| settings.get(section)).cloned().unwrap_or(Value::Null)
        }
    }
}

/// Returns the URI of a path.
pub(crate) fn uri(path: &Path) -> String {
    let mut out = "file://".to_owned();
    for byte in emendate_os::paths::in_address(path).as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// Returns the path of a URI, however it is escaped.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(rest.len());
    let mut all = rest.bytes();
    while let Some(byte) = all.next() {
        if byte == b'%' {
            let digits = [all.next()?, all.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    (bytes.first() == Some(&b'/')).then(|| emendate_os::paths::of_address(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::{ServerCapabilities, SyncKind, configuration, path, uri};
    use emendate_os::ffi::OsStringExt as _;
    use proptest::prelude::*;
    use serde_json::json;
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    #[test]
    fn uris_with_any_escaping_are_parsed() {
        assert_eq!(uri(Path::new("/a b/ä.rs")), "file:///a%20b/%C3%A4.rs");
        assert_eq!(path("file:///a%20b/%c3%a4.rs"), Some(PathBuf::from("/a b/ä.rs")));
        assert_eq!(path("file:///a@b"), path("file:///a%40b"));
        for none in ["http://x/y", "file://host/y", "file:///a%2", "file:///a%zz", ""] {
            assert_eq!(path(none), None, "{none}");
        }
    }

    #[test]
    fn capabilities_in_either_form_are_parsed() {
        let of = |sync| ServerCapabilities::of(&json!({ "capabilities": { "textDocumentSync": sync } }));
        let short = of(json!(2));
        assert!(short.opens && !short.saves && short.sync == SyncKind::Incremental);
        let long = of(json!({ "openClose": true, "change": 1, "save": { "includeText": true } }));
        assert!(long.opens && long.saves && long.saves_text && long.sync == SyncKind::Full);
        let none = of(json!(null));
        assert!(!none.opens && !none.pull && none.sync == SyncKind::None);
    }

    #[test]
    fn settings_are_found_by_section() {
        let settings = json!({ "a": { "b": 1 }, "c.d": 2 });
        let asked = json!({ "items": [{ "section": "a.b" }, { "section": "c.d" }, { "section": "x" }, {}] });
        assert_eq!(configuration(&settings, &asked), json!([1, 2, null, settings]));
        assert_eq!(configuration(&json!(null), &json!({ "items": [{ "section": "a" }] })), json!([null]));
    }

    proptest! {
        #[test]
        fn uris_round_trip(bytes in proptest::collection::vec(1u8..=255, 0..20)) {
            let whole = PathBuf::from(OsString::from_vec([b"/", &*bytes].concat()));
            prop_assert_eq!(path(&uri(&whole)), Some(whole));
        }

        #[test]
        fn any_uri_is_handled(uri in "\\PC{0,20}") {
            path(&format!("file:///{uri}"));
        }
    }
}
