//! The kind of the change of one file, and its words.

/// The kind of the change of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Create,
    Update,
    Delete,
    Move,
    Copy,
    /// The path is a symbolic link afterwards.
    Link,
}

impl ChangeKind {
    /// The word in data, and the participle in sentences.
    const fn words(self) -> [&'static str; 2] {
        match self {
            ChangeKind::Create => ["create", "created"],
            ChangeKind::Update => ["update", "updated"],
            ChangeKind::Delete => ["delete", "deleted"],
            ChangeKind::Move => ["move", "moved"],
            ChangeKind::Copy => ["copy", "copied"],
            ChangeKind::Link => ["link", "linked"],
        }
    }

    /// The word in data.
    pub(crate) const fn name(self) -> &'static str {
        self.words()[0]
    }

    /// The word in a sentence: the file was …
    pub(crate) const fn participle(self) -> &'static str {
        self.words()[1]
    }
}
