#![allow(warnings, clippy::all)]
fn main() {
    for path in std::env::args().skip(1) {
        let ext = path.rsplit('.').next().unwrap();
        let l: tree_sitter::Language = match ext {
            "rs" => tree_sitter_rust::LANGUAGE.into(),
            "py" => tree_sitter_python::LANGUAGE.into(),
            "js" => tree_sitter_javascript::LANGUAGE.into(),
            "ts" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            "go" => tree_sitter_go::LANGUAGE.into(),
            "java" => tree_sitter_java::LANGUAGE.into(),
            "c" => tree_sitter_c::LANGUAGE.into(),
            "json" => tree_sitter_json::LANGUAGE.into(),
            "toml" => tree_sitter_toml_ng::LANGUAGE.into(),
            "yaml" => tree_sitter_yaml::LANGUAGE.into(),
            "html" => tree_sitter_html::LANGUAGE.into(),
            "css" => tree_sitter_css::LANGUAGE.into(),
            "sh" => tree_sitter_bash::LANGUAGE.into(),
            "cpp" => tree_sitter_cpp::LANGUAGE.into(),
            "cs" => tree_sitter_c_sharp::LANGUAGE.into(),
            "rb" => tree_sitter_ruby::LANGUAGE.into(),
            "php" => tree_sitter_php::LANGUAGE_PHP.into(),
            "kt" => tree_sitter_kotlin_ng::LANGUAGE.into(),
            "swift" => tree_sitter_swift::LANGUAGE.into(),
            "scala" => tree_sitter_scala::LANGUAGE.into(),
            "lua" => tree_sitter_lua::LANGUAGE.into(),
            "zig" => tree_sitter_zig::LANGUAGE.into(),
            "ex" => tree_sitter_elixir::LANGUAGE.into(),
            "md" => tree_sitter_md::LANGUAGE.into(),
            "dart" => tree_sitter_dart::LANGUAGE.into(),
            "nix" => tree_sitter_nix::LANGUAGE.into(),
            "tf" => tree_sitter_hcl::LANGUAGE.into(),
            "hs" => tree_sitter_haskell::LANGUAGE.into(),
            "mk" => tree_sitter_make::LANGUAGE.into(),
            _ => panic!(),
        };
        let mut p = tree_sitter::Parser::new();
        p.set_language(&l).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let t = p.parse(&text, None).unwrap();
        println!("=== {path}");
        let mut c = t.walk();
        let mut d = 0;
        loop {
            let n = c.node();
            if n.is_named() {
                let leaf = if n.child_count() == 0 {
                    format!(" {:?}", n.utf8_text(text.as_bytes()).unwrap().chars().take(12).collect::<String>())
                } else {
                    String::new()
                };
                println!(
                    "{}{}{}{} {}-{}{}",
                    " ".repeat(d),
                    c.field_name().map(|f| format!("{f}:")).unwrap_or_default(),
                    n.kind(),
                    leaf,
                    n.start_position().row + 1,
                    n.end_position().row + 1,
                    if n.end_position().column == 0 { "*" } else { "" }
                );
            }
            if c.goto_first_child() {
                d += 1;
                continue;
            }
            loop {
                if c.goto_next_sibling() {
                    break;
                }
                if !c.goto_parent() {
                    break;
                }
                d -= 1;
                if d == 0 {
                    break;
                }
            }
            if d == 0 {
                break;
            }
        }
    }
}
