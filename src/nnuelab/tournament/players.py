"""Who plays: kinds of players, and their settings from the command line or a file.

A player is ``NAME=FILE``: a net (``default`` is the shipped one), a hand-crafted evaluation
(.yaml; ``{hce: default}`` is the shipped one), a policy (.policy), or an engine with its arguments.
What it plays with besides stands in braces, ``NAME={net: FILE, nodes: 500}``, or in a file, YAML or
TOML, with one mapping, ``players``, of names to settings::

    players:
      nnuelab: {net: default, options: {Hash: 16}}
      classical: {hce: default}
      pruning: {net: default, constants: {delta_margin: 170}}
      ordered: {net: default, ordering: results/a.policy, ordering_depth: 4}
      neural: {policy: results/a.policy, temperature: 0.5, plies: 1}
      chance: {baseline: random, seed: 7}
      toga: {engine: toga2, options: {Hash: 16}, movetime: 50}
      gnuchess: {engine: gnuchess, args: [--uci]}
      other: results/nets/ALL/1/net.nnue

Modules of kinds are imported by name when one of them plays, never by an import statement: so an
edit of one kind leaves the code hash of tournaments without it alone (`modules`).
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nnuelab import files
from nnuelab.errors import UserError, nearest, one_line, quoted
from nnuelab.names import NetName
from nnuelab.settings import LARGEST
from nnuelab.settings.games import Games
from nnuelab.settings.judge import Judge
from nnuelab.sources import PACKAGE
from nnuelab.tournament.limits import KINDS as LIMITS
from nnuelab.tournament.limits import Limit

if TYPE_CHECKING:  # the rules of the workflow read this module, too, and have no use for numba
    from nnuelab.tournament.game import Player

DEFAULT = "default"  # the net that ships with the package
SHIPPED_NET = PACKAGE / "nnue/nets/default.nnue"
PATIENCE = 60.0  # seconds for an answer under a limit of nodes or depth


@dataclass(frozen=True)
class Kind:
    """A kind of players, known by the setting that says what one is made of.

    Attributes
    ----------
    module : str
        In the package. Its ``entrant(settings, limit, defaults)`` makes an `Entrant`, and its
        ``SETTINGS`` are those that it reads, besides a limit.
    endings : tuple of str
        Of the files that they are made of.
    """

    module: str
    endings: tuple[str, ...] = ()


KINDS = {
    "net": Kind("tournament.nets", (".nnue", ".nn")),
    "hce": Kind("tournament.evaluations", (".yaml", ".yml")),
    "policy": Kind("tournament.policies", (".policy",)),
    "baseline": Kind("tournament.baselines"),
    "engine": Kind("tournament.external"),
}

ORDERING = "ordering"
PARTS = {**KINDS, ORDERING: Kind("policy.orderer", (".policy",))}
"""With what a player of this project's engine may have besides; its module makes an Orderer."""


class Entrant(Protocol):
    """One who takes part: its limit, what it is made of, and how it is made."""

    @property
    def limit(self) -> Limit: ...

    def start(self) -> Player:
        """The player, ready to play; UserError when it can't be made."""

    def files(self) -> dict[str, Path]:
        """What it is made of, each with a word for what it is."""

    def settings(self) -> dict[str, Any]:
        """All that its games depend on besides these files, as JSON."""

    def as_engine(self) -> tuple[tuple[str, ...], Mapping[str, Any]]:
        """Command and options of a UCI engine that plays like it; UserError when there is none."""


@dataclass(frozen=True)
class Defaults:
    """What holds for players that don't say otherwise.

    Attributes
    ----------
    limit : mapping
        As in a file: ``{"nodes": 1000}``.
    hash_mb : int
        Size of the transposition table.
    patience : float
        Seconds that an engine has for an answer under a limit of nodes or depth.
    costs : mapping of str to float, optional
        What a node costs, by feature set (`cost.read`): the nodes of each player are divided by it.
    judge : Judge
        The engine that plays the nets, where it isn't this one.
    """

    limit: Mapping[str, Any]
    hash_mb: int = Games.hash
    patience: float = PATIENCE
    costs: Mapping[str, float] | None = None
    judge: Judge = field(default_factory=Judge)

    def of(self, player: str) -> Defaults:
        """Those of one player; UserError where the costs have none of its set."""
        if self.costs is None:
            return self
        entry = NetName.parse(player).entry
        if entry not in self.costs:
            raise UserError(
                f"what a node of {entry} costs was not measured, only of {', '.join(self.costs)}; "
                "measure all players together: nnuelab cost"
            )
        limit = Limit.read(self.limit).divided_by(self.costs[entry])
        return replace(self, limit=limit.told())


def modules(entrants: Iterable[Entrant]) -> list[str]:
    """The modules that make players, for the code hash of their games."""
    kinds = {kind.module for kind in KINDS.values()}
    found = set()
    for entrant in entrants:
        found |= kinds & {type(entrant).__module__.removeprefix("nnuelab.")}
        if ORDERING in entrant.files():
            found.add(PARTS[ORDERING].module)
    return sorted(found)


def read_players(
    file: Path | None,
    words: list[str],
    defaults: Defaults,
) -> dict[str, Entrant]:
    """The players of a tournament by name, in their order.

    Parameters
    ----------
    file : path or None
        YAML or TOML, as in the docstring of this module.
    words : list of str
        ``NAME=FILE`` and so on, as there, or a ``NAME`` of the file; without any of these, all
        players of the file come after the others.
    defaults : Defaults

    Raises
    ------
    UserError
        With the place of the mistake.
    """
    known = _load(file) if file is not None else {}
    chosen: dict[str, Any] = {}
    for word in words:
        name, mark, what = word.partition("=")
        if mark and not (name and what):
            raise UserError(f"player {quoted(word)} is not of the form NAME=NET or NAME=ENGINE")
        if name in chosen:
            raise UserError(f'two players are called "{name}"; give each a name of its own')
        if not mark and name not in known:
            where = f"in {file}{nearest(name, known)}" if file else "without --players FILE"
            raise UserError(f"there is no player {name} {where}; or give it as NAME=NET")
        chosen[name] = what if mark else known[name]
    if all("=" in word for word in words):
        if twice := [name for name in known if name in chosen]:
            raise UserError(f'two players are called "{twice[0]}"; give each a name of its own')
        chosen |= known
    players = {}
    for name, settings in chosen.items():
        try:
            players[name] = _entrant(settings, defaults.of(name))
        except UserError as error:
            raise UserError(f"player {name}: {error}") from None
    return players


def players_of(file: Path) -> list[Any]:
    """The settings of a file's players."""
    return list(_load(file).values())


def kinds_and_files(players: Iterable[Any]) -> tuple[list[str], list[str]]:
    """The PARTS of players, told as in a file of them, and the files that they are made of.

    Neither programs are among these nor the net that comes with the package.
    """
    settings = [_understood(player) for player in players]
    named = [(part, player[part]) for player in settings for part in PARTS if part in player]
    files = [str(what) for part, what in named if PARTS[part].endings and what != DEFAULT]
    return list(dict.fromkeys(part for part, _ in named)), files


def _load(file: Path) -> dict[str, Any]:
    is_toml = file.suffix == ".toml"
    try:
        content = files.content(file, files.SMALL)
        read = tomllib.loads(content.decode()) if is_toml else _yaml(content, str(file))
    except OSError as error:
        raise UserError(f"can't read {file}: {error.strerror}; name a YAML or TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{file} is no TOML: {one_line(error)}") from error
    except ValueError:  # more digits than Python reads
        large = True
    else:
        large = is_toml and not _within(read)  # YAML's reader tells them with their line
    if large:
        raise UserError(f"{file} has an integer beyond 64 bits; give one nearer to 0")
    players = read.get("players") if isinstance(read, dict) else None
    if not isinstance(players, dict) or not players:
        raise UserError(f"{file}: it needs a mapping `players:` of names to settings")
    return {str(name): settings for name, settings in players.items()}


def _within(value: Any) -> bool:
    """Whether all integers in a value fit 64 bits."""
    if isinstance(value, dict | list):
        return all(map(_within, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or abs(value) <= LARGEST


def _yaml(text: str | bytes, source: str) -> Any:
    import yaml

    from nnuelab import yaml_text

    try:
        return yaml_text.load(text)
    except yaml.YAMLError as error:
        reason = ": ".join(filter(None, yaml_text.told(error)))
        raise UserError(f"{source} is no YAML: {reason}") from error


def _understood(settings: Any) -> dict[str, Any]:
    """Settings of a player that may be told as a text."""
    if isinstance(settings, str) and settings.startswith("{"):
        settings = _yaml(settings, settings)
    if isinstance(settings, dict):
        return settings
    if not isinstance(settings, str):
        raise UserError("its settings must be a mapping, such as {net: default}")
    path = Path(settings)
    for kind, known in KINDS.items():
        if path.suffix in known.endings:
            return {kind: settings}
    if os.path.isfile(path):  # Path's raises where a name is too long
        return {"engine" if os.access(path, os.X_OK) else "net": settings}
    if settings == DEFAULT:
        return {"net": settings}
    if os.path.exists(path):
        files.check(path)  # a folder or a device, and no program on PATH of that name
    try:
        program, *arguments = shlex.split(settings)
    except ValueError as error:
        raise UserError(f"{quoted(settings)}: {error}") from None
    return {"engine": program, "args": arguments}


def _judged(settings: dict[str, Any], judge: Judge) -> dict[str, Any]:
    """Settings of a net as those of the engine that plays it."""
    if judge.engine is None or "net" not in settings or "engine" in settings:
        return settings
    engine = program_of(judge.engine)
    net = SHIPPED_NET if settings["net"] == DEFAULT else Path(str(settings["net"]))
    if not os.path.isfile(net):
        raise UserError(f"there is no net {net}")
    own = settings.get("options") or {}
    if not isinstance(own, dict):  # as for all players
        return settings
    options = {**judge.engine_options, **own, judge.net_option: str(net)}
    rest = {key: value for key, value in settings.items() if key != "net"}
    return {**engine, **rest, "options": options}


def program_of(text: str) -> dict[str, Any]:
    """An engine with its arguments, as settings; UserError where it is none."""
    if not text.strip():
        raise UserError("it is empty; name a UCI engine")
    found = {"engine": text} if os.path.isfile(text) else _understood(text)
    if "engine" not in found:
        raise UserError(f"{text} is no engine but a {next(iter(found), 'setting without a name')}")
    arguments: Any = found.get("args", [])
    if not isinstance(found["engine"], str) or not isinstance(arguments, list):
        raise UserError(f"{text}: an engine is a name or path, args is a list")
    if others := sorted(set(map(str, found)) - {"engine", "args"}):
        raise UserError(
            f"{text}: {others[0]} doesn't belong here; options have engine_options, limits the "
            "section tournament"
        )
    return found


def _entrant(given: Any, defaults: Defaults) -> Entrant:
    settings = _judged(_understood(given), defaults.judge)
    named = [kind for kind in KINDS if kind in settings]
    if len(named) != 1:
        raise UserError(f"it needs one of these: {', '.join(KINDS)}")
    module = import_module(f"nnuelab.{KINDS[named[0]].module}")
    known = (*named, *module.SETTINGS, *LIMITS, "margin")
    for key in settings:
        if key not in known:
            near = nearest(str(key), known)
            raise UserError(
                f"unknown setting {key}{near}; beside {named[0]} there may be "
                f"{', '.join(known[1:])}"
            )
    if not isinstance(settings.get("options") or {}, dict):
        raise UserError("options must be a mapping, such as {Hash: 16}")
    own = {key: settings.get(key) for key in (*LIMITS, "margin")}
    if all(own[limit] is None for limit in LIMITS):
        margin = own["margin"]
        own = {**defaults.limit, **({} if margin is None else {"margin": margin})}
    elif own["margin"] is None and (own["movetime"] or own["clock"]):
        own["margin"] = defaults.limit.get("margin")
    return module.entrant(settings, Limit.read(own), defaults)
