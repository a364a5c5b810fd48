//! Users and limits. On Windows the access control list of a file says to whom it belongs, so all users and groups have
//! one number here.

/// The number of every user and group.
const ANYBODY: u32 = 1000;

/// A user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User(u32);

impl User {
    /// The number.
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

/// Returns the user of this process.
pub const fn geteuid() -> User {
    User(ANYBODY)
}

/// Something that other systems limit.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    /// Size of a file.
    Fsize,
}

/// A limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rlimit {
    /// The limit; `None` if there is none.
    pub current: Option<u64>,
}

/// Returns a limit: there are none.
pub const fn getrlimit(_resource: Resource) -> Rlimit {
    Rlimit { current: None }
}
