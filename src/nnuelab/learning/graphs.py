"""Steps on a GPU: a CUDA graph that starts many small kernels at once, and results to come."""

from __future__ import annotations

from collections.abc import Callable

import torch

WARM_UP = 3  # steps before the first capture: libraries set themselves up in them


class Later:
    """A number that a CUDA device has yet to compute; ``float`` waits for it alone.

    Parameters
    ----------
    number : Tensor, 0-dimensional
        May be overwritten by what is started after this.
    """

    def __init__(self, number: torch.Tensor) -> None:
        self._number = torch.empty((), dtype=number.dtype, pin_memory=True)
        self._number.copy_(number, non_blocking=True)
        self._there = torch.cuda.Event()
        self._there.record()

    def __float__(self) -> float:
        self._there.synchronize()
        return float(self._number)


class Replayed:
    """A function of tensors, captured once for each shape of theirs and replayed from then on.

    Every call does what ``function`` does: a replay runs its kernels on copies of the inputs. What
    it uses besides (weights, states of an optimizer) has to stay in its place, and it must not wait
    for the device.

    Parameters
    ----------
    function : callable
        Of tensors on a CUDA device, to one there.
    before : callable
        Is called before the function runs or is captured, not before a replay.
    """

    def __init__(self, function: Callable[..., torch.Tensor], before: Callable[[], object]) -> None:
        self._function, self._before = function, before
        self._calls = 0
        self._stream = torch.cuda.Stream()  # the default one can't be captured
        self._graphs = dict[tuple[torch.Size, ...], _Graph]()

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The result for inputs anywhere; it is overwritten by the next call."""
        self._calls += 1
        shapes = tuple(each.shape for each in inputs)
        if shapes not in self._graphs:
            self._before()
            if self._calls <= WARM_UP:
                self._stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(self._stream):
                    result = self._function(*(each.to("cuda") for each in inputs))
                torch.cuda.current_stream().wait_stream(self._stream)
                return result
            self._graphs[shapes] = _Graph(self._function, inputs, self._stream)
        return self._graphs[shapes].replay(inputs)


class _Graph:
    def __init__(
        self,
        function: Callable[..., torch.Tensor],
        inputs: tuple[torch.Tensor, ...],
        stream: torch.cuda.Stream,
    ) -> None:
        self._inputs = [torch.empty_like(each, device="cuda") for each in inputs]
        self._graph = torch.cuda.CUDAGraph()
        # Threads that make the next batches use the device meanwhile.
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
            self._result = function(*self._inputs)

    def replay(self, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        for place, each in zip(self._inputs, inputs, strict=True):
            place.copy_(each, non_blocking=True)
        self._graph.replay()
        return self._result
