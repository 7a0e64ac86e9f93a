/* Replays games; compares evaluations, accumulators and numbers of active features. C and C++. */
#include "../nnue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fen_to_pieces(const char *fen, uint64_t pieces[12]) {
    const char *codes = "PpNnBbRrQqKk";
    int square = 56;
    memset(pieces, 0, 12 * sizeof *pieces);
    for (; *fen && *fen != ' '; fen++) {
        const char *code = strchr(codes, *fen);
        if (*fen == '/') square -= 16;
        else if (*fen >= '1' && *fen <= '8') square += *fen - '0';
        else if (code && square >= 0 && square < 64) pieces[code - codes] |= 1ull << square++;
        else return -1;
    }
    return *fen == ' ' && fen[1] == 'b';
}

static uint32_t hash(const int16_t *numbers) {
    uint32_t h = 0;
    for (int i = 0; i < nnue_width(); i++) h = h * 16777619u + (uint16_t)numbers[i];
    return h;
}

typedef struct {
    char fen[100];
    int turn, value, active[2];
    uint32_t hash[2];
    uint64_t pieces[12];
} expected;

static int compare(nnue *n, const expected *e, const char *how) {
    int value = nnue_evaluate(n, e->turn), wrong = value != e->value;
    for (int view = 0; view < 2; view++)
        wrong |= nnue_active(n, view) != e->active[view] ||
                 hash(nnue_accumulator(n, view)) != e->hash[view];
    if (wrong)
        printf("%s, %s: %d, expected %d; %d and %d active, expected %d and %d\n", e->fen, how,
               value, e->value, nnue_active(n, 0), nnue_active(n, 1), e->active[0], e->active[1]);
    return wrong;
}

/* Every position; then back and forth, where only some of them are evaluated. */
static int replay(nnue *n, const expected *game, int plies) {
    int wrong = 0;
    for (int i = 0; i < plies; i++) {
        if (i) nnue_push(n, game[i].pieces);
        else nnue_reset(n, game[i].pieces);
        wrong += compare(n, &game[i], "move by move");
    }
    for (int i = plies - 1; i > 0; i--) {
        nnue_pop(n);
        wrong += compare(n, &game[i - 1], "after taking a move back");
        if (i % 3 == 0) continue;
        int last = i + i % 4 < plies ? i + i % 4 : plies - 1;
        for (int j = i; j <= last; j++) nnue_push(n, game[j].pieces);
        wrong += compare(n, &game[last], "some moves at once");
        for (int j = i; j <= last; j++) nnue_pop(n);
    }
    return wrong;
}

static int ascending(const void *a, const void *b) { return *(int32_t *)a - *(int32_t *)b; }

static void print_rows(nnue *n, const char *whose, int view) {
    static int32_t rows[NNUE_ROWS];
    int active = nnue_rows(n, view, rows);
    qsort(rows, (size_t)active, sizeof *rows, ascending);
    printf("%s:", whose);
    for (int i = 0; i < active; i++) printf(" %d", rows[i]);
    puts("");
}

int main(int argc, char **argv) {
    static expected game[NNUE_PLIES];
    if (argc < 3) return fprintf(stderr, "usage: %s WEIGHTS GAMES | WEIGHTS FEN\n", argv[0]), 2;
    const char *error = nnue_load(argv[1]);
    nnue *n = (nnue *)malloc(nnue_size()); /* as C++ asks for */
    if (error || !n) return fprintf(stderr, "%s: %s\n", argv[1], error ? error : "no memory"), 2;
    if (strchr(argv[2], ' ')) {
        int turn = fen_to_pieces(argv[2], game->pieces);
        if (turn < 0 || !game->pieces[10] || !game->pieces[11])
            return fprintf(stderr, "%s: not a position\n", argv[2]), 2;
        nnue_reset(n, game->pieces);
        printf("%d\n", nnue_evaluate(n, turn));
        print_rows(n, "stm", turn), print_rows(n, "other", !turn);
        free(n);
        return 0;
    }
    FILE *file = fopen(argv[2], "r");
    if (!file) return fprintf(stderr, "%s can't be opened\n", argv[2]), 2;
    int plies = 0, positions = 0, games = 0, wrong = 0, more;
    char line[200];
    do { /* a line: FEN; value; White's active features, Black's; hashes. "-" ends a game. */
        more = fgets(line, sizeof line, file) != NULL && *line != '-';
        expected *e = &game[plies];
        if (more && plies < NNUE_PLIES &&
            sscanf(line, "%99[^;];%d;%d;%d;%u;%u", e->fen, &e->value, &e->active[0],
                   &e->active[1], &e->hash[0], &e->hash[1]) == 6 &&
            (e->turn = fen_to_pieces(e->fen, e->pieces)) >= 0) {
            plies++;
        } else if (more) {
            return fprintf(stderr, "%s: not a line of a game: %s", argv[2], line), 2;
        } else {
            wrong += replay(n, game, plies);
            positions += plies;
            games += plies > 0;
            plies = 0;
        }
    } while (more || !feof(file));
    fclose(file);
    free(n);
    if (!positions) return fprintf(stderr, "%s has no positions\n", argv[2]), 2;
    printf("%d positions of %d games: %d wrong\n", positions, games, wrong);
    return wrong > 0;
}
