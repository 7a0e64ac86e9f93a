"""Products against their twin and torch; trainings by other code paths of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.learning.linear import _product, linear
from tests.naive import nnue as naive
from tests.nnue_data import write_datasets


@given(st.integers(1, 70), st.integers(0, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_a_product_is_a_chain_of_fused_multiply_adds(
    rows: int, inner: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a = (rng.standard_normal((rows, inner)) * 10.0 ** rng.integers(-9, 9)).astype(np.float32)
    b = rng.standard_normal((inner, columns)).astype(np.float32)
    zeros = np.zeros((rows, columns), np.float32)
    np.testing.assert_array_equal(_product(a, b), naive.product(a, b, zeros))


def test_a_dense_layer_and_its_gradients_are_those_of_torch() -> None:
    generator = torch.Generator().manual_seed(1)
    tensors = [
        torch.randn(*shape, generator=generator).requires_grad_()
        for shape in ((77, 19), (5, 19), (5,))
    ]
    ours, theirs = linear(*tensors), torch.nn.functional.linear(*tensors)
    torch.testing.assert_close(ours, theirs)
    slope = torch.randn(77, 5, generator=generator)
    found, wanted = (torch.autograd.grad(out, tensors, slope) for out in (ours, theirs))
    torch.testing.assert_close(found, wanted)


TRAINING = """
import sys
from pathlib import Path
from nnuelab.nnue.losses import PQR, Scores
from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
folder = Path(sys.argv[1])
data = folder / "train.npy", folder / "validation.npy"
plain = {"l1": 72, "l2": 8}
rare = {"l1": 16, "l2": 8, "l3": 4, "buckets": 2, "activation": "squared"}
rare |= {"fake_quantize_epochs": 1, "clip_norm": 0.01, "optimizer": "rowwise-adam"}
rare |= {"average": 0.3, "weight_decay": 0.1}
pairs = {"l1": 40, "l2": 8, "pairwise": True}
direct = {"l1": 40, "l2": 0, "activation": "squared"}
for name, shape in (("plain", plain), ("rare", rare), ("pairs", pairs), ("direct", direct)):
    settings = Settings("ALL+KB(4)", epochs=2, batch_size=256, learning_rate=1e-3, **shape)
    files = Path(sys.argv[2]) / f"{name}.pt", Path(sys.argv[2]) / f"{name}.csv"
    print(train(settings, *data, *files, 1).digest())
"""

PATHS = {
    "AVX-512": {"NNUELAB_SIMD": "avx512"},
    "without FMA and AVX": {
        "NNUELAB_SIMD": "portable",
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "+sse2",
        "ATEN_CPU_CAPABILITY": "default",
    },
}


def digests(data: Path, folder: Path, path: dict[str, str]) -> list[str]:
    folder.mkdir()
    command = [sys.executable, "-c", TRAINING, str(data), str(folder)]
    done = subprocess.run(command, env=os.environ | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_trainings_have_the_same_bits_by_every_code_path(path: str, tmp_path: Path) -> None:
    there = llvmlite.binding.get_host_cpu_features()
    if not there.get("avx512vnni" if path == "AVX-512" else "avx2"):
        pytest.skip("this CPU can't")
    write_datasets(tmp_path)
    as_avx2 = {"NNUELAB_SIMD": "avx2", "NUMBA_CPU_NAME": "haswell"}
    features = ("avx2", "fma", "bmi", "bmi2", "lzcnt", "popcnt", "sse4.2")
    as_avx2["NUMBA_CPU_FEATURES"] = ",".join(f"+{name}" for name in features)
    expected = digests(tmp_path, tmp_path / "avx2", as_avx2)
    assert len(set(expected)) == 4
    assert digests(tmp_path, tmp_path / "other", PATHS[path]) == expected
