//! Approval by the person behind a client: by a result that requests input in 2026-07-28, by a request of the server in
//! older revisions.

use emendate::{Approval, Reply, path_of_json, question};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, PrimitiveSchemaDefinition,
    ServerRequest, StringSchema,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The name of our only question in a result that requests input.
const QUESTION_NAME: &str = "approval";
/// The fields of the form.
const APPROVE_FIELD: &str = "approve";
const TEXT_FIELD: &str = "text";
/// Bytes of a text that a form offers for correction.
const CORRECTED_TEXT_BYTES_MAX: usize = 4000;
/// Time limit for a person's answer, who may be at lunch.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// A question to a person, with the seal for the answer.
pub(crate) struct ApprovalQuestion {
    seal: String,
    /// The file whose text may be corrected.
    file: Option<PathBuf>,
    form: ElicitRequestParams,
}

impl ApprovalQuestion {
    /// Returns the question of a reply, if it has one and the client can ask a person.
    pub(crate) fn question_of(reply: &Reply, context: &RequestContext<RoleServer>) -> Option<ApprovalQuestion> {
        let asked = reply.result.as_ref().err().and_then(question).filter(|_| can_ask(context))?;
        let files = asked["files"].as_array()?;
        let mut fields = BTreeMap::from([(APPROVE_FIELD.to_owned(), yes_or_no()?)]);
        let correctable = match &**files {
            [file] => Some(file)
                .filter(|file| file["proposed"].as_str().is_some_and(|text| text.len() <= CORRECTED_TEXT_BYTES_MAX)),
            _ => None,
        };
        if correctable.is_some() {
            let what = "Only to correct it: the whole new text of the file.";
            let field = StringSchema::new().title("Corrected text").description(what);
            fields.insert(TEXT_FIELD.to_owned(), PrimitiveSchemaDefinition::String(field));
        }
        let mut schema = ElicitationSchema::new(fields);
        schema.required = Some(vec![APPROVE_FIELD.to_owned()]);
        let problem = asked["problem"].as_str().map(str::to_owned);
        let message = problem
            .into_iter()
            .chain(files.iter().map(|file| {
                // The whole change, even if a reply would summarize it.
                let diff = file["change"].as_str().or(file["diff"]["text"].as_str()).unwrap_or_default();
                format!(
                    "{} (rule `{}` of {})\n{diff}",
                    text_field(file, "summary"),
                    text_field(file, "rule"),
                    text_field(file, "origin")
                )
            }))
            .collect::<Vec<String>>()
            .join("\n");
        Some(ApprovalQuestion {
            seal: asked["seal"].as_str()?.to_owned(),
            file: correctable.and_then(Value::as_object).map(path_of_json),
            form: ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema },
        })
    }

    /// Returns the result that requests the answer. The client returns the seal with it, and only the engine that
    /// created the seal accepts it.
    pub(crate) fn required(self) -> InputRequiredResult {
        let file = self.file.as_ref().and_then(|file| file.to_str()).unwrap_or_default();
        let state = format!("{} {file}", self.seal);
        let asked =
            InputRequests::from([(QUESTION_NAME.to_owned(), InputRequest::Elicitation(ElicitRequest::new(self.form)))]);
        InputRequiredResult::new(Some(asked), Some(state))
    }

    /// Asks, and waits for the answer; `None` if the client cannot ask after all.
    pub(crate) async fn ask(self, context: &RequestContext<RoleServer>) -> Option<Approval> {
        let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(self.form));
        let asked = context.peer.send_request_with_option(request, options).await.ok()?;
        let answer = tokio::select! {
            answer = asked.await_response() => answer.ok()?,
            // Nothing waits for the call any more.
            () = context.ct.cancelled() => return None,
        };
        let ClientResult::ElicitResult(answer) = answer else { return None };
        Some(approval(&answer, &self.seal, self.file))
    }
}

/// Returns a text of a file's entry, empty if there is none.
fn text_field(file: &Value, key: &str) -> String {
    file[key].as_str().unwrap_or_default().to_owned()
}

/// Returns the answer in a repeated call.
pub(crate) fn answer_from_retry(request: &CallToolRequestParams) -> Option<Approval> {
    let answer = request.input_responses.as_ref()?.get(QUESTION_NAME)?;
    let answer: ElicitResult = serde_json::from_value(answer.clone()).ok()?;
    let (seal, file) = request.request_state.as_deref()?.split_once(' ')?;
    Some(approval(&answer, seal, Some(file).filter(|file| !file.is_empty()).map(PathBuf::from)))
}

/// Converts an answer; anything other than a clear yes is a no.
fn approval(answer: &ElicitResult, seal: &str, file: Option<PathBuf>) -> Approval {
    let content =
        answer.content.as_ref().filter(|it| answer.action == ElicitationAction::Accept && it[APPROVE_FIELD] == true);
    let Some(content) = content else { return Approval::denied(seal) };
    let text = content[TEXT_FIELD].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Approval { texts: file.zip(text).into_iter().collect(), ..Approval::granted(seal) }
}

/// True when the client declared that it can show forms to a person.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.meta.client_capabilities();
    match capabilities {
        Some(declared) => has_forms(&declared),
        None => context.peer.peer_info().is_some_and(|peer| has_forms(&peer.capabilities)),
    }
}

/// True for a client that shows forms.
fn has_forms(it: &ClientCapabilities) -> bool {
    it.elicitation.as_ref().is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

fn yes_or_no() -> Option<PrimitiveSchemaDefinition> {
    let field = serde_json::json!({ "type": "boolean", "title": "Write this change", "default": false });
    serde_json::from_value(field).ok()
}
