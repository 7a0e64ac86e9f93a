/* Exported code along games; compiled in the folder that it was exported to. */
#include "nnue.c"

long along(nnue *n, const uint64_t (*pieces)[12], const uint8_t *first, const uint8_t *turn,
           long count, long calls) {
    long total = 0;
    for (long call = 0; call < calls; call++)
        for (long i = 0; i < count; i++) {
            if (first[i]) nnue_reset(n, pieces[i]);
            else nnue_push(n, pieces[i]);
            total += nnue_evaluate(n, turn[i]);
        }
    return total;
}
