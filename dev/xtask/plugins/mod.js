// A mod for Claude Code: its built-in Edit, Write and NotebookEdit are answered by `emend`, in place and under their own
// names. Claude Code asks for permission and runs its hooks as always; what it then would do itself, emend does. If
// emend cannot be started, Claude Code's own tool does it.
const PROGRAM = "emend";

/** Makes a call of a tool of emend, in the session that hooks and server share. */
async function call($, options, tool, input, ...flags) {
  const session = `claude-${await $.session.id()}`;
  const argv = [options?.program || PROGRAM, "call", tool, "--session", session, ...flags];
  const { stdout } = await $.process.run(argv, { stdin: JSON.stringify(input), timeoutMs: 120000 });
  return JSON.parse(stdout);
}

/** The text of a refusal: what is wrong, and the next call. */
const refusal = (reply) => [reply.message, reply.evidence, reply.next && `Next: ${reply.next}`].filter(Boolean).join("\n");

/** What the model has to know beside the result of its tool: each tolerance, and what else emend noted. */
const context = (reply) => (reply.data.notes?.length ? [reply.data.notes.join("\n")] : undefined);

const edit = (e) => ({
  file_path: e.file_path,
  old_string: e.old_string,
  new_string: e.new_string,
  ...(e.replace_all ? { replace_all: true } : {}),
});

/** The fields of NotebookEdit that emend knows. */
const cell = (e) => {
  const known = ["notebook_path", "cell_id", "cell_number", "new_source", "cell_type", "edit_mode"];
  return Object.fromEntries(known.filter((name) => e[name] !== undefined).map((name) => [name, e[name]]));
};

/** The edit of a hunk as it is in the file: what Claude Code checks, and shows to the person who is asked. */
function exact(hunk) {
  const text = (signs) =>
    hunk.lines
      .filter((line) => signs.includes(line[0]))
      .map((line) => line.slice(1))
      .join("\n");
  return { old_string: text(" -"), new_string: text(" +") };
}

/** The calls of emend for each tool, and the tool's own form of the result. */
const TOOLS = {
  Edit: ["edit", edit, (e, data) => ({
    filePath: e.file_path,
    oldString: e.old_string,
    newString: e.new_string,
    originalFile: null,
    structuredPatch: data.structuredPatch ?? [],
    userModified: false,
    replaceAll: Boolean(e.replace_all),
  })],
  Write: ["write", (e) => ({ file_path: e.file_path, content: e.content }), (e, data) => ({
    type: data.type === "create" ? "create" : "update",
    filePath: e.file_path,
    content: e.content,
    structuredPatch: data.structuredPatch ?? [],
    originalFile: null,
  })],
  NotebookEdit: ["notebook_edit", cell, (e) => ({
    new_source: e.new_source ?? "",
    cell_id: e.cell_id,
    cell_type: e.cell_type ?? "code",
    language: "python",
    edit_mode: e.edit_mode ?? "replace",
    notebook_path: e.notebook_path,
    original_file: "",
    updated_file: "",
  })],
};

/** Answers a call in place of Claude Code's own tool. */
async function instead($, options, tool, e) {
  const [name, input, result] = TOOLS[tool];
  const reply = await call($, options, name, input(e));
  if (!reply.ok) return { deny: refusal(reply) };
  const answer = { result: result(e, reply.data) };
  return context(reply) ? { ...answer, context: context(reply) } : answer;
}

export const register = (on, options) => {
  // Text that is not exactly what the file has: emend finds the place, and Claude Code gets the exact edit.
  on("tool.call", { tool: "Edit" }, async ($, e, next) => {
    const reply = await call($, options, "edit", edit(e), "--dry-run");
    if (!reply.ok) return reply.code?.startsWith("match.") ? { deny: refusal(reply) } : next(e);
    const patch = reply.data.structuredPatch ?? [];
    if (!reply.data.notes?.length || patch.length !== 1 || e.replace_all || !e.old_string) return next(e);
    const said = await next({ ...e, ...exact(patch[0]) });
    return said.result === undefined ? said : { ...said, context: [...(said.context ?? []), ...context(reply)] };
  }).catch(($, e, next) => (next.called ? { deny: "emend could not be asked." } : next(e)));
  on("tool.run", { tool: "Edit" }, async ($, e, next) => instead($, options, "Edit", e)).catch(($, e, next) =>
    next.called ? { deny: "emend could not be asked." } : next(e),
  );
  on("tool.run", { tool: "Write" }, async ($, e, next) => instead($, options, "Write", e)).catch(($, e, next) =>
    next.called ? { deny: "emend could not be asked." } : next(e),
  );
  on("tool.run", { tool: "NotebookEdit" }, async ($, e, next) => instead($, options, "NotebookEdit", e)).catch(
    ($, e, next) => (next.called ? { deny: "emend could not be asked." } : next(e)),
  );
};
