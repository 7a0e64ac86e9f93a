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

/* Activates an accumulator to the inputs from `first`; sets the bits of blocks that are not 0. */
static void activate(uint8_t *x, uint64_t *bits, const int16_t *accumulator, int first) {
#if defined __AVX2__
    const __m256i zero = _mm256_setzero_si256();
    for (int i = 0; i < INPUTS; i += 32) {
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
        __m256 used = _mm256_castsi256_ps(_mm256_cmpgt_epi32(packed, zero));
        int block = (first + i) / 4;
        bits[block / 64] |= (uint64_t)_mm256_movemask_ps(used) << block % 64;
    }
#else
#if MULTIPLIES_FIRST
    for (int i = 0; i < INPUTS; i++)
        x[first + i] = product(accumulator[i], accumulator[APART + i], L1_SHIFT);
#else
    for (int i = 0; i < INPUTS; i++) x[first + i] = clipped(accumulator[i], L1_SHIFT);
#endif
    for (int block = first / 4; block < (first + INPUTS) / 4; block++) {
        uint32_t inputs;
        memcpy(&inputs, &x[4 * block], 4);
        bits[block / 64] |= (uint64_t)(inputs != 0) << block % 64;
    }
#endif
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

/* The sums of the second layer: blocks of zeros, as most are, are skipped. Blocks take turns
 * with sums of their own: none waits for the one before. */
static void add_blocks(int32_t out[SUMS], int bucket, const uint8_t *x, const uint64_t *bits) {
    for (int start = 0; start < SUMS; start += SUMS_TILE) {
        enum { N = SUMS_TILE / NEURONS };
        static const int32_t none[NEURONS];
        int32_t ends[CHAINS][SUMS_TILE];
        sums_of sums[CHAINS][N];
        for (int k = 0; k < CHAINS; k++)
            for (int i = 0; i < N; i++)
                memcpy(&sums[k][i], k ? none : &net.b2[bucket][start + i * NEURONS], sizeof **sums);
        for (size_t word = 0; word < WORDS; word++) {
            int8_t(*weights)[SUMS][4] = &net.w2[bucket][64 * word];
            uint64_t set = bits[word];
            for (int left = count(set); left > 0; left -= CHAINS)
                for (int k = 0; k < CHAINS && k < left; k++, set &= set - 1) {
                    size_t block = (size_t)__builtin_ctzll(set);
                    int32_t inputs;
                    memcpy(&inputs, &x[256 * word + 4 * block], 4);
                    for (int i = 0; i < N; i++)
                        sums[k][i] =
                            add_products(sums[k][i], &weights[block][start + i * NEURONS], inputs);
                }
        }
        memcpy(ends, sums, sizeof ends);
        for (int i = 0; i < SUMS_TILE; i++) {
            out[start + i] = ends[0][i];
            for (int k = 1; k < CHAINS; k++) out[start + i] += ends[k][i];
        }
    }
}

static int forward(const ply *p, int turn) {
    uint8_t x[2 * INPUTS], y[OUTPUTS * L2 > LAST ? OUTPUTS * L2 : LAST];
    uint64_t bits[WORDS] = {0};
    int32_t sums[SUMS];
    int pieces = 0;
    for (int piece = 0; piece < 12; piece++) pieces += count(p->pieces[piece]);
    int bucket = (pieces - 1) * BUCKETS / 32;
    activate(x, bits, p->sides[turn].accumulator, 0);
    activate(x, bits, p->sides[turn ^ 1].accumulator, INPUTS);
    add_blocks(sums, bucket, x, bits);
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
