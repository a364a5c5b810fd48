//! Languages of the `full` build that the default build lacks, so that it can name them.

/// Names and extensions.
pub(crate) static OF_FULL: &[(&str, &[&str])] = &[
    ("c-sharp", &["cs", "csx"]),
    ("cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "c++", "h++", "ino", "cu", "cuh"]),
    ("dart", &["dart"]),
    ("elixir", &["ex", "exs"]),
    ("haskell", &["hs"]),
    ("hcl", &["tf", "tfvars", "hcl"]),
    ("kotlin", &["kt", "kts"]),
    ("lua", &["lua"]),
    ("make", &["mk", "mak"]),
    ("markdown", &["md", "markdown", "mdx"]),
    ("nix", &["nix"]),
    ("php", &["php", "phtml"]),
    ("ruby", &["rb", "rake", "gemspec", "ru"]),
    ("scala", &["scala", "sc", "sbt"]),
    ("sql", &["sql", "ddl", "pgsql"]),
    ("swift", &["swift"]),
    ("zig", &["zig", "zon"]),
];

#[cfg(test)]
mod tests {
    use super::OF_FULL;
    use crate::grammars::GRAMMARS;

    #[test]
    fn extensions_of_the_full_build_are_current() {
        for grammar in GRAMMARS {
            if let Some((_, extensions)) = OF_FULL.iter().find(|(name, _)| *name == grammar.name) {
                assert_eq!(*extensions, grammar.extensions, "{}", grammar.name);
            }
        }
        if cfg!(feature = "full") {
            assert!(OF_FULL.iter().all(|(name, _)| GRAMMARS.iter().any(|grammar| grammar.name == *name)));
        }
    }
}
