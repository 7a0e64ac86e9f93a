/* From accumulators to centipawns: inference in integers. Included by nnue.c. */
static inline int32_t limited(int32_t sum, int32_t most) { return sum < 0 ? 0 : sum > most ? most : sum; }
#if CLIPS
static inline uint8_t clipped(int32_t sum, int shift) { return (uint8_t)limited(sum >> shift, 127); }
#endif
#if MULTIPLIES
static inline uint8_t product(int32_t v, int32_t w, int shift) { /* rounded to nearest */
    int32_t most = 127 << shift, half = 1 << (6 + 2 * shift);
    return (uint8_t)((limited(v, most) * limited(w, most) + half) >> (7 + 2 * shift));
}
#endif

/* Activates an accumulator to the inputs from `first`; lists the blocks that are not 0 behind `n`
 * others, and returns how many there are then. */
static int activate(uint8_t *x, uint16_t *blocks, int n, const int16_t *accumulator, int first) {
    for (int i = 0; i < INPUTS; i += 32) {
#if defined __AVX2__
        const __m256i zero = _mm256_setzero_si256();
        __m256i half[2], packed;
        for (int k = 0; k < 2; k++) {
            __m256i v = _mm256_loadu_si256((const void *)&accumulator[i + 16 * k]);
#if MULTIPLIES_FIRST /* a high half, rounded: v * w << 8 - 2 * L1_SHIFT >> 15 */
            const __m256i most = _mm256_set1_epi16(127 << L1_SHIFT);
            __m256i w = _mm256_loadu_si256((const void *)&accumulator[APART + i + 16 * k]);
            v = _mm256_min_epi16(_mm256_max_epi16(v, zero), most);
            w = _mm256_min_epi16(_mm256_max_epi16(w, zero), most);
            half[k] = _mm256_mulhrs_epi16(v, _mm256_slli_epi16(w, 8 - 2 * L1_SHIFT));
#else
            half[k] = _mm256_srai_epi16(v, L1_SHIFT);
#endif
        }
        packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(half[0], half[1]), 0xD8);
        packed = _mm256_max_epi8(packed, zero);
        _mm256_storeu_si256((void *)&x[first + i], packed);
        packed = _mm256_cmpgt_epi32(packed, zero);
        unsigned used = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(packed)); /* of eight blocks */
#else
        unsigned used = 0;
        for (int j = i; j < i + 32; j++)
#if MULTIPLIES_FIRST
            x[first + j] = product(accumulator[j], accumulator[APART + j], L1_SHIFT);
#else
            x[first + j] = clipped(accumulator[j], L1_SHIFT);
#endif
        for (int block = 0; block < 8; block++) {
            uint32_t inputs;
            memcpy(&inputs, &x[first + i + 4 * block], 4);
            used |= (unsigned)(inputs != 0) << block;
        }
#endif
        *(numbers *)&blocks[n] = net.listed[used] + (uint16_t)((first + i) / 4);
        n += count(used);
    }
    return n;
}

/* Activates the sums of a hidden layer; to twice as many inputs where the activation is dual. */
static void activate_hidden(uint8_t *y, const int32_t *sums, int n, int shift) {
#if SQUARED
    for (int i = 0; i < n; i++) y[i] = product(sums[i], sums[i], shift);
#else
    for (int i = 0; i < n; i++) y[i] = clipped(sums[i], shift);
#endif
#if DUAL
    for (int i = 0; i < n; i++) y[n + i] = clipped(sums[i] + ((1 << shift) >> 1), shift);
#endif
}

/* Adds the products of four inputs, 0..127, with the weights of some neurons. */
#if defined __AVX512VNNI__ && (L2 + 7) / 8 % 4 == 0
enum { NEURONS = 16, CHAINS = 4 };
typedef __m512i sums_of;
static inline sums_of add_products(sums_of sums, int8_t weights[][4], int32_t inputs) {
    return _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(inputs), _mm512_load_si512(*weights));
}
#elif defined __AVX2__
enum { NEURONS = 8, CHAINS = 2 };
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
enum { NEURONS = 4, CHAINS = 2 };
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
enum { NEURONS = 1, CHAINS = 1 };
typedef int32_t sums_of;
static inline sums_of add_products(sums_of sums, int8_t weights[][4], int32_t inputs) {
    int8_t x[4];
    memcpy(x, &inputs, 4);
    for (int j = 0; j < 4; j++) sums += weights[0][j] * x[j];
    return sums;
}
#endif

/* The sums of the second layer, of the listed blocks: the others are 0, as most are. Blocks take
 * turns with sums of their own: none waits for the one before. */
static void add_blocks(int32_t out[SUMS], int bucket, const uint8_t *x, const uint16_t *blocks, int n) {
    for (int start = 0; start < SUMS; start += SUMS_TILE) {
        enum { N = SUMS_TILE / NEURONS };
        static const int32_t none[NEURONS];
        int32_t ends[CHAINS][SUMS_TILE];
        sums_of sums[CHAINS][N];
        for (int k = 0; k < CHAINS; k++)
            for (int i = 0; i < N; i++)
                memcpy(&sums[k][i], k ? none : &net.b2[bucket][start + i * NEURONS], sizeof **sums);
        for (int j = 0; j < n; j += CHAINS)
            for (int k = 0; k < CHAINS; k++) {
                int8_t(*weights)[4] = &net.w2[bucket][blocks[j + k]][start];
                int32_t inputs;
                memcpy(&inputs, &x[4 * blocks[j + k]], 4);
                for (int i = 0; i < N; i++)
                    sums[k][i] = add_products(sums[k][i], &weights[i * NEURONS], inputs);
            }
        memcpy(ends, sums, sizeof ends);
        for (int i = 0; i < SUMS_TILE; i++) {
            out[start + i] = ends[0][i];
            for (int k = 1; k < CHAINS; k++) out[start + i] += ends[k][i];
        }
    }
}

static int forward(const ply *p, int turn) {
    uint8_t x[2 * INPUTS + 4], y[OUTPUTS * L2 > LAST ? OUTPUTS * L2 : LAST];
    uint16_t blocks[BLOCKS + CHAINS];
    int32_t sums[SUMS];
    int pieces = 0, n = 0;
    for (int piece = 0; piece < 12; piece++) pieces += count(p->pieces[piece]);
    int bucket = (pieces - 1) * BUCKETS / 32;
    for (int view = 0; view < 2; view++)
        n = activate(x, blocks, n, p->sides[turn ^ view].accumulator, view * INPUTS);
    memset(&x[2 * INPUTS], 0, 4); /* a block of zeros, up to whole turns */
    for (int i = 0; i < CHAINS; i++) blocks[n + i] = BLOCKS;
    add_blocks(sums, bucket, x, blocks, n);
    activate_hidden(y, sums, L2, L2_SHIFT);
#if L3
    int32_t hidden[L3];
    for (int i = 0; i < L3; i++) {
        hidden[i] = net.bh[bucket][i];
        for (int j = 0; j < OUTPUTS * L2; j++) hidden[i] += net.wh[bucket][i][j] * y[j];
    }
    activate_hidden(y, hidden, L3, L3_SHIFT);
#endif
    int64_t value = net.b3[bucket];
#if PSQT
    int chosen = PSQT > 1 ? bucket : 0;
    value += p->sides[turn].psqt[chosen] - p->sides[turn ^ 1].psqt[chosen];
#endif
    for (int start = 0; start < LAST; start += 512) { /* so many products fit int32 */
        int32_t sum = 0;
        for (int i = start; i < LAST && i < start + 512; i++) sum += net.w3[bucket][i] * y[i];
        value += sum;
    }
    return (int)(value >> OUT_SHIFT);
}
