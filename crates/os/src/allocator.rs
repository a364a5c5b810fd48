//! mimalloc as the allocator of a program or of a library that Python loads.
//!
//! The crate `mimalloc` always calls the functions that take an alignment. They cost a small allocation twice as many
//! instructions as those of `malloc`, which align every size as Rust needs it except in rare cases.
#![allow(unsafe_code, reason = "allocators and their functions in C are unsafe")]

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys as mi;

/// Alignment of every block of at least this size. A smaller block is aligned to its size.
const BLOCK_ALIGNMENT: usize = 16;

/// The allocator, for `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Mimalloc;

impl Mimalloc {
    /// Returns all memory that it keeps for later to the system.
    pub fn collect() {
        // SAFETY: the function only releases memory that nothing uses, and may be called at any time by any thread.
        unsafe { mi::mi_collect(true) };
    }
}

/// True if a block of this size is aligned without a request.
const fn is_aligned(size: usize, alignment: usize) -> bool {
    alignment <= BLOCK_ALIGNMENT && alignment <= size
}

// SAFETY: mimalloc takes its own locks, never unwinds, and returns blocks of at least the size, or null. Blocks that it
// aligned on request are freed and resized by the same functions as all others.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: the size is not zero, and the alignment is a power of two.
        unsafe {
            if is_aligned(size, alignment) { mi::mi_malloc(size) } else { mi::mi_malloc_aligned(size, alignment) }
        }
        .cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: the size is not zero, and the alignment is a power of two.
        unsafe {
            if is_aligned(size, alignment) { mi::mi_zalloc(size) } else { mi::mi_zalloc_aligned(size, alignment) }
        }
        .cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block is one of this allocator.
        unsafe { mi::mi_free(block.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let alignment = layout.align();
        // SAFETY: the block is one of this allocator, the size is not zero, and the alignment is a power of two.
        unsafe {
            if is_aligned(size, alignment) {
                mi::mi_realloc(block.cast(), size)
            } else {
                mi::mi_realloc_aligned(block.cast(), size, alignment)
            }
        }
        .cast()
    }
}

#[cfg(test)]
mod tests {
    use super::Mimalloc;
    use std::alloc::{GlobalAlloc as _, Layout};

    #[test]
    fn blocks_are_aligned_and_keep_their_bytes() {
        for alignment in (0..13).map(|bits| 1 << bits) {
            let is_aligned = |block: *mut u8| block.addr().is_multiple_of(alignment);
            for size in (1..200).chain([1000, 4096, 10_000, 100_000, 3_000_000]) {
                let layout = Layout::from_size_align(size, alignment).unwrap();
                // SAFETY: the sizes are not zero, and every block is freed once, with its layout.
                unsafe {
                    let zeroed = Mimalloc.alloc_zeroed(layout);
                    let block = Mimalloc.alloc(layout);
                    assert!(is_aligned(zeroed) && is_aligned(block), "{layout:?}");
                    assert!((0..size).all(|at| *zeroed.add(at) == 0), "{layout:?}");
                    block.write_bytes(7, size);
                    let larger = Mimalloc.realloc(block, layout, size * 3);
                    assert!(is_aligned(larger), "{layout:?}");
                    assert!((0..size).all(|at| *larger.add(at) == 7), "{layout:?}");
                    let smaller = Mimalloc.realloc(larger, Layout::from_size_align(size * 3, alignment).unwrap(), 1);
                    assert!(is_aligned(smaller) && *smaller == 7, "{layout:?}");
                    Mimalloc.dealloc(smaller, Layout::from_size_align(1, alignment).unwrap());
                    Mimalloc.dealloc(zeroed, layout);
                }
            }
        }
    }
}
