"""The float network in torch: N -> M x2 [-> O [-> P]] -> 1, with a sparse first layer."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import nn

from nnuelab.features import FeatureSet
from nnuelab.learning.first_layer import FirstLayers, balance, sums
from nnuelab.learning.linear import linear
from nnuelab.learning.parallel import Threads
from nnuelab.learning.sparse import Batch
from nnuelab.nnue.layers import LEVELS, MAX_PIECES, OF_FEATURES, PRODUCT_SHIFT, Layers, bucket_of

CENTIPAWNS = 600.0  # what 1.0 of the last layer stands for
HIDDEN = {"w2": "l2_shift", "wh": "l3_shift"}  # layers of int8 weights, and their shifts
ALIGNED = 8  # floats that tensor cores want a row of a matrix to be a multiple of, at least 4
# Features up to which rows are added by a matrix product, by device; measured with 768 to 3,072.
DENSE = {"cuda": 16384}
L2_BOUND = 127 / 64  # |weight| of the second layer that int8 holds at the study's scale of 64


def merged(own: torch.Tensor, shared: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """What features add, [N, M]: their own rows and up to F shared ones, -1 for none.

    Parameters
    ----------
    own : float32 [N, M]
    shared : float32 [S, M]
    numbers : int32 [N, F]
    """
    padded = torch.cat([shared, shared.new_zeros(1, shared.shape[1])])  # the last is that of -1
    for column in numbers.T:
        own = own + padded[column]
    return own


def quantized(clipped: torch.Tensor, shift: int, activation: str) -> torch.Tensor:
    """Clipped sums such that their activation is one that the integer net can have.

    The formulas of :class:`nnuelab.nnue.netfile.Net` in floats: sums are multiples of
    1 / (127 * 2^shift), the activation is one of 127, rounded to nearest. Of products of pairs the
    sums are rounded alone: no sums make the products those of the integer net.
    """
    sums = torch.round(clipped * float(LEVELS << shift))
    if activation == "pairwise":
        return sums / float(LEVELS << shift)
    if activation == "clipped":
        half = (1 << shift) // 2
        return torch.floor((sums + half) * 2.0**-shift).clamp_(max=LEVELS) / LEVELS
    activations = torch.floor(sums.square() * 2.0 ** -(PRODUCT_SHIFT + 2 * shift) + 0.5)
    return torch.sqrt(activations * 2.0**PRODUCT_SHIFT) / LEVELS


class Network(nn.Module):
    """A net that evaluates a position in centipawns for the side to move.

    The accumulators of the two perspectives share ``w1`` and ``b1``; they are clipped to [0, 1],
    squared or multiplied in pairs where the layers say so, and concatenated, side to move first.
    With ``psqt``, values of the side to move's features, less those of the other's, are added.
    Of a dual activation squares are times 127 / 128, as in nnue-pytorch: then 1.0 is one integer.

    With buckets there are so many nets behind the first layer, of which the number of pieces on the
    board chooses one, as in :class:`nnuelab.nnue.netfile.Net`. All begin with the same weights.

    Parameters
    ----------
    layers : Layers
    generator : torch.Generator
        Where the initial weights come from: they depend on its seed alone.
    active : float
        Features that are typically active; sets the scale of the first weights.
    numbers : int32[N, F], optional
        Rows that a feature shares with others, -1 for none: FeatureSet.shared_rows.

    Attributes
    ----------
    shifts : dict of str to int
        Those of an integer net whose rounding this one has ("fake quantization"), by the names of
        ``scales.shifts_of``; empty: it doesn't round. Gradients pass as if nothing were rounded.
    """

    @classmethod
    def untrained(
        cls, features: FeatureSet, layers: Layers, generator: torch.Generator, factorize: str
    ) -> Network:
        """What training begins with."""
        active, numbers = min(features.max_active, features.size), features.shared_rows(factorize)
        return cls(layers, generator, active, numbers)

    b2: nn.Parameter
    w2: nn.Parameter
    w3: nn.Parameter
    b3: nn.Parameter
    wh: nn.Parameter
    bh: nn.Parameter

    def __init__(
        self,
        layers: Layers,
        generator: torch.Generator,
        active: float = 32,
        numbers: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.layers, (n, m) = layers, layers.shapes["w1"]
        self.shifts: dict[str, int] = {}
        if numbers is None:
            numbers = np.empty((n, 0), np.int32)
        self.numbers: torch.Tensor
        self.register_buffer("numbers", torch.from_numpy(numbers), persistent=False)
        self.buckets: torch.Tensor  # of so many pieces
        buckets = bucket_of(np.arange(MAX_PIECES + 1), layers.buckets)
        self.register_buffer("buckets", torch.from_numpy(buckets), persistent=False)
        self.shared = torch.zeros(int(numbers.max(initial=-1)) + 1, m)
        if len(self.shared):
            self.shared = nn.Parameter(self.shared)
        self.w1 = nn.Parameter(torch.empty(n, m))
        self.b1 = nn.Parameter(torch.zeros(m))
        if layers.psqt:
            self.psqt = nn.Parameter(torch.zeros(n))
        for name, shape in layers.shapes.items():
            if name in OF_FEATURES:
                continue
            if name.startswith("w"):  # its biases follow, drawn as wide
                bound = shape[-1] ** -0.5
            drawn = (torch.rand(*shape, generator=generator) * 2 - 1) * bound
            self.register_parameter(name, nn.Parameter(torch.cat([drawn] * layers.buckets)))
        # A dense layer is drawn from +-1/sqrt(inputs). Of a sparse one only active inputs count,
        # and a quarter of that without biases learns better: a loss of .0019 instead of .0020. It
        # is drawn last, so that equal seeds give all feature sets the same layers behind it.
        bound = active**-0.5 / 4
        nn.init.uniform_(self.w1, -bound, bound, generator)

    def first_layers(self, threads: Threads, whole: bool = False) -> FirstLayers:
        """The kernels of the first layer and of the one behind it, that of all buckets."""
        n, m = self.layers.shapes["w1"]
        numbers, first = self.numbers.numpy(), self.layers.first
        outputs = self.layers.buckets * (self.layers.l2 or 1)
        return FirstLayers(n, m, outputs, threads, whole, first, numbers)

    def forward(self, batch: Batch, threads: Threads) -> torch.Tensor:
        """Centipawns for the side to move, float32[B]."""
        return self.valued(batch, self.first_layers(threads))

    def valued(self, batch: Batch, kernels: FirstLayers) -> torch.Tensor:
        """The same by kernels that hold their memory; see ``first_layer.sums`` for gradients."""
        kernels.rounding = None
        if self.shifts:
            shift, first = self.shifts["l1_shift"], self.layers.first
            kernels.rounding = partial(quantized, shift=shift, activation=first)
        b1, behind = self._biases(self.b1, "l1_shift"), self.behind()
        values = self.rest(sums(*self.tables(), b1, *behind, batch, kernels), batch.pieces)
        return values + CENTIPAWNS * balance(self.psqt, batch) if self.layers.psqt else values

    def by_torch(
        self,
        active: torch.Tensor,
        pieces: np.ndarray | torch.Tensor | None,
        dtype: torch.dtype = torch.float32,
    ) -> torch.Tensor:
        """The same by torch's own operators, on any device: see `accumulators` and `rest`."""
        values = self.head(self.accumulators(active, dtype), pieces)
        if not self.layers.psqt:
            return values
        if self._multiplies(active):
            column = torch.cat([self.psqt, self.psqt.new_zeros(self._width - len(self.psqt))])
            stm, other = (self._ones(active, column) @ column).unbind(1)
        else:
            stm, other = torch.cat([self.psqt, self.psqt.new_zeros(1)])[active.long()].sum(2)
        return values + CENTIPAWNS * (stm - other)

    def accumulators(
        self, active: torch.Tensor, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """What the layer behind gets, [B, 2M], by torch's own operators, on any device.

        Parameters
        ----------
        active : int [2, B, K]
            Features seen by the side to move and by the other; N stands for none.
        dtype : torch.dtype
            Of the weights and of what is found, where rows are multiplied.
        """
        if not self._multiplies(active):
            return self.of_rows(self.row_sums(active.int()))
        rows, biases = self.rows(), self._biases(self.b1, "l1_shift")
        nothing = rows.new_zeros(self._width - len(rows) - 1, rows.shape[1])
        table = torch.cat([rows, nothing, biases[None]]).to(dtype)
        sums = self._ones(active, table) @ table
        return self.activated(sums, "l1_shift", self.layers.first).flatten(1)

    def _multiplies(self, active: torch.Tensor) -> bool:
        """A GPU multiplies by zeros faster than it gathers rows."""
        return self.layers.n_features <= DENSE.get(active.device.type, 0)

    @property
    def _width(self) -> int:
        """Rows of a product: those of the features, of N, and that of the biases, the last."""
        return self.layers.n_features + ALIGNED - (self.layers.n_features + 1) % ALIGNED + 1

    def _ones(self, active: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        """[B, 2, width]: 1 where a feature is active and in the last column, else 0."""
        ones = table.new_zeros(active.shape[1], 2, self._width)
        ones.scatter_(2, active.long().transpose(0, 1), 1)
        ones[..., -1] = 1
        return ones

    def row_sums(self, active: torch.Tensor) -> torch.Tensor:
        """What the features add to both accumulators, without the biases, [B, 2M]."""
        rows = self.rows()
        padded = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
        sides = [
            nn.functional.embedding_bag(side, padded, mode="sum", padding_idx=len(rows))
            for side in active
        ]
        return torch.cat(sides, 1)

    def of_rows(self, sums: torch.Tensor) -> torch.Tensor:
        """What the layer behind gets of `row_sums`."""
        sides = sums.unflatten(1, (2, -1)) + self._biases(self.b1, "l1_shift")
        return self.activated(sides, "l1_shift", self.layers.first).flatten(1)

    def activated(self, sums: torch.Tensor, layer: str, activation: str) -> torch.Tensor:
        """The activation of the sums of a layer, which is named by its shift."""
        if activation == "dual":
            square, clipped = (self.activated(sums, layer, of) for of in ("squared", "clipped"))
            return torch.cat([square * (LEVELS / 2**PRODUCT_SHIFT), clipped], -1)
        # Its gradient is one kernel of a GPU, that of clamp are four.
        clipped = nn.functional.hardtanh(sums, 0, 1) if sums.is_cuda else sums.clamp(0, 1)
        if self.shifts:
            rounded = quantized(clipped.detach(), self.shifts[layer], activation)
            # As in the kernels, what is rounded to a corner of the clip has no gradient.
            inside = (rounded > 0) & (rounded < 1)
            clipped = torch.where(inside, _through(clipped, rounded), rounded)
        return of_clipped(clipped, activation)

    def tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows of the features' own and shared ones, that the kernels add.

        Where the net rounds, it is the sum that is rounded: it takes the place of their own.
        """
        if not self.shifts:
            return self.w1.detach(), self.shared
        return self.rows().detach(), _through(self.shared, torch.zeros_like(self.shared))

    def rows(self) -> torch.Tensor:
        """What each feature adds to an accumulator, float32[N, M]."""
        rows = merged(self.w1, self.shared, self.numbers)
        return rows if not self.shifts else _rounded(rows, LEVELS * 2.0 ** self.shifts["l1_shift"])

    def _biases(self, values: torch.Tensor, layer: str) -> torch.Tensor:
        """Those of a hidden layer, which is named by its shift."""
        return _rounded(values, LEVELS * 2.0 ** self.shifts[layer]) if self.shifts else values

    def _dense(self, name: str) -> torch.Tensor:
        """The weights of a hidden layer, w2 or wh."""
        weights: torch.Tensor = getattr(self, name)
        if not self.shifts:
            return weights
        return _rounded(weights, self.layers.scale(name, self.shifts[HIDDEN[name]]))

    def behind(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights and biases of the layer that gets the accumulators: the second, or the last."""
        if not self.layers.l2:
            return self.w3[None], self.b3
        return self._dense("w2"), self._biases(self.b2, "l2_shift")

    def head(
        self, inputs: torch.Tensor, pieces: np.ndarray | torch.Tensor | None = None
    ) -> torch.Tensor:
        """From what the layer behind gets, [B, 2M], to centipawns [B]; ``pieces`` as in rest."""
        weights, biases = self.behind()
        if not self.layers.l2:  # half of the bits would round centipawns
            inputs = inputs.to(weights.dtype)
        sums = linear(inputs, weights.to(inputs.dtype), biases.to(inputs.dtype))
        return self.rest(sums.to(weights.dtype), pieces)

    def rest(
        self, sums: torch.Tensor, pieces: np.ndarray | torch.Tensor | None = None
    ) -> torch.Tensor:
        """From the sums of the layer that gets the accumulators to centipawns [B].

        Parameters
        ----------
        sums : float32 [B, buckets * O], or [B, 1] where it is the last
        pieces : int [B], optional
            On the board; what buckets are chosen by.
        """
        if not self.layers.l2:
            return CENTIPAWNS * sums.squeeze(1)
        buckets, activation = self.layers.buckets, self.layers.activation
        if buckets > 1:
            assert pieces is not None
            on_board = torch.as_tensor(pieces, dtype=torch.int64, device=sums.device)
            bucket = self.buckets[on_board]

        def chosen(of_all: torch.Tensor) -> torch.Tensor:
            if buckets == 1:
                return of_all
            parts = of_all.unflatten(1, (buckets, -1))
            return parts.gather(1, bucket[:, None, None].expand(-1, 1, parts.shape[2])).squeeze(1)

        # All buckets are computed, and one is taken: few large products beat many small ones.
        hidden = self.activated(chosen(sums), "l2_shift", activation)
        if self.layers.l3:
            biases, weights = self._biases(self.bh, "l3_shift"), self._dense("wh")
            found = chosen(linear(hidden, weights, biases))
            hidden = self.activated(found, "l3_shift", activation)
        values = linear(hidden, self.w3.view(buckets, -1), self.b3)
        return CENTIPAWNS * chosen(values).squeeze(1)

    def dense_parameters(self) -> list[nn.Parameter]:
        """All parameters but the rows of the first layer."""
        return [parameter for name, parameter in self.named_parameters() if name != "w1"]

    @torch.no_grad()
    def clip_weights(self) -> None:
        """Clamps the weights of hidden layers to the range of int8; after each optimizer step."""
        for name, shift in HIDDEN.items():
            if name in self.layers.shapes:
                bound = L2_BOUND * self.layers.unit(name) / LEVELS
                if self.shifts:
                    bound = min(bound, 127 / self.layers.scale(name, self.shifts[shift]))
                getattr(self, name).clamp_(-bound, bound)


def of_clipped(clipped: torch.Tensor, activation: str) -> torch.Tensor:
    """What the next layer gets of clipped sums [..., neurons]."""
    if activation == "clipped":
        return clipped
    one, other = clipped.chunk(2, -1) if activation == "pairwise" else (clipped, clipped)
    return one * other


def _through(weights: torch.Tensor, rounded: torch.Tensor) -> torch.Tensor:
    """``rounded``, with the gradient of ``weights`` (a straight-through estimator)."""
    return weights + (rounded - weights).detach()


def _rounded(weights: torch.Tensor, scale: float) -> torch.Tensor:
    """Weights that are integers when multiplied by ``scale``; gradients pass."""
    return _through(weights, torch.round(weights.detach() * scale) / scale)
