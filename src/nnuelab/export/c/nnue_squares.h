/* Squares that pieces have to do with: twelve bitboards by role * 2 + colour, of those pieces that
 * stand on `movers`. Included by nnue.c; the definitions made of them are in nnue_tables.h.
 *
 * Sliders are filled in four directions at once, in three steps, each twice as long as the one
 * before, whatever their number. Up is to higher squares, straight before diagonal; down is back. */
#define EVERYWHERE (~0ull)
#define FILE_A 0x0101010101010101ull
#define FILE_H (FILE_A << 7)
#define RANK_2 0xff00ull
#define RANK_7 (RANK_2 << 40)

enum { PAWN, KNIGHT, BISHOP, ROOK, QUEEN }; /* and KING, as a piece */

typedef uint64_t rays __attribute__((vector_size(32)));

static const rays steps = {8, 1, 9, 7};
static const rays above = {EVERYWHERE, ~FILE_A, ~FILE_A, ~FILE_H}; /* where a step can end */
static const rays below = {EVERYWHERE, ~FILE_H, ~FILE_H, ~FILE_A};

/* From sliders to what they attack, in each direction, when all but `empty` block. */
static inline void spread(rays *up, rays *down, uint64_t empty) {
    const rays free = {empty, empty, empty, empty};
    rays u = *up, d = *down, free_up = free & above, free_down = free & below, by = steps;
    for (int i = 0; i < 3; i++, by += by) {
        u |= free_up & u << by;
        d |= free_down & d >> by;
        free_up &= free_up << by;
        free_down &= free_down >> by;
    }
    *up = u << steps & above;
    *down = d >> steps & below;
}

static inline void sliders(uint64_t straight, uint64_t diagonal, uint64_t empty,
                           uint64_t *by_straight, uint64_t *by_diagonal) {
    rays up = {straight, straight, diagonal, diagonal}, down = up;
    spread(&up, &down, empty);
    up |= down;
    *by_straight = up[0] | up[1];
    *by_diagonal = up[2] | up[3];
}

static inline uint64_t by_pawns(uint64_t pawns, int colour) {
    uint64_t left = pawns & ~FILE_A, right = pawns & ~FILE_H;
    return colour ? left >> 9 | right >> 7 : left << 7 | right << 9;
}

static inline uint64_t by_knights(uint64_t knights) {
    uint64_t near = (knights >> 1 & ~FILE_H) | (knights << 1 & ~FILE_A);
    uint64_t far = (knights >> 2 & ~(FILE_H | FILE_H >> 1)) | (knights << 2 & ~(FILE_A | FILE_A << 1));
    return near << 16 | near >> 16 | far << 8 | far >> 8;
}

static inline uint64_t by_king(uint64_t king) {
    uint64_t row = king | (king >> 1 & ~FILE_H) | (king << 1 & ~FILE_A);
    return (row | row << 8 | row >> 8) & ~king;
}

static inline uint64_t step(uint64_t pawns, int colour) { return colour ? pawns >> 8 : pawns << 8; }

static inline uint64_t of_colour(const uint64_t *pieces, int colour) {
    uint64_t all = 0;
    for (int piece = colour; piece < 12; piece += 2) all |= pieces[piece];
    return all;
}

static inline uint64_t occupied(const uint64_t *pieces) {
    return of_colour(pieces, 0) | of_colour(pieces, 1);
}

static inline void standing(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    for (int piece = 0; piece < 12; piece++) out[piece] = pieces[piece] & movers;
}
#if USES_ATTACKS

static void attacks(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    uint64_t empty = ~occupied(pieces), straight, diagonal;
    for (int colour = 0; colour < 2; colour++) {
        const uint64_t *own = pieces + colour;
        uint64_t *to = out + colour, queens = own[2 * QUEEN] & movers;
        to[2 * PAWN] = by_pawns(own[2 * PAWN] & movers, colour);
        to[2 * KNIGHT] = by_knights(own[2 * KNIGHT] & movers);
        sliders(own[2 * ROOK] & movers, own[2 * BISHOP] & movers, empty, &to[2 * ROOK], &to[2 * BISHOP]);
        sliders(queens, queens, empty, &straight, &diagonal);
        to[2 * QUEEN] = straight | diagonal;
        to[KING] = by_king(own[KING] & movers);
    }
}
#endif
#if USES_ATTACKS_FROM

/* What one piece attacks; which it is is a constant where it is asked. */
static inline uint64_t attacks_from(const uint64_t *pieces, uint64_t all, int piece, uint64_t from) {
    int role = piece / 2;
    uint64_t straight, diagonal;
    (void)pieces;
    if (role == PAWN) return by_pawns(from, piece & 1);
    if (role == KNIGHT) return by_knights(from);
    if (piece >= KING) return by_king(from);
    sliders(role == BISHOP ? 0 : from, role == ROOK ? 0 : from, ~all, &straight, &diagonal);
    return straight | diagonal;
}
#endif
#if USES_MOVES_FROM

static inline uint64_t moves_from(const uint64_t *pieces, uint64_t all, int piece, uint64_t from) {
    uint64_t own = of_colour(pieces, piece & 1), found = attacks_from(pieces, all, piece, from) & ~own;
    return piece / 2 == PAWN ? (found & all) | (step(from, piece & 1) & ~all) : found;
}
#endif
#if USES_ATTACKERS

static void attackers(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    uint64_t empty = ~occupied(pieces), straight, diagonal;
    for (int piece = 0; piece < 12; piece++) { /* what would attack back from there */
        const uint64_t *enemy = pieces + (~piece & 1);
        uint64_t victims = pieces[piece] & movers;
        sliders(victims, victims, empty, &straight, &diagonal);
        out[piece] = (by_pawns(victims, piece & 1) & enemy[2 * PAWN]) |
                     (by_knights(victims) & enemy[2 * KNIGHT]) |
                     (straight & (enemy[2 * ROOK] | enemy[2 * QUEEN])) |
                     (diagonal & (enemy[2 * BISHOP] | enemy[2 * QUEEN])) |
                     (by_king(victims) & enemy[KING]);
    }
}
#endif
#if USES_XRAYS

static void xrays(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    uint64_t all = occupied(pieces);
    const rays blockers = {all, all, all, all};
    for (int piece = 0; piece < 12; piece++) {
        int role = piece / 2;
        uint64_t straight = role == ROOK || role == QUEEN ? pieces[piece] & movers : 0;
        uint64_t diagonal = role == BISHOP || role == QUEEN ? pieces[piece] & movers : 0;
        rays up = {straight, straight, diagonal, diagonal}, down = up;
        spread(&up, &down, ~all);
        up &= blockers;
        down &= blockers;
        spread(&up, &down, ~all);
        up |= down;
        out[piece] = up[0] | up[1] | up[2] | up[3];
    }
}
#endif
#if USES_DOUBLE_STEPS

static void double_steps(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    uint64_t empty = ~occupied(pieces);
    memset(out, 0, 12 * sizeof *out);
    for (int colour = 0; colour < 2; colour++) {
        uint64_t pawns = pieces[colour] & movers & (colour ? RANK_7 : RANK_2);
        out[colour] = step(step(pawns, colour) & empty, colour) & empty;
    }
}
#endif
#if USES_MOVES

/* Makes moves of attacks, where the safety of the king doesn't matter. */
static void attacks_to_moves(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    uint64_t colours[2] = {of_colour(pieces, 0), of_colour(pieces, 1)};
    for (int colour = 0; colour < 2; colour++) {
        uint64_t steps_to = step(pieces[colour] & movers, colour) & ~(colours[0] | colours[1]);
        out[colour] = (out[colour] & colours[!colour]) | steps_to;
        for (int piece = colour + 2; piece < 12; piece += 2) out[piece] &= ~colours[colour];
    }
}

static inline void moves(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    attacks(pieces, movers, out);
    attacks_to_moves(pieces, movers, out);
}
#endif
#if USES_PINNED

typedef struct {
    uint64_t pinned;             /* pieces that alone keep a slider from their king */
    int n_pins, n_checks;        /* checks by sliders */
    uint64_t pins[8], lines[8];  /* each of them, and where it can go */
    uint64_t evasions, shadows;  /* where a check can be met; squares behind the king in its line */
} guard;

/* What enemy sliders do to a king. */
static void look(const uint64_t *pieces, int colour, guard *g) {
    const uint64_t *enemy = pieces + !colour, own = of_colour(pieces, colour);
    const uint64_t king = pieces[KING + colour], empty = ~occupied(pieces);
    const uint64_t straight = enemy[2 * ROOK] | enemy[2 * QUEEN];
    const uint64_t diagonal = enemy[2 * BISHOP] | enemy[2 * QUEEN];
    const rays all = {own, own, own, own};
    rays seen[2] = {{king, king, king, king}, {king, king, king, king}}, past[2];
    spread(&seen[0], &seen[1], empty);
    for (int down = 0; down < 2; down++) past[down] = seen[down] & all;
    spread(&past[0], &past[1], empty);
    g->pinned = g->evasions = g->shadows = 0;
    g->n_pins = g->n_checks = 0;
    for (int i = 0; i < 8; i++) {
        int down = i / 4, way = i % 4;
        uint64_t snipers = way < 2 ? straight : diagonal;
        uint64_t near = seen[down][way], far = past[down][way];
        if (near & snipers) {
            g->n_checks++;
            g->evasions |= near;
            g->shadows |= down ? king << steps[way] & above[way] : king >> steps[way] & below[way];
        } else if (far & snipers) {
            g->pinned |= g->pins[g->n_pins] = near & own;
            g->lines[g->n_pins++] = near | far;
        }
    }
}

static inline void pinned(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    guard guards[2];
    for (int colour = 0; colour < 2; colour++) look(pieces, colour, &guards[colour]);
    for (int i = 0; i < 12; i++) out[i] = pieces[i] & guards[i % 2].pinned & movers;
}
#endif
#if USES_SAFE_MOVES

static void safe_moves(const uint64_t *pieces, uint64_t movers, uint64_t *out) {
    uint64_t attacked[12], one[12];
    guard guards[2];
    attacks(pieces, EVERYWHERE, attacked);
    for (int colour = 0; colour < 2; colour++) look(pieces, colour, &guards[colour]);
    uint64_t bound = guards[0].pinned | guards[1].pinned, free = movers & ~bound;
    if (free == EVERYWHERE) memcpy(out, attacked, sizeof attacked);
    else attacks(pieces, free, out);
    attacks_to_moves(pieces, free, out);
    for (int colour = 0; colour < 2; colour++) {
        guard *g = &guards[colour];
        uint64_t king = pieces[KING + colour], allowed = EVERYWHERE;
        uint64_t others = (by_pawns(king, colour) & pieces[2 * PAWN + !colour]) |
                          (by_knights(king) & pieces[2 * KNIGHT + !colour]);
        int checks = g->n_checks + count(others);
        if (checks) allowed = checks > 1 ? 0 : g->evasions | others;
        for (int piece = colour; piece < KING; piece += 2) out[piece] &= allowed;
        for (int i = 0; i < g->n_pins; i++) {
            if (!(g->pins[i] & movers)) continue;
            moves(pieces, g->pins[i], one);
            for (int piece = colour; piece < KING; piece += 2)
                out[piece] |= one[piece] & g->lines[i] & allowed;
        }
        out[KING + colour] &= ~(of_colour(attacked, !colour) | g->shadows);
    }
}
#endif
