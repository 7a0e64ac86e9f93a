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
#if defined __AVX2__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
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

/* Accumulators end with zeros, up to a whole number of tiles. A tile stays in registers. */
enum { WIDTH = (L1 + 63) / 64 * 64, TILE = WIDTH % 128 ? 64 : 128, LANES = 16 };
enum { LAST = L3 ? L3 : L2, SUMS = (L2 + 7) / 8 * 8, SUMS_TILE = SUMS % 32 ? 8 : 32 };
enum { BLOCKS = 2 * WIDTH / 4, WORDS = (BLOCKS + 63) / 64 }; /* of four inputs, of 64 bits */

typedef int16_t lanes __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

typedef struct {
    int active;
#if LISTED
    int n_listed;
#endif
    int16_t accumulator[WIDTH];
    uint8_t counts[COUNTED]; /* pieces that make each shared row active */
#if LISTED
    int32_t listed[LISTED]; /* active features of the terms that are not direct */
#endif
} side;

typedef struct {
    uint64_t pieces[12];
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
    int come[64], gone[64]; /* places */
} changes;

static struct {
    _Alignas(64) int16_t w1[FEATURES][WIDTH];
    _Alignas(64) int8_t w2[BUCKETS][BLOCKS][SUMS][4]; /* by blocks of four inputs */
    _Alignas(64) int32_t b2[BUCKETS][SUMS];
#if L3
    int8_t wh[BUCKETS][L3][L2];
    int32_t bh[BUCKETS][L3];
#endif
    int16_t w3[BUCKETS][LAST];
    int32_t b3[BUCKETS];
} net;
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
    for (int row = 0; row < FEATURES; row++, bytes += 2 * L1) memcpy(net.w1[row], bytes, 2 * L1);
    for (int view = 0; view < 2; view++) memcpy(empty.sides[view].accumulator, bytes, 2 * L1);
    bytes += 2 * L1;
    for (int i = 0; i < BUCKETS * L2; i++)
        for (int j = 0; j < 2 * L1; j++) {
            int input = j < L1 ? j : j - L1 + WIDTH;
            net.w2[i / L2][input / 4][i % L2][input % 4] = (int8_t)*bytes++;
        }
    for (int i = 0; i < BUCKETS; i++, bytes += 4 * L2) memcpy(net.b2[i], bytes, 4 * L2);
#if L3
    READ(net.wh), READ(net.bh);
#endif
    READ(net.w3), READ(net.b3);
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
    int n = places_of(p, view, places, board);
    out->n = 0;
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
    to->sides[view].n_listed = n_now;
}
#endif

static void compare(const ply *from, const ply *to, changes *c) {
    unsigned differ = 0;
    c->n_come = c->n_gone = 0;
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
}

/* Appends the features of direct terms that come (or go) with pieces. */
static void change_direct(const int *places, int n, int view, int king, bool comes,
                          uint8_t *counts, list *out) {
    for (int i = 0; i < n; i++)
        for (int t = 0; t < DIRECT; t++) {
            const factor *f = &factors[terms[t].first];
            int place = places[i] ^ (view ? TURNED : 0);
            int32_t row = f->rows[PLACES * f->classes[king] + place];
            if (row < 0) continue;
            out->rows[out->n] = terms[t].offset + row;
            if (terms[t].counted < 0) {
                out->n++;
            } else {
                uint8_t *counted = &counts[terms[t].counted + row];
                out->n += comes ? !(*counted)++ : !--*counted;
            }
        }
}

/* Accumulators -------------------------------------------------------------------------------- */

static void add_rows(int16_t *to, const int16_t *from, const list *added, const list *removed) {
    for (int start = 0; start < WIDTH; start += TILE) {
        lanes sums[TILE / LANES];
        for (int i = 0; i < TILE / LANES; i++) sums[i] = *(const lanes *)&from[start + i * LANES];
        for (int k = 0; k < added->n; k++) {
            const int16_t *row = &net.w1[added->rows[k]][start];
            for (int i = 0; i < TILE / LANES; i++) sums[i] += *(const lanes *)&row[i * LANES];
        }
        for (int k = 0; k < removed->n; k++) {
            const int16_t *row = &net.w1[removed->rows[k]][start];
            for (int i = 0; i < TILE / LANES; i++) sums[i] -= *(const lanes *)&row[i * LANES];
        }
        for (int i = 0; i < TILE / LANES; i++) *(lanes *)&to[start + i * LANES] = sums[i];
    }
}

/* Computes the accumulator of a perspective from the one of another position, or of `empty`. */
static void update(nnue *n, const ply *from, ply *to, int view, const changes *c) {
    const side *before = &from->sides[view];
    side *now = &to->sides[view];
    list added, removed;
    added.n = removed.n = 0;
    int king = own_king(to, view);
    memcpy(now->counts, before->counts, COUNTED);
    /* What comes is counted first, so a row that one piece leaves to another stays. */
    change_direct(c->come, c->n_come, view, king, true, now->counts, &added);
    change_direct(c->gone, c->n_gone, view, king, false, now->counts, &removed);
#if LISTED
    change_listed(n, from, to, view, &added, &removed);
#endif
    now->active = before->active + added.n - removed.n;
    if (from != &empty && added.n + removed.n > now->active) {
        changes all;
        compare(&empty, to, &all);
        update(n, &empty, to, view, &all);
        return;
    }
    add_rows(now->accumulator, before->accumulator, &added, &removed);
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
    memcpy(cached->pieces, to->pieces, sizeof to->pieces);
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

/* Activates an accumulator to the inputs from `first`; sets the bits of blocks that are not 0. */
static void activate(uint8_t *x, uint64_t *bits, const int16_t *accumulator, int first) {
#if defined __AVX2__
    const __m256i zero = _mm256_setzero_si256();
    for (int i = 0; i < WIDTH; i += 32) {
        __m256i half[2], packed;
        for (int k = 0; k < 2; k++) {
            __m256i v = _mm256_loadu_si256((const void *)&accumulator[i + 16 * k]);
#if SQUARED /* a high half, rounded: v * v << 8 - 2 * SHIFT1 >> 15 */
            v = _mm256_min_epi16(_mm256_max_epi16(v, zero), _mm256_set1_epi16(127 << SHIFT1));
            half[k] = _mm256_mulhrs_epi16(v, _mm256_slli_epi16(v, 8 - 2 * SHIFT1));
#else
            half[k] = _mm256_srai_epi16(v, SHIFT1);
#endif
        }
        packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(half[0], half[1]), 0xD8);
        packed = _mm256_max_epi8(packed, zero);
        _mm256_storeu_si256((void *)&x[first + i], packed);
        __m256 used = _mm256_castsi256_ps(_mm256_cmpgt_epi32(packed, zero));
        int block = (first + i) / 4;
        bits[block / 64] |= (uint64_t)_mm256_movemask_ps(used) << block % 64;
    }
#else
    for (int i = 0; i < WIDTH; i++) x[first + i] = activated(accumulator[i], SHIFT1);
    for (int block = first / 4; block < (first + WIDTH) / 4; block++) {
        uint32_t inputs;
        memcpy(&inputs, &x[4 * block], 4);
        bits[block / 64] |= (uint64_t)(inputs != 0) << block % 64;
    }
#endif
}

/* Adds the products of four inputs, 0..127, with the weights of some neurons. */
#if defined __AVX2__
enum { NEURONS = 8 };
typedef __m256i sums_of;
static inline sums_of add_products(sums_of sums, int8_t weights[][4], int32_t inputs) {
    __m256i rows = _mm256_load_si256((const void *)weights), x = _mm256_set1_epi32(inputs);
#if defined __AVX512VNNI__ && defined __AVX512VL__
    return _mm256_dpbusd_epi32(sums, x, rows);
#elif defined __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sums, x, rows);
#else /* 2 * 127 * 128 fits int16: nothing saturates */
    __m256i pairs = _mm256_maddubs_epi16(x, rows);
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#elif defined __aarch64__
enum { NEURONS = 4 };
typedef int32x4_t sums_of;
static inline sums_of add_products(sums_of sums, int8_t weights[][4], int32_t inputs) {
    int8x16_t rows = vld1q_s8(*weights), x = vreinterpretq_s8_s32(vdupq_n_s32(inputs));
#ifdef __ARM_FEATURE_DOTPROD
    return vdotq_s32(sums, rows, x);
#else
    int16x8_t low = vmull_s8(vget_low_s8(rows), vget_low_s8(x)), high = vmull_high_s8(rows, x);
    return vpadalq_s16(sums, vpaddq_s16(low, high));
#endif
}
#else
enum { NEURONS = 1 };
typedef int32_t sums_of;
static inline sums_of add_products(sums_of sums, int8_t weights[][4], int32_t inputs) {
    int8_t x[4];
    memcpy(x, &inputs, 4);
    for (int j = 0; j < 4; j++) sums += weights[0][j] * x[j];
    return sums;
}
#endif

/* The sums of the second layer: blocks of zeros, as most are, are skipped. */
static void add_blocks(int32_t out[SUMS], int bucket, const uint8_t *x, const uint64_t *bits) {
    for (int start = 0; start < SUMS; start += SUMS_TILE) {
        enum { N = SUMS_TILE / NEURONS };
        sums_of sums[N];
        for (int i = 0; i < N; i++)
            memcpy(&sums[i], &net.b2[bucket][start + i * NEURONS], sizeof *sums);
        for (int word = 0; word < WORDS; word++)
            for (uint64_t set = bits[word]; set; set &= set - 1) {
                size_t block = (size_t)(word * 64 + lowest(set));
                int8_t(*weights)[4] = &net.w2[bucket][block][start];
                int32_t inputs;
                memcpy(&inputs, &x[4 * block], 4);
                for (int i = 0; i < N; i++)
                    sums[i] = add_products(sums[i], &weights[i * NEURONS], inputs);
            }
        for (int i = 0; i < N; i++) memcpy(&out[start + i * NEURONS], &sums[i], sizeof *sums);
    }
}

static int forward(const ply *p, int turn) {
    uint8_t x[2 * WIDTH], y[L2];
    uint64_t bits[WORDS] = {0};
    int32_t sums[SUMS];
    int pieces = 0;
    for (int piece = 0; piece < 12; piece++) pieces += count(p->pieces[piece]);
    int bucket = (pieces - 1) * BUCKETS / 32;
    activate(x, bits, p->sides[turn].accumulator, 0);
    activate(x, bits, p->sides[turn ^ 1].accumulator, WIDTH);
    add_blocks(sums, bucket, x, bits);
    for (int i = 0; i < L2; i++) y[i] = activated(sums[i], SHIFT2);
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
    for (int start = 0; start < LAST; start += 512) { /* so many products fit int32 */
        int32_t sum = 0;
        for (int i = start; i < LAST && i < start + 512; i++) sum += net.w3[bucket][i] * last[i];
        value += sum;
    }
    return (int)(value >> SHIFT_OUT);
}

/* Interface ----------------------------------------------------------------------------------- */

size_t nnue_size(void) { return sizeof(nnue); }

int nnue_width(void) { return L1; }

const int16_t *nnue_accumulator(const nnue *n, int view) { return n->plies[n->top].sides[view].accumulator; }

int nnue_active(const nnue *n, int view) { return n->plies[n->top].sides[view].active; }

static void set_top(nnue *n, const uint64_t pieces[12]) {
    ply *p = &n->plies[n->top];
    memcpy(p->pieces, pieces, sizeof p->pieces);
    p->computed[0] = p->computed[1] = false;
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
