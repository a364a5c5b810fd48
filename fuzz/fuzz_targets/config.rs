//! Any text as `emend.toml` and as settings of Claude Code: nothing panics or hangs, and the configuration of a project
//! never starts a program.
#![no_main]
use emendate::Config;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|input: (String, String)| {
    let (text, settings) = input;
    for trusted in [false, true] {
        let Ok(config) = Config::default().with_file(&text, "/p/emend.toml", trusted) else { continue };
        let shown = config.shown().to_string();
        if !trusted {
            assert!(["formatters", "hooks", "lsp"].iter().all(|key| !shown.contains(&format!("\"key\":\"{key}\""))));
            assert_eq!(config.language_servers().count(), 0);
        }
        let _ = config.with_claude_settings(&settings, "/p/.claude/settings.json", Path::new("/p"), trusted);
    }
});
