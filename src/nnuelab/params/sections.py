"""What sections of ``params.yaml`` are made of: settings of stages, and changes to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Annotated, Any, Literal, Self, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    create_model,
    model_validator,
)

from nnuelab.settings import MAX_SEED, MOST, taken

Count = Annotated[int, Field(ge=1, le=MOST)]
Jobs = Annotated[int, Field(ge=1, le=1_000_000)]
CountOrZero = Annotated[int, Field(ge=0, le=MOST)]
Even = Annotated[int, Field(ge=2, le=MOST, multiple_of=2)]
Positive = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
AUTO = "auto"
Seeds = Annotated[list[Annotated[int, Field(ge=0, le=MAX_SEED)]], Field(min_length=1)]


def _as_uci(value: Any) -> Any:
    """Numbers as text, and true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


# A new line would be a new command of UCI.
OptionName = Annotated[str, Field(pattern=r"^[^=\r\n]+$")]
OptionValue = Annotated[
    str,
    BeforeValidator(_as_uci),
    Field(pattern=r"^[^\r\n]*$"),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


class Section(BaseModel):
    """Some settings that belong together."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def section(*declared: type, **kinds: Any) -> type[Section]:
    """A section with the settings of classes of settings; ``kinds`` are types that say more."""

    class Checked(Section):
        @model_validator(mode="after")
        def _makes_sense(self) -> Self:
            for kind in declared:
                taken(kind, self)
            return self

    found: dict[str, Any] = {}
    for kind in declared:
        hints = get_type_hints(kind)
        for field in fields(kind):
            told = Field(description=field.metadata["meaning"], **field.metadata["bounds"])
            found[field.name] = (Annotated[kinds.get(field.name, hints[field.name]), told], ...)
    return create_model("Checked", __base__=Checked, **found)


def _printable(text: str) -> str:
    """A text that a page and a terminal may show as it is."""
    if not text.isprintable():
        raise ValueError("it must be one line that can be printed")
    return text


Line = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_printable)]


def each_once(values: list[Any]) -> list[Any]:
    if twice := repeated(values):
        raise ValueError(f"{twice[0]} is listed twice")
    return values


def _or_auto(kind: Any) -> Any:
    """Values of a kind, or the word auto; a mistake in one is told as that of a value."""
    either = Annotated[kind, Tag("value")] | Annotated[Literal["auto"], Tag(AUTO)]
    return Annotated[either, Discriminator(lambda value: AUTO if value == AUTO else "value")]


def overrides(
    name: str,
    *sections: type[Section],
    lists: bool = False,
    without: str = "",
    auto: Collection[str] = (),
) -> type[Section]:
    """A section with every setting of others but one, all of them optional; or lists of each.

    The settings ``auto`` may be that word, too.
    """
    fields: dict[str, Any] = {}
    for key, info in (item for section in sections for item in section.model_fields.items()):
        if key == without:
            continue
        kind: Any = Annotated[info.annotation, *info.metadata, Field()]
        if key in auto:
            kind = _or_auto(kind)
        if lists:
            kind = Annotated[list[kind], Field(min_length=1), AfterValidator(each_once)]
        fields[key] = (kind, Field(None, alias=info.alias, description=info.description))
    return create_model(name, __base__=Section, __doc__=sections[0].__doc__, **fields)


def given(section: Section) -> dict[str, Any]:
    """The settings that were really given, by their names in the file."""
    return section.model_dump(by_alias=True, exclude_unset=True)


def repeated(values: list[Any]) -> list[Any]:
    """The values that are listed again."""
    return [value for i, value in enumerate(values) if value in values[:i]]
