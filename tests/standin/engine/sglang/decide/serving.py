"""The server of a decided start: the recorded answers, with the numbers and the parsers of this one."""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from ..places import RECORDED
from ..recorded import Answer, kind_of_chat
from . import failures, server_args
from .decision import Decision, half_state
from .reply import END_TOKEN, Reply, prompt_tokens, reply_to, tokens_of
from .story import prefill_line

_JSON: Final = "application/json"
_STREAM: Final = "text/event-stream; charset=utf-8"
_OPEN: Final = frozenset({"/health", "/health_generate"})
_TRACKED_TOKENS: Final = 64
"""States are kept at multiples of the chunk of the kernels: srt/layers/attention/linear, 0.5.15."""
_NOT_FOUND: Final = Answer(404, _JSON, {"detail": "Not Found"}, 0.0)
_SERVED_BY: Final = "skel27-mfs-0.88"
_ASKED: Final = "boot-hybrid"


class Decided:
    """Answers as the engine would with these flags."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision
        self._lock = threading.Lock()
        self._requests = 0
        name = decision.arguments.value("served_model_name")
        self._name = str(name or decision.path)
        self._tool_parser = decision.arguments.value("tool_call_parser") is not None
        self._reasoning_parser = decision.arguments.value("reasoning_parser") is not None
        self._gets: Mapping[str, Callable[[], Answer]] = {
            "/health": self._health,
            "/health_generate": self._health,
            "/v1/models": self._models,
            "/model_info": self._model_info,
            "/get_model_info": self._model_info,
            "/server_info": self._server_info,
            "/get_server_info": self._server_info,
            "/v1/loads": self._loads,
        }
        self._posts: Mapping[str, Callable[[bytes], Answer]] = {
            "/v1/chat/completions": self._chat,
            "/v1/completions": self._completion,
            "/generate": self._generate,
        }

    def respond(self, method: str, path: str, body: bytes, key: str | None) -> Answer:
        """Answer to a request."""
        wanted = self._decision.arguments.value("api_key")
        if wanted is not None and path not in _OPEN and key != f"Bearer {wanted}":
            return _json({"error": "Unauthorized"}, 401)
        with self._lock:
            self._requests += 1
        if method == "GET":
            get = self._gets.get(path)
            return _NOT_FOUND if get is None else get()
        post = self._posts.get(path)
        return _NOT_FOUND if post is None else post(body)

    def _health(self) -> Answer:
        return Answer(200, None, "", 1.0, (prefill_line(self._decision, 1),))

    def _models(self) -> Answer:
        context = self._pools.context
        model = {"id": self._name, "object": "model", "created": _now(), "owned_by": "sglang", "root": self._name}
        return _json({"object": "list", "data": [{**model, "parent": None, "max_model_len": context}]})

    def _model_info(self) -> Answer:
        model = self._decision.model
        assert model is not None
        body = _recorded(_ASKED, "get_model_info")
        body |= {"model_path": self._decision.path, "tokenizer_path": self._decision.path}
        body |= {"has_image_understanding": model.shape.vision is not None, "model_type": model.model_type}
        return _json({**body, "architectures": [model.architecture]})

    def _server_info(self) -> Answer:
        decision, pools = self._decision, self._pools
        resolved = server_args.resolved(decision)
        body = _recorded(_SERVED_BY, "server_info")
        recorded_state = body["internal_states"][0]
        body |= resolved | {
            "version": decision.situation.version,
            "max_total_num_tokens": pools.kv_tokens,
            "max_req_input_len": decision.max_input,
        }
        body["internal_states"] = [
            recorded_state
            | resolved
            | {
                "max_mamba_cache_size": pools.slots,
                "memory_usage": {
                    "weight": round(self._weights, 2),
                    "kvcache": round(pools.kv_gib or 0.0, 2),
                    "token_capacity": pools.kv_tokens,
                    "graph": round(self._graphs, 2),
                },
                "effective_max_running_requests_per_dp": pools.max_running_requests,
            }
        ]
        return _json(body)

    def _loads(self) -> Answer:
        pools = self._pools
        body = _recorded(_ASKED, "get_v1_loads")
        load = body["loads"][0] | {
            "max_total_num_tokens": pools.kv_tokens,
            "max_running_requests": pools.max_running_requests,
            "memory": {
                "weight_gb": round(self._weights, 3),
                "kv_cache_gb": round(pools.kv_gib or 0.0, 3),
                "graph_gb": round(self._graphs, 3),
                "token_capacity": pools.kv_tokens,
            },
        }
        body |= {"timestamp": datetime.now(UTC).isoformat(), "version": self._decision.situation.version}
        return _json({**body, "loads": [load]})

    def _chat(self, body: bytes) -> Answer:
        kind = kind_of_chat(body)
        if kind in ("bad_json", "no_messages"):
            return _json(_recorded(_ASKED, kind), 400)
        request = json.loads(body)
        tokens = prompt_tokens(request)
        refused = self._refused(tokens, request.get("max_completion_tokens") or request.get("max_tokens") or 0)
        if refused is not None:
            return refused
        death = self._death(tokens)
        if death is not None:
            return death
        reply = reply_to(request, tool_parser=self._tool_parser, reasoning_parser=self._reasoning_parser)
        if self._decision.situation.answer is not None:
            reply = replace(reply, content=self._decision.situation.answer, reasoning=None)
        said = (prefill_line(self._decision, tokens),)
        model = request.get("model", "default")
        if request.get("stream"):
            return Answer(200, _STREAM, self._stream(request, reply, tokens), 0.03, said)
        choice = {
            "index": 0,
            "message": reply.message,
            "logprobs": None,
            "finish_reason": reply.finish,
            "matched_stop": END_TOKEN if reply.finish == "stop" else None,
        }
        about = {"id": self._id(), "object": "chat.completion", "created": _now(), "model": model, "choices": [choice]}
        return _json({**about, "usage": _usage(tokens, reply), "metadata": {"weight_version": "default"}}, said=said)

    def _stream(self, request: Mapping[str, Any], reply: Reply, tokens: int) -> str:
        about = {
            "id": self._id(),
            "object": "chat.completion.chunk",
            "created": _now(),
            "model": request.get("model", "default"),
        }

        def chunk(delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
            stop = END_TOKEN if finish == "stop" else None
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, "matched_stop": stop}
            return {**about, "choices": [choice]}

        chunks = [chunk(delta, None) for delta in reply.deltas]
        chunks.append(chunk({"reasoning_content": None}, reply.finish))
        if (request.get("stream_options") or {}).get("include_usage"):
            chunks.append({**about, "choices": [], "usage": _usage(tokens, reply)})
        return "".join(f"data: {_compact(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"

    def _completion(self, body: bytes) -> Answer:
        return self._completed(body, "prompt", "max_tokens", "completion")

    def _generate(self, body: bytes) -> Answer:
        return self._completed(body, "text", "", "generate")

    def _completed(self, body: bytes, field: str, most: str, name: str) -> Answer:
        """Text that goes on with a prompt: what was recorded for another one."""
        try:
            request = json.loads(body)
            tokens = 1 + tokens_of(str(request[field]))
        except (ValueError, KeyError, TypeError):
            return _json(_recorded(_ASKED, "bad_json"), 400)
        ended = self._refused(tokens, request.get(most) or 0) or self._death(tokens)
        if ended is not None:
            return ended
        return _json(_recorded(_ASKED, name), said=(prefill_line(self._decision, tokens),))

    def _refused(self, tokens: int, asked: int) -> Answer | None:
        """The answer to a request that is too long."""
        context, most = self._pools.context or 0, self._decision.max_input
        truncates = self._decision.arguments.value("allow_auto_truncate")
        if tokens >= context and not truncates:
            return _error(f"The input ({tokens} tokens) is longer than the model's context length ({context} tokens).")
        if tokens + asked > context and not truncates:
            return _error(
                f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested a "
                f"total of {tokens + asked} tokens: {tokens} tokens from the input messages and {asked} tokens for the "
                "completion. Please reduce the number of tokens in the input messages or the completion to fit within "
                "the limit."
            )
        if tokens > most and not truncates:
            text = (
                f"Input length ({tokens} tokens) exceeds the maximum allowed length ({most} tokens). "
                "Use a shorter input or enable --allow-auto-truncate."
            )
            return _error(text, f"{text}, self.rid={self._id()!r}")
        return None

    def _death(self, tokens: int) -> Answer | None:
        """The end of the server over a request that it accepted."""
        decision = self._decision
        assert decision.model is not None
        if half_state(decision, decision.model):
            kept = decision.strategy != "no_buffer" and not decision.settings.radix_off
            late = tokens >= _TRACKED_TOKENS and kept
            text = failures.half_state_late() if late else failures.half_state_early(decision)
            return Answer(500, None, "", 0.0, death=text)
        if decision.dies_of(tokens):
            return Answer(500, None, "", 0.0, death=failures.prompt_too_large(decision, decision.left))
        return None

    @property
    def _pools(self) -> Any:
        assert self._decision.pools is not None
        return self._decision.pools

    @property
    def _weights(self) -> float:
        model, settings = self._decision.model, self._decision.settings
        assert model is not None
        return (model.weights_gib or 0.0) / (settings.tp * settings.pp)

    @property
    def _graphs(self) -> float:
        return sum(self._decision.prefill_graphs) + sum(self._decision.decode_graphs)

    def _id(self) -> str:
        return hashlib.md5(str(self._requests).encode(), usedforsecurity=False).hexdigest()


def _usage(tokens: int, reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens,
        "total_tokens": tokens + reply.tokens,
        "completion_tokens": reply.tokens,
        "prompt_tokens_details": None,
        "reasoning_tokens": reply.reasoning_tokens,
    }


def _recorded(run: str, name: str) -> dict[str, Any]:
    """The body of a recorded answer."""
    body: dict[str, Any] = json.loads((RECORDED / "answers" / run / f"{name}.json").read_text())["body"]
    return body


def _json(body: Any, status: int = 200, *, said: tuple[str, ...] = ()) -> Answer:
    return Answer(status, _JSON, body, 0.03, said)


def _error(message: str, logged: str | None = None) -> Answer:
    body = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return _json(body, 400, said=() if logged is None else (logged,))


def _compact(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _now() -> int:
    return int(datetime.now(UTC).timestamp())
