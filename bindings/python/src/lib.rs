//! The module `emendate._emendate`: it translates between Python and the engine, and decides nothing.
//!
//! Every function releases the lock of the interpreter while it works. No type has mutable state, so the module declares
//! that free-threaded interpreters may keep their lock off.

mod bulk;
mod exception;
mod options;
mod outcome;
mod session;
mod session_outcome;
mod text_functions;
mod workspace;

use pyo3::prelude::*;

/// The memory of the engine; that of Python objects is Python's.
#[global_allocator]
static ALLOCATOR: emendate_os::Mimalloc = emendate_os::Mimalloc;

/// The native part of the package `emendate`.
#[pymodule(gil_used = false)]
mod _emendate {
    #[pymodule_export]
    use super::bulk::{apply_files_many, apply_many, convert_many, diff_many, reward_many, reward_row};
    #[pymodule_export]
    use super::outcome::{Applied, AppliedFiles, ChangedFile, ChangedSpan, PatchText, TextDiff};
    #[pymodule_export]
    use super::session::NativeSession;
    #[pymodule_export]
    use super::session_outcome::{ChangeOutcome, EditPlacement, FileChangeOutcome, ReadOutcome, UndoOutcome};
    #[pymodule_export]
    use super::text_functions::{
        apply, apply_files, convert, diff, edit, function_parameters, named_files, print_formats, similarity,
        text_formats,
    };
    #[pymodule_export]
    use super::workspace::{NativeHandle, NativeWorkspace, profile_rows, session_parameters, tool_rows};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
