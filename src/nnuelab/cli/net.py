"""``nnuelab net``: net files of this project and of others."""

from __future__ import annotations

import re
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, Commands, app
from nnuelab.cli.importance import By
from nnuelab.errors import UserError

if TYPE_CHECKING:
    from nnuelab.nnue.netfile import Net

net_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Nets: convert and mask them, and compare equal trainings.",
)
app.add_typer(net_app, name="net")

FORMATS = {".nnue": "this project's or nnue-pytorch's", ".nn": "the study's", ".bin": "bullet's"}
SHIFTS = ("l1_shift", "l2_shift", "out_shift")
FLOAT = ".pt", ".onnx"  # endings of a checkpoint, and of what its float net is converted to


class Activation(StrEnum):
    """Of the first layer."""

    SQUARED = "squared"
    CLIPPED = "clipped"


@net_app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Net, .nnue, .nn, .bin or .pt.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Net to write, likewise.")],
    l2: Annotated[
        int | None,
        typer.Option(min=1, max=16384, help="Neurons of the second layer of a .bin."),
    ] = None,
    shifts: Annotated[
        str | None,
        typer.Option(
            metavar="L1,L2,OUT",
            help="The shifts of a .bin, 0,6,4 by default.",
        ),
    ] = None,
    direct: Annotated[
        str | None,
        typer.Option(
            metavar="ONE,WEIGHT,CENTIPAWNS",
            help="A .bin without a second layer: 1.0 of its first layer, of its last one and of "
            "its output; bullet's examples have 255,64,400.",
        ),
    ] = None,
    activation: Annotated[
        Activation, typer.Option(help="Of a .bin without a second layer: SCReLU or CReLU.")
    ] = Activation.SQUARED,
    features: Annotated[
        str | None, typer.Option(help="Refuse a net of another feature set.")
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Convert a net between this project's file, the study's .nn and bullet's raw layout.

    No weight changes; a net that a format can't hold is refused. The float net of a checkpoint,
    .pt, becomes .onnx, a model of features; this needs nnuelab[onnx].

    Example: nnuelab net convert net.nnue net.nn

    Example: nnuelab net convert quantised.bin net.nnue --direct 255,64,400
    """
    from nnuelab.features import parse
    from nnuelab.nnue import bullet, netfile

    if (source.suffix, output.suffix) == FLOAT:
        return _convert_float(source, output, blocks)
    for path in (source, output):
        if path.suffix not in FORMATS:
            known = ", ".join(f"{suffix} ({whose})" for suffix, whose in FORMATS.items())
            raise UserError(
                f"{path}: the name of a net ends in {known}; a checkpoint, .pt, becomes .onnx"
            )
    artifacts.check_apart([source, *(blocks or [])], [output])
    given = {"--l2": l2, "--shifts": shifts, "--direct": direct}
    if source.suffix == ".bin":
        net = _from_bullet(source, l2, shifts, direct, activation)
    elif named := [option for option, value in given.items() if value is not None]:
        raise UserError(f"{source} says itself what it is; {' and '.join(named)}: for a .bin")
    else:
        net = netfile.read_net(source)
    if features is not None and net.feature_set != parse(features).name:
        raise UserError(f"{source} is a net of {net.feature_set}, not of {parse(features).name}")
    write = {".nnue": netfile.write_net, ".nn": netfile.write_nn, ".bin": bullet.write}
    write[output.suffix](output, net)
    sizes = {"l1": net.l1, "l2": net.l2}
    artifacts.provenance(
        output,
        inputs={"net": source},
        parameters={"feature_set": net.feature_set, **sizes, **net.units},
        module="nnue.bullet" if ".bin" in (source.suffix, output.suffix) else "nnue.netfile",
    )
    told = ",".join(map(str, net.units.values()))
    layers = f"--direct {told} --activation {net.activation}"
    layers = layers if net.direct is not None else f"--l2 {net.l2} --shifts {told}"
    reading = f"; read it with {layers}" if output.suffix == ".bin" else ""
    typer.echo(f"{output}: {net}{reading}", err=True)


def _from_bullet(
    source: Path, l2: int | None, shifts: str | None, direct: str | None, activation: Activation
) -> Net:
    from nnuelab.nnue import bullet
    from nnuelab.nnue.layers import Direct

    if direct is not None:
        if l2 is not None or shifts is not None:
            raise typer.BadParameter("--direct is for nets without what --l2 and --shifts are for")
        try:
            meaning = Direct(*_numbers("--direct", direct, "255,64,400"))
        except ValueError as error:
            raise typer.BadParameter(f"--direct: {error}") from None
        return bullet.read_direct(source, meaning, activation.value)
    if l2 is None:
        alone = "; if it has none, as bullet's `simple`: --direct 255,64,400"
        raise UserError(
            f"{source} doesn't say how many neurons its layers have; give those of the second with "
            f"--l2{alone if bullet.is_direct(source) else ''}"
        )
    found = _numbers("--shifts", "0,6,4" if shifts is None else shifts, "0,6,4")
    return bullet.read(source, l2, dict(zip(SHIFTS, found, strict=True)))


def _convert_float(source: Path, output: Path, blocks: list[Path] | None) -> None:
    from nnuelab.nnue import onnx_file
    from nnuelab.nnue.checkpoint import Checkpoint

    artifacts.check_apart([source, *(blocks or [])], [output])
    checkpoint = Checkpoint.read(source)
    told = {"feature_set": str(checkpoint.features)}
    onnx_file.write(output, checkpoint.network(), told["feature_set"])
    artifacts.provenance(
        output, inputs={"checkpoint": source}, parameters=told, module="nnue.onnx_file"
    )
    typer.echo(f"{output}: the float net of {told['feature_set']}, {checkpoint.layers}", err=True)


@net_app.command()
def mask(
    source: Annotated[Path, typer.Argument(metavar="NET", help="Net, .nnue or .nn.")],
    without: Annotated[list[str], typer.Option(help="Group of features; several: repeat it.")],
    output: Annotated[Path, typer.Option(help="Net to write, .nnue.")],
    by: By = "term",
    blocks: Blocks = None,
) -> None:
    """Zero the rows of groups of features, so that games tell what they are worth to the net.

    Groups are those that nnuelab importance lists.

    Example: nnuelab net mask net.nnue --by 'term*role' --without 'ALL, knight' --output masked.nnue

    Example: nnuelab net mask net.nnue --without H --without V --output masked.nnue
    """
    from nnuelab.features.groups import chosen
    from nnuelab.nnue import netfile

    artifacts.check_ending(output, "a net", ".nnue")
    artifacts.check_apart([source, *(blocks or [])], [output])
    net = netfile.read_net(source)
    members = chosen(net.features, by, without)
    netfile.write_net(output, netfile.masked(net, members, by, without))
    found = {"by": by, "without": without}
    artifacts.provenance(output, inputs={"net": source}, parameters=found, module="nnue.netfile")
    typer.echo(f"{output}: {members.sum():,} of {len(members):,} rows of {source} are 0", err=True)


@net_app.command()
def spread(
    nets: Annotated[
        list[Path],
        typer.Argument(
            metavar="NET NET...",
            help="Nets, .nnue or .nn, that differ by their seed.",
            autocompletion=completion.nets,
        ),
    ],
    positions: Annotated[Path, typer.Option(help="Dataset, .npy.")],
    count: Annotated[int, typer.Option(min=2, help="Positions, evenly spaced.")] = 50_000,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    blocks: Blocks = None,
) -> None:
    """Compare what equal trainings say of the same positions: how far nets scatter, without games.

    Example: nnuelab net spread results/nets/ALL/*/net.nnue --positions results/data/validation.npy

    Example: nnuelab net spread first.nnue second.nnue --positions test.npy --count 10000 --json
    """
    import json as encoder

    from nnuelab.nnue.spread import measure

    found = measure(nets, positions, count)
    if json:
        print(encoder.dumps(asdict(found)))
    else:
        print(
            f"{found.nets} nets, {found.positions:,} positions: two nets differ by "
            f"{found.rms_cp:.1f} cp rms of evaluations with a standard deviation of "
            f"{found.sd_cp:.0f} cp, {100 * found.rms_score:.2f} % rms of expected scores"
        )


def _numbers(option: str, text: str, example: str) -> list[int]:
    if not re.fullmatch(r"[0-9]{1,5}(,[0-9]{1,5}){2}", text):
        raise typer.BadParameter(f"{option} is {text!r}, not three numbers such as {example}")
    return list(map(int, text.split(",")))
