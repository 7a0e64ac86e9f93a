// The error of an evaluation and its gradient as one writes it down: what `nnuelab bench texel`
// measures against. Compiled on the spot with gcc -O3 -march=native.

#include <math.h>
#include <stdint.h>

// Sum of the squared errors of n positions; the gradient of its half is added to `gradient`.
// weights, gradient: [n_weights][2], middlegame and endgame
double error_and_gradient(long n, const uint64_t *starts, const uint16_t *terms,
                          const int8_t *counts, const uint8_t *phase, const float *results,
                          double k, const double *weights, double *gradient)
{
    double total = 0, scale = k * log(10) / 400;
    for (long i = 0; i < n; i++) {
        double mg = 0, eg = 0, share = phase[i] / 24.0;
        for (uint64_t j = starts[i]; j < starts[i + 1]; j++) {
            mg += counts[j] * weights[2 * terms[j]];
            eg += counts[j] * weights[2 * terms[j] + 1];
        }
        double expected = 1 / (1 + exp(-scale * (mg * share + eg * (1 - share))));
        double difference = expected - results[i];
        double slope = difference * expected * (1 - expected) * scale;
        total += difference * difference;
        for (uint64_t j = starts[i]; j < starts[i + 1]; j++) {
            gradient[2 * terms[j]] += counts[j] * slope * share;
            gradient[2 * terms[j] + 1] += counts[j] * slope * (1 - share);
        }
    }
    return total;
}
