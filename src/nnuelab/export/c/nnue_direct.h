/* From accumulators to centipawns, without a second layer. Included by nnue.c. */
static int forward(const ply *p, int turn) {
#if FITS_INT32
    int32_t sum = 0;
#else
    int64_t sum = 0;
#endif
    for (int side = 0; side < 2; side++) {
        const int16_t *accumulator = p->sides[turn ^ side].accumulator, *weights = &net.w3[0][side * L1];
        for (int i = 0; i < L1; i++) {
            int32_t v = accumulator[i], x = v < 0 ? 0 : v > ONE ? ONE : v;
#if SQUARED
            sum += x * weights[i] * x;
#else
            sum += x * weights[i];
#endif
        }
    }
    int64_t value = sum;
#if SQUARED
    value /= ONE;
#endif
    return (int)((value + net.b3[0]) * CENTIPAWNS / (ONE * WEIGHT));
}
