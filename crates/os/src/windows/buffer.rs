//! Memory that a call fills.

/// Memory for the result of a read.
pub trait Buffer<T> {
    /// The result of the read.
    type Output;
    /// Lets a call fill the beginning of the memory; the call returns how much.
    ///
    /// Errors: those of the call.
    fn fill<E>(self, call: impl FnOnce(&mut [T]) -> Result<usize, E>) -> Result<Self::Output, E>;
}

impl Buffer<u8> for &mut [u8] {
    type Output = usize;

    fn fill<E>(self, call: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        call(self)
    }
}

impl<const N: usize> Buffer<u8> for &mut [u8; N] {
    type Output = usize;

    fn fill<E>(self, call: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        call(self)
    }
}

/// The unused memory of a list, to which a read appends.
pub struct SpareCapacity<'a>(&'a mut Vec<u8>);

/// Returns the unused memory of a list.
pub const fn spare_capacity(list: &mut Vec<u8>) -> SpareCapacity<'_> {
    SpareCapacity(list)
}

impl Buffer<u8> for SpareCapacity<'_> {
    type Output = usize;

    fn fill<E>(self, call: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        let (len, room) = (self.0.len(), self.0.capacity());
        self.0.resize(room, 0);
        let read = call(self.0.get_mut(len..).unwrap_or_default());
        self.0.truncate(len + read.as_ref().map_or(0, |read| *read));
        read
    }
}
