"""What a server is asked, and what came of it."""

from dataclasses import dataclass, field
from enum import StrEnum

from sgdoctor.texts import Text


class Grade(StrEnum):
    """The answer of a check in one word."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # it could not be asked, which says nothing about the server


@dataclass(frozen=True, slots=True)
class Check:
    """One question to a server.

    Attributes:
        id: stable name in kebab case.
        grade: in one word.
        title: what was asked for.
        detail: what the server said, or why it was not asked.
        seconds: how long it took.
    """

    id: str
    grade: Grade
    title: Text
    detail: Text
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Verification:
    """What a server answered.

    Attributes:
        checks: in the order in which they were made.
    """

    checks: tuple[Check, ...] = ()

    @property
    def fault(self) -> Text | None:
        """What is wrong with the server; None if nothing was found."""
        return next((check.detail for check in self.checks if check.grade is Grade.FAILED), None)

    @property
    def verified(self) -> bool:
        """Whether every question was asked and answered well."""
        return bool(self.checks) and all(check.grade is Grade.PASSED for check in self.checks)

    @property
    def gap(self) -> Text | None:
        """Why a server without a fault is not verified; None if it is, or if it has one."""
        if self.fault is not None:
            return None
        return next((check.detail for check in self.checks if check.grade is Grade.SKIPPED), None)


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its launch tells.

    Attributes:
        address: base of its URLs, such as ``http://127.0.0.1:30000``.
        key: that requests need; None if they need none, or if the launch does not tell.
        name: under which the model is served; None for the one that the server says.
        chats: whether it is one that answers in words; embedding and reward models are not.
    """

    address: str
    key: str | None = field(default=None, repr=False)
    name: str | None = None
    chats: bool = True


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long each answer may take, in seconds.

    Attributes:
        health: SGLang generates a token for it, and gives up after 20 s itself (0.5.2 and later).
        models: a list that is ready.
        chat: a short answer, the first of a server that may still have kernels to compile.
    """

    health: float = 30.0
    models: float = 15.0
    chat: float = 180.0

    def within(self, seconds: float) -> "Bounds":
        """The same with none above ``seconds``."""
        return Bounds(*(max(1.0, min(own, seconds)) for own in (self.health, self.models, self.chat)))
