// Emendate in opencode: its tools edit and write are answered by `emend`, what its read shows counts as read, its
// shell commands are enclosed by snapshots, and each prompt begins a turn (`emend undo --turn`).
import { spawn } from "node:child_process";

// `emend setup` writes the path of the program here.
const EMEND = "emend";
const program = process.env.EMEND_PROGRAM || EMEND;

/** Runs emend with this input; returns its exit status and output. */
function run(args, input, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "ignore"] });
    const chunks = [];
    child.on("error", reject);
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("close", (status) => resolve({ status, output: Buffer.concat(chunks).toString("utf8") }));
    child.stdin.end(JSON.stringify(input));
  });
}

/** Makes a call of a tool of emend; returns its reply, or throws what the model should know. */
async function call(tool, input, context) {
  const session = `opencode-${context.sessionID}`;
  const { output } = await run(["call", tool, "--session", session], input, context.directory);
  const reply = JSON.parse(output);
  if (!reply.ok) throw new Error([reply.message, reply.evidence, reply.next && `Next: ${reply.next}`].filter(Boolean).join("\n"));
  return reply.text;
}

/** Reports an event as a hook; a failure never stops opencode. */
async function report(moment, event, cwd) {
  await run(["--quiet", "hook", moment, "--client", "opencode"], event, cwd).catch(() => {});
}

const NAMES = { read: "Read", bash: "Bash" };

/** The event of a tool that emend does not replace. */
function event(input, args, cwd) {
  const fields = { ...args };
  if (args?.filePath) fields.file_path = args.filePath;
  return { session_id: input.sessionID, cwd, tool_name: NAMES[input.tool], tool_input: fields };
}

export const Emend = async ({ directory }) => {
  const { tool } = await import("@opencode-ai/plugin");
  const text = (description) => tool.schema.string().describe(description);
  return {
    "chat.message": (input) => report("user-prompt-submit", { session_id: input.sessionID, cwd: directory }, directory),
    "tool.execute.before": async (input, output) => {
      if (input.tool === "bash") await report("pre-tool-use", event(input, output.args, directory), directory);
    },
    "tool.execute.after": async (input) => {
      if (NAMES[input.tool]) await report("post-tool-use", event(input, input.args, directory), directory);
    },
    tool: {
      edit: tool({
        description:
          "Replaces text in a file that was read before. Copy oldString from what read shows after the line number, with " +
          "its exact indentation. It must be unique in the file, or set replaceAll. An empty newString deletes.",
        args: {
          filePath: text("The absolute path of the file."),
          oldString: text("The text to replace."),
          newString: text("The text to put in its place."),
          replaceAll: tool.schema.boolean().optional().describe("Replace all occurrences (default false)."),
        },
        execute: async (args, context) => {
          await context.ask({ permission: "edit", patterns: [args.filePath], always: ["*"], metadata: {} });
          const input = { file_path: args.filePath, old_string: args.oldString, new_string: args.newString };
          if (args.replaceAll) input.replace_all = true;
          return call("edit", input, context);
        },
      }),
      write: tool({
        description:
          "Writes a whole file: creates it with its directories, or replaces its text. An existing file must have been " +
          "read first. Prefer an edit for changes to part of a file.",
        args: { filePath: text("The absolute path of the file."), content: text("Its whole new text.") },
        execute: async (args, context) => {
          await context.ask({ permission: "edit", patterns: [args.filePath], always: ["*"], metadata: {} });
          return call("write", { file_path: args.filePath, content: args.content }, context);
        },
      }),
    },
  };
};
