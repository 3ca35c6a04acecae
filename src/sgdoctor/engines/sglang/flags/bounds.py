"""Between which numbers the value of a flag can be: what no start makes sense of is refused before one is tried.

The lower bounds are what srt/server_args.py, and where the values go, divide by, allocate or loop over (0.4.6 to
0.5.23); -1 stands for "off" or "no limit" where the help of the flag says so. The upper ones are far beyond any use, so
that a slip of the keyboard is caught and no server is told that it cannot exist.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.flags.model import SWITCH, Option

NUMERIC: Final = frozenset({"int", "float", "human_readable_int"})
_MOST: Final = 2**31 - 1
"""Places of tokens, batches and the like are counted in 32 bits."""
_MOST_UNKNOWN: Final = 2**63 - 1
_CARDS: Final = 4096
_LAST_PORT: Final = 65535
_SECONDS: Final = 10**8
_SIZE: Final = 10**6
"""GiB or MiB of a host."""


class Bounds(NamedTuple):
    """Bounds of a value.

    Attributes:
        least: the smallest one; None where something else says what is too small.
        most: the largest one.
        open: whether ``least`` itself is too small already.
    """

    least: float | None
    most: float
    open: bool = False

    def __contains__(self, number: object) -> bool:
        """Whether a number is within them; ``nan`` is not."""
        if not isinstance(number, int | float) or not number <= self.most:
            return False
        if self.least is None:
            return number == number  # noqa: PLR0124 - false for nan alone
        return number > self.least if self.open else number >= self.least


_UNKNOWN: Final = Bounds(-_MOST_UNKNOWN, _MOST_UNKNOWN)
_GROUPS: Final = (
    (
        Bounds(1, _CARDS),
        """
        tp_size pp_size dp_size ep_size tensor_parallel_size pipeline_parallel_size data_parallel_size
        expert_parallel_size attn_cp_size attention_context_parallel_size attn_dp_size dcp_size dwdp_size
        moe_dp_size moe_data_parallel_size moe_dense_tp_size shared_experts_tp_size max_ep_size
        elastic_ep_initial_size nnodes disaggregation_decode_tp disaggregation_decode_dp
        disaggregation_prefill_pp tokenizer_worker_num detokenizer_worker_num weight_loader_prefetch_num_threads
        """,
    ),
    (
        Bounds(0, _CARDS),
        """
        node_rank ep_join_rank_offset decoupled_spec_rank mm_io_worker_num mm_processor_worker_num
        """,
    ),
    # What is too small for these, and what was meant, is said elsewhere.
    (Bounds(None, _CARDS), "base_gpu_id gpu_id_step"),
    (Bounds(0, _MOST, open=True), "mem_fraction_static swa_full_tokens_ratio"),
    (
        Bounds(0, _LAST_PORT),
        """
        port nccl_port grpc_port disaggregation_bootstrap_port encoder_bootstrap_port engine_info_bootstrap_port
        gated_launch_port grpc_http_sidecar_port smg_http_sidecar_port
        remote_instance_weight_loader_seed_instance_service_port
        """,
    ),
    (
        Bounds(1, _MOST),
        """
        context_length max_total_tokens max_prefill_tokens max_running_requests max_mamba_cache_size page_size
        cuda_graph_max_bs cuda_graph_max_bs_decode cuda_graph_max_bs_prefill cuda_graph_bs cuda_graph_bs_decode
        cuda_graph_bs_prefill cuda_graph_max_seq_len_prefill piecewise_cuda_graph_max_tokens
        piecewise_cuda_graph_tokens torch_compile_max_bs max_micro_batch_size pp_max_micro_batch_size
        prefill_max_requests max_lora_rank max_loras_per_batch max_loaded_loras stream_interval
        decode_log_interval scheduler_recv_interval num_continuous_decode_steps mamba_track_interval
        linear_replayssm_cache_len speculative_num_draft_tokens speculative_eagle_topk
        speculative_dflash_block_size speculative_dspark_block_size speculative_domino_candidate_pool_size
        speculative_draft_window_size speculative_dflash_draft_window_size
        speculative_ngram_branch_length speculative_ngram_capacity
        speculative_ngram_max_bfs_breadth speculative_ngram_min_bfs_breadth
        speculative_ngram_max_match_window_size speculative_ngram_min_match_window_size
        speculative_ngram_max_trie_depth triton_attention_num_kv_splits triton_attention_split_tile_size
        batch_notify_size dynamic_batch_tokenizer_batch_size eplb_rebalance_num_iterations
        eplb_rebalance_layers_per_chunk mm_max_concurrent_calls asr_max_concurrent_sessions
        asr_max_buffer_seconds http2_initial_connection_window_size http2_max_concurrent_streams
        media_url_max_file_size_mb sampling_mask_max_tokens sm_group_num ds_heavy_channel_num ds_heavy_token_num
        kt_cpuinfer kt_threadpool_count c128_page_size prefill_delayer_max_delay_passes
        """,
    ),
    (
        Bounds(0, _MOST),
        """
        num_reserved_decode_tokens speculative_num_steps speculative_draft_sink_size
        speculative_ngram_external_corpus_max_tokens speculative_ngram_external_sam_budget
        cuda_graph_prefill_max_context ds_sparse_decode_threshold ep_num_redundant_experts n_share_experts_fusion
        gc_threshold disaggregation_decode_extra_slots disaggregation_decode_polling_interval kt_num_gpu_experts
        kt_max_deferred_experts_per_token paged_experts_num_resident kv_canary_sweep_interval
        load_snapshot_publish_interval mamba_cache_philox_rounds min_free_slots_delay int8_mamba_ckpt_size
        offload_num_in_group offload_prefetch_step optimistic_prefill_attempts optimistic_prefill_retries
        pp_async_batch_depth prefill_decode_interval prefill_decode_interval_min_bs swa_prefix_tails
        hicache_storage_prefetch_retry_max_attempts hicache_storage_prefetch_retry_poll_interval
        return_aux_hidden_state_layer_ids numa_node multi_item_scoring_delimiter
        constrained_json_max_whitespace_cnt bucket_e2e_request_latency bucket_inter_token_latency
        bucket_time_to_first_token prefill_delayer_forward_passes_buckets prefill_delayer_wait_seconds_buckets
        prefill_delayer_max_delay_ms prefill_delayer_queue_min_ratio lora_drain_wait_threshold
        disaggregation_decode_host_receive_threshold schedule_conservativeness
        """,
    ),
    (
        Bounds(-1, _MOST),
        """
        chunked_prefill_size mamba_max_states_per_path offload_group_size debug_tensor_dump_layers
        expert_distribution_recorder_buffer_size
        """,
    ),
    (Bounds(-_MOST, _MOST), "default_priority_value priority_scheduling_preemption_threshold"),
    (
        Bounds(0, _SECONDS),
        """
        watchdog_timeout soft_watchdog_timeout gc_warning_threshold_secs dynamic_batch_tokenizer_batch_timeout
        weight_cache_timeout
        """,
    ),
    (
        Bounds(0, _SECONDS, open=True),
        """
        dist_timeout elastic_ep_scale_timeout grpc_response_timeout_secs load_watch_interval
        mm_per_request_timeout
        """,
    ),
    (Bounds(0, _SIZE), "cpu_offload_gb hicache_size mm_preprocess_cache_size_mb"),
    (Bounds(0, _SIZE, open=True), "hicache_ratio mamba_full_memory_ratio"),
    (
        Bounds(0, 1),
        """
        hicache_host_memory_fraction eplb_min_rebalancing_utilization_threshold hybrid_kvcache_ratio
        speculative_accept_threshold_acc speculative_accept_threshold_single tbo_token_distribution_threshold
        prefill_delayer_token_usage_low_watermark
        """,
    ),
    (Bounds(0, _MOST_UNKNOWN), "max_queued_requests"),
    (_UNKNOWN, "random_seed"),
)
BOUNDS: Final[Mapping[str, Bounds]] = {field: bounds for bounds, fields in _GROUPS for field in fields.split()}
"""Bounds by field of ``ServerArgs``, or by the name that argparse has for it."""


def bounds_of(option: Option) -> Bounds | None:
    """The bounds of an option; None if it takes no number. A flag that is not known yet only has to be a number."""
    if option.type not in NUMERIC or option.choices or option.nargs == SWITCH:
        return None
    return BOUNDS.get(option.dest, _UNKNOWN)


def beyond(option: Option, value: Any) -> Iterator[tuple[float, Bounds]]:
    """The numbers among the values of an option that are out of its bounds, and these."""
    bounds = bounds_of(option)
    if bounds is None:
        return
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, int | float) and not isinstance(number, bool) and number not in bounds:
            yield number, bounds
