//! The table of languages.

mod data;
pub(crate) mod full_build;
mod managed;
mod positions;
mod scripts;
mod systems;

use crate::grammar::Grammar;

/// All languages in this build.
pub(crate) static GRAMMARS: &[&Grammar] = &[
    #[cfg(feature = "bash")]
    &scripts::BASH,
    #[cfg(feature = "c")]
    &systems::C,
    #[cfg(feature = "c-sharp")]
    &managed::C_SHARP,
    #[cfg(feature = "cpp")]
    &systems::CPP,
    #[cfg(feature = "css")]
    &data::CSS,
    #[cfg(feature = "dart")]
    &managed::DART,
    #[cfg(feature = "elixir")]
    &managed::ELIXIR,
    #[cfg(feature = "go")]
    &systems::GO,
    #[cfg(feature = "haskell")]
    &managed::HASKELL,
    #[cfg(feature = "hcl")]
    &data::HCL,
    #[cfg(feature = "html")]
    &data::HTML,
    #[cfg(feature = "java")]
    &managed::JAVA,
    #[cfg(feature = "javascript")]
    &scripts::JAVASCRIPT,
    #[cfg(feature = "json")]
    &data::JSON,
    #[cfg(feature = "kotlin")]
    &managed::KOTLIN,
    #[cfg(feature = "lua")]
    &scripts::LUA,
    #[cfg(feature = "make")]
    &data::MAKE,
    #[cfg(feature = "markdown")]
    &data::MARKDOWN,
    #[cfg(feature = "nix")]
    &data::NIX,
    #[cfg(feature = "php")]
    &scripts::PHP,
    #[cfg(feature = "python")]
    &scripts::PYTHON,
    #[cfg(feature = "ruby")]
    &scripts::RUBY,
    #[cfg(feature = "rust")]
    &systems::RUST,
    #[cfg(feature = "scala")]
    &managed::SCALA,
    #[cfg(feature = "sql")]
    &data::SQL,
    #[cfg(feature = "swift")]
    &systems::SWIFT,
    #[cfg(feature = "toml")]
    &data::TOML,
    #[cfg(feature = "typescript")]
    &scripts::TSX,
    #[cfg(feature = "typescript")]
    &scripts::TYPESCRIPT,
    #[cfg(feature = "yaml")]
    &data::YAML,
    #[cfg(feature = "zig")]
    &systems::ZIG,
];
