"""`sglang/srt/server_args.py` of the image: the flags of a version as the engine's own sources define them.

Who reads the flags out of an image finds those of the engine that the stand-in pretends to be.
"""

from collections.abc import Iterator

from sgdoctor.engines.sglang.flags.model import SWITCH, Option, Schema


def with_flags(source: str, flags: Schema) -> str:
    """A module whose last class is `ServerArgs`, with `add_cli_args` added to that class.

    The method is there to be read; nothing calls it.
    """
    calls = "\n".join(
        f"        parser.add_argument({', '.join(_arguments(option))})" for option in flags.options if not option.no_cli
    )
    return source.replace(
        "\n\ndef prepare_server_args(",
        f"\n    @staticmethod\n    def add_cli_args(parser):\n{calls}\n\n\ndef prepare_server_args(",
    )


def _arguments(option: Option) -> Iterator[str]:
    yield from (repr(name) for name in option.names)
    yield f"dest={option.dest!r}"
    yield f"default={option.default!r}"
    if option.nargs == SWITCH:
        yield "action='store_true'"
    else:
        yield f"type={option.type}"
        if option.nargs:
            yield f"nargs={int(option.nargs) if option.nargs.isdigit() else option.nargs!r}"
        if option.choices:
            yield f"choices={list(option.choices)!r}"
    if option.required:
        yield "required=True"
    if option.deprecated:
        yield f"help={f'Deprecated. Use {option.replaced_by} instead.' if option.replaced_by else 'Deprecated.'!r}"
