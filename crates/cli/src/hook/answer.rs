//! Answers to events, in each client's form.

use super::HookPhase;
use serde_json::{Value, json};

/// The engine's decision about a use of a client's tool.
pub(super) struct UseDecision {
    pub(super) kind: DecisionKind,
    /// The reason, for the model or the person.
    pub(super) reason: String,
}

/// The kind of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DecisionKind {
    /// A rule forbids the change, or the tool would write something else than was meant.
    Denial,
    /// The edit would not apply.
    Failure,
    /// A rule requires that a person agrees.
    Question,
}

/// The output of a hook.
#[derive(Default)]
pub(super) struct EventAnswer {
    /// The JSON on standard output; nothing means consent.
    pub(super) json: Option<Value>,
    /// The reason on standard error.
    pub(super) reason: Option<String>,
    /// The exit status.
    pub(super) status: u8,
}

impl EventAnswer {
    fn of(json: Value) -> EventAnswer {
        EventAnswer { json: Some(json), ..EventAnswer::default() }
    }
}

/// Claude Code, and clients with the same form.
pub(super) fn claude_answer(_: HookPhase, decision: Option<&UseDecision>) -> EventAnswer {
    let Some(decision) = decision else { return EventAnswer::default() };
    let word = if decision.kind == DecisionKind::Question { "ask" } else { "deny" };
    let output = json!({
        "hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": decision.reason,
    });
    EventAnswer::of(json!({ "hookSpecificOutput": output }))
}

/// Gemini CLI, which accepts no question as an answer: its own settings decide whether it asks before edits.
pub(super) fn gemini_answer(_: HookPhase, decision: Option<&UseDecision>) -> EventAnswer {
    match decision {
        None => EventAnswer::default(),
        Some(UseDecision { kind: DecisionKind::Question, reason }) => {
            EventAnswer::of(json!({ "systemMessage": reason }))
        }
        Some(decision) => EventAnswer::of(json!({ "decision": "deny", "reason": decision.reason })),
    }
}

/// Cursor, which takes missing output for a failure of the hook. Consent is not `allow`, which could skip a question of
/// Cursor's own. `ask` is in its schema, but not enforced yet.
pub(super) fn cursor_answer(phase: HookPhase, decision: Option<&UseDecision>) -> EventAnswer {
    EventAnswer::of(match (phase, decision) {
        (HookPhase::UserPromptSubmit, _) => json!({ "continue": true }),
        (_, None) => json!({}),
        (_, Some(UseDecision { kind: DecisionKind::Question, reason })) => {
            json!({ "permission": "ask", "user_message": reason })
        }
        (_, Some(decision)) => {
            json!({ "permission": "deny", "user_message": decision.reason, "agent_message": decision.reason })
        }
    })
}

/// Windsurf, which blocks on exit status 2 and shows standard error to the model. It cannot ask.
pub(super) fn windsurf_answer(_: HookPhase, decision: Option<&UseDecision>) -> EventAnswer {
    let denial = decision.filter(|decision| decision.kind != DecisionKind::Question);
    denial.map_or_else(EventAnswer::default, |denial| EventAnswer {
        json: None,
        reason: Some(denial.reason.clone()),
        status: 2,
    })
}

/// Cline, for which a denial ends the task. An edit that would not apply is left to Cline, with the reason for the model.
pub(super) fn cline_answer(_: HookPhase, decision: Option<&UseDecision>) -> EventAnswer {
    EventAnswer::of(match decision {
        Some(UseDecision { kind: DecisionKind::Denial, reason }) => json!({ "cancel": true, "errorMessage": reason }),
        Some(UseDecision { kind: DecisionKind::Failure, reason }) => {
            json!({ "cancel": false, "contextModification": reason })
        }
        Some(UseDecision { kind: DecisionKind::Question, .. }) | None => json!({ "cancel": false }),
    })
}
