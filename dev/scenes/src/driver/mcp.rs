//! The driver that speaks handwritten JSON-RPC to `emend mcp` over standard input and output.

use super::serve::Pipe;
use super::{Driver, Reply, Stage};
use serde_json::{Value, json};

/// The key of the machine data: `{"data"}` of a success, `{"code", "error_code", "next", "retryable", "op"?, "data"?}` of a failure.
const DATA: &str = "io.github.emendate/data";

pub(super) struct Mcp {
    pipe: Pipe,
    calls: u64,
}

impl Mcp {
    pub(super) fn open(stage: &Stage) -> Result<Mcp, String> {
        let mut command = stage.command()?;
        command.args(["mcp", "--profile", "full"]);
        let mut mcp = Mcp { pipe: Pipe::open(command)?, calls: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "scenes", "version": "0" },
        });
        let result = mcp.ask("initialize", &hello)?;
        if result["protocolVersion"] != "2025-11-25" {
            return Err(format!("another protocol: {result}"));
        }
        mcp.pipe.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(mcp)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        self.pipe.send(&json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params }))?;
        loop {
            let mut message = self.pipe.receive()?;
            // Notifications may arrive before the reply.
            if message["id"] == self.calls {
                return match message.get("result") {
                    Some(_) => Ok(message["result"].take()),
                    None => Err(format!("{method} was refused: {message}")),
                };
            }
        }
    }
}

/// Moves the bytes of images and documents to the field where the other drivers have them.
fn attach(data: &mut Value, content: &[Value]) -> Result<(), String> {
    let mut list: Vec<&mut Value> =
        data.get_mut("attachments").and_then(Value::as_array_mut).into_iter().flatten().collect();
    if list.len() != content.len() {
        return Err(format!("{} attachments are announced, but {} are there", list.len(), content.len()));
    }
    for (told, block) in list.iter_mut().zip(content) {
        let (bytes, media_type) = match block["type"].as_str() {
            Some("image") => (&block["data"], &block["mimeType"]),
            _ => (&block["resource"]["blob"], &block["resource"]["mimeType"]),
        };
        if told["mediaType"] != *media_type || told.get("data").is_some() {
            return Err(format!("an attachment is announced as {told}, but is {block}"));
        }
        told["data"] = bytes.clone();
    }
    Ok(())
}

impl Driver for Mcp {
    fn call(&mut self, tool: &str, input: &str) -> Result<Reply, String> {
        let input: Value = serde_json::from_str(input).map_err(|_| "the input is not JSON; skip this driver")?;
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": input }))?;
        let text = result["content"][0]["text"].as_str().ok_or_else(|| format!("no text in {result}"))?;
        let beside = result["content"].as_array().map_or(&[][..], |content| &content[1..]);
        if beside.iter().any(|block| block["type"] == "text") || result.get("structuredContent").is_some() {
            return Err(format!("more than one text in {result}"));
        }
        let told = result["_meta"].get(DATA).ok_or_else(|| format!("no _meta {DATA} in {result}"))?;
        if result["isError"] != true {
            let mut data = super::data(told);
            attach(&mut data, beside)?;
            return Ok(Reply { error: None, text: text.to_owned(), data });
        }
        let next = super::part(told, "next")?;
        if !next.is_empty() && !text.ends_with(&format!("\nNext: {next}")) {
            return Err(format!("the text does not end in the next step: {text}"));
        }
        Reply::failed(told, text.to_owned())
    }

    fn close(&mut self) -> Result<(), String> {
        self.pipe.close()
    }
}
