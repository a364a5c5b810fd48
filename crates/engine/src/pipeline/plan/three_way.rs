//! Patches merged with the version that they were made for: git's index lines name it, and a git repository holds it.

use crate::context::LoadedFile;
use crate::context::options::PatchOptions;
use crate::model::call_context::CallContext;
use crate::pipeline::plan::edit::carry_over;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::line_ends::with_line_ends_of;
use crate::pipeline::plan::placement::{EditedFile, OrderedOps, SeenVersion, planned};
use emendate_core::{BINARY_RESULT_BYTES_MAX, Code, Error, MergeBase, Result, Snapshot, is_object};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use emendate_run::{CommandJob, run_until};
use std::time::Duration;

/// The time limit for git to read an object.
const GIT_TIME: Duration = Duration::from_secs(20);

/// The words that read an object: no other repository is asked for one that is missing, and nothing asks for a password.
const CAT_FILE: &[&str] = &["env", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "git", "cat-file", "blob"];

/// Checks that a caller may read git's objects. They have no path, so the rules about what may be read cannot apply to
/// them: they are read only for callers that are trusted with any file, and never for MCP, where a model chooses the
/// arguments.
///
/// Errors: `call.invalid` for any other caller that asks for a merge by git's objects.
pub(crate) fn check_allowed(caller: &CallContext, patch: PatchOptions) -> Result<()> {
    let is_model = caller.client.as_ref().is_some_and(|client| client.transport == "mcp");
    if !patch.three_way || (caller.allows_unread() && !is_model) {
        return Ok(());
    }
    Err(Error::new(
        Code::CallInvalid,
        "three_way reads objects of git past the rules about files, so this caller cannot use it.",
    )
    .evidence(
        "It is open to the command line and to programs that may edit files they have not read (`--unread allow`).",
    )
    .next(
        "Omit it: the patch is then placed in the file as it is. If that fails, read the file and send an edit of it.",
    ))
}

/// The version of a file that a patch was made for.
pub(crate) enum Preimage {
    /// The file is that version.
    Current,
    /// Another version.
    Other(Snapshot),
    /// The version is not available, for this reason.
    Unknown(String),
}

/// Finds the version with this object id for a patch of a file.
///
/// Errors: `call.cancelled`; a version that is not text.
pub(crate) fn preimage(caller: &CallContext, path: &SafePath, now: &LoadedFile, id: &str) -> Result<Preimage> {
    if is_object(now.snapshot.raw(), id) {
        return Ok(Preimage::Current);
    }
    let words: Vec<String> = CAT_FILE.iter().chain([&id]).map(|word| (*word).to_owned()).collect();
    let folder = path.absolute().parent().unwrap_or(path.absolute());
    let job = CommandJob {
        argv: &words,
        directory: folder,
        input: b"",
        time: GIT_TIME,
        output_bytes_max: BINARY_RESULT_BYTES_MAX,
    };
    let ran = match run_until(job, caller.stop_flag()) {
        Ok(ran) => ran,
        Err(error) => {
            caller.check_cancelled()?;
            return Ok(Preimage::Unknown(error.message().to_owned()));
        }
    };
    if ran.status != Some(0) || !is_object(&ran.output, id) {
        let why = ran.stderr.lines().next().unwrap_or("git returned another object").to_owned();
        return Ok(Preimage::Unknown(why));
    }
    let seen = now.snapshot.reopen(ran.output)?;
    // git may store LF for what it checks out with CRLF.
    Ok(Preimage::Other(with_line_ends_of(&now.snapshot, seen)))
}

/// Plans the edits of a patch in the version that it was made for, and carries them over to the file as it is.
///
/// Errors: `stale.changed` for a conflict.
pub(crate) fn plan_three_way(file: EditedFile<'_>, seen: &Snapshot, ops: OrderedOps<'_>) -> Result<FilePlan> {
    let base = SeenVersion { snapshot: seen, lines: LineSet::all(), of: MergeBase::OfPatch };
    let placed = carry_over(&file, base, ops).map_err(|error| {
        error.evidence("The version that was read is the one that the patch was made for, from the git repository.")
    })?;
    Ok(planned(file, placed))
}

#[cfg(test)]
mod tests {
    use super::{CallContext, check_allowed};
    use crate::context::options::PatchOptions;
    use crate::model::call_context::UnreadPolicy;
    use crate::model::client_info::ClientInfo;

    #[test]
    fn only_trusted_callers_have_objects_of_git_read() {
        let asks = |three_way| PatchOptions { three_way, ..PatchOptions::default() };
        for (unread, transport, allowed) in [
            (UnreadPolicy::Allow, Some("cli"), true),
            (UnreadPolicy::Allow, Some("serve"), true),
            (UnreadPolicy::Allow, None, true),
            (UnreadPolicy::Allow, Some("mcp"), false),
            (UnreadPolicy::Deny, Some("cli"), false),
            (UnreadPolicy::Deny, Some("mcp"), false),
            (UnreadPolicy::Deny, None, false),
        ] {
            let client = transport.map(|transport| ClientInfo::new(transport, None));
            let caller = CallContext { unread, client, ..CallContext::default() };
            assert_eq!(check_allowed(&caller, asks(true)).is_ok(), allowed, "{unread:?} {transport:?}");
            assert!(check_allowed(&caller, asks(false)).is_ok(), "{unread:?} {transport:?}");
        }
    }
}
