// Emendate in pi: its tools edit and write are answered by `emend`, what its read shows counts as read, its shell
// commands are enclosed by snapshots, and each prompt begins a turn (`emend undo --turn`).
import { spawn } from "node:child_process";
import { resolve as absolute } from "node:path";

// `emend setup` writes the path of the program here.
const EMEND = "emend";
const program = process.env.EMEND_PROGRAM || EMEND;

/** Runs emend with this input; returns its output. */
function run(args: string[], input: unknown, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "ignore"] });
    const chunks: Buffer[] = [];
    child.on("error", reject);
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("close", () => resolve(Buffer.concat(chunks).toString("utf8")));
    child.stdin.end(JSON.stringify(input));
  });
}

const session = (ctx: any): string => ctx.sessionManager.getSessionId();

/** Makes a call of a tool of emend; returns its reply, or throws what the model should know. */
async function call(tool: string, input: unknown, ctx: any) {
  const reply = JSON.parse(await run(["call", tool, "--session", `pi-${session(ctx)}`], input, ctx.cwd));
  if (!reply.ok) throw new Error([reply.message, reply.evidence, reply.next && `Next: ${reply.next}`].filter(Boolean).join("\n"));
  return { content: [{ type: "text", text: reply.text }], details: {} };
}

/** Reports an event as a hook; a failure never stops pi. */
async function report(moment: string, event: object, ctx: any) {
  const whole = { session_id: session(ctx), cwd: ctx.cwd, ...event };
  await run(["--quiet", "hook", moment, "--client", "pi"], whole, ctx.cwd).catch(() => {});
}

const NAMES: Record<string, string> = { read: "Read", bash: "Bash" };

/** The event of a tool that emend does not replace. */
function event(name: string, input: any, ctx: any) {
  const fields = { ...input };
  if (input?.path) fields.file_path = absolute(ctx.cwd, input.path);
  return { tool_name: NAMES[name], tool_input: fields };
}

const string = (description: string) => ({ type: "string", description });
const object = (properties: object, required: string[]) => ({ type: "object", properties, required });

export default function (pi: any) {
  pi.on("before_agent_start", (_event: any, ctx: any) => report("user-prompt-submit", {}, ctx));
  pi.on("tool_call", async (e: any, ctx: any) => {
    if (e.toolName === "bash") await report("pre-tool-use", event("bash", e.input, ctx), ctx);
  });
  pi.on("tool_result", async (e: any, ctx: any) => {
    if (NAMES[e.toolName]) await report("post-tool-use", event(e.toolName, e.input, ctx), ctx);
  });
  pi.registerTool({
    name: "edit",
    label: "edit",
    description:
      "Replaces parts of a file that was read before, all or none. Each oldText is looked for in the file as it was read, " +
      "and must be unique there: copy it with its exact indentation.",
    promptSnippet: "Replace parts of a file that was read before, all or none",
    parameters: object(
      {
        path: string("The path of the file."),
        edits: {
          type: "array",
          description: "The replacements.",
          items: object({ oldText: string("The text to replace."), newText: string("The text to put in its place.") }, [
            "oldText",
            "newText",
          ]),
        },
      },
      ["path", "edits"],
    ),
    execute: (_id: string, args: any, _signal: any, _update: any, ctx: any) => {
      const edits = args.edits.map((edit: any) => ({ old_string: edit.oldText, new_string: edit.newText }));
      return call("edit", { file_path: absolute(ctx.cwd, args.path), edits }, ctx);
    },
  });
  pi.registerTool({
    name: "write",
    label: "write",
    description:
      "Writes a whole file: creates it with its directories, or replaces its text. An existing file must have been read " +
      "first. Prefer an edit for changes to part of a file.",
    promptSnippet: "Create a file, or replace its whole text",
    parameters: object({ path: string("The path of the file."), content: string("Its whole new text.") }, [
      "path",
      "content",
    ]),
    execute: (_id: string, args: any, _signal: any, _update: any, ctx: any) =>
      call("write", { file_path: absolute(ctx.cwd, args.path), content: args.content }, ctx),
  });
}
