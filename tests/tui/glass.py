"""What a terminal shows after all the updates that an app has sent, which may be less than the app believes."""

from typing import Any

from rich.cells import get_character_cell_size
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.strip import Strip


class Glass:
    """The cells of a terminal; put before an app, it catches the updates on their way."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._cells: dict[tuple[int, int], str] = {}
        display = app._display

        def seen(screen: Any, update: Any) -> None:
            if update is not None and not app._batch_count:
                self._take(update)
            display(screen, update)

        app._display = seen  # type: ignore[method-assign,assignment]

    @property
    def rows(self) -> list[str]:
        """What a person sees."""
        width, height = self._app.size
        return ["".join(self._cells.get((x, y), " ") for x in range(width)).rstrip() for y in range(height)]

    @property
    def meant(self) -> list[str]:
        """What the app means to show."""
        return [strip.text.rstrip() for strip in self._app.screen._compositor.render_strips(self._app.size)]

    def _take(self, update: Any) -> None:
        match update:
            case LayoutUpdate():
                for y, strips in enumerate(update.strips, update.region.y):
                    self._write(y, update.region.x, Strip.join(strips))
            case ChopsUpdate():
                for y, start, end in update.spans:
                    for last, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                        if strip is not None and x < end and last > start:
                            self._write(y, x, strip.crop(0, min(last, end) - x))
            case _:
                raise AssertionError(f"an update of another kind: {update!r}")

    def _write(self, y: int, x: int, strip: Strip) -> None:
        for character in strip.text:
            self._cells[x, y] = character
            for beside in range(1, get_character_cell_size(character)):
                self._cells[x + beside, y] = ""
            x += get_character_cell_size(character)
