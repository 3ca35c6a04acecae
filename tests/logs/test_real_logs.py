"""Whole logs of real runs: what is folded out of each of them."""

from pathlib import Path

import pytest

from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import LineReader, read_lines
from sgdoctor.logs.line import Line

REAL = Path(__file__).parents[2] / "fixtures" / "logs" / "real"

# Log, then every exception that it raised (the cause first) by the line of its type, in the order of their tracebacks.
RAISED = {
    "article27-mfs-0.80": [
        [(141, "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Compu")]
    ],
    "article27-w19.28-mfs-0.88": [
        [(138, "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any reques")]
    ],
    "bcg-decode-dense": [
        [(54, "TypeError: Unsupported BCG output type: <class 'sglang.srt.layers.logits_processor.LogitsP")],
        [(92, "TypeError: Unsupported BCG output type: <class 'sglang.srt.layers.logits_processor.LogitsP")],
    ],
    "bcg-decode-hybrid": [
        [(124, "TypeError: Unsupported BCG output type: <class 'sglang.srt.layers.logits_processor.LogitsP")],
        [(162, "TypeError: Unsupported BCG output type: <class 'sglang.srt.layers.logits_processor.LogitsP")],
    ],
    "cfg-moe-16-layers-40-types": [
        [
            (9, "ValueError: `num_hidden_layers` (16) must be equal to the number of `layer_types` (40)"),
            (77, "huggingface_hub.errors.StrictDataclassClassValidationError: Class validation error for val"),
        ]
    ],
    "cfg-moe-40-layers-16-types": [
        [
            (9, "ValueError: `num_hidden_layers` (40) must be equal to the number of `layer_types` (16)"),
            (77, "huggingface_hub.errors.StrictDataclassClassValidationError: Class validation error for val"),
        ]
    ],
    "cfg-moe-layertypes-short": [
        [
            (9, "ValueError: `num_hidden_layers` (8) must be equal to the number of `layer_types` (4)"),
            (77, "huggingface_hub.errors.StrictDataclassClassValidationError: Class validation error for val"),
        ]
    ],
    "cli-article-launch-script": [[(4, "ModuleNotFoundError: No module named 'sglang.srt.server'")]],
    "cli-awq-unquantised": [[(80, "ValueError: Cannot find the config file for awq")]],
    "cli-base-gpu-id": [
        [(33, "torch.AcceleratorError: CUDA error: invalid device ordinal GPU device may be out of range,")]
    ],
    "cli-context-length-too-long": [
        [(35, "ValueError: Warning: User-specified context_length (1000000) is greater than the derived c")]
    ],
    "cli-model-hub-id-offline": [
        [
            (20, "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the dis"),
            (83, "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't f"),
        ]
    ],
    "cli-model-path-missing": [
        [
            (11, "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'name"),
            (74, "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/models/nothin"),
        ]
    ],
    "cli-no-gpu": [
        [
            (12, "NotImplementedError"),
            (36, "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) or platform plugin is availa"),
        ]
    ],
    "cli-reasoning-qwen3-thinking": [
        [
            (53, "ImportError: cannot import name 'flash_ops' from 'sgl_kernel' (/usr/local/lib/python3.12/d"),
            (87, "ImportError: Can not import FA3 in sgl_kernel. Please check your installation."),
        ]
    ],
    "cli-speculative-eagle-no-draft": [[(94, "ModuleNotFoundError: No module named 'cutlass'")]],
    "cli-tp2-one-gpu": [
        [(33, "torch.AcceleratorError: CUDA error: invalid device ordinal GPU device may be out of range,")]
    ],
    "cli-transformers-5.17-asr": [
        [(16, "ValueError: 'qwen3_asr' is already used by a Transformers config, pick another name.")]
    ],
    "cli-typo-flag": [
        [
            (53, "ImportError: cannot import name 'flash_ops' from 'sgl_kernel' (/usr/local/lib/python3.12/d"),
            (87, "ImportError: Can not import FA3 in sgl_kernel. Please check your installation."),
        ]
    ],
    "dtype-float16-hybrid-long-prompt": [
        [(225, "RuntimeError: Index put requires the source and destination dtypes match, got BFloat16 for")]
    ],
    "dtype-float16-hybrid": [
        [(246, 'triton.compiler.errors.CompilationError: at 105:8: AssertionError("Mismatched type for col')]
    ],
    "dtype-float16-moe": [
        [(249, 'triton.compiler.errors.CompilationError: at 105:8: AssertionError("Mismatched type for col')]
    ],
    "exit-code-not-pid1": [[(44, "RuntimeError: No CUDA GPUs are available")]],
    "file-dense-broken-json": [
        [
            (20, "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 13 column 3 (char 246)"),
            (70, "OSError: It looks like the config file at '/models/dense-broken-json/config.json' is not a"),
        ]
    ],
    "file-dense-no-config": [
        [(44, "ValueError: Unrecognized model in /models/dense-no-config. Should have a `model_type` key ")]
    ],
    "file-dense-no-tokenizer": [[(121, "IndexError: index is out of bounds for dimension with size 0")]],
    "file-dense-no-weights": [[(82, "RuntimeError: Cannot find any model weights with `/models/dense-no-weights`")]],
    "file-dense-truncated": [
        [(94, "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplet")]
    ],
    "file-dense-unknown-arch": [
        [(80, "ValueError: Cannot find model module. 'Qwen9ForCausalLM' is not a registered model in the ")]
    ],
    "moe-mfs-tiny": [
        [(143, "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Compu")]
    ],
    "not-enough-memory-max-total-tokens": [
        [(74, "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")]
    ],
    "oom-kv-alloc-a": [
        [(73, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 104.00 MiB. GPU 0 has a tota")]
    ],
    "oom-runtime": [
        [(127, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a tota")]
    ],
    "oom-weights": [
        [(108, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB. GPU 0 has a tota")]
    ],
    "skel27-default": [
        [(138, "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any reques")]
    ],
    "skel27-mfs-0.80": [
        [(138, "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any reques")]
    ],
    "skel27-mfs-0.99": [
        [(134, "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")]
    ],
    "weights-over-fraction": [
        [(70, "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-stati")]
    ],
}


def is_data(line: Line) -> bool:
    return line.text.startswith("server_args=")


def events(name: str) -> list[Event]:
    return list(fold(read_lines((REAL / f"{name}.log").read_bytes()), is_data))


def names() -> list[str]:
    return sorted(path.stem for path in REAL.glob("*.log"))


@pytest.mark.parametrize("name", names())
def test_every_exception_and_no_other(name: str) -> None:
    expected = RAISED.get(name, [])

    found = [event for event in events(name) if event.kind is EventKind.TRACEBACK]

    assert [[(raised.line.number, raised.text[:90]) for raised in event.raised] for event in found] == expected


@pytest.mark.parametrize("name", names())
def test_every_line_is_read_once(name: str) -> None:
    data = (REAL / f"{name}.log").read_bytes()
    lines = list(read_lines(data))
    raw = data.removesuffix(b"\n").split(b"\n")

    assert [line.number for line in lines] == list(range(1, len(raw) + 1))
    assert [data[line.offset : line.offset + len(text)] for line, text in zip(lines, raw, strict=True)] == raw


@pytest.mark.parametrize("name", names())
def test_small_chunks_give_the_same_lines(name: str) -> None:
    data = (REAL / f"{name}.log").read_bytes()
    reader = LineReader()
    expected = list(read_lines(data))

    found = [line for start in range(0, len(data), 997) for line in reader.feed(data[start : start + 997])]

    assert found + reader.close() == expected


def test_compiler_error_without_its_source() -> None:
    (event,) = [event for event in events("dtype-float16-hybrid") if event.kind is EventKind.TRACEBACK]

    assert event.text == (
        'triton.compiler.errors.CompilationError: at 105:8: AssertionError("Mismatched type for col0 between then block '
        "(<['256'], bf16>) and else block (<['256'], fp16>)\")"
    )
    assert event.header == "Scheduler hit an exception:"
    assert event.raised[0].frames[-1].file.endswith("/triton/compiler/compiler.py")


def test_capture_bar_keeps_its_percentages() -> None:
    (event,) = [event for event in events("boot-dense") if event.kind is EventKind.PROGRESS and "batches" in event.text]

    assert (event.line.progress[0], event.line.progress[-1]) == (0, 100)
    assert event.text.startswith("Capturing batches (bs=1 ")


def test_usage_text_is_one_piece_of_data() -> None:
    *_, usage, error = events("cli-unknown-flag")

    assert (usage.kind, error.kind) == (EventKind.DATA, EventKind.LINE)
    assert usage.last - usage.first > 300
    assert error.text.startswith("sglang serve: error: ")
