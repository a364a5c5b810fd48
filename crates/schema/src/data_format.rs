//! Data formats by file name.

use std::path::Path;

/// Data format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataFormat {
    /// Plain JSON.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML 1.
    Toml,
    /// YAML with any number of documents.
    Yaml,
}

/// Names and paths in lower case; one `*` per name matches anything but a slash. The first matching row counts. Files
/// that match none are not checked: `.jsonl` and `.json5` are other languages, `x.json.tmpl` is a template.
const FORMAT_PATTERNS: &[(&str, DataFormat)] = &[
    // Read by programs that accept comments and trailing commas.
    ("*.jsonc", DataFormat::Jsonc),
    ("*.code-workspace", DataFormat::Jsonc),
    ("*.code-snippets", DataFormat::Jsonc),
    ("*.sublime-project", DataFormat::Jsonc),
    ("*.sublime-settings", DataFormat::Jsonc),
    ("*.sublime-keymap", DataFormat::Jsonc),
    (".vscode/*.json", DataFormat::Jsonc),
    (".zed/*.json", DataFormat::Jsonc),
    ("zed/*.json", DataFormat::Jsonc),
    ("tsconfig*.json", DataFormat::Jsonc),
    ("jsconfig*.json", DataFormat::Jsonc),
    ("devcontainer.json", DataFormat::Jsonc),
    (".devcontainer.json", DataFormat::Jsonc),
    (".eslintrc.json", DataFormat::Jsonc),
    (".babelrc", DataFormat::Jsonc),
    (".babelrc.json", DataFormat::Jsonc),
    ("babel.config.json", DataFormat::Jsonc),
    (".swcrc", DataFormat::Jsonc),
    (".jshintrc", DataFormat::Jsonc),
    (".luarc.json", DataFormat::Jsonc),
    (".markdownlint.json", DataFormat::Jsonc),
    (".oxlintrc.json", DataFormat::Jsonc),
    ("angular.json", DataFormat::Jsonc),
    ("api-extractor.json", DataFormat::Jsonc),
    ("biome.json", DataFormat::Jsonc),
    ("bun.lock", DataFormat::Jsonc),
    ("deno.json", DataFormat::Jsonc),
    ("language-configuration.json", DataFormat::Jsonc),
    ("nx.json", DataFormat::Jsonc),
    ("project.json", DataFormat::Jsonc),
    ("pyrightconfig.json", DataFormat::Jsonc),
    ("renovate.json", DataFormat::Jsonc),
    ("rush.json", DataFormat::Jsonc),
    ("tslint.json", DataFormat::Jsonc),
    ("turbo.json", DataFormat::Jsonc),
    ("typedoc.json", DataFormat::Jsonc),
    ("*.json", DataFormat::Json),
    ("*.avsc", DataFormat::Json),
    ("*.geojson", DataFormat::Json),
    ("*.har", DataFormat::Json),
    ("*.ipynb", DataFormat::Json),
    ("*.jsonld", DataFormat::Json),
    ("*.sarif", DataFormat::Json),
    ("*.tfstate", DataFormat::Json),
    ("*.webmanifest", DataFormat::Json),
    ("composer.lock", DataFormat::Json),
    ("flake.lock", DataFormat::Json),
    ("pipfile.lock", DataFormat::Json),
    ("*.toml", DataFormat::Toml),
    ("cargo.lock", DataFormat::Toml),
    ("pdm.lock", DataFormat::Toml),
    ("pipfile", DataFormat::Toml),
    ("poetry.lock", DataFormat::Toml),
    ("uv.lock", DataFormat::Toml),
    ("*.yaml", DataFormat::Yaml),
    ("*.yml", DataFormat::Yaml),
    (".clang-format", DataFormat::Yaml),
    (".clang-tidy", DataFormat::Yaml),
    (".clangd", DataFormat::Yaml),
    (".yamllint", DataFormat::Yaml),
    ("citation.cff", DataFormat::Yaml),
    ("pubspec.lock", DataFormat::Yaml),
];

impl DataFormat {
    /// Returns the format of the file at this path; `None` if it is not checked. Names with template marks are not.
    pub fn of(path: &Path) -> Option<DataFormat> {
        // Every file is compared with every pattern, so the last two bytes are compared first. Only for ASCII names:
        // others may end differently in lower case.
        let bytes = path.as_os_str().as_encoded_bytes();
        let last = Some(last_two(bytes)).filter(|_| bytes.is_ascii());
        let may_fit = |(pattern, _): &&(&str, DataFormat)| last.is_none_or(|last| last_two(pattern.as_bytes()) == last);
        FORMAT_PATTERNS.iter().find(may_fit)?;
        let path = path.to_string_lossy().to_lowercase();
        if path.contains("{{") {
            return None;
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let mut near = FORMAT_PATTERNS.iter().filter(may_fit);
        let (_, kind) = near.find(|(pattern, _)| match pattern.rsplit_once('/') {
            None => fits(pattern, name),
            Some((folder, pattern)) => fits(pattern, name) && above.rsplit('/').next() == Some(folder),
        })?;
        Some(*kind)
    }

    /// Name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            DataFormat::Json => "JSON",
            DataFormat::Jsonc => "JSON with comments",
            DataFormat::Toml => "TOML",
            DataFormat::Yaml => "YAML",
        }
    }
}

/// Returns the last two bytes in lower case.
fn last_two(text: &[u8]) -> Option<[u8; 2]> {
    text.last_chunk().map(|end: &[u8; 2]| end.map(|byte| byte.to_ascii_lowercase()))
}

/// Matches a name with a pattern that has at most one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
    }
}

/// True if a text has marks of a template language (`{{ name }}`, `{% if %}`, `<% … %>`), whose output may be valid
/// where the text is not. The expressions of workflows, `${{ … }}`, are plain text in YAML.
pub fn looks_like_a_template(text: &str) -> bool {
    text.lines().any(has_template_mark)
}

/// True for a line with the signs of a template language.
fn has_template_mark(line: &str) -> bool {
    line.contains("{%")
        || line.contains("<%")
        || line.match_indices("{{").any(|(at, _)| {
            let inner = line[at + 2..].trim_start_matches(['-', '~', '#', '/', '^', '>', ' ', '\t']);
            let named = inner.starts_with(|char: char| char.is_ascii_alphabetic() || "._$".contains(char));
            named && inner.contains("}}") && !line[..at].ends_with('$')
        })
}

#[cfg(test)]
mod tests {
    use super::{DataFormat, looks_like_a_template};
    use std::path::Path;

    #[test]
    fn format_is_detected_by_name() {
        for (path, kind) in [
            ("/a/package.json", Some(DataFormat::Json)),
            ("/a/TSConfig.Build.JSON", Some(DataFormat::Jsonc)),
            ("/a/.vscode/settings.json", Some(DataFormat::Jsonc)),
            ("/h/.config/zed/keymap.json", Some(DataFormat::Jsonc)),
            ("/a/settings.json", Some(DataFormat::Json)),
            ("/a/.claude/settings.json", Some(DataFormat::Json)),
            ("/a/Cargo.lock", Some(DataFormat::Toml)),
            ("/a/x.yml", Some(DataFormat::Yaml)),
            ("/a/n.ipynb", Some(DataFormat::Json)),
            ("/a/log.jsonl", None),
            ("/a/x.json5", None),
            ("/a/x.json.tmpl", None),
            ("/a/x.yaml.j2", None),
            ("/a/{{ cookiecutter.name }}/x.json", None),
            ("/a/json", None),
        ] {
            assert_eq!(DataFormat::of(Path::new(path)), kind, "{path}");
        }
    }

    #[test]
    fn templates_are_detected_by_their_marks() {
        for text in ["a: {{ .Values.x }}", "{{- if .a }}", "{% if x %}", "x: <%= y %>", "{{#each a}}"] {
            assert!(looks_like_a_template(text), "{text}");
        }
        for text in ["{{\"a\": 1}}", "x: ${{ matrix.os }}", "{a: {b: c}}", "{{}}", "plain"] {
            assert!(!looks_like_a_template(text), "{text}");
        }
    }
}
