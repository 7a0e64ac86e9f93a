/* A quantized net with incrementally updated accumulators. C ABI; no allocation, no globals that
 * change after nnue_load, so each thread of a search has an nnue of its own.
 *
 * A position is twelve bitboards, a1 = bit 0, h8 = bit 63, in the order
 * P p N n B b R r Q q K k: pieces[role * 2 + colour], capitals are White's. */
#ifndef NNUE_H
#define NNUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnue nnue; /* positions from the root of a search, with their accumulators */

enum { NNUE_PLIES = 256 }; /* positions that an nnue holds, the root included */
enum { NNUE_ROWS = @MOST_ACTIVE@ }; /* bound of the features that are active at once */

/* Read the weights, once, before anything else. NULL, or what is wrong. */
const char *nnue_load(const char *path);
const char *nnue_load_memory(const void *data, size_t size); /* of a file that was embedded */

size_t nnue_size(void);                                /* bytes of an nnue; aligned as by malloc */
void nnue_reset(nnue *n, const uint64_t pieces[12]);   /* a new root */
void nnue_push(nnue *n, const uint64_t pieces[12]);    /* after each move made, or null move */
void nnue_pop(nnue *n);                                /* after each move taken back */
int nnue_evaluate(nnue *n, int turn);                  /* centipawns for turn: 0 White, 1 Black */

/* For tests, after nnue_evaluate; view: 0 White's perspective, 1 Black's. */
int nnue_width(void);                                  /* numbers of an accumulator */
const int16_t *nnue_accumulator(const nnue *n, int view);
int nnue_active(const nnue *n, int view);              /* features that are active */
int nnue_rows(nnue *n, int view, int32_t *rows);       /* which they are, found anew; how many */

#ifdef __cplusplus
}
#endif
#endif
