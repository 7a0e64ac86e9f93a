// The integer kernels in C with intrinsics, dense: what `nnuelab bench kernels` measures against.
// Compiled on the spot with gcc -O3 -march=native; x86 with AVX2 or AVX-512 VNNI.

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512BW__) && defined(__AVX512VNNI__)
typedef __m512i vec;
#define LOAD(p) _mm512_loadu_si512((const void *)(p))
#define STORE(p, v) _mm512_storeu_si512((void *)(p), v)
#define ADD16(a, b) _mm512_add_epi16(a, b)
#define SUB16(a, b) _mm512_sub_epi16(a, b)
#define CLAMP16(v, high) \
    _mm512_max_epi16(_mm512_min_epi16(v, _mm512_set1_epi16(high)), _mm512_setzero_si512())
#define SHIFT16(v, n) _mm512_slli_epi16(v, (unsigned)(n))
#define ROUNDED16(a, b) _mm512_mulhrs_epi16(a, b)
#define SET32(x) _mm512_set1_epi32(x)
#define DOT(sum, x, w) _mm512_dpbusd_epi32(sum, x, w)
#else
typedef __m256i vec;
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define ADD16(a, b) _mm256_add_epi16(a, b)
#define SUB16(a, b) _mm256_sub_epi16(a, b)
#define CLAMP16(v, high) \
    _mm256_max_epi16(_mm256_min_epi16(v, _mm256_set1_epi16(high)), _mm256_setzero_si256())
#define SHIFT16(v, n) _mm256_slli_epi16(v, (int)(n))
#define ROUNDED16(a, b) _mm256_mulhrs_epi16(a, b)
#define SET32(x) _mm256_set1_epi32(x)
#define DOT(sum, x, w) \
    _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)))
#endif

enum { LANES = sizeof(vec) / 2, REGISTERS = 8, CHUNK = LANES * REGISTERS };

// Each kernel does all of its work `calls` times.

// acc[i + 1] = acc[i] + n rows - n rows, along `count` accumulators
void update(int16_t *acc, long count, long width, const int16_t *rows, const int32_t *plus,
            const int32_t *minus, long n, long calls)
{
    while (calls--) for (long i = 0; i + 1 < count; i++) {
        const int16_t *source = acc + i * width;
        int16_t *target = acc + (i + 1) * width;
        for (long k = 0; k < width; k += CHUNK) {
            vec v[REGISTERS];
            for (int r = 0; r < REGISTERS; r++) v[r] = LOAD(source + k + r * LANES);
            for (long j = 0; j < n; j++) {
                const int16_t *a = rows + plus[j] * width + k, *b = rows + minus[j] * width + k;
                for (int r = 0; r < REGISTERS; r++)
                    v[r] = SUB16(ADD16(v[r], LOAD(a + r * LANES)), LOAD(b + r * LANES));
            }
            for (int r = 0; r < REGISTERS; r++) STORE(target + k + r * LANES, v[r]);
        }
    }
}

// acc[i] = bias + n rows each
void refresh(int16_t *acc, long count, long width, const int16_t *rows, const int16_t *bias,
             const int32_t *active, long n, long calls)
{
    while (calls--) for (long i = 0; i < count; i++)
        for (long k = 0; k < width; k += CHUNK) {
            vec v[REGISTERS];
            for (int r = 0; r < REGISTERS; r++) v[r] = LOAD(bias + k + r * LANES);
            for (long j = 0; j < n; j++) {
                const int16_t *a = rows + active[i * n + j] * width + k;
                for (int r = 0; r < REGISTERS; r++) v[r] = ADD16(v[r], LOAD(a + r * LANES));
            }
            for (int r = 0; r < REGISTERS; r++) STORE(acc + i * width + k + r * LANES, v[r]);
        }
}

static inline int clamped(int v, int high) { return v < 0 ? 0 : v > high ? high : v; }

// The sum of the values of `count` pairs of accumulators; 32 neurons in the second layer, dense.
// `modern`: products of pairs of neurons, then squares of sums beside what is clipped.
static inline __attribute__((always_inline)) long
forward_of(int modern, const int16_t *acc, long count, long width, const int8_t *w2,
           const int32_t *b2, const int32_t *w3, long b3, int l1_shift, int l2_shift,
           int out_shift, long calls)
{
    enum { OUTPUTS = 32, SUMS = OUTPUTS * 4 / sizeof(vec), CHAINS = 4 };
    static uint8_t x[1 << 16];
    static int16_t products[1 << 15];
    long total = 0;
    const long inputs = modern ? width / 2 : width; // of each side
    const int16_t high = (int16_t)(modern ? 127 << l1_shift : (128 << l1_shift) - 1);
    while (calls--) for (long i = 0; i < count; i++) {
        for (int side = 0; side < 2; side++) {
            const int16_t *a = acc + (2 * i + side) * width;
            for (long k = 0; modern && k < inputs; k += LANES) {
                vec v = CLAMP16(LOAD(a + k), high), w = CLAMP16(LOAD(a + inputs + k), high);
                STORE(products + k, ROUNDED16(v, SHIFT16(w, 8 - 2 * l1_shift)));
            }
            uint8_t *to = x + side * inputs;
            for (long k = 0; k < inputs; k++) // gcc makes vectors of it
                to[k] = (uint8_t)(modern ? products[k] : clamped(a[k], high) >> l1_shift);
        }
        vec sums[CHAINS][SUMS]; // so many that none waits for its last product
        for (unsigned s = 0; s < SUMS; s++) {
            sums[0][s] = LOAD((const int8_t *)b2 + s * sizeof(vec));
            for (int c = 1; c < CHAINS; c++) sums[c][s] = SET32(0);
        }
        for (long block = 0; block < inputs / 2; block += CHAINS)
            for (int c = 0; c < CHAINS; c++) {
                int32_t inputs;
                memcpy(&inputs, x + 4 * (block + c), 4);
                vec four = SET32(inputs);
                const int8_t *row = w2 + (block + c) * 4 * OUTPUTS;
                for (unsigned s = 0; s < SUMS; s++)
                    sums[c][s] = DOT(sums[c][s], four, LOAD(row + s * sizeof(vec)));
            }
        int32_t y[CHAINS][OUTPUTS];
        for (unsigned s = 0; s < SUMS; s++)
            for (int c = 0; c < CHAINS; c++)
                STORE((int8_t *)y[c] + s * sizeof(vec), sums[c][s]);
        long value = b3;
        for (int o = 0; o < OUTPUTS; o++) {
            int32_t sum = y[0][o] + y[1][o] + y[2][o] + y[3][o];
            if (modern) {
                int32_t v = clamped(sum, 127 << l2_shift);
                value += (long)((v * v + (64 << 2 * l2_shift)) >> (7 + 2 * l2_shift)) * w3[o];
                value += (long)((v + ((1 << l2_shift) >> 1)) >> l2_shift) * w3[OUTPUTS + o];
            } else
                value += (long)clamped(sum >> l2_shift, 127) * w3[o];
        }
        total += value >> out_shift;
    }
    return total;
}

#define SIGNATURE                                                                              \
    const int16_t *acc, long count, long width, const int8_t *w2, const int32_t *b2,           \
        const int32_t *w3, long b3, int l1_shift, int l2_shift, int out_shift, long calls
#define GIVEN acc, count, width, w2, b2, w3, b3, l1_shift, l2_shift, out_shift, calls

long forward(SIGNATURE) { return forward_of(0, GIVEN); }
long forward_modern(SIGNATURE) { return forward_of(1, GIVEN); }
