/* See nnue.h. The tables and sizes of this net are in nnue_tables.h.
 *
 * A feature set is a sum of terms. A feature of a term is a tuple of rows, one of each factor, and
 * active where all of them are. A term of one factor whose rows depend on a piece and its square
 * ("direct") is updated by what has changed on the board; rows that several pieces or squares share
 * are counted. One whose rows are pairs of pieces or squares of sets ("compared") is updated by what
 * has changed in these. The active rows of all other terms are listed, and compared with those before. */
#include "nnue.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

enum { PLACES = 768, TURNED = 64 | 56, KING = 10 }; /* a place is piece * 64 + square */
enum { BY_PLACE, BY_COUNT, OF_PAIRS, ON_LINES, OF_SQUARES, OF_NUMBERS, OF_TARGETS };

#if MORE_KINDS
/* Rows of the other kinds are BY_COUNT [33] by number of pieces, OF_PAIRS [n][n] by numbers of
 * places, ON_LINES [n][144] by first * 12 + second piece, OF_SQUARES [12][64], OF_NUMBERS [n][65]
 * by number of squares, OF_TARGETS [768][n] of the lowest target, by victim, the next is 1 more. */
#endif
typedef struct {
    int kind;
    bool shared;            /* whether several places may make one row active */
    const uint8_t *classes; /* [64] by square of the own king: which of the tables */
    const int32_t *rows;    /* BY_PLACE [classes][768]; -1 none */
#if HAS_OF_PAIRS
    const int16_t *numbers; /* OF_PAIRS [768]: number of a place, -1 none */
#endif
#if HAS_ON_LINES
    const uint8_t *squares; /* ON_LINES [n][8]: squares in order, 64 behind the last */
#endif
#if HAS_OF_TARGETS
    const uint64_t *masks; /* OF_TARGETS: targets by place, then where each victim can stand */
#endif
#if CHOOSES
    const int32_t *chosen; /* [classes][size] new numbers of the rows, -1 none; or NULL */
#endif
    int n;
#if SETS
    int set; /* number of its first set among those of a position */
#endif
#if CHOOSES
    int size; /* of each table of `chosen` */
#endif
} factor;

typedef struct {
    int32_t offset;  /* feature = offset + sum of row * stride over the factors */
    int32_t counted; /* direct: where its counts begin, -1 where no row is shared */
    int first, n;    /* factors */
} term;

static int lowest(uint64_t set) { return __builtin_ctzll(set); }
#define count(set) __builtin_popcountll(set)

#if SETS
#include "nnue_squares.h"
#endif
#include "nnue_tables.h"

/* Accumulators end with zeros, up to a whole number of tiles. A tile stays in registers. */
#if defined __AVX512BW__
enum { LANES = 32, LARGEST_TILE = 256 };
#else
enum { LANES = 16, LARGEST_TILE = 128 };
#endif
#if PAIRWISE /* neurons i and APART + i make one input; those behind the last have weights of 0 */
enum { SIDE = L1 / 2, APART = SIDE, INPUTS = (SIDE + 31) / 32 * 32, WIDTH = (APART + INPUTS + 63) / 64 * 64 };
#else
enum { SIDE = L1, APART = 0, INPUTS = (L1 + 63) / 64 * 64, WIDTH = INPUTS };
#endif
enum { SPAN = WIDTH % LARGEST_TILE ? 128 : LARGEST_TILE, TILE = WIDTH % 128 ? 64 : SPAN, LAST = L2 ? OUTPUTS * (L3 ? L3 : L2) : 2 * L1 };
#if L2
enum { SUMS = (L2 + 7) / 8 * 8, SUMS_TILE = SUMS % 32 ? 8 : 32, BLOCKS = 2 * INPUTS / 4 };
typedef uint16_t numbers __attribute__((vector_size(16), aligned(2), may_alias)); /* of blocks */
#endif

#if NARROW
typedef int16_t lanes __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef int8_t weight, weights __attribute__((vector_size(LANES), aligned(1), may_alias)); /* of a row */
#define WIDE(row) __builtin_convertvector(*(const weights *)(row), lanes)
#else
typedef int16_t weight, lanes __attribute__((vector_size(2 * LANES), aligned(2), may_alias)); /* of a row */
#define WIDE(row) (*(const lanes *)(row))
#endif

typedef struct {
    int active;
#if LISTED
    int n_listed;
#endif
    int16_t accumulator[WIDTH];
#if PSQT
    int64_t psqt[PSQT]; /* sums of its features' own values */
#endif
    uint8_t counts[COUNTED]; /* pieces that make each shared row active */
#if LISTED
    int32_t listed[LISTED]; /* active features of the terms that are not direct */
#endif
} side;

typedef struct {
    uint64_t pieces[12];
#if SETS
    bool found;          /* whether the sets are */
    uint64_t sets[SETS]; /* as White sees them: by piece, OF_TARGETS by the piece's square */
#endif
#if HAS_OF_TARGETS
    uint8_t board[64]; /* piece on each square, 12 for none */
#endif
    bool computed[2];
    side sides[2];
} ply;

struct nnue {
    int top;
    bool cached[2][KEYS];
    ply cache[2][KEYS];     /* the last position refreshed, by the class of the own king's square */
#if LISTED
    uint8_t mark[FEATURES]; /* scratch, all 0 */
#endif
    ply plies[NNUE_PLIES];
};

typedef struct {
    int n;
    int32_t rows[MOST_ACTIVE + 1]; /* the last may be written, but never counts */
} list;

typedef struct {
    int n_come, n_gone;
    int come[64], gone[64];     /* places */
    list added[2], removed[2]; /* by perspective, first of the compared terms */
} changes;

static struct {
    _Alignas(64) weight w1[FEATURES][WIDTH];
#if L2
    _Alignas(64) int8_t w2[BUCKETS][BLOCKS + 1][SUMS][4]; /* by blocks of four inputs, the last is 0 */
    _Alignas(64) int32_t b2[BUCKETS][SUMS];
    numbers listed[256]; /* the bits that are set, then anything */
#endif
#if L3
    int8_t wh[BUCKETS][L3][OUTPUTS * L2];
    int32_t bh[BUCKETS][L3];
#endif
    int16_t w3[BUCKETS][LAST];
    int32_t b3[BUCKETS];
#if PSQT
    int32_t psqt[FEATURES][PSQT];
#endif
} net;
static ply empty; /* a board without pieces: the accumulators are the biases */

/* Weights ------------------------------------------------------------------------------------- */

const char *nnue_load_memory(const void *data, size_t size) {
    const unsigned char *bytes = data;
    uint32_t a = 1, b = 0; /* Adler-32 */
    if (size != WEIGHT_BYTES) return "the file of weights has the wrong size for this code";
    for (size_t i = 0; i < size; i++) a = (a + bytes[i]) % 65521, b = (b + a) % 65521;
    if ((b << 16 | a) != CHECKSUM) return "the file of weights is damaged, or of another net";
#define READ(array) (memcpy(array, bytes, sizeof array), bytes += sizeof array)
    for (int row = 0; row < FEATURES; row++, bytes += L1 * sizeof(weight)) memcpy(net.w1[row], bytes, L1 * sizeof(weight));
    for (int view = 0; view < 2; view++) memcpy(empty.sides[view].accumulator, bytes, 2 * L1);
    bytes += 2 * L1;
#if L2
    for (int i = 0; i < 256; i++)
        for (int set = i, n = 0; set; set &= set - 1) net.listed[i][n++] = (uint16_t)lowest((uint64_t)set);
    for (int i = 0; i < BUCKETS * L2; i++)
        for (int j = 0; j < 2 * SIDE; j++) {
            int input = j < SIDE ? j : j - SIDE + INPUTS;
            net.w2[i / L2][input / 4][i % L2][input % 4] = (int8_t)*bytes++;
        }
    for (int i = 0; i < BUCKETS; i++, bytes += 4 * L2) memcpy(net.b2[i], bytes, 4 * L2);
#endif
#if L3
    READ(net.wh), READ(net.bh);
#endif
    READ(net.w3), READ(net.b3);
#if PSQT
    READ(net.psqt);
#endif
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

static int own_king(const ply *p, int view) { return lowest(p->pieces[KING + view]) ^ (view ? 56 : 0); }
#if CHOOSES

/* Leaves those of a factor's rows, from the i-th of a list on, that its set has. */
static void choose(const factor *f, const ply *p, int view, list *rows, int i, int32_t offset) {
    if (!f->chosen) return;
    const int32_t *chosen = f->chosen + f->size * f->classes[own_king(p, view)];
    int n = i;
    for (; i < rows->n; i++) {
        int32_t row = chosen[rows->rows[i] - offset];
        rows->rows[n] = offset + row;
        n += row >= 0;
    }
    rows->n = n;
}
#endif
#if SETS

static void find(ply *p) {
    if (p->found) return;
#if HAS_OF_TARGETS
    memset(p->board, 12, 64);
    for (int piece = 0; piece < 12; piece++)
        for (uint64_t set = p->pieces[piece]; set; set &= set - 1)
            p->board[lowest(set)] = (uint8_t)piece;
#endif
    find_sets(p->pieces, p->sets);
    p->found = true;
}

#if APPENDS_SQUARES
/* Appends the rows of squares of a set. */
static void append_squares(const factor *f, const ply *p, int view, int set, uint64_t squares,
                           int32_t offset, list *out) {
    int turned = view ? TURNED : 0;
#if HAS_OF_TARGETS
    int place = (p->board[set] * 64 + set) ^ turned;
    for (; f->kind == OF_TARGETS && squares; squares &= squares - 1) {
        int square = lowest(squares), victim = f->n > 1 ? p->board[square] ^ view : 0;
        uint64_t lower = (1ull << (square ^ (turned & 56))) - 1;
        int32_t row = f->rows[place * f->n + victim];
        if (row < 0) continue;
        row += count(f->masks[place] & f->masks[PLACES + victim] & lower);
        out->rows[out->n++] = offset + row;
    }
#endif
#if HAS_OF_SQUARES
    for (; squares; squares &= squares - 1)
        out->rows[out->n++] = offset + f->rows[(set * 64 + lowest(squares)) ^ turned];
#endif
    (void)p;
}
#endif

/* Appends the features of compared terms that come and go, for both perspectives. */
static void compare_sets(const ply *from, ply *to, changes *c) {
    find(to);
#if HAS_OF_TARGETS
    uint64_t changed = 0;
    for (int piece = 0; piece < 12; piece++) changed |= from->pieces[piece] ^ to->pieces[piece];
#endif
    for (int t = DIRECT; t < COMPARED; t++) {
        const factor *f = &factors[terms[t].first];
        const uint64_t *before = &from->sets[f->set], *now = &to->sets[f->set];
        int32_t offset = terms[t].offset;
#if CHOOSES
        int first_added[2] = {c->added[0].n, c->added[1].n};
        int first_removed[2] = {c->removed[0].n, c->removed[1].n};
#endif
#if HAS_OF_SQUARES
        int n_added[2] = {c->added[0].n, c->added[1].n};
        int n_removed[2] = {c->removed[0].n, c->removed[1].n};
        for (int i = 0; i < 12 && f->kind == OF_SQUARES; i++)
            for (uint64_t differ = before[i] ^ now[i]; differ; differ &= differ - 1) {
                int place = i * 64 + lowest(differ), comes = now[i] >> place % 64 & 1;
                for (int view = 0; view < 2; view++) {
                    int32_t row = offset + f->rows[place ^ (view ? TURNED : 0)];
                    c->added[view].rows[n_added[view]] = row;
                    c->removed[view].rows[n_removed[view]] = row;
                    n_added[view] += comes;
                    n_removed[view] += !comes;
                }
            }
        for (int view = 0; view < 2; view++)
            c->added[view].n = n_added[view], c->removed[view].n = n_removed[view];
#endif
#if HAS_OF_TARGETS
        bool targets = f->kind == OF_TARGETS;
        uint64_t differ = targets ? changed : 0, others = f->n > 1 ? changed : 0; /* other victims */
        for (int i = 0; i < 64 && targets; i++)
            differ |= (uint64_t)(((before[i] ^ now[i]) | (now[i] & others)) != 0) << i;
#endif
#if COMPARES_ROWS
        for (int view = 0; view < 2; view++) {
            list *added = &c->added[view], *removed = &c->removed[view];
#if HAS_OF_NUMBERS
            for (int i = 0; i < f->n && f->kind == OF_NUMBERS; i++) {
                const int32_t *rows = &f->rows[(i ^ view) * 65];
                int32_t gone = rows[count(before[i])], come = rows[count(now[i])];
                if (from != &empty && gone == come) continue;
                if (from != &empty) removed->rows[removed->n++] = offset + gone;
                added->rows[added->n++] = offset + come;
            }
#endif
#if HAS_OF_TARGETS
            for (uint64_t left = differ; left; left &= left - 1) {
                int i = lowest(left);
                uint64_t kept = before[i] & now[i] & ~others;
                if (changed >> i & 1) kept = 0; /* another piece, if any */
                append_squares(f, from, view, i, before[i] & ~kept, offset, removed);
                append_squares(f, to, view, i, now[i] & ~kept, offset, added);
            }
#endif
        }
#endif
#if CHOOSES
        for (int view = 0; view < 2; view++) {
            choose(f, to, view, &c->added[view], first_added[view], offset);
            choose(f, to, view, &c->removed[view], first_removed[view], offset);
        }
#endif
    }
}
#endif

#if LISTED
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
    out->n = 0;
#if HAS_OF_NUMBERS
    if (f->kind == OF_NUMBERS)
        for (int i = 0; i < f->n; i++)
            append(f, out, f->rows[(i ^ view) * 65 + count(p->sets[f->set + i])]);
#endif
#if APPENDS_SQUARES
    if (f->kind == OF_SQUARES || f->kind == OF_TARGETS)
        for (int i = 0; i < (f->kind == OF_SQUARES ? 12 : 64); i++)
            append_squares(f, p, view, i, p->sets[f->set + i], 0, out);
#endif
#if SETS
    if (f->kind >= OF_SQUARES) return;
#endif
    int n = places_of(p, view, places, board);
    if (f->kind == BY_PLACE) {
        const int32_t *rows = f->rows + PLACES * f->classes[own_king(p, view)];
        for (int i = 0; i < n; i++) append(f, out, rows[places[i]]);
#if HAS_BY_COUNT
    } else if (f->kind == BY_COUNT) {
        append(f, out, f->rows[n]);
#endif
#if HAS_OF_PAIRS
    } else if (f->kind == OF_PAIRS) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) {
                int a = f->numbers[places[i]], b = f->numbers[places[j]];
                if (a >= 0 && b >= 0) append(f, out, f->rows[a * f->n + b]);
            }
#endif
#if HAS_ON_LINES
    } else if (f->kind == ON_LINES) {
        for (int line = 0; line < f->n; line++)
            for (int i = 0, before = 12; i < 8; i++) {
                int piece = board[f->squares[line * 8 + i]];
                if (piece == 12) continue;
                if (before < 12) append(f, out, f->rows[line * 144 + before * 12 + piece]);
                before = piece;
            }
#endif
    }
}

/* Appends the active features of a term: all tuples of its factors' active rows. */
static int active_of_term(const term *t, const ply *p, int view, int32_t *out, int n) {
    int start = n;
    out[n++] = t->offset;
    for (int f = t->first; f < t->first + t->n; f++) {
        list rows;
        active_of_factor(&factors[f], p, view, &rows);
#if CHOOSES
        choose(&factors[f], p, view, &rows, 0, 0);
#endif
        int found = n - start;
        for (int i = rows.n - 1; i >= 0; i--) /* the first row last: it overwrites what others read */
            for (int j = 0; j < found; j++)
                out[start + i * found + j] = out[start + j] + rows.rows[i] * strides[f];
        n = start + rows.n * found;
    }
    return n;
}

static void change_listed(nnue *n, const ply *from, ply *to, int view, list *added, list *removed) {
    int32_t *now = to->sides[view].listed;
    const int32_t *before = from->sides[view].listed;
    int n_now = 0, n_before = from->sides[view].n_listed;
    for (int t = COMPARED; t < TERMS; t++) n_now = active_of_term(&terms[t], to, view, now, n_now);
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
    to->sides[view].n_listed = n_now;
}
#endif
#if HAS_OF_PAIRS

/* Appends the rows of pairs with at least one of some pieces. */
static void pair(const factor *f, const ply *p, int view, const int *places, int n, int32_t offset,
                 list *out) {
    int turned = view ? TURNED : 0;
    uint64_t others[12];
    memcpy(others, p->pieces, sizeof others);
    for (int i = 0; i < n; i++) {
        int a = f->numbers[places[i] ^ turned];
        if (a < 0) continue;
        others[places[i] / 64] ^= 1ull << places[i] % 64; /* each pair once */
        for (int piece = 0; piece < 12; piece++)
            for (uint64_t set = others[piece]; set; set &= set - 1) {
                int b = f->numbers[(piece * 64 + lowest(set)) ^ turned];
                if (b < 0 || f->rows[a * f->n + b] < 0) continue;
                out->rows[out->n++] = offset + f->rows[a * f->n + b];
            }
    }
}

static void compare_pairs(const ply *from, const ply *to, changes *c) {
    for (int t = DIRECT; t < COMPARED; t++) {
        const factor *f = &factors[terms[t].first];
        int32_t offset = terms[t].offset;
        for (int view = 0; view < 2 && f->kind == OF_PAIRS; view++) {
            list *added = &c->added[view], *removed = &c->removed[view];
#if CHOOSES
            int first_added = added->n, first_removed = removed->n;
#endif
            pair(f, to, view, c->come, c->n_come, offset, added);
            pair(f, from, view, c->gone, c->n_gone, offset, removed);
#if CHOOSES
            choose(f, to, view, added, first_added, offset);
            choose(f, to, view, removed, first_removed, offset);
#endif
        }
    }
}
#endif

static void compare(const ply *from, ply *to, changes *c) {
    unsigned differ = 0;
    c->n_come = c->n_gone = 0;
    for (int view = 0; view < 2; view++) c->added[view].n = c->removed[view].n = 0;
#if SETS
    compare_sets(from, to, c);
#endif
    for (int piece = 0; piece < 12; piece++)
        differ |= (unsigned)(from->pieces[piece] != to->pieces[piece]) << piece;
    for (; differ; differ &= differ - 1) {
        int piece = lowest(differ);
        uint64_t before = from->pieces[piece], now = to->pieces[piece];
        for (uint64_t set = now & ~before; set; set &= set - 1)
            c->come[c->n_come++] = piece * 64 + lowest(set);
        for (uint64_t set = before & ~now; set; set &= set - 1)
            c->gone[c->n_gone++] = piece * 64 + lowest(set);
    }
#if HAS_OF_PAIRS
    compare_pairs(from, to, c);
#endif
}

/* Appends the features of direct terms that come (or go) with pieces. */
static void change_direct(const int *places, int n, int view, int king, bool comes,
                          uint8_t *counts, list *out) {
    int found = out->n; /* in a register: to the compiler, counts may lie anywhere */
    for (int i = 0; i < n; i++)
        for (int t = 0; t < DIRECT; t++) {
            const factor *f = &factors[terms[t].first];
            int place = places[i] ^ (view ? TURNED : 0);
            int32_t row = f->rows[PLACES * f->classes[king] + place];
            if (row < 0) continue;
            out->rows[found] = terms[t].offset + row;
            if (terms[t].counted < 0) {
                found++;
            } else {
                uint8_t *counted = &counts[terms[t].counted + row];
                found += comes ? !(*counted)++ : !--*counted;
            }
        }
    out->n = found;
}

/* Accumulators -------------------------------------------------------------------------------- */

static void add_rows(int16_t *to, const int16_t *from, const list *added, const list *removed) {
    for (int start = 0; start < WIDTH; start += TILE) {
        lanes sums[TILE / LANES];
        for (int i = 0; i < TILE / LANES; i++) sums[i] = *(const lanes *)&from[start + i * LANES];
        for (int k = 0; k < added->n; k++) {
            const weight *row = &net.w1[added->rows[k]][start];
            for (int i = 0; i < TILE / LANES; i++) sums[i] += WIDE(&row[i * LANES]);
        }
        for (int k = 0; k < removed->n; k++) {
            const weight *row = &net.w1[removed->rows[k]][start];
            for (int i = 0; i < TILE / LANES; i++) sums[i] -= WIDE(&row[i * LANES]);
        }
        for (int i = 0; i < TILE / LANES; i++) *(lanes *)&to[start + i * LANES] = sums[i];
    }
}

/* Computes the accumulator of a perspective from the one of another position, or of `empty`. */
static void update(nnue *n, const ply *from, ply *to, int view, changes *c) {
    const side *before = &from->sides[view];
    side *now = &to->sides[view];
    list *added = &c->added[view], *removed = &c->removed[view];
    int king = own_king(to, view);
    memcpy(now->counts, before->counts, COUNTED);
    /* What comes is counted first, so a row that one piece leaves to another stays. */
    change_direct(c->come, c->n_come, view, king, true, now->counts, added);
    change_direct(c->gone, c->n_gone, view, king, false, now->counts, removed);
#if LISTED
    change_listed(n, from, to, view, added, removed);
#endif
    now->active = before->active + added->n - removed->n;
    if (from != &empty && added->n + removed->n > now->active) {
        changes all;
        compare(&empty, to, &all);
        update(n, &empty, to, view, &all);
        return;
    }
    add_rows(now->accumulator, before->accumulator, added, removed);
#if PSQT
    for (int i = 0; i < PSQT; i++) {
        int64_t sum = before->psqt[i];
        for (int k = 0; k < added->n; k++) sum += net.psqt[added->rows[k]][i];
        for (int k = 0; k < removed->n; k++) sum -= net.psqt[removed->rows[k]][i];
        now->psqt[i] = sum;
    }
#endif
    to->computed[view] = true;
}

/* The nearest position above whose accumulator is computed and of use, or NULL. */
static const ply *source(const nnue *n, int view) {
    const ply *to = &n->plies[n->top], *from = to;
    while (!from->computed[view] && from > n->plies) from--;
    bool usable = keys[own_king(from, view)] == keys[own_king(to, view)];
    return from->computed[view] && usable ? from : NULL;
}

static void refresh(nnue *n, ply *to, int view) {
    int key = keys[own_king(to, view)];
    ply *cached = &n->cache[view][key];
    const ply *from = n->cached[view][key] ? cached : &empty;
    changes c;
    compare(from, to, &c);
    update(n, from, to, view, &c);
    memcpy(cached, to, offsetof(ply, sides));
    cached->sides[view] = to->sides[view];
    n->cached[view][key] = true;
}

static void update_to_top(nnue *n) {
    ply *to = &n->plies[n->top];
    const ply *compared = NULL;
    changes c;
    for (int view = 0; view < 2; view++) {
        const ply *from = source(n, view);
        if (from == to) continue;
        if (!from) {
            refresh(n, to, view);
            continue;
        }
        if (from != compared) compare(from, to, &c);
        compared = from;
        update(n, from, to, view, &c);
    }
}

#if L2
#include "nnue_layers.h"
#else
#include "nnue_direct.h"
#endif

/* Interface ----------------------------------------------------------------------------------- */

size_t nnue_size(void) { return sizeof(nnue); }
int nnue_width(void) { return L1; }

int nnue_rows(nnue *n, int view, int32_t *rows) {
    ply copy = n->plies[n->top]; /* what is updated is left as it is */
    changes c;
    compare(&empty, &copy, &c);
    update(n, &empty, &copy, view, &c);
    memcpy(rows, c.added[view].rows, sizeof *rows * (size_t)c.added[view].n);
    return c.added[view].n;
}

const int16_t *nnue_accumulator(const nnue *n, int view) { return n->plies[n->top].sides[view].accumulator; }
int nnue_active(const nnue *n, int view) { return n->plies[n->top].sides[view].active; }

static void set_top(nnue *n, const uint64_t pieces[12]) {
    ply *p = &n->plies[n->top];
    memcpy(p->pieces, pieces, sizeof p->pieces);
    p->computed[0] = p->computed[1] = false;
#if SETS
    p->found = false;
#endif
}

void nnue_reset(nnue *n, const uint64_t pieces[12]) {
#if LISTED
    memset(n->mark, 0, sizeof n->mark);
#endif
    memset(n->cached, 0, sizeof n->cached);
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
    update_to_top(n);
    return forward(&n->plies[n->top], turn);
}
