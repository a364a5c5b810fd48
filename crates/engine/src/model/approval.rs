//! A person's answer to a question.

use std::path::PathBuf;

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The seal of the question.
    pub seal: String,
    /// Yes or no.
    pub agreed: bool,
    /// The texts to write instead of the proposed ones, by path.
    pub texts: Vec<(PathBuf, String)>,
    /// The reason of a no, for the model.
    pub reason: Option<String>,
    /// The seal is the digest of a stored question: another process may have asked. It permits exactly that change,
    /// even if the rule that asked is gone.
    pub is_stored: bool,
}
