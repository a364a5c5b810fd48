//! Tests the command as a process: interactive use, use by programs, and adverse conditions of the machine.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unnecessary_debug_formatting,
    reason = "tests look at the disk, start processes and say what they left out; what fails here fails the test"
)]

mod advice;
mod around;
mod bulk;
#[cfg(feature = "parquet")]
mod bulk_parquet;
mod client_hooks;
mod clients;
mod damage;
mod dry_run;
mod dying;
mod elsewhere;
mod events;
mod files;
mod follow;
mod for_people;
mod git_apply;
mod hook;
mod hostile;
mod irreversible;
mod limits;
mod machine;
mod many_files;
mod mounts;
mod owners_changes;
mod parsing;
mod past;
mod patch_options;
mod preview;
mod prompt;
mod python_client;
mod questions;
mod remarks;
mod servers;
mod sessions;
mod setup;
mod simultaneous;
mod state;
mod unfinished;
mod waiting_calls;
mod workspace;
