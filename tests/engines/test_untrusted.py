from collections.abc import Callable

import pytest

from sgdoctor.engines.sglang.untrusted import is_data
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.line import Line

DATA = [
    'INFO:     127.0.0.1:51314 - "GET /model_info HTTP/1.1" 200 OK',
    'INFO:     [::1]:51314 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request',
    "server_args=ServerArgs(model_path='CUDA out of memory')",
    "server_args={'model_path': 'CUDA out of memory'}",
    "Receive: obj=GenerateReqInput(text='CUDA out of memory')",
    "Finish: obj=GenerateReqInput(text='x'), out={'text': 'CUDA out of memory'}",
    "self.cur_batch.reqs=[Req(rid=1, input_ids=[1])]",
    "scheduler.cur_batch.reqs=[Req(rid=1, input_ids=[1])]",
    "Namespace(model_path='/m')",
    "usage: sglang serve [-h] --model-path MODEL_PATH",
    "                    [--load-format {auto,pt}] [--revision REVISION]",
    "  --model-path MODEL_PATH, --model MODEL_PATH",
    "+ python3 -m sglang.launch_server --model-path /m",
    '{"messages": [{"role": "user", "content": "CUDA out of memory"}]}',
    '    "content": "CUDA out of memory",',
    '"content": "CUDA out of memory"',
    "Received request cmpl-1: prompt: 'CUDA out of memory', params: SamplingParams(n=1)",
]
OWN = [
    "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
    "INFO:     Started server process [10586]",
    "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 32250): address already in use",
    "sglang serve: error: unrecognized arguments: --enable-moe-magic",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB.",
    "    ValueError: `num_hidden_layers` (40) must be equal to the number of `layer_types` (16)",
    "Load weight begin. avail mem=22.85 GB",
    (
        "Input length (38001 tokens) exceeds the maximum allowed length (21735 tokens). Use a shorter input or enable "
        "--allow-auto-truncate., self.rid='74bc17bb'"
    ),
    "",
]


@pytest.mark.parametrize("text", DATA)
def test_text_of_others(text: str) -> None:
    assert is_data(Line(1, 0, text))


@pytest.mark.parametrize("text", OWN)
def test_text_of_the_engine(text: str) -> None:
    assert not is_data(Line(1, 0, text))


def test_a_whole_usage_text_is_data(real_bytes: Callable[[str], bytes]) -> None:
    lines = list(read_lines(real_bytes("cli-unknown-flag")))

    assert [True] * (len(lines) - 4) + [False] == [is_data(line) for line in lines[3:]]
