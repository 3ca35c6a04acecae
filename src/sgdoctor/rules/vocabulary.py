"""The names that conditions and texts of rules may use besides captures; ``docs/facts.md`` says what they mean."""

from typing import Final

FACTS: Final = frozenset(
    """
    draft_weights_gib state_slot_mib pools_rest_gib child_exit_code
    version version_min version_max transformers_version torch_version
    model_path architecture quantisation weights_dtype is_hybrid distributed_seconds
    mem_before_weights_gib mem_after_weights_gib weights_gib weights_seconds shards_total shards_loaded
    state_slots conv_state_gib ssm_state_gib state_gib
    kv_tokens kv_gib kv_dtype swa_tokens swa_gib mem_after_pools_gib
    prefill_graph_seconds prefill_graph_gib decode_graph_seconds decode_graph_gib graph_seconds graph_gib
    mem_after_graphs_gib prefill_graph_disabled capture_done capture_total capture_avail_gib
    max_total_num_tokens max_running_requests context_len chunked_prefill_size max_prefill_tokens
    available_gpu_mem_gib attention_backend host port ready ready_seconds
    decode_tokens_per_second prefill_tokens_per_second decode_lines decode_eager_lines
    token_usage token_usage_max running_requests_max queue_max retractions chat_refused
    gpu_total_gib oom_tried_mib oom_free_mib oom_other_process_gib oom_other_pid exit_code
    args_error.kind args_error.flag args_error.flags args_error.others
    args_error.value args_error.choices args_error.suggestion
    args_error.underscore args_error.since args_error.until args_error.renamed_to
    args_error.renamed_value args_error.other_engine args_error.plain
    state_fraction_min kv_fraction_min state_slots_needed fraction fraction_floor fraction_lower chunk_half
    solver.fraction solver.high solver.safe solver.chunk solver.chunk_fraction
    launch_seconds idle_seconds silent_seconds starts_without_ready container_name no_container lines
    """.split()  # noqa: SIM905 - a table of words
)

EVENT_NAMES: Final = frozenset({"phase", "ready", "survived", "ranks", "architecture_since"})
"""Names that belong to the event that hit, or to the attempt as a whole."""

FAMILIES: Final = {
    "0": "docker",
    "1": "args",
    "2": "config",
    "3": "weights",
    "4": "memory",
    "5": "graphs",
    "6": "distributed",
    "7": "runtime",
    "8": "api",
    "9": "normal",
}
"""Folder by the first digit of an id."""
