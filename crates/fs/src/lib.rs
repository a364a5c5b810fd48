//! Emendate's one door to the disk.

mod stamp;

pub use stamp::Stamp;
