"""Settings of games that another engine plays, with nets that it loads."""

from __future__ import annotations

from dataclasses import dataclass

from nnuelab.settings import setting


@dataclass(frozen=True)
class Judge:
    """The engine that plays each net, in place of this one."""

    engine: str | None = setting(
        None, "UCI engine that plays all nets, by name or path, with arguments; else this one."
    )
    net_option: str = setting("EvalFile", "Its option for the file of a net.")
    engine_options: dict[str, str] = setting({}, "Its other options, by name.")
