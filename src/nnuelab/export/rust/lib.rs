#![doc = include_str!("../README.md")]

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void}; // in std::ffi since 1.64, and Debian has 1.63
use std::{ptr::NonNull, slice, sync::Once};

mod c {
    use super::{c_char, c_int, c_void};
    extern "C" {
        pub fn nnue_load_memory(data: *const c_void, size: usize) -> *const c_char;
        pub fn nnue_size() -> usize;
        pub fn nnue_reset(n: *mut c_void, pieces: *const u64);
        pub fn nnue_push(n: *mut c_void, pieces: *const u64);
        pub fn nnue_pop(n: *mut c_void);
        pub fn nnue_evaluate(n: *mut c_void, turn: c_int) -> c_int;
        pub fn nnue_width() -> c_int;
        pub fn nnue_accumulator(n: *const c_void, view: c_int) -> *const i16;
        pub fn nnue_rows(n: *mut c_void, view: c_int, rows: *mut i32) -> c_int;
    }
}

/// Positions that a [`Stack`] holds, the root included.
pub const PLIES: usize = 256;
const ROWS: usize = @MOST_ACTIVE@;
static WEIGHTS: &[u8] = include_bytes!("../nnue.bin");
static LOADED: Once = Once::new();

/// Twelve bitboards by role * 2 + colour, in the order P p N n B b R r Q q K k; a1 is bit 0.
pub type Pieces = [u64; 12];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    White,
    Black,
}

/// The positions from the root of a search with their accumulators: one for each thread.
pub struct Stack {
    memory: NonNull<c_void>,
    top: usize,
}

// The memory is a stack's own, and the weights don't change once they are loaded.
unsafe impl Send for Stack {}

impl Stack {
    /// A stack with its root. Panics, as [`Stack::push`] does, if `pieces` can't be on a board.
    pub fn new(pieces: &Pieces) -> Stack {
        LOADED.call_once(|| unsafe {
            let error = c::nnue_load_memory(WEIGHTS.as_ptr().cast(), WEIGHTS.len());
            assert!(error.is_null(), "nnue.bin: {:?}", CStr::from_ptr(error));
        });
        let layout = Stack::layout();
        let memory = unsafe { alloc_zeroed(layout) };
        let memory = NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout));
        let mut stack = Stack { memory, top: 0 };
        stack.reset(pieces);
        stack
    }

    fn layout() -> Layout {
        Layout::from_size_align(unsafe { c::nnue_size() }, 64).unwrap()
    }

    /// A new root.
    pub fn reset(&mut self, pieces: &Pieces) {
        check(pieces);
        self.top = 0;
        unsafe { c::nnue_reset(self.memory.as_ptr(), pieces.as_ptr()) }
    }

    /// After each move made, a null move, too. Panics where the stack is full.
    pub fn push(&mut self, pieces: &Pieces) {
        assert!(self.top + 1 < PLIES, "a stack holds {PLIES} positions; reset it between moves of a game");
        check(pieces);
        self.top += 1;
        unsafe { c::nnue_push(self.memory.as_ptr(), pieces.as_ptr()) }
    }

    /// After each move taken back. Panics at the root.
    pub fn pop(&mut self) {
        assert!(self.top > 0, "nothing was pushed");
        self.top -= 1;
        unsafe { c::nnue_pop(self.memory.as_ptr()) }
    }

    /// Centipawns for `turn`.
    pub fn evaluate(&mut self, turn: Color) -> i32 {
        unsafe { c::nnue_evaluate(self.memory.as_ptr(), turn as c_int) }
    }

    /// For tests, after [`Stack::evaluate`]: the accumulator of a perspective.
    pub fn accumulator(&self, view: Color) -> &[i16] {
        unsafe {
            let numbers = c::nnue_accumulator(self.memory.as_ptr(), view as c_int);
            slice::from_raw_parts(numbers, c::nnue_width() as usize)
        }
    }

    /// For tests: the active features of a perspective, found anew, in no order.
    pub fn rows(&mut self, view: Color) -> Vec<i32> {
        let mut rows = vec![0; ROWS];
        let n = unsafe { c::nnue_rows(self.memory.as_ptr(), view as c_int, rows.as_mut_ptr()) };
        rows.truncate(n as usize);
        rows
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        unsafe { dealloc(self.memory.as_ptr().cast(), Stack::layout()) }
    }
}

/// The C code relies on this.
fn check(pieces: &Pieces) {
    const EDGES: u64 = 0xff00_0000_0000_00ff;
    let (mut all, mut n) = (0, [0, 0]);
    for (i, set) in pieces.iter().enumerate() {
        assert!(all & set == 0, "two pieces on one square");
        all |= set;
        n[i % 2] += set.count_ones();
    }
    assert!(n[0] <= 16 && n[1] <= 16, "more than 16 pieces of a colour");
    assert!((pieces[0] | pieces[1]) & EDGES == 0, "a pawn on the first or last rank");
    assert!(pieces[10].count_ones() == 1 && pieces[11].count_ones() == 1, "each side has one king");
}

/// The pieces of a FEN, and whose turn it is; `None` where it has no board of 64 squares and a side.
pub fn parse_fen(fen: &str) -> Option<(Pieces, Color)> {
    let mut fields = fen.split_whitespace();
    let (mut pieces, mut ranks) = ([0; 12], 0);
    for (rank, text) in fields.next()?.split('/').enumerate() {
        let mut file = 0;
        for code in text.chars() {
            if let Some(empty @ 1..=8) = code.to_digit(10) {
                file += empty;
            } else {
                let piece = "PpNnBbRrQqKk".find(code)?;
                pieces[piece] |= 1u64.checked_shl(56u32.checked_sub(8 * rank as u32)? + file)?;
                file += 1;
            }
            if file > 8 {
                return None;
            }
        }
        ranks += (file == 8) as u32;
    }
    let turn = match fields.next()? {
        "w" => Color::White,
        "b" => Color::Black,
        _ => return None,
    };
    (ranks == 8).then_some((pieces, turn))
}

/// Centipawns for the side to move, from scratch: to try the net. `None` as [`parse_fen`].
pub fn evaluate_fen(fen: &str) -> Option<i32> {
    let (pieces, turn) = parse_fen(fen)?;
    Some(Stack::new(&pieces).evaluate(turn))
}
