"""Load by the batch lines of a server."""

from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.framing import read_lines
from sgdoctor.watching.load import LoadMeter
from sgdoctor.watching.model import Load

DECODE = b"[2026-11-30 10:41:04] Decode batch, #running-req: 3, #full token: 203, full token usage: 0.12, mamba num: 24, mamba usage: 0.50, cuda graph: True, gen throughput (token/s): 45.94, #queue-req: 2"
OLDER = b"[2026-11-30 10:41:05] Decode batch. #running-req: 1, #token: 179, token usage: 0.34, gen throughput (token/s): 11.22, #queue-req: 0"
PREFILL = b"[2026-11-30 10:41:06] Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 0, token usage: 0.40, #running-req: 1, #queue-req: 5, input throughput (token/s): 9.87"


def sample(data: bytes, number: int) -> Event:
    (line,) = read_lines(data, first_number=number)
    return Event(EventKind.LINE, line.text, line, number, number)


def test_the_newest_line_of_each_kind_counts_once() -> None:
    meter = LoadMeter()

    first = meter.take({b"Decode batch": sample(DECODE, 1)})
    again = meter.take({b"Decode batch": sample(DECODE, 1)})

    assert (first, again) == (True, False)
    assert meter.load == Load(45.94, 3, 2, 0.12, 0.50, (45.94,), (0.12,))


def test_wordings_of_all_versions_are_read_and_prefill_keeps_the_speed() -> None:
    meter = LoadMeter()
    meter.take({b"Decode batch": sample(DECODE, 1)})
    meter.take({b"Decode batch": sample(OLDER, 2), b"Prefill batch": sample(PREFILL, 3)})

    assert meter.load == Load(11.22, 1, 5, 0.40, 0.50, (45.94, 11.22), (0.12, 0.34, 0.40))

    meter.clear()

    assert meter.load == Load()


def test_of_two_pools_both_usages_count() -> None:
    meter = LoadMeter()
    line = (
        b"Decode batch, #running-req: 6, #full token: 5010, full token usage: 0.31, #swa token: 9088, "
        b"swa token usage: 1.00, cuda graph: False, gen throughput (token/s): 12.69, #queue-req: 4"
    )
    meter.take({b"Decode batch": sample(line, 1)})

    assert (0.31, 1.0, (1.0,)) == (meter.load.token_usage, meter.load.window_usage, meter.load.usage_history)
