// A stand-in for the services of models: answers with the next step of a script, in the form of the service that the
// client expects. Usage: node model.mjs SCRIPT LOG; prints the port that it listens on.
//
// SCRIPT is a JSON list of steps: {"tool": NAME, "input": {…}}, or {"text": …}. NAME may be the end of the name of a tool that the
// client offers. The step is chosen by the number of tool results in the request, so the server needs no state. A request
// without tools, like one for a title, gets a short text. LOG gets a line of JSON for each request: the tools it offers, and
// the results it contains.
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const [script, log] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(script, "utf8"));

/** The step of a request, with the whole name of its tool. */
function step(offered, results) {
  const next = offered.length > 0 ? (steps[results.length] ?? { text: "done" }) : { text: "a title" };
  const name = offered.find((name) => name === next.tool) ?? offered.find((name) => next.tool && name.endsWith(next.tool));
  if (next.tool && !name) return { text: `the tool ${next.tool} is not offered` };
  return { ...next, name };
}

const text = (content) =>
  typeof content === "string" ? content : (content ?? []).map((it) => it.text ?? text(it.content)).join("");

/** A stream of events, in which each may have a name. */
const events = (list, named) =>
  list.map((it) => `${named ? `event: ${it.type}\n` : ""}data: ${typeof it === "string" ? it : JSON.stringify(it)}\n\n`).join("");

/** Anthropic's messages. */
function messages(body) {
  const offered = (body.tools ?? []).map((tool) => tool.name);
  const parts = body.messages.flatMap((it) => (Array.isArray(it.content) ? it.content : []));
  const results = parts.filter((it) => it.type === "tool_result").map((it) => text(it.content));
  const next = step(offered, results);
  const block = next.name
    ? { type: "tool_use", id: `toolu_${results.length}`, name: next.name, input: {} }
    : { type: "text", text: "" };
  const delta = next.name
    ? { type: "input_json_delta", partial_json: JSON.stringify(next.input) }
    : { type: "text_delta", text: next.text };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, usage };
  const reason = next.name ? "tool_use" : "end_turn";
  const whole = next.name ? { ...block, input: next.input } : { type: "text", text: next.text };
  const stream = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  const answer = body.stream
    ? events(stream, true)
    : JSON.stringify({ ...message, content: [whole], stop_reason: reason });
  return { offered, results, answer, stream: body.stream };
}

/** OpenAI's responses. */
function responses(body) {
  const offered = (body.tools ?? []).flatMap((tool) => (tool.type === "namespace" ? tool.tools : [tool])).map((tool) => tool.name);
  const results = (body.input ?? []).filter((it) => /_output$/.test(it.type ?? "")).map((it) => text(it.output));
  const next = step(offered.filter(Boolean), results);
  const custom = (body.tools ?? []).find((tool) => tool.name === next.name)?.type === "custom";
  const namespace = (body.tools ?? []).find((tool) => tool.tools?.some((it) => it.name === next.name))?.name;
  let item = { type: "message", id: "m1", role: "assistant", status: "completed", content: [{ type: "output_text", text: next.text, annotations: [] }] };
  if (custom) item = { type: "custom_tool_call", id: "c1", call_id: `call_${results.length}`, name: next.name, input: next.input.input };
  else if (next.name)
    item = { type: "function_call", id: "f1", call_id: `call_${results.length}`, name: next.name, arguments: JSON.stringify(next.input), status: "completed" };
  if (namespace) item.namespace = namespace;
  const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
  const response = { id: "resp_1", object: "response", status: "completed", output: [item], usage };
  const stream = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
  return { offered, results, answer: events(stream, true), stream: true };
}

/** OpenAI's chat completions. */
function completions(body) {
  const offered = (body.tools ?? []).map((tool) => tool.function.name);
  const results = body.messages.filter((it) => it.role === "tool").map((it) => text(it.content));
  const next = step(offered, results);
  const call = { id: `call_${results.length}`, type: "function", function: { name: next.name, arguments: JSON.stringify(next.input) } };
  const message = next.name ? { role: "assistant", content: null, tool_calls: [call] } : { role: "assistant", content: next.text };
  const finish = next.name ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const head = { id: "chat_1", created: 1, model: body.model };
  if (!body.stream) {
    const choices = [{ index: 0, message, finish_reason: finish }];
    return { offered, results, answer: JSON.stringify({ ...head, object: "chat.completion", choices, usage }) };
  }
  const delta = next.name ? { ...message, tool_calls: [{ index: 0, ...call }] } : message;
  const chunk = (choice, more) => ({ ...head, object: "chat.completion.chunk", choices: [choice], ...more });
  const stream = [
    chunk({ index: 0, delta, finish_reason: null }),
    chunk({ index: 0, delta: {}, finish_reason: finish }, { usage }),
    "[DONE]",
  ];
  return { offered, results, answer: events(stream), stream: true };
}

/** Gemini's contents. */
function contents(body, path) {
  const offered = (body.tools ?? []).flatMap((it) => it.functionDeclarations ?? []).map((tool) => tool.name);
  const parts = (body.contents ?? []).flatMap((it) => it.parts ?? []);
  const results = parts.filter((it) => it.functionResponse).map((it) => JSON.stringify(it.functionResponse.response));
  const next = step(offered, results);
  const part = next.name ? { functionCall: { name: next.name, args: next.input } } : { text: next.text };
  const candidate = { content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 };
  const usage = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  const answer = { candidates: [candidate], usageMetadata: usage };
  const stream = path.includes("stream");
  return { offered, results, answer: stream ? events([answer]) : JSON.stringify(answer), stream };
}

function answer(path, body) {
  if (path.includes("count_tokens")) return { answer: JSON.stringify({ input_tokens: 1 }) };
  if (path.includes("countTokens")) return { answer: JSON.stringify({ totalTokens: 1 }) };
  if (path.endsWith("/messages")) return messages(body);
  if (path.endsWith("/responses")) return responses(body);
  if (path.endsWith("/chat/completions")) return completions(body);
  if (path.includes("enerateContent")) return contents(body, path);
  return { answer: "{}" };
}

const server = createServer((request, reply) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const path = request.url.split("?")[0];
    let said;
    try {
      said = answer(path, JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}"));
    } catch (error) {
      said = { answer: "{}", error: String(error) };
    }
    const { answer: payload, stream, ...rest } = said;
    appendFileSync(log, `${JSON.stringify({ path, ...rest })}\n`);
    reply.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" });
    reply.end(payload);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
