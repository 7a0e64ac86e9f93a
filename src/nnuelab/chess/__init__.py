"""Chess itself, in numba: bitboards, legal moves, notation, perft. Imports jit and errors alone."""
