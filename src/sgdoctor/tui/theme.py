"""The two themes of the app; those of Textual and the terminal's own colours (``ansi-*``) can be chosen as well."""

from typing import Final

from textual.color import Color
from textual.theme import Theme

DARK: Final = Theme(
    name="sgdoctor-dark",
    primary="#7aa2d6",
    secondary="#8fc1b5",
    accent="#c3a6dd",
    warning="#d9b06c",
    error="#e0787f",
    success="#86b98a",
    foreground="#d3d8de",
    background="#15191e",
    surface="#1a1f25",
    panel="#232a32",
    dark=True,
    variables={"border-blurred": "#333c46", "footer-key-foreground": "#7aa2d6"},
)
LIGHT: Final = Theme(
    name="sgdoctor-light",
    primary="#2f66a8",
    secondary="#23756a",
    accent="#7a4fa3",
    warning="#96650f",
    error="#b3323c",
    success="#35753b",
    foreground="#2a2f36",
    background="#fbfaf7",
    surface="#f4f2ed",
    panel="#e9e6df",
    dark=False,
    variables={"border-blurred": "#d2cdc2", "footer-key-foreground": "#2f66a8"},
)
ALIASES: Final = {"dark": "sgdoctor-dark", "light": "sgdoctor-light"}
"""Short names for the settings."""

CYCLE: Final = ("sgdoctor-dark", "sgdoctor-light", "ansi-dark", "ansi-light")
"""What the theme key goes through."""


def variables_of(theme: Theme) -> dict[str, str]:
    """What the themes of Textual lack: colours for what is secondary, for what is hardly there, and for areas."""
    if theme.ansi:
        return {"muted": "ansi_bright_black", "faint": "ansi_bright_black", "soft": "ansi_blue"}
    back = Color.parse(theme.background or ("#121212" if theme.dark else "#efefef"))
    front = Color.parse(theme.foreground or ("#e0e0e0" if theme.dark else "#202020"))
    return {
        "muted": front.blend(back, 0.38).hex,
        "faint": front.blend(back, 0.78).hex,
        "soft": Color.parse(theme.primary).blend(back, 0.45).hex,
    }
