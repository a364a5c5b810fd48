//! Help texts of the command, and output generated from its definition.

mod people;

pub(crate) use people::{APPROVE, COMMENT, COMMENTS, CORRECT, DENY, PENDING, REVIEWED};

use crate::styled;
use emendate::TOOLS as TABLE;
use emendate::core::{Code, Error, Result};
use std::io::Write as _;

pub(crate) const READ: &str = "\
Several files are shown one after the other; with --json, each is one JSON object on a line of its own.
Of an empty file nothing is printed but a note on standard error.

Examples:
  emend read src/main.rs                  the first 2000 lines, numbered
  emend read src/main.rs:40-80            lines 40 to 80
  emend read notes.txt --format plain     the text alone
  emend read model.ipynb --cells 3-7      cells of a notebook with their outputs
  emend read paper.pdf --pages 1-3        the text of pages
  emend read old.txt --encoding latin1 --json";

pub(crate) const SEARCH: &str = "\
Examples:
  emend search 'fn \\w+_at' src            in every file below src, except ignored and hidden ones
  emend search -F 'a[0]' main.c -C 3       plain text, with three lines around each hit
  emend search 'unwrap()' -F -g '*.rs' --limit 20 --json";

pub(crate) const OUTLINE: &str = "\
Examples:
  emend outline src/main.rs
  emend read src/main.rs --symbol Parser.next";

pub(crate) const CHECK: &str = "\
Every file is parsed, and the language servers that your config.toml names are asked ([[lsp]]; see docs/language-servers.md
and `emend config servers`). Exits with 0 if no problem was found, with 1 if there is a problem or a result is unknown.

Examples:
  emend check src/main.rs
  emend check app.py lib.py --timeout 60
  emend check app.py --json | jq '.data.files[].diagnostics.new'";

pub(crate) const EDIT: &str = "\
Without --old and --old-file, standard input is read: {\"old_string\": …, \"new_string\": …}.
An empty old text creates the file, or fills a blank one.

Examples:
  emend edit src/main.rs --old 'let x = 1;' --new 'let x = 2;'
  emend edit src/main.rs --old foo --new bar --all --dry-run
  emend edit a.txt --old-file before.txt --new-file after.txt
  echo '{\"old_string\": \"a\", \"new_string\": \"b\"}' | emend edit a.txt";

pub(crate) const MULTI_EDIT: &str = "\
Examples:
  echo '[{\"old_string\": \"a\", \"new_string\": \"b\"}]' | emend multi-edit a.txt
  emend multi-edit a.txt --edits edits.json --in-turn";

pub(crate) const NOTEBOOK_EDIT: &str = "\
Examples:
  emend notebook-edit model.ipynb --number 3 --source 'x = 1'
  emend notebook-edit model.ipynb --cell a1b2c3d4 --mode insert --type markdown --source-file text.md
  echo '[{\"cell_number\": 0, \"edit_mode\": \"delete\"}]' | emend notebook-edit model.ipynb --edits -";

pub(crate) const WRITE: &str = "\
Examples:
  printf 'hello\\n' | emend write notes/hello.txt
  emend write config.toml --from draft.toml --dry-run
  emend write empty.txt < /dev/null";

pub(crate) const APPLY: &str = "\
Takes what models write: SEARCH/REPLACE blocks, Codex patches (*** Begin Patch), unified diffs, whole files
in fences; with prose, fences, JSON or shell lines around them. Names are relative to --directory. All
edits are applied, or none. `emend prompt` lists the formats.

Examples:
  emend apply reply.md
  emend apply - --dry-run < reply.md              the diff, nothing is written
  git diff | emend apply --check --reverse        would it apply?
  emend apply -p2 --reject-file left.rej fix.patch
  printf 'a.txt\\n<<<<<<< SEARCH\\nold\\n=======\\nnew\\n>>>>>>> REPLACE\\n' | emend apply";

pub(crate) const REPLACE: &str = "\
One operation: all files change, or none, and `emend undo` reverts all of it. Guarded files are left
alone and named; files that may not be read, such as secrets, are only counted. Ctrl-C before the writing
begins leaves everything as it is.

Examples:
  emend replace old_name new_name src --dry-run   the files, the counts and the first diffs
  emend replace old_name new_name src -g '*.rs' --expect 12
  emend replace -e 'log\\((\\w+)\\)' 'trace($1)' . -g '!tests/**'";

pub(crate) const CONVERT: &str = "\
Examples:
  emend convert --to unified_diff reply.md        what git apply understands
  git diff | emend convert --to apply_patch --reverse";

pub(crate) const BULK: &str = "\
A row that cannot be done has a code and stops nothing. An interrupted run continues when the same command is repeated;
until the end, results are in a file beside the output whose name ends in .part.

Examples:
  emend bulk rows.ndjson -o applied.ndjson --keep id
  emend bulk rows.ndjson -o rewards.ndjson --do reward --measure similarity
  emend bulk rows.ndjson -o patches.ndjson --do convert --to unified_diff";

pub(crate) const PREVIEW: &str = "\
Reads edits while a model writes them and prints the files, hunks and lines so far; with --json one object
per line. At the end it prints a summary of all edits, or the error in the text.

Example:
  tail -f reply.md | emend preview";

pub(crate) const PROMPT: &str = "\
Examples:
  emend prompt
  emend prompt apply_patch
  emend prompt --json                             every format with an example";

pub(crate) const SCHEMA: &str = "\
Formats of JSON have a schema. apply_patch, hashline and hashline_put have a grammar in Lark's notation, for
constrained decoding; search_replace, whole_file, elided and unified_diff have neither: see emend prompt FORMAT.

Examples:
  emend schema apply_patch > apply_patch.lark
  emend schema multi_edit";

pub(crate) const UNDO: &str = "\
Every call that changed files is an operation of the history of its root, whoever made it. An undo
reverts all of its files, or none: contents, permissions, files created, removed or moved. Later
changes to other lines are kept; if the same lines changed since, the undo is refused and explains why.

Examples:
  emend undo                              the last operation
  emend undo 17                           that one; `emend history` lists them
  emend undo 17 src/main.rs:2             its second hunk in that file; `emend show 17` numbers them
  emend undo --last 3 --dry-run
  emend undo --file src/main.rs";

pub(crate) const REDO: &str = "\
Examples:
  emend redo                              reverts the last undo, unless something was done since
  emend redo 17                           operation 17 again, which `emend undo 17` took back";

pub(crate) const HISTORY: &str = "\
Examples:
  emend history
  emend history --file src/main.rs --limit 5
  emend history --by agent-7 --json
  emend history --follow --json           each new operation of any process, as a line of JSON";

pub(crate) const SHOW: &str = "\
Examples:
  emend show                              the last one
  emend show 17
  emend show 17-3fa9 --file src/main.rs";

pub(crate) const DIFF: &str = "\
Examples:
  emend diff 17..20                       what 18, 19 and 20 did
  emend diff 17^..20                      what 17 to 20 did";

pub(crate) const RESTORE: &str = "\
The file gets its earlier content, whatever changed since; if it did not exist then, it is removed.
This is an operation, too: `emend undo` reverts it.

Examples:
  emend restore src/main.rs@17            as it was after operation 17
  emend restore src/main.rs@17^           as it was before";

pub(crate) const MARK: &str = "\
Examples:
  emend mark before-refactoring
  emend diff before-refactoring..         what changed since then
  emend undo --since before-refactoring   what you did since then; emend rewind also lists what stays";

pub(crate) const REWIND: &str = "\
Reverts everything that the session did since then in one operation, which `emend redo` reverts. What others did since
then is kept and listed. If both changed the same lines, nothing is done, and the conflict is shown.

Examples:
  emend mark start
  emend rewind start
  emend rewind 17^ --dry-run";

pub(crate) const SNAPSHOT: &str = "\
The first snapshot records what is there; each later one is an operation with the files that changed since, whoever
changed them. Ignored files, secrets and files of more than 8 MiB are left out. Files whose time and size did not change
are not read again. With outside = \"snapshots\" under [history], `emend hook` takes one before and after each shell
command of Claude Code.

Examples:
  emend snapshot                          before a command that changes many files
  cargo fmt; emend snapshot --note 'cargo fmt'
  emend show last                         what it changed; emend undo ID takes it back";

#[cfg(feature = "http")]
pub(crate) const REVIEW: &str = "\
Examples:
  emend review                            opens the page in the browser
  emend review --no-open --port 8940      prints the address; over ssh: ssh -L 8940:127.0.0.1:8940 HOST
  emend review --read-only                the page shows, and changes nothing

The page listens on this machine only. The address has a token behind `#`, which the browser exchanges for a
cookie. It ends with Ctrl-C.";

pub(crate) const GC: &str = "\
Without options, deletes what exceeds the limits: 60 days, 10 000 operations, 256 MB of contents.
Deleted operations can no longer be undone, and `emend history` no longer lists them. It marks those whose
contents were deleted.

Examples:
  emend gc
  emend gc --days 7
  emend gc --size 50";

pub(crate) const CALL: &str = "\
Prints one JSON object, also for failures, and exits with the status of its code:
  {\"ok\": true, \"text\": …, \"data\": {…}}
  {\"ok\": false, \"code\": \"match.not_found\", \"error_code\": 8, \"message\": …, \"evidence\": …,
   \"next\": …, \"retryable\": false}
A file must have been read in the session before it is edited (--unread allow lifts this).

Examples:
  emend call read '{\"file_path\": \"/work/a.txt\"}'
  emend call edit - < call.json";

pub(crate) const SERVE: &str = "\
One engine answers all lines in order. Blank lines are skipped; a line that is not a call is answered with an error.
With \"wait\": true, a call that needs a person waits for one, and is answered after later lines.

Example:
  $ emend serve --ndjson
  {\"id\": 1, \"tool\": \"read\", \"input\": {\"file_path\": \"/work/a.txt\"}}
  {\"id\":1,\"ok\":true,\"text\":\"     1\\thello\\n\",\"data\":{…}}";

pub(crate) const MCP: &str = "\
Examples:
  emend mcp install claude-code           have Claude Code start this server
  emend mcp --root /work                  what a client starts
  emend mcp --profile claude              the names and fields of Claude Code's own tools
  emend mcp --http 8931                   http://127.0.0.1:8931/mcp; the token is printed on standard error
  EMEND_HTTP_TOKEN=… emend mcp --http 192.0.2.7:8931
  emend mcp --in docker:web:/srv/app      the engine runs in the container; so do ssh:HOST and devcontainer

With --in, this program is copied to the place once and verified; other options count there. Over HTTP every request must carry the token (Authorization: Bearer TOKEN). Reads count per client; /mcp/NAME names a session
of its own, as --session does. There is no TLS: for access from other machines, use a tunnel or a proxy. On SIGTERM, running calls finish first.";

pub(crate) const SETUP: &str = "\
For each client: the server, hooks by which its own reads count, and its edits and shell commands are
recorded (the latter with [history] outside = \"snapshots\"), sessions that both share, and these tools in
place of its own ones where it allows that. The plan is shown, and one question asked. Then every server
is started as its client does. Every other byte of the files is kept, and --undo restores them.

A client that does not say where it works may access the project, or the directories of --root. A file
that is broken, read-only, a link, or of a newer version is left alone, and the others are set up.

Examples:
  emend setup                             all clients that are installed, after a question
  emend setup --dry-run                   the changes, nothing is written
  emend setup --yes --client claude-code --client codex
  emend setup --keep-builtins             these tools beside the clients' own
  emend setup --undo                      everything as it was before";

pub(crate) const INSTALL: &str = "\
`emend setup` does this for every client. The entry names this program by its path. Comments, order and
layout of the file are kept; a backup of the file is stored beside it, and the change can be undone like
any edit. docs/clients.md lists each client's file. With --root, the server may access only the
directories given.

--replace-builtins takes the client's own editing tools from the model, so that edits are made with these
(Claude Code, Gemini CLI, opencode, pi), and adds hooks by which what its own reading tool shows counts as
read. uninstall removes all that was added, and files and directories that were created.

Examples:
  emend mcp install claude-code --dry-run          the change, nothing is written
  emend mcp install claude-code --replace-builtins
  emend mcp install cursor --scope project         .cursor/mcp.json of this project
  emend mcp install claude-desktop --root ~/work
  emend mcp uninstall claude-code
  emend doctor                                     starts each installed server and tests it";

pub(crate) const TOOLS: &str = "\
Examples:
  emend tools
  emend tools edit
  emend tools --json --profile claude     as tools/list of MCP has them";

pub(crate) const TOUR: &str = "\
Runs four commands on a small file in a new directory below the one for temporary files. The
directory stays, so that you can try more there. Your configuration and history are not used.";

pub(crate) const STATS: &str = "\
Every call is counted in the state directory, of all projects and processes together: its tool, the format
of its input, the tier of matching, the code of the answer, the model where it is known (--model,
EMEND_MODEL, or what an MCP client says). No contents, no paths; `events.counts = false` in your emend.toml
switches it off, and nothing leaves the machine. An event for each call, as a line of JSON that an
OpenTelemetry collector can read: docs/events.md.

Examples:
  emend stats                      the last 7 days
  emend stats --hours 1 --by code
  emend stats --days 30 --json";

pub(crate) const DOCTOR: &str = "Exits with 0 when all is well, with 1 when something needs attention.";

pub(crate) const HOOK: &str = "\
In .claude/settings.json:
  {\"hooks\": {
    \"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"emend hook user-prompt-submit\"}]}],
    \"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"emend hook session-start\"}]}],
    \"PreToolUse\": [{\"matcher\": \"Edit|MultiEdit|Write|NotebookEdit|Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"emend hook pre-tool-use\"}]}],
    \"PostToolUse\": [{\"matcher\": \"Read|Edit|MultiEdit|Write|NotebookEdit|Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"emend hook post-tool-use\"}]}]}}

Edits by these tools are in the history as changes by others. For Bash, a snapshot is taken before
and after the command if outside = \"snapshots\" is set under [history]; otherwise nothing is done.
See `emend help snapshot`.

The session's name is `claude-` followed by Claude Code's session id. A server that Claude Code started uses the same one.
`emend setup` writes these hooks, also those of other clients, with --client.";

pub(crate) const CONFIG: &str = "\
Rules are gitignore patterns, for one action as Read(PATTERN) or Edit(PATTERN), for both without. `//` begins an absolute
path, `~/` one in your home, `/` one at the root. Deny goes before ask, ask before allow.

Examples:
  emend config show --origin
  emend config show --json | jq '.[] | select(.key == \"policy.deny\")'
  emend config schema > emend.schema.json";

pub(crate) const TRUST: &str = "\
A project's emend.toml comes with the repository, so it can only make rules stricter. This command prints the file and
lets it allow things as your own configuration can, until the file changes.

Examples:
  emend trust
  emend trust --root ~/src/project --revoke";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  emend completions bash > ~/.local/share/bash-completion/completions/emend
  emend completions zsh > \"${fpath[1]}/_emend\"
  emend completions fish > ~/.config/fish/completions/emend.fish";

pub(crate) const MAN: &str = "\
Examples:
  emend man | man -l -
  emend man edit > emend-edit.1";

/// The network access of emend.
const TELEMETRY: &str = "There is no telemetry: emend opens no network connection.";
const EXITS: &str = "\
Exit status:
   0  done
   1  done, but not all is well: check or doctor found problems, or apply --reject left edits out
   2  wrong usage, or a malformed call
  10  text or file not found
  11  text is ambiguous
  12  the file changed since it was read
  13  conflict with another writer
  14  denied, or not read before
  15  content that is not supported
  16  an edit that cannot be parsed
  17  another refusal of the edit (no change, overlap, count, schema)
  20  input or output failed, nothing was changed
  21  input or output failed, part was changed
  22  another process holds the lock
  70  a bug in emend
 130  stopped before anything was written

Settings are taken from flags, then EMEND_* variables, then the project's emend.toml, then
$XDG_CONFIG_HOME/emendate/config.toml. A project's file can make rules stricter, never looser.
";

/// Options that the short help of a command omits.
const RARE_OPTIONS: &[&str] = &[
    "3way", "allow-invalid", "base64", "encoding", "exclude", "expect-files", "force", "http-host", "http-origin",
    "http-token-file", "include", "irreversible", "keep-outputs", "match", "max-side", "multiline", "no-ignore",
    "overwrite", "reject", "reject-file", "repeat", "restrict", "strip", "structured", "tag", "whitespace",
];
/// Lines of examples in the short help.
const SHORT_EXAMPLES_MAX: usize = 2;

/// Returns a command whose `--help` fits on a screen, with its usual options and some examples; `emend help COMMAND`
/// prints everything. `above` is the command that it belongs to.
pub(crate) fn shortened(command: clap::Command, above: &str) -> clap::Command {
    let name = format!("{above}{}", command.get_name());
    let below = format!("{name} ");
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.mut_subcommands(|command| shortened(command, &below)).mut_args(|arg| {
        let rare = arg.get_long().is_some_and(|long| RARE_OPTIONS.contains(&long));
        // After an option, -1 is its value, even if a wrong one. Elsewhere it is an option, such as -3 of apply.
        let is_valued = arg.get_action().takes_values() && !arg.is_positional();
        let arg = if is_valued { arg.allow_negative_numbers(true) } else { arg };
        if rare { arg.hide_short_help(true) } else { arg }
    });
    let help = clap::Arg::new("help").short('h').long("help").action(clap::ArgAction::HelpShort);
    command
        .disable_help_flag(true)
        .arg(help.help("Print this help"))
        .after_help(format!("{}Everything, with the options of every command: emend help {name}", examples(&text)))
        .after_long_help(text)
}

/// Returns the first examples of a text, with an empty line below.
fn examples(text: &str) -> String {
    let Some((_, list)) = text.split_once("Examples:\n").or_else(|| text.split_once("Example:\n")) else {
        return String::new();
    };
    let lines = list.lines().take_while(|line| line.starts_with("  ")).take(SHORT_EXAMPLES_MAX);
    let lines: String = lines.filter(|line| line.chars().count() <= 100).map(|line| format!("{line}\n")).collect();
    format!("Examples:\n{lines}\n")
}

/// Returns the text of `emend --help` below the list of commands.
pub(crate) fn overview() -> String {
    let mut out = String::from("Tools, for call, serve and mcp:\n");
    out.push_str(&styled::columns("  ", TABLE.iter().map(|tool| (tool.name, tool.summary))));
    out.push('\n');
    out.push_str(EXITS);
    out.push_str(TELEMETRY);
    out
}

/// Prints the completions of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "emend", &mut script);
    print(&script)
}

/// Prints a manual page.
pub(crate) fn man(name: Option<&str>) -> Result<u8> {
    // Options hidden from the short help would be listed here without a description.
    let mut command = crate::command().mut_args(|arg| arg.hide_short_help(false));
    command.build();
    let page = match name {
        None => command,
        Some(name) => {
            let found = command.find_subcommand(name).cloned().ok_or_else(|| {
                Error::new(Code::CallInvalid, format!("There is no command `{name}`."))
                    .next("See `emend --help` for the commands.")
            })?;
            // Pages are named as in git: emend-edit(1).
            found.display_name(format!("emend-{name}")).name(format!("emend-{name}"))
        }
    };
    let mut roff = Vec::new();
    // A command has no version of its own.
    let source = concat!("emend ", env!("CARGO_PKG_VERSION"));
    let rendered = clap_mangen::Man::new(page).source(source).render(&mut roff);
    rendered.map_err(|error| crate::io_error("manual page", &error))?;
    print(&roff)
}

fn print(bytes: &[u8]) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    crate::styled::ignore_broken_pipe(out.write_all(bytes).and_then(|()| out.flush()))?;
    Ok(0)
}
