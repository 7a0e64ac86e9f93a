/* See nnue.h. The tables and sizes of this net are in nnue_tables.h.
 *
 * A feature set is a sum of terms. A feature of a term is a tuple of rows, one of each factor, and
 * active where all of them are. A term of one factor whose rows depend on a piece and its square
 * ("direct") is updated by what has changed on the board; rows that several pieces or squares share
 * are counted. The active rows of all other terms are listed, and compared with those before. */
#include "nnue.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { PLACES = 768, TURNED = 64 | 56, KING = 10 }; /* a place is piece * 64 + square */
enum { BY_PLACE, BY_COUNT, OF_PAIRS, ON_LINES };

typedef struct {
    int kind;
    bool shared;            /* whether several places may make one row active */
    const uint8_t *classes; /* [64] by square of the own king: which of the tables */
    const int32_t *rows;    /* BY_PLACE [classes][768], BY_COUNT [33] by number of pieces, */
                            /* OF_PAIRS [n][n] by numbers of places, ON_LINES [n][144]; -1 none */
    const int16_t *numbers; /* OF_PAIRS [768]: number of a place, -1 none */
    const uint8_t *squares; /* ON_LINES [n][8]: squares in order, 64 behind the last */
    int n;
} factor;

typedef struct {
    int32_t offset;  /* feature = offset + sum of row * stride over the factors */
    int32_t counted; /* direct: where its counts begin, -1 where no row is shared */
    int first, n;    /* factors */
} term;

#include "nnue_tables.h"

typedef struct {
    uint64_t pieces[12];
    bool computed[2];
    int active[2];
    int n_listed[2];
    int32_t listed[2][LISTED];  /* active features of the terms that are not direct */
    uint8_t counts[2][COUNTED]; /* pieces that make each shared row active */
    int16_t accumulator[2][L1];
} ply;

struct nnue {
    int top;
    uint8_t mark[FEATURES]; /* scratch, all 0 */
    ply plies[NNUE_PLIES];
};

typedef struct {
    int n;
    int32_t rows[MOST_ACTIVE];
} list;

static struct {
    int16_t w1[FEATURES][L1], b1[L1];
    int8_t w2[BUCKETS][L2][2 * L1];
    int32_t b2[BUCKETS][L2];
#if L3
    int8_t wh[BUCKETS][L3][L2];
    int32_t bh[BUCKETS][L3];
#endif
    int16_t w3[BUCKETS][L3 ? L3 : L2];
    int32_t b3[BUCKETS];
} net;
enum { BLOCKS = (2 * L1 + 3) / 4, SUMS = (L2 + 7) / 8 * 8 };
/* w2 by blocks of four inputs: a block of zeros, as most are, is skipped. Padded with zeros. */
static int8_t blocks[BUCKETS][BLOCKS][SUMS][4];
static ply empty; /* a board without pieces: the accumulators are the biases */

static int lowest(uint64_t set) { return __builtin_ctzll(set); }

static int count(uint64_t set) { return __builtin_popcountll(set); }

/* Weights ------------------------------------------------------------------------------------- */

const char *nnue_load_memory(const void *data, size_t size) {
    const unsigned char *bytes = data;
    uint32_t a = 1, b = 0; /* Adler-32 */
    if (size != WEIGHT_BYTES) return "the file of weights has the wrong size for this code";
    for (size_t i = 0; i < size; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    if ((b << 16 | a) != CHECKSUM) return "the file of weights is damaged, or of another net";
#define READ(array) (memcpy(array, bytes, sizeof array), bytes += sizeof array)
    READ(net.w1), READ(net.b1), READ(net.w2), READ(net.b2);
#if L3
    READ(net.wh), READ(net.bh);
#endif
    READ(net.w3), READ(net.b3);
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (int i = 0; i < L2; i++)
            for (int j = 0; j < 2 * L1; j++)
                blocks[bucket][j / 4][i][j % 4] = net.w2[bucket][i][j];
    for (int view = 0; view < 2; view++) memcpy(empty.accumulator[view], net.b1, sizeof net.b1);
    return NULL;
}

const char *nnue_load(const char *path) {
    static unsigned char bytes[WEIGHT_BYTES + 1];
    FILE *file = fopen(path, "rb");
    if (!file) return "the file of weights can't be opened";
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return nnue_load_memory(bytes, size);
}

/* Features ------------------------------------------------------------------------------------ */

static int own_king(const ply *p, int view) {
    return lowest(p->pieces[KING + view]) ^ (view ? 56 : 0);
}

static void append(const factor *f, list *out, int32_t row) {
    if (row < 0) return;
    for (int i = 0; f->shared && i < out->n; i++)
        if (out->rows[i] == row) return;
    out->rows[out->n++] = row;
}

/* Places of all pieces as a perspective sees them, and the piece on each square, 12 for none. */
static int places_of(const ply *p, int view, int places[32], uint8_t board[65]) {
    int n = 0;
    memset(board, 12, 65);
    for (int piece = 0; piece < 12; piece++)
        for (uint64_t set = p->pieces[piece]; set; set &= set - 1) {
            int place = (piece * 64 + lowest(set)) ^ (view ? TURNED : 0);
            board[place % 64] = (uint8_t)(place / 64);
            places[n++] = place;
        }
    return n;
}

static void active_of_factor(const factor *f, const ply *p, int view, list *out) {
    int places[32];
    uint8_t board[65];
    int n = places_of(p, view, places, board);
    out->n = 0;
    if (f->kind == BY_PLACE) {
        const int32_t *rows = f->rows + PLACES * f->classes[own_king(p, view)];
        for (int i = 0; i < n; i++) append(f, out, rows[places[i]]);
    } else if (f->kind == BY_COUNT) {
        append(f, out, f->rows[n]);
    } else if (f->kind == OF_PAIRS) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) {
                int a = f->numbers[places[i]], b = f->numbers[places[j]];
                if (a >= 0 && b >= 0) append(f, out, f->rows[a * f->n + b]);
            }
    } else {
        for (int line = 0; line < f->n; line++)
            for (int i = 0, before = 12; i < 8; i++) {
                int piece = board[f->squares[line * 8 + i]];
                if (piece == 12) continue;
                if (before < 12) append(f, out, f->rows[line * 144 + before * 12 + piece]);
                before = piece;
            }
    }
}

/* Appends the active features of a term: all tuples of its factors' active rows. */
static int active_of_term(const term *t, const ply *p, int view, int32_t *out, int n) {
    int start = n;
    out[n++] = t->offset;
    for (int f = t->first; f < t->first + t->n; f++) {
        list rows;
        active_of_factor(&factors[f], p, view, &rows);
        int found = n - start;
        for (int i = rows.n - 1; i >= 0; i--) /* the first row last: it overwrites what others read */
            for (int j = 0; j < found; j++)
                out[start + i * found + j] = out[start + j] + rows.rows[i] * strides[f];
        n = start + rows.n * found;
    }
    return n;
}

static void change_listed(nnue *n, const ply *from, ply *to, int view, list *added, list *removed) {
    int32_t *now = to->listed[view];
    const int32_t *before = from->listed[view];
    int n_now = 0, n_before = from->n_listed[view];
    for (int t = DIRECT; t < TERMS; t++) n_now = active_of_term(&terms[t], to, view, now, n_now);
    for (int i = 0; i < n_before; i++) n->mark[before[i]] = 1;
    for (int i = 0; i < n_now; i++) {
        uint8_t *mark = &n->mark[now[i]];
        if (!*mark) added->rows[added->n++] = now[i];
        *mark = 0;
    }
    for (int i = 0; i < n_before; i++) {
        uint8_t *mark = &n->mark[before[i]];
        if (*mark) removed->rows[removed->n++] = before[i];
        *mark = 0;
    }
    to->n_listed[view] = n_now;
}

/* Whether the tables of a direct term change with the square of the own king. */
static bool changes_tables(const ply *from, const ply *to, int view) {
    int before = own_king(from, view), now = own_king(to, view);
    for (int t = 0; t < DIRECT; t++) {
        const uint8_t *classes = factors[terms[t].first].classes;
        if (classes[before] != classes[now]) return true;
    }
    return false;
}

/* What comes (or goes) with the pieces of `here` that are not `there`. */
static void change_direct(const ply *here, const ply *there, int view, int king, bool comes,
                          uint8_t *counts, list *out) {
    for (int piece = 0; piece < 12; piece++)
        for (uint64_t set = here->pieces[piece] & ~there->pieces[piece]; set; set &= set - 1) {
            int place = (piece * 64 + lowest(set)) ^ (view ? TURNED : 0);
            for (int t = 0; t < DIRECT; t++) {
                const factor *f = &factors[terms[t].first];
                int32_t row = f->rows[PLACES * f->classes[king] + place];
                if (row < 0) continue;
                if (terms[t].counted >= 0) {
                    uint8_t *counted = &counts[terms[t].counted + row];
                    if (comes ? (*counted)++ : --*counted) continue;
                }
                out->rows[out->n++] = terms[t].offset + row;
            }
        }
}

/* Accumulators -------------------------------------------------------------------------------- */

static void add_rows(int16_t *restrict to, const int16_t *from, const list *added,
                     const list *removed) {
    int both = added->n < removed->n ? added->n : removed->n;
    memcpy(to, from, L1 * sizeof *to);
    for (int k = 0; k < both; k++) {
        const int16_t *plus = net.w1[added->rows[k]], *minus = net.w1[removed->rows[k]];
        for (int i = 0; i < L1; i++) to[i] = (int16_t)(to[i] + plus[i] - minus[i]);
    }
    for (int k = both; k < added->n; k++) {
        const int16_t *plus = net.w1[added->rows[k]];
        for (int i = 0; i < L1; i++) to[i] = (int16_t)(to[i] + plus[i]);
    }
    for (int k = both; k < removed->n; k++) {
        const int16_t *minus = net.w1[removed->rows[k]];
        for (int i = 0; i < L1; i++) to[i] = (int16_t)(to[i] - minus[i]);
    }
}

/* Computes the accumulator of a perspective from the one of another position, or of `empty`. */
static void update(nnue *n, const ply *from, ply *to, int view) {
    list added, removed;
    added.n = removed.n = 0;
    int king = own_king(to, view);
    uint8_t *counts = to->counts[view];
    memcpy(counts, from->counts[view], COUNTED);
    /* What comes is counted first, so a row that one piece leaves to another stays. */
    change_direct(to, from, view, king, true, counts, &added);
    change_direct(from, to, view, king, false, counts, &removed);
    if (TERMS > DIRECT) change_listed(n, from, to, view, &added, &removed);
    to->active[view] = from->active[view] + added.n - removed.n;
    if (from != &empty && added.n + removed.n > to->active[view]) {
        update(n, &empty, to, view);
        return;
    }
    add_rows(to->accumulator[view], from->accumulator[view], &added, &removed);
    to->computed[view] = true;
}

static void update_to_top(nnue *n, int view) {
    ply *to = &n->plies[n->top];
    const ply *from = to;
    while (!from->computed[view] && from > n->plies) from--;
    if (from == to && to->computed[view]) return;
    bool usable = from->computed[view] && !changes_tables(from, to, view);
    update(n, usable ? from : &empty, to, view);
}

/* Inference ----------------------------------------------------------------------------------- */

static inline uint8_t activated(int32_t sum, int shift) {
#if SQUARED
    int32_t most = 127 << shift, v = sum < 0 ? 0 : sum;
    v = v > most ? most : v;
    return (uint8_t)((v * v + (1 << (6 + 2 * shift))) >> (7 + 2 * shift));
#else
    sum >>= shift;
    sum = sum < 0 ? 0 : sum;
    return (uint8_t)(sum > 127 ? 127 : sum);
#endif
}

/* The sums of the second layer, without its biases. */
static void add_blocks(int32_t sums[SUMS], const int8_t weights[BLOCKS][SUMS][4],
                       const uint8_t *x) {
    int n = 0, used[BLOCKS];
    int32_t fours[BLOCKS];
    memcpy(fours, x, sizeof fours);
    for (int block = 0; block < BLOCKS; block++) {
        used[n] = block;
        n += fours[block] != 0;
    }
#ifdef __AVX2__
    const __m256i ones = _mm256_set1_epi16(1);
    for (int i = 0; i < SUMS; i += 8) {
        __m256i sum = _mm256_setzero_si256();
        for (int k = 0; k < n; k++) { /* 2 * 127 * 128 fits int16: nothing saturates */
            __m256i row = _mm256_loadu_si256((const void *)weights[used[k]][i]);
            __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi32(fours[used[k]]), row);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
        }
        _mm256_storeu_si256((void *)&sums[i], sum);
    }
#else
    memset(sums, 0, SUMS * sizeof *sums);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < SUMS; i++)
            for (int j = 0; j < 4; j++) sums[i] += weights[used[k]][i][j] * x[4 * used[k] + j];
#endif
}

static void activate(uint8_t *restrict x, const int16_t *restrict accumulator) {
    for (int i = 0; i < L1; i++) x[i] = activated(accumulator[i], SHIFT1);
}

static int forward(const ply *p, int turn) {
    uint8_t x[4 * BLOCKS] = {0}, y[L2];
    int32_t sums[SUMS];
    int pieces = 0;
    for (int piece = 0; piece < 12; piece++) pieces += count(p->pieces[piece]);
    int bucket = (pieces - 1) * BUCKETS / 32;
    activate(x, p->accumulator[turn]);
    activate(x + L1, p->accumulator[turn ^ 1]);
    add_blocks(sums, blocks[bucket], x);
    for (int i = 0; i < L2; i++) y[i] = activated(net.b2[bucket][i] + sums[i], SHIFT2);
    const uint8_t *last = y;
#if L3
    uint8_t z[L3];
    for (int i = 0; i < L3; i++) {
        int32_t sum = net.bh[bucket][i];
        for (int j = 0; j < L2; j++) sum += net.wh[bucket][i][j] * y[j];
        z[i] = activated(sum, SHIFT3);
    }
    last = z;
#endif
    int64_t value = net.b3[bucket];
    for (int i = 0; i < (L3 ? L3 : L2); i++) value += net.w3[bucket][i] * last[i];
    return (int)(value >> SHIFT_OUT);
}

/* Interface ----------------------------------------------------------------------------------- */

size_t nnue_size(void) { return sizeof(nnue); }

int nnue_width(void) { return L1; }

const int16_t *nnue_accumulator(const nnue *n, int view) { return n->plies[n->top].accumulator[view]; }

int nnue_active(const nnue *n, int view) { return n->plies[n->top].active[view]; }

static void set_top(nnue *n, const uint64_t pieces[12]) {
    ply *p = &n->plies[n->top];
    memcpy(p->pieces, pieces, sizeof p->pieces);
    p->computed[0] = p->computed[1] = false;
}

void nnue_reset(nnue *n, const uint64_t pieces[12]) {
    memset(n->mark, 0, sizeof n->mark);
    n->top = 0;
    set_top(n, pieces);
}

void nnue_push(nnue *n, const uint64_t pieces[12]) {
    assert(n->top + 1 < NNUE_PLIES);
    n->top++;
    set_top(n, pieces);
}

void nnue_pop(nnue *n) {
    assert(n->top > 0);
    n->top--;
}

int nnue_evaluate(nnue *n, int turn) {
    update_to_top(n, 0);
    update_to_top(n, 1);
    return forward(&n->plies[n->top], turn);
}
