"""Settings of policies that learn from their own games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from nnuelab.settings import seed_setting, setting

Head = Literal["fromto", "product", "pair"]
Activation = Literal["relu", "sigmoid"]
Guard = Literal["none", "threefold", "repeated"]
GUARD = "Moves that are forbidden: none; one that repeats a third time; any that repeats."


@dataclass(frozen=True)
class Learning:
    """What all ways to learn have: a net, and how its progress is measured."""

    features: str = setting("ALL", "The feature set.")
    layers: list[int] = setting([256, 64], "Width of a hidden layer; repeat for more.")
    head: Head = setting("pair", "The numbers that moves are chosen by.")
    rank: int = setting(0, "Of the head product.", ge=0)
    activation: Activation = setting("relu", "Of hidden layers.")
    iterations: int = setting(60, "Games, then training on them; 0: untrained.", ge=0)
    games: int = setting(320, "Of an iteration.", ge=1)
    max_plies: int = setting(200, "A game ends after this many half-moves.", ge=1, le=10_000)
    learning_rate: float = setting(1e-3, "Of Adam.", gt=0)
    batch_size: int = setting(1024, "Positions per step.", ge=1)
    seed: int = seed_setting("Of weights, games and draws.")
    evaluate_every: int = setting(5, "Iterations between two evaluations; 0: none.", ge=0)
    evaluation_games: int = setting(100, "Against each opponent.", ge=1)
    evaluation_plies: int = setting(
        300, "A draw after this many half-moves; only mates win.", ge=1, le=10_000
    )

    def __post_init__(self) -> None:
        if not 1 <= len(self.layers) <= 4 or not all(1 <= n <= 1 << 14 for n in self.layers):
            raise ValueError(f"{self.layers} are not 1 to 4 layers of 1 to {1 << 14} neurons")
        if (self.head == "product") != (self.rank > 0):
            raise ValueError(f"a head {self.head} with the rank {self.rank} makes no sense")


@dataclass(frozen=True)
class Episodes(Learning):
    """The seed as it was: a game by the walk, then one fit to rewards."""

    features: str = setting("YACGE", "The feature set.")
    layers: list[int] = setting([50], "Width of a hidden layer; repeat for more.")
    head: Head = setting("fromto", "The numbers that moves are chosen by.")
    activation: Activation = setting("sigmoid", "Of hidden layers.")
    iterations: int = setting(500, "Episodes: games, each followed by a fit; 0: untrained.", ge=0)
    games: int = setting(1, "Of an episode; they differ only by --temperature.", ge=1)
    max_plies: int = setting(
        100, "A game ends after this many: 50 moves of White.", ge=1, le=10_000
    )
    batch_size: int = setting(20_000, "Positions per step: all of them.", ge=1)
    epochs: int = setting(20, "Of the fit.", ge=1)
    guard: Guard = setting("none", GUARD)
    temperature: float = setting(
        0.0, "0: the walk; above it moves are drawn among legal ones, not as the seed did.", ge=0
    )
    evaluate_every: int = setting(100, "Episodes between two evaluations; 0: none.", ge=0)


@dataclass(frozen=True)
class Gradient(Learning):
    """Policy gradient with a mask of legal moves."""

    layers: list[int] = setting([256], "Width of a hidden layer; repeat for more.")
    iterations: int = setting(100, "Games, then training on them; 0: untrained.", ge=0)
    games: int = setting(256, "Of an iteration, all in lockstep.", ge=1)
    guard: Guard = setting("none", GUARD)
    temperature: float = setting(1.0, "Of the moves drawn.", gt=0)
    baseline: Literal["none", "mean", "value"] = setting(
        "mean", "Subtracted from rewards: nothing, their mean, or what the value head expects."
    )
    entropy_bonus: float = setting(0.01, "For the entropy of the moves, in the loss.", ge=0)
    opponents: float = setting(
        0.5, "Share of iterations against one of the pool; the others against itself.", ge=0, le=1
    )
    pool: int = setting(8, "Past selves that are kept.", ge=1, le=1000)
    gate_every: int = setting(5, "Iterations between two tries to join the pool.", ge=1)
    gate_games: int = setting(128, "Against the last one of the pool.", ge=1)
    gate: float = setting(0.52, "Score that lets it join; material decides draws.", ge=0, le=1)
    value_weight: float = setting(0.5, "Of the value in the loss.", ge=0)


@dataclass(frozen=True)
class Expert(Learning):
    """Expert iteration: a search that the policy guides teaches it, and results its value."""

    iterations: int = setting(
        60, "Games, then training on those of the last iterations; 0: untrained.", ge=0
    )
    games: int = setting(320, "Of an iteration.", ge=1)
    window: int = setting(10, "Iterations whose games are trained on.", ge=1)
    reuse: float = setting(3.0, "How often a position is trained on, on average.", gt=0)
    simulations: int = setting(48, "Of the search, for each move.", ge=2, le=10_000)
    exploration: float = setting(1.5, "Of the search: how much prior probabilities count.", ge=0)
    unvisited: float = setting(
        0.1, "How much worse than its position an unvisited move is taken to be.", ge=0, le=2
    )
    concentration: float = setting(0.3, "Of Dirichlet's noise at the root.", gt=0)
    noise: float = setting(0.25, "Its share there; 0: none.", ge=0, le=1)
    discount: float = setting(0.99, "Of the value, for each half-move until the end.", gt=0, le=1)
    drawn_plies: int = setting(
        40, "First half-moves of a game, whose moves are drawn by their visits.", ge=0
    )
    random_plies: int = setting(20, "At most so many random half-moves come before.", ge=0)
    material_share: float = setting(
        0.5, "What material can be worth at that end, of a win; 0: a draw is a draw.", ge=0, le=1
    )
    material_scale: float = setting(6.0, "Points ahead that are worth 76 % of it.", gt=0)
    search_share: float = setting(
        0.5, "Of the value to learn: what the search found, the rest is the result.", ge=0, le=1
    )
    value_weight: float = setting(1.0, "Of the value in the loss.", ge=0)


@dataclass(frozen=True)
class Rewards:
    """What moves are rewarded with; an amount of 0 turns a term off."""

    win: float = setting(100.0, "For every move of the winner.", ge=0)
    lose: float = setting(0.0, "Taken from every move of the loser.", ge=0)
    mate: float = setting(0.0, "For the move that mates.", ge=0)
    capture: float = setting(1.0, "For each point taken: Q 8, R 5, N 3, B 3, P 1.", ge=0)
    loss: float = setting(0.0, "Taken for each point that the reply takes.", ge=0)
    promotion: float = setting(0.0, "For a promotion.", ge=0)
    pawn: float = setting(
        0.0, "For a pawn move, which no draw by fifty moves can do without.", ge=0
    )
    pattern: float = setting(0.0, "For a move to the centre, or castling.", ge=0)
    efficiency: float = setting(0.0, "For a walk that finds its move at once, less for more.", ge=0)
    invalid: float = setting(0.0, "Taken for each pair that a walk tried in vain.", ge=0)
    duration: float = setting(0.0, "Taken from every move, for each half-move of the game.", ge=0)
    evaluation: float = setting(0.0, "For each point ahead in the position after the move.", ge=0)
    win_replaces: bool = setting(True, "A win counts alone, whatever else a move did.")
    material_wins: bool = setting(True, "Who has more points at the end of a draw has won.")
    white_only: bool = setting(True, "Only White's moves are learnt.")
    credit: Literal["fixed", "linear", "gradual"] = setting(
        "fixed", "How much of it early moves get: all of it; by their place; less by a factor."
    )
    decay: float = setting(0.98, "That factor, for each half-move until the end.", gt=0, le=1)
    normalised: bool = setting(True, "Rewards are brought to 0..1: divided by the best one.")
    best: float = setting(100.0, "The reward that is 1 then.", gt=0)
    own: float = setting(1.0, "What own squares to go from are to have, so that none dies.", ge=0)
    leave: bool = setting(False, "All other outputs are to stay as they are, instead of 0.")


@dataclass(frozen=True)
class GradientRewards(Rewards):
    """The same terms, as policy gradient does well with them."""

    win: float = setting(1.0, "For every move of the winner.", ge=0)
    lose: float = setting(1.0, "Taken from every move of the loser.", ge=0)
    capture: float = setting(0.05, "For each point taken: Q 8, R 5, N 3, B 3, P 1.", ge=0)
    loss: float = setting(0.05, "Taken for each point that the reply takes.", ge=0)
    win_replaces: bool = setting(False, "A win counts alone, whatever else a move did.")
    white_only: bool = setting(False, "Only White's moves are learnt.")
    normalised: bool = setting(False, "Rewards are brought to 0..1: divided by the best one.")
    credit: Literal["fixed", "linear", "gradual"] = setting(
        "gradual", "How much of it early moves get: all of it; by their place; less by a factor."
    )


def has_value_head(settings: Any) -> bool:
    """Whether a way to learn teaches a value head; ``settings`` of its class or of its section."""
    return hasattr(settings, "value_weight") and getattr(settings, "baseline", "value") == "value"


METHODS: dict[str, tuple[type, ...]] = {
    "seed": (Episodes, Rewards),
    "gradient": (Gradient, GradientRewards),
    "expert": (Expert,),
}
"""What is set of each way to learn, by the name of its command."""
