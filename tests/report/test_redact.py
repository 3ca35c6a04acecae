"""Secrets go, everything else stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.redaction import redact, redactor, secrets_in

SECRET = "Zx81Kq92Lm73Np64Rs55"


@pytest.mark.parametrize(
    "text",
    [
        f"hf_{SECRET}",
        f"token hf_{SECRET}.",
        f"sk-proj-{SECRET}",
        f"ghp_{SECRET}",
        f"github_pat_{SECRET}",
        f"xoxb-{SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"'authorization': 'Basic {SECRET}'",
        f"bearer {SECRET}",
        f"x-api-key: {SECRET}",
        f"HF_TOKEN={SECRET}",
        f"HUGGING_FACE_HUB_TOKEN={SECRET}",
        f"HF_TOKEN=...{SECRET}",
        f'export OPENAI_API_KEY="{SECRET}"',
        f"server_args=ServerArgs(model_path='/m', api_key='{SECRET}', tp_size=1)",
        f'{{"api_key": "{SECRET}"}}',
        f"--api-key {SECRET} --tp 2",
        f"--api-key={SECRET}",
        f"--admin-api-key '{SECRET}'",
        f"['--api-key', '{SECRET}']",
        f"--hf-token {SECRET}",
        f"http://user:{SECRET}@proxy:3128/",
        f"https://{SECRET}@github.com/x/y.git",
        f"password={SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
        f"nvapi-{SECRET}",
        f"dckr_pat_{SECRET}",
        f"token={SECRET}",
        f"https://hub.local/m?token={SECRET}&x=1",
        f"https://s3.local/m?X-Amz-Credential={SECRET}&X-Amz-Signature={SECRET}",
        f"https://blob.local/m?sv=1&sig={SECRET}",
        f"postgres://user:p@{SECRET}@host/db",
        f"Cookie: session={SECRET}",
        f"'set-cookie': 'sid={SECRET}; Path=/'",
        f"-----BEGIN RSA PRIVATE KEY-----{SECRET}",
        f"curl -u me:{SECRET} http://host",
        f"api_key=['x', '{SECRET}'], tp_size=1",
        f"api_key=SecretStr('{SECRET}')",
    ],
)
def test_secrets_are_hidden(text: str) -> None:
    hidden = redact(text)

    assert SECRET not in hidden
    assert "***" in hidden


def test_keys_of_aws_are_hidden() -> None:
    assert redact("AKIAIOSFODNN7EXAMPLE") == "AKIA***"


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch, #running-req: 6, #token: 4242, token usage: 0.12, #queue-req: 0",
        "max_total_num_tokens=21482, chunked_prefill_size=2048",
        "tokenizer_path='/models/qwen', eos_token='<|im_end|>', pad_token=None, api_key=None",
        "api_key='', admin_api_key=None, --api-key --tp 2",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 20000, K size: 0.15 GB",
        "http://127.0.0.1:30000/v1/chat/completions",
        "git@github.com:x/y.git is not a URL with a password",
        "File /usr/lib/python3/dist-packages/sglang/srt/managers/tokenizer_manager.py, line 12, in token",
        "task-force sk-short hf_short risk-free",
        "api_key=[], token=<|im_end|>, token: 4711, stop_token: eos, npm_config_cache, pypi-server",
        'GET /generate?stream=true&tokens=200 HTTP/1.1" 200 OK, curl -u',
        "`-e HF_TOKEN=...` (or ...), `-e HF_TOKEN=...`（或在宿主机 `hf auth login`）, HF_TOKEN=YOUR_TOKEN",
    ],
)
def test_everyday_text_stays(text: str) -> None:
    assert redact(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    assert redact("a --api-key abcdef123 --tp 2 b") == "a --api-key *** --tp 2 b"
    assert redact("(api_key='abcdef123', x=1)") == "(api_key='***', x=1)"
    assert redact("http://me:abcdef123@host/p") == "http://***@host/p"


def test_secrets_that_a_log_names_once_are_hidden_everywhere() -> None:
    known = secrets_in({"args.api_key": "plain-word", "args.model_path": "/models/x", "args.admin_api_key": None})

    assert redactor(known)("401 for key plain-word on /models/x") == "401 for key *** on /models/x"


@given(st.text(max_size=300))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def test_long_hostile_text_takes_no_time() -> None:
    for text in (
        "a://" * 50_000,
        "api_key=" * 50_000,
        "-" * 200_000,
        "authorization:" * 20_000,
        "'" * 200_000,
        "cookie: " * 20_000,
        "token=" * 30_000,
        "?token=" * 20_000,
        "token=" + "a" * 100_000,
        "curl -u " * 20_000,
        "curl " * 30_000 + "-u",
        "a://@" * 20_000,
        "api_key=[" * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 5_000,
    ):
        redact(text)
