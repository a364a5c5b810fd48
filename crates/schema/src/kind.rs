//! Data formats by file name.

use std::path::Path;

/// Data format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
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
const NAMES: &[(&str, Kind)] = &[
    // Read by programs that accept comments and trailing commas.
    ("*.jsonc", Kind::Jsonc),
    ("*.code-workspace", Kind::Jsonc),
    ("*.code-snippets", Kind::Jsonc),
    ("*.sublime-project", Kind::Jsonc),
    ("*.sublime-settings", Kind::Jsonc),
    ("*.sublime-keymap", Kind::Jsonc),
    (".vscode/*.json", Kind::Jsonc),
    (".zed/*.json", Kind::Jsonc),
    ("zed/*.json", Kind::Jsonc),
    ("tsconfig*.json", Kind::Jsonc),
    ("jsconfig*.json", Kind::Jsonc),
    ("devcontainer.json", Kind::Jsonc),
    (".devcontainer.json", Kind::Jsonc),
    (".eslintrc.json", Kind::Jsonc),
    (".babelrc", Kind::Jsonc),
    (".babelrc.json", Kind::Jsonc),
    ("babel.config.json", Kind::Jsonc),
    (".swcrc", Kind::Jsonc),
    (".jshintrc", Kind::Jsonc),
    (".luarc.json", Kind::Jsonc),
    (".markdownlint.json", Kind::Jsonc),
    (".oxlintrc.json", Kind::Jsonc),
    ("angular.json", Kind::Jsonc),
    ("api-extractor.json", Kind::Jsonc),
    ("biome.json", Kind::Jsonc),
    ("bun.lock", Kind::Jsonc),
    ("deno.json", Kind::Jsonc),
    ("language-configuration.json", Kind::Jsonc),
    ("nx.json", Kind::Jsonc),
    ("project.json", Kind::Jsonc),
    ("pyrightconfig.json", Kind::Jsonc),
    ("renovate.json", Kind::Jsonc),
    ("rush.json", Kind::Jsonc),
    ("tslint.json", Kind::Jsonc),
    ("turbo.json", Kind::Jsonc),
    ("typedoc.json", Kind::Jsonc),
    ("*.json", Kind::Json),
    ("*.avsc", Kind::Json),
    ("*.geojson", Kind::Json),
    ("*.har", Kind::Json),
    ("*.ipynb", Kind::Json),
    ("*.jsonld", Kind::Json),
    ("*.sarif", Kind::Json),
    ("*.tfstate", Kind::Json),
    ("*.webmanifest", Kind::Json),
    ("composer.lock", Kind::Json),
    ("flake.lock", Kind::Json),
    ("pipfile.lock", Kind::Json),
    ("*.toml", Kind::Toml),
    ("cargo.lock", Kind::Toml),
    ("pdm.lock", Kind::Toml),
    ("pipfile", Kind::Toml),
    ("poetry.lock", Kind::Toml),
    ("uv.lock", Kind::Toml),
    ("*.yaml", Kind::Yaml),
    ("*.yml", Kind::Yaml),
    (".clang-format", Kind::Yaml),
    (".clang-tidy", Kind::Yaml),
    (".clangd", Kind::Yaml),
    (".yamllint", Kind::Yaml),
    ("citation.cff", Kind::Yaml),
    ("pubspec.lock", Kind::Yaml),
];

impl Kind {
    /// Returns the format of the file at this path; `None` if it is not checked. Names with template marks are not.
    pub fn of(path: &Path) -> Option<Kind> {
        // Every file is compared with every pattern, so the last two bytes are compared first. Only for ASCII names:
        // others may end differently in lower case.
        let ends = |text: &[u8]| text.last_chunk().map(|end: &[u8; 2]| end.map(|byte| byte.to_ascii_lowercase()));
        let bytes = path.as_os_str().as_encoded_bytes();
        let last = Some(ends(bytes)).filter(|_| bytes.is_ascii());
        let may_fit = |(pattern, _): &&(&str, Kind)| last.is_none_or(|last| ends(pattern.as_bytes()) == last);
        NAMES.iter().find(may_fit)?;
        let path = path.to_string_lossy().to_lowercase();
        if path.contains("{{") {
            return None;
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let mut near = NAMES.iter().filter(may_fit);
        let (_, kind) = near.find(|(pattern, _)| match pattern.rsplit_once('/') {
            None => fits(pattern, name),
            Some((folder, pattern)) => fits(pattern, name) && above.rsplit('/').next() == Some(folder),
        })?;
        Some(*kind)
    }

    /// Name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Json => "JSON",
            Kind::Jsonc => "JSON with comments",
            Kind::Toml => "TOML",
            Kind::Yaml => "YAML",
        }
    }
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
    let marked = |line: &str| {
        line.contains("{%")
            || line.contains("<%")
            || line.match_indices("{{").any(|(at, _)| {
                let inner = line[at + 2..].trim_start_matches(['-', '~', '#', '/', '^', '>', ' ', '\t']);
                let named = inner.starts_with(|char: char| char.is_ascii_alphabetic() || "._$".contains(char));
                named && inner.contains("}}") && !line[..at].ends_with('$')
            })
    };
    text.lines().any(marked)
}

#[cfg(test)]
mod tests {
    use super::{Kind, looks_like_a_template};
    use std::path::Path;

    #[test]
    fn format_is_detected_by_name() {
        for (path, kind) in [
            ("/a/package.json", Some(Kind::Json)),
            ("/a/TSConfig.Build.JSON", Some(Kind::Jsonc)),
            ("/a/.vscode/settings.json", Some(Kind::Jsonc)),
            ("/h/.config/zed/keymap.json", Some(Kind::Jsonc)),
            ("/a/settings.json", Some(Kind::Json)),
            ("/a/.claude/settings.json", Some(Kind::Json)),
            ("/a/Cargo.lock", Some(Kind::Toml)),
            ("/a/x.yml", Some(Kind::Yaml)),
            ("/a/n.ipynb", Some(Kind::Json)),
            ("/a/log.jsonl", None),
            ("/a/x.json5", None),
            ("/a/x.json.tmpl", None),
            ("/a/x.yaml.j2", None),
            ("/a/{{ cookiecutter.name }}/x.json", None),
            ("/a/json", None),
        ] {
            assert_eq!(Kind::of(Path::new(path)), kind, "{path}");
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
