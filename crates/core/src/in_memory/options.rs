//! Options of the functions on text in memory.

use crate::locate::op::{Matching, ResolveSettings};
use crate::parameters::ArgumentStyle;
use crate::work::WORK_STEPS_MAX;

/// Maximum bytes of each text that one call receives, by default.
const INPUT_BYTES_DEFAULT: usize = 64 << 20;

/// Limits of one call. They bound its time and memory. Whether an input exceeds them depends on the input alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ApplyLimits {
    /// Bytes of the patch, and of each text that it is applied to.
    pub input_bytes: usize,
    /// Steps of work; a step is about one comparison of two lines, or a scan of 16 bytes.
    pub work_steps: u64,
}

impl Default for ApplyLimits {
    /// Returns the default limits: 64 MiB, and the steps that the engine allows for one call.
    fn default() -> ApplyLimits {
        ApplyLimits { input_bytes: INPUT_BYTES_DEFAULT, work_steps: WORK_STEPS_MAX }
    }
}

crate::setters! {
    impl ApplyLimits {
        /// Sets the bytes of the patch, and of each text.
        input_bytes(bytes: usize) { input_bytes = bytes }
        /// Sets the steps of work.
        work_steps(steps: u64) { work_steps = steps }
    }
}

/// Options of [`apply`](crate::apply), [`apply_files`](crate::apply_files), [`edit`](crate::edit) and
/// [`convert`](crate::convert).
///
/// ```
/// use emendate_core::{ApplyOptions, Matching};
///
/// let options = ApplyOptions::new().format("unified_diff").path("src/main.rs").matching(Matching::Strict);
/// assert_eq!(options.format.as_deref(), Some("unified_diff"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ApplyOptions {
    /// The format of the patch, by name; `None`: it is detected.
    pub format: Option<String>,
    /// The path of the text. [`apply`](crate::apply) needs none; a patch that names no file refers to this one, and the
    /// extension decides whether a fence around a whole file can be intended.
    pub path: Option<String>,
    /// Tolerance of the matching cascade.
    pub matching: Matching,
    /// Only for [`edit`](crate::edit): replaces every occurrence, not the only one.
    pub replace_all: bool,
    /// Leading directories to strip from every name, like `-p` of `git apply`; `None`: prefixes are detected.
    pub strip: Option<usize>,
    /// Reverses every change of a patch.
    pub reverse: bool,
    /// Lets created and moved files replace existing ones.
    pub overwrite: bool,
    /// Accepts lines of the new text that look like placeholders for omitted text as they are.
    pub placeholders_meant: bool,
    /// Limits of the call.
    pub limits: ApplyLimits,
    /// How errors write arguments of the call.
    pub argument_style: ArgumentStyle,
}

impl ApplyOptions {
    /// Returns the default options: the format is detected, and all tiers of the cascade are tried.
    pub fn new() -> ApplyOptions {
        ApplyOptions::default()
    }

    /// The settings for resolving operations.
    pub(super) fn settings(&self) -> ResolveSettings {
        ResolveSettings { matching: self.matching, omissions: self.placeholders_meant, ..ResolveSettings::default() }
    }
}

crate::setters! {
    impl ApplyOptions {
        /// Sets the format of the patch: one of [`text_formats`](crate::formats::text_formats).
        format(name: impl Into<String>) { format = Some(name.into()) }
        /// Sets the path of the text.
        path(path: impl Into<String>) { path = Some(path.into()) }
        /// Sets the tolerance of the matching cascade.
        matching(matching: Matching) { matching = matching }
        /// If true, replaces every occurrence.
        replace_all(all: bool) { replace_all = all }
        /// Strips this number of leading directories from every name in a patch.
        strip(directories: usize) { strip = Some(directories) }
        /// If true, reverses every change of a patch.
        reverse(reverse: bool) { reverse = reverse }
        /// If true, created and moved files may replace existing ones.
        overwrite(overwrite: bool) { overwrite = overwrite }
        /// If true, accepts lines that look like placeholders as they are.
        placeholders_meant(meant: bool) { placeholders_meant = meant }
        /// Sets the limits of the call.
        limits(limits: ApplyLimits) { limits = limits }
        /// Sets how errors write arguments of the call.
        argument_style(style: ArgumentStyle) { argument_style = style }
    }
}
