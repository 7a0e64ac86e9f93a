"""Tuning: weights of an evaluation to those of a lower error on results of games.

What is guaranteed, each with a test:

* The tuned weights, the history and the table depend on settings, seed and positions alone: not on
  the number of threads, not on interruptions.
* Until the end there is ``OUTPUT.partial``, written every few seconds, from which the same command
  goes on; the output appears when the run is done.
* Weights that no position hits stay at their start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.hce import (
    checkpoint,
    evaluation,
    genome,
    history,
    optimizers,
    outcome,
    parameters,
)
from nnuelab.hce.console import Console, counts
from nnuelab.hce.error import Error, fit_k
from nnuelab.hce.evaluation import Evaluation
from nnuelab.hce.objective import Objective
from nnuelab.hce.outcome import Tuned
from nnuelab.hce.trace import Trace, never_hit
from nnuelab.hce.uncertainty import standard_errors
from nnuelab.settings.tuning import Tuning

SAVE_SECONDS = 5.0  # between two checkpoints
FEWEST_GAMES = 10
MOST_UNCERTAIN = (
    3000  # free numbers whose standard errors are computed: eigenvalues take their cube
)
AT_MINIMUM = ("adam", "gauss-newton", "lbfgs", "local")  # end where the gradient vanishes


@dataclass(frozen=True)
class Files:
    """Outputs of a run."""

    output: Path
    history: Path
    terms: Path

    def all(self) -> tuple[Path, ...]:
        return self.output, self.history, self.terms


class Run:
    """A run, and how far it has come.

    Parameters
    ----------
    start : Evaluation
    train, validation : Trace
        Of that evaluation's terms; None: nothing is held out.
    settings : Tuning
    seed : int
    files : Files
    reference : Evaluation, optional
        Of the same terms; its error is the line to pass. Without one, the start's is.
    threads : int
        0: one per core. No result depends on it.

    Raises
    ------
    UserError
        When there are too few games or one result only, a setting doesn't fit the evaluation, or an
        unfinished run of other settings is in the way.
    """

    def __init__(
        self,
        start: Evaluation,
        train: Trace,
        validation: Trace | None,
        settings: Tuning,
        seed: int,
        files: Files,
        reference: Evaluation | None = None,
        threads: int = 1,
    ) -> None:
        _check(train)
        self.start, self.train, self.validation = start, train, validation
        self.settings, self.seed, self.files, self.threads = settings, seed, files, threads
        self.coverage = train.coverage()
        self.free = parameters.choose(start, self.coverage > 0, settings.freeze, settings.tie)
        first_k = settings.k or fit_k(train, start.weights.astype(np.float64), threads)
        self.objective = Objective(
            train, first_k, self.free, settings.l2, settings.towards, threads
        )
        self.genome = None
        if settings.optimizer in ("pbil", "ga"):
            self.genome = _genome(start, self.free, settings)
        self.generations = settings.generations or optimizers.usual(settings.optimizer)
        self.optimizer = optimizers.create(
            self.objective, settings, seed, self.generations, self.genome
        )
        weights = (reference or start).weights.astype(np.float64)
        self.reference = self.objective.error.value(weights)
        self.reference_held_out = (
            None if validation is None else Error(validation, first_k, threads).value(weights)
        )
        self.rows: list[dict[str, Any]] = []
        self.bits: np.ndarray | None = None
        self.converged = False
        self._measured: tuple[Any, float, float | None] = None, 0.0, None
        self._described = self._describe(reference)
        self.partial = checkpoint.beside(files.output)
        before = checkpoint.read(self.partial, self._described)
        if before is not None:
            try:
                self._restore(before)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise checkpoint.damaged(self.partial) from error
        self.done_before = self.optimizer.generation

    def generations_left(
        self, save_seconds: float = SAVE_SECONDS, show: Callable[[Run], None] | None = None
    ) -> None:
        """Runs to the end; ``show`` is called after each generation."""
        saved = time.monotonic()
        while self.optimizer.generation < self.generations and not self.converged:
            self._generation()
            if show is not None:
                show(self)
            if time.monotonic() - saved >= save_seconds:
                self._save()
                saved = time.monotonic()

    def _generation(self) -> None:
        state = self.optimizer.step()
        weights = self.free.weights(state.numbers)
        best, held_out = self._errors(state.numbers, weights)
        row: dict[str, Any] = {
            "generation": self.optimizer.generation,
            "best": state.best,
            "mean": state.mean,
            "best_so_far": best,
            "reference": self.reference,
            "validation": held_out,
            "k": self.objective.k,
            **history.of_bits(state.bits),
            "zero_weights": int((np.rint(weights)[self.free.cells >= 0] == 0).sum()),
        }
        self.rows.append(row)
        self.bits, self.converged = state.bits, state.converged
        if self.settings.refit_k:
            self.objective.set_k(fit_k(self.train, weights, self.threads))
            self.optimizer.forget_lowest()

    def _errors(self, numbers: np.ndarray, weights: np.ndarray) -> tuple[float, float | None]:
        """On the positions that are fitted and on held-out ones; kept while nothing changes."""
        key = numbers.tobytes(), self.objective.k
        if self._measured[0] != key:
            held_out = None
            if self.validation is not None:
                held_out = Error(self.validation, self.objective.k, self.threads).value(weights)
            self._measured = key, self.objective.error.value(weights), held_out
        return self._measured[1:]

    def finish(self, inputs: dict[str, Path]) -> Tuned:
        """Writes the outputs with their provenance, and removes the checkpoint."""
        numbers, k = self.optimizer.numbers, self.rows[-1]["k"]
        self.objective.set_k(k)
        weights = self.free.weights(numbers)
        told = {
            "tuned_by": "nnuelab texel tune",
            "start": self.start.name,
            "optimizer": self.settings.optimizer,
            "generations": self.optimizer.generation,
            "seed": self.seed,
            "k": float(f"{k:.9g}"),
            "positions": len(self.train),
            "games": len(np.unique(self.train.games)),
        }
        made = self.start.with_weights(weights, **told)
        whole = made.weights.astype(np.float64)
        held_out = None
        if self.validation is not None:
            held_out = Error(self.validation, k, self.threads).value(whole)
        tuned = Tuned(
            made,
            self.rows,
            self.objective.error.value(whole),
            self.reference,
            held_out,
            self.reference_held_out,
            k,
            self.free.n,
            0 if self.genome is None else self.genome.bits,
            never_hit(self.coverage, self.start),
            [] if self.genome is None else self._at_the_end(numbers),
        )
        history.write(self.files.history, self.rows)
        errors = np.full(self.free.n, np.nan)
        if self.settings.optimizer in AT_MINIMUM and self.free.n <= MOST_UNCERTAIN:
            errors = standard_errors(self.objective, numbers)
        outcome.write_terms(
            self.files.terms, self.start, made, self.free.spread(errors), self.coverage
        )
        evaluation.write(self.files.output, made)
        # Where the bits ended: the history has shares of them alone.
        ended = {} if self.bits is None else {"bit_histogram": counts(self.bits).tolist()}
        for path in self.files.all():
            artifacts.provenance(
                path,
                inputs=inputs,
                parameters=asdict(self.settings),
                seed=self.seed,
                module="hce.tuning",
                **(ended if path == self.files.history else {}),
            )
        self.partial.unlink(missing_ok=True)
        return tuned

    def _at_the_end(self, numbers: np.ndarray) -> list[str]:
        """Labels of weights whose field doesn't reach any further."""
        assert self.genome is not None
        far = np.abs(numbers) == np.maximum(self.genome.highest, -self.genome.lowest)
        cells = self.free.first[far & (numbers != 0)]
        labels = self.start.labels
        return [labels[weight] for weight in np.unique(cells // 2).tolist()]

    def _save(self) -> None:
        progress = {
            "k": self.objective.k,
            "rows": self.rows,
            "converged": self.converged,
            **({} if self.bits is None else {"bits": self.bits}),
            **{f"optimizer.{name}": value for name, value in self.optimizer.saved().items()},
        }
        checkpoint.write(self.partial, self._described, progress)
        history.write(self.files.history, self.rows)

    def _restore(self, before: dict[str, Any]) -> None:
        self.rows, self.converged = before["rows"], before["converged"]
        self.bits = before.get("bits")
        self.objective.set_k(before["k"])
        own = "optimizer."
        self.optimizer.restore(
            {name.removeprefix(own): v for name, v in before.items() if name.startswith(own)}
        )

    def _describe(self, reference: Evaluation | None) -> dict[str, Any]:
        """All that the result depends on."""
        weights = [made.weights.tolist() for made in (self.start, reference) if made is not None]
        traces = [t.path for t in (self.train, self.validation) if t is not None]
        return {
            **asdict(self.settings),
            "seed": self.seed,
            "evaluation": self.start.fingerprint(),
            "weights": weights,
            "positions": [artifacts.sha256(path) for path in traces if path is not None],
            "code": artifacts.code_hash("hce.tuning"),
        }


def _check(train: Trace) -> None:
    name = train.path or "the trace"
    games = len(np.unique(train.games))
    if games < FEWEST_GAMES:
        raise UserError(
            f"{name} has positions of {games} games; tuning needs {FEWEST_GAMES} at least, and "
            "thousands to learn anything"
        )
    if (train.results == train.results[0]).all():
        what = {0.0: "lost", 0.5: "drawn", 1.0: "won"}.get(float(train.results[0]), "equal")
        raise UserError(
            f"{name}: all {len(train):,} positions are of games that White has {what}; results "
            "that don't differ say nothing of weights"
        )


def _genome(start: Evaluation, free: parameters.Parameters, settings: Tuning) -> genome.Genome:
    """The genome of the free numbers, with the widths that the settings give terms or weights."""
    given: dict[int, int] = {}
    for name, width in settings.width.items():
        try:
            bits = int(width)
        except ValueError:
            raise UserError(f"--width {name}={width}: write a number of bits") from None
        cells = free.cells[parameters.named(start, name)]
        given |= dict.fromkeys(cells[cells >= 0].tolist(), bits)
    return genome.design(free.of(free.start), settings.encoding, settings.bits, given)


def tune(
    start: Evaluation,
    train: Trace,
    validation: Trace | None,
    settings: Tuning,
    seed: int,
    files: Files,
    inputs: dict[str, Path],
    reference: Evaluation | None = None,
    threads: int = 1,
    save_seconds: float = SAVE_SECONDS,
) -> Tuned:
    """Tunes an evaluation, or continues a run that was stopped, and writes its files.

    Parameters are those of :class:`Run`; ``inputs`` are files for the provenance.
    """
    run = Run(start, train, validation, settings, seed, files, reference, threads)
    console = Console(run.generations, run.done_before)

    def show(run: Run) -> None:
        last = run.converged or run.optimizer.generation == run.generations
        console.show(run.rows[-1], run.bits, last)

    run.generations_left(save_seconds, show)
    return run.finish(inputs)
