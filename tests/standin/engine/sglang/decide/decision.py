"""How a start with these flags ends on this card, and every number that it prints on the way."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

from sgdoctor.engines.sglang.memory.costs import request_table
from sgdoctor.engines.sglang.memory.costs import rounding as possible_rounding
from sgdoctor.engines.sglang.memory.defaults import Chosen, captured_sizes, choose
from sgdoctor.engines.sglang.memory.pools import BASELINE_GIB, GIB
from sgdoctor.engines.sglang.memory.predict import Card as PredictedCard
from sgdoctor.engines.sglang.memory.predict import Start, cell_bytes, predict, strategy_in_force
from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.engines.sglang.memory.settings import Settings, settings_of_arguments

from .arguments import Arguments
from .models import HALF, ConfigError, Model
from .refused_flags import message_of
from .situation import Costs, Situation

_ROUNDED: Final = 0.8
"""Share of the largest possible rounding that buffers of 16 layers and more were seen to take."""
_CUBLAS_GIB: Final = 0.05
"""A card with less left cannot make the handle for matrix products (skel27-mfs-0.99)."""
_WORKSPACE_GIB: Final = {"flashinfer": 0.45, "fa3": 0.1}
_ANY_WORKSPACE_GIB: Final = 0.09
_GRAPHS_GIB: Final = {True: 0.1, False: 0.035}
"""Four decode graphs of a hybrid and of another model."""
_PREFILL_GRAPH_GIB: Final = 0.003
_CHUNK: Final = 2048
_PREFILL_SHARE: Final = 0.3
"""Place of the working memory between the bounds that are known for it."""

_QUANTISED_ONLY: Final = frozenset({"awq", "awq_marlin", "gptq", "gptq_marlin"})


class End(Enum):
    """How a start ends."""

    NO_GPU = auto()
    NO_FOLDER = auto()
    NO_CONFIG = auto()
    BROKEN_CONFIG = auto()
    LAYER_LISTS = auto()
    CONTEXT_TOO_LONG = auto()
    FLAGS_REFUSED = auto()
    NO_SUCH_GPU = auto()
    NO_WEIGHTS = auto()
    NOT_QUANTISED = auto()
    WEIGHTS_TOO_LARGE = auto()
    STATE_EMPTY = auto()
    STATE_TOO_SMALL = auto()
    NO_REST = auto()
    NO_TOKENS = auto()
    POOLS_TOO_LARGE = auto()
    NO_CUBLAS = auto()
    NOT_FOR_FA3 = auto()
    BREAKABLE_DECODE = auto()
    PREFILL_GRAPHS_TOO_LARGE = auto()
    DECODE_GRAPHS_TOO_LARGE = auto()
    HALF_STATE = auto()
    SERVES = auto()

    @property
    def by_main_process(self) -> bool:
        """Whether the main process refuses the start, before it has children."""
        return self.value < End.NO_SUCH_GPU.value


@dataclass(frozen=True, slots=True)
class Decision:
    """One start, decided.

    Attributes:
        arguments: the flags.
        situation: the world.
        model: what it loads; None where nothing is found.
        settings: the flags that decide on memory.
        chosen: what is in force once the defaults are filled in.
        pools: of the memory model; None where the start does not come so far.
        end: how it ends.
        message: of the engine, where it refuses a combination of flags.
        attention: backend of attention.
        half: whether the model computes in float16.
        strategy: of the state cache, as resolved; None for a model without one.
        after_pools: free after the pools, in GiB.
        workspace: what is taken then.
        decode_sizes: batches with a graph.
        prefill_graphs, decode_graphs: what the graphs take, one number for each size, largest size first.
        prefill_2048: working memory of a prefill chunk of 2048 tokens.
    """

    arguments: Arguments
    situation: Situation
    model: Model | None
    settings: Settings
    chosen: Chosen | None
    end: End
    pools: Prediction | None = None
    message: str = ""
    attention: str = "triton"
    half: bool = False
    strategy: str | None = None
    after_pools: float = 0.0
    workspace: float = 0.0
    prefill_graphs: tuple[float, ...] = ()
    decode_sizes: tuple[int, ...] = ()
    decode_graphs: tuple[float, ...] = ()
    prefill_2048: float = 0.0

    @property
    def before_graphs(self) -> float:
        """Free before the first graph."""
        return self.after_pools - self.workspace

    @property
    def left(self) -> float:
        """Free in the end."""
        return self.before_graphs - sum(self.prefill_graphs) - sum(self.decode_graphs)

    @property
    def path(self) -> str:
        """Path of the model as given."""
        return str(self.arguments.value("model_path"))

    @property
    def max_input(self) -> int:
        """Longest input in tokens (srt/managers/tp_worker.py, 0.5.15)."""
        assert self.pools is not None
        return (self.pools.longest_request or 0) - 6

    def dies_of(self, tokens: int) -> bool:
        """Whether the prefill of so many tokens does not fit into what is left."""
        assert self.chosen is not None
        chunk = self.chosen.chunk if self.chosen.chunk > 0 else tokens
        return self.prefill_2048 * min(tokens, chunk) / _CHUNK > self.left


def decide(arguments: Arguments, situation: Situation) -> Decision:
    """Decide on one start.

    Raises:
        ValueError: the memory model does not know the pools of the model.
    """
    settings = settings_of_arguments(arguments.value)
    nothing = Decision(arguments, situation, None, settings, None, End.NO_GPU)
    if not situation.card.count:
        return nothing
    try:
        model = situation.model(nothing.path)
    except FileNotFoundError:
        return replace(nothing, end=End.NO_FOLDER)
    except ConfigError as error:
        return replace(nothing, end=End.BROKEN_CONFIG if str(error) == "broken json" else End.NO_CONFIG)
    decision = replace(
        nothing,
        model=model,
        chosen=choose(settings, model.shape, situation.card.total_mib, situation.version),
        attention=_attention(arguments, situation),
        half=_is_half(arguments.value("dtype"), model),
        strategy=strategy_in_force(model.shape, settings, situation.version) if model.shape.hybrid else None,
    )
    early = _refused(decision, model)
    if early is None or early.value > End.FLAGS_REFUSED.value:
        message = message_of(arguments, model, situation.card.sm)
        if message is not None:
            return replace(decision, end=End.FLAGS_REFUSED, message=message)
    return replace(decision, end=early) if early is not None else _loaded(decision, model)


def _refused(decision: Decision, model: Model) -> End | None:
    """What ends a start before memory counts."""
    arguments, situation, settings = decision.arguments, decision.situation, decision.settings
    context = settings.context
    if model.wrong_layers is not None:
        return End.LAYER_LISTS
    if context is not None and model.shape.context is not None and context > model.shape.context:
        return End.CONTEXT_TOO_LONG
    step = int(arguments.value("gpu_id_step") or 1)
    base = int(arguments.value("base_gpu_id") or 0)
    if base + (settings.tp * settings.pp - 1) * step >= situation.card.count:
        return End.NO_SUCH_GPU
    if arguments.value("quantization") in _QUANTISED_ONLY and model.quantisation is None:
        return End.NOT_QUANTISED
    if model.weights_gib is None:
        return End.NO_WEIGHTS
    return None


def _loaded(decision: Decision, model: Model) -> Decision:
    """From the weights on."""
    situation, settings = decision.situation, decision.settings
    card = situation.card
    assert model.weights_gib is not None
    # The engine's baseline was taken before "Load weight begin"; seen from it the weights take as much more.
    weights = model.weights_gib / (settings.tp * settings.pp)
    start = Start(
        shape=model.shape,
        settings=settings,
        card=PredictedCard(card.free_gib + BASELINE_GIB, card.total_mib),
        weights_gib=weights + BASELINE_GIB,
        version=situation.version,
    )
    pools = predict(start)
    decision = replace(decision, pools=pools)
    if weights >= card.free_gib:
        return replace(decision, end=End.WEIGHTS_TOO_LARGE)
    by_rule = {"SGL401": End.STATE_EMPTY, "SGL402": End.STATE_TOO_SMALL, "SGL421": End.NO_REST}
    by_rule |= {"SGL422": End.NO_TOKENS, "SGL423": End.NO_TOKENS}
    if pools.failure is not None and pools.failure.rule in by_rule:
        return replace(decision, end=by_rule[pools.failure.rule])
    if pools.kv_tokens is None:
        raise ValueError(f"the memory model does not know the pools of {model.architecture}")
    return _with_graphs(decision, model, card.free_gib - weights)


def _with_graphs(decision: Decision, model: Model, free: float) -> Decision:
    """What no formula gives: from the pools to the last graph."""
    settings, pools, chosen, costs = decision.settings, decision.pools, decision.chosen, decision.situation.costs
    assert pools is not None
    assert chosen is not None
    table = request_table(pools.max_running_requests, pools.context or pools.kv_tokens, settings.draft_tokens)
    rounded = _ROUNDED * possible_rounding(model.shape).high if _large_layers(model) else 0.0
    after = free - (pools.state_gib or 0.0) - (pools.kv_gib or 0.0) - table.expected - rounded
    sizes = captured_sizes(chosen.decode_sizes, pools.max_running_requests or 1)
    decision = replace(
        decision,
        after_pools=after,
        decode_sizes=sizes,
        workspace=_WORKSPACE_GIB.get(decision.attention, _ANY_WORKSPACE_GIB),
        prefill_graphs=(_PREFILL_GRAPH_GIB,) * len(chosen.prefill_sizes),
        decode_graphs=_decode_graphs(len(sizes), costs, hybrid=model.shape.hybrid),
        prefill_2048=_prefill(pools, chosen, costs),
    )
    return replace(decision, end=_end(decision, model))


def _large_layers(model: Model) -> bool:
    """Whether the buffers of the pools are so many that their rounding shows."""
    return model.shape.hybrid or (model.shape.attention is not None and model.shape.attention.layers >= 16)


def _decode_graphs(number: int, costs: Costs, *, hybrid: bool) -> tuple[float, ...]:
    """The first graph takes what all share, and an eighth of the four like every other one."""
    if not number:
        return ()
    four = _GRAPHS_GIB[hybrid] if costs.graphs is None else costs.graphs
    return (four * 5 / 8, *(four / 8,) * (number - 1))


def _prefill(pools: Prediction, chosen: Chosen, costs: Costs) -> float:
    if costs.prefill is not None:
        return costs.prefill
    bounds = pools.activations_gib
    if bounds is None:
        return 0.0
    tokens = min(chosen.prefill_tokens, pools.context or chosen.prefill_tokens)
    return (bounds.low + _PREFILL_SHARE * (bounds.high - bounds.low)) * _CHUNK / max(tokens, 1)


def _end(decision: Decision, model: Model) -> End:
    if decision.after_pools <= 0:
        return End.POOLS_TOO_LARGE
    if decision.after_pools < _CUBLAS_GIB:
        return End.NO_CUBLAS
    if decision.attention == "fa3" and not 80 <= decision.situation.card.sm <= 90:
        return End.NOT_FOR_FA3
    if decision.before_graphs - sum(decision.prefill_graphs) <= 0 and decision.prefill_graphs:
        return End.PREFILL_GRAPHS_TOO_LARGE
    if decision.decode_graphs and decision.settings.decode_graph == "breakable":
        return End.BREAKABLE_DECODE
    if decision.left <= 0 and decision.decode_graphs:
        return End.DECODE_GRAPHS_TOO_LARGE
    if half_state(decision, model) and not decision.arguments.value("skip_server_warmup"):
        return End.HALF_STATE
    return End.SERVES


def half_state(decision: Decision, model: Model) -> bool:
    """Whether the states of the convolution are kept in another type than the model computes in."""
    return model.gated_delta and decision.half and decision.situation.conv_dtype not in HALF


def _is_half(dtype: Any, model: Model) -> bool:
    # srt/configs/model_config.py of 0.5.15: `auto` takes float32 for float16.
    return dtype in HALF or (dtype == "auto" and model.dtype in {*HALF, "float32", "float"})


def _attention(arguments: Arguments, situation: Situation) -> str:
    given = arguments.value("attention_backend")
    if given is not None:
        return str(given)
    sm = situation.card.sm
    return "fa3" if 90 <= sm < 100 else "trtllm_mha" if 100 <= sm < 110 else "flashinfer"


def kv_value_gib(decision: Decision) -> float:
    """Half of the KV cache: what its keys take, and its values."""
    assert decision.pools is not None
    assert decision.model is not None
    cell = cell_bytes(decision.model.shape, decision.settings) or 0
    return (decision.pools.kv_tokens or 0) * cell / 2 / GIB
