//! Import of the rules for files in the settings of Claude Code, so that its denials apply here too.

use crate::context::config::PolicyMode;
use crate::context::config::rule::RULE_ACTIONS;
use serde_json::Value;

/// The name for `policy.import`.
pub(super) const IMPORT_NAME: &str = "claude-code";

/// The tools for changing files. A user who denies all of them by bare name has removed these tools, as `emend mcp
/// install --replace-builtins` does; a denial of only some of them is a rule about files.
const EDITING_TOOLS: [&str; 3] = ["Edit", "Write", "NotebookEdit"];

/// Returns the rules with their effects. Rules that are not about files are skipped.
///
/// Errors: the fault of the file.
pub(super) fn rules(text: &str) -> Result<Vec<(PolicyMode, String)>, String> {
    let settings: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let settings = settings.as_object().ok_or("is not a JSON object")?;
    let mut out = Vec::new();
    for (effect, key) in [(PolicyMode::Deny, "deny"), (PolicyMode::Ask, "ask"), (PolicyMode::Allow, "allow")] {
        let Some(rules) = settings.get("permissions").and_then(|it| it.get(key)) else { continue };
        let wrong = || format!("permissions.{key} is not a list of texts");
        let rules = rules.as_array().ok_or_else(wrong)?;
        let replaced =
            effect == PolicyMode::Deny && EDITING_TOOLS.iter().all(|tool| rules.iter().any(|rule| rule == tool));
        for rule in rules {
            let rule = rule.as_str().ok_or_else(wrong)?;
            if replaced && rule == EDITING_TOOLS[0] {
                continue;
            }
            let name = rule.split_once('(').map_or(rule, |(name, _)| name).trim();
            if RULE_ACTIONS.iter().any(|(action, _)| *action == name) {
                out.push((effect, rule.to_owned()));
            }
        }
    }
    Ok(out)
}
