// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings_registry.h"

namespace tutti {
namespace {

// What NCCL 2.18 to 2.30 reads, and what is often set beside it. The reasons are sentences for users.
constexpr IgnoredSettings kIgnored[] = {
    {.names = "NCCL_SHM_DISABLE NCCL_SHM_LOCALITY",
     .reason = "Ranks of a host share anonymous memory, which takes nothing of /dev/shm, and there is no other way "
               "between them"},
    {.names = "NCCL_IGNORE_DISABLED_P2P NCCL_P2P_DIRECT_DISABLE NCCL_P2P_READ_ENABLE NCCL_P2P_USE_CUDA_MEMCPY "
              "NCCL_NVB_DISABLE NCCL_NVB_PRECONNECT NCCL_MULTI_RANK_GPU_ENABLE NCCL_NVLINK_DISABLE",
     .reason =
         "GPUs write to each other's memory wherever a trial shows that it works, and several ranks may share one; "
         "NCCL_P2P_DISABLE and NCCL_P2P_LEVEL choose host memory"},
    {.names = "NCCL_SOCKET_MAGIC NCCL_SOCKET_RETRY_CNT NCCL_SOCKET_RETRY_SLEEP_MSEC NCCL_SOCKET_POLL_TIMEOUT_MSEC "
              "NCCL_SOCKET_RCVBUF "
              "NCCL_SOCKET_SNDBUF NCCL_COMM_ID_TIMEOUT NCCL_SOCKET_INLINE "
              "NCCL_SOCKET_MIN_TASKSIZE",
     .reason = "Sizes and paces NCCL's own sockets; Tutti's take their sizes from the system and their time from "
               "TUTTI_INIT_TIMEOUT_MS"},
    {.names = "NCCL_UID_STAGGER_RATE NCCL_UID_STAGGER_THRESHOLD NCCL_CONNECT_ROUND_MAX_PEERS NCCL_RUNTIME_CONNECT "
              "NCCL_IPC_USE_ABSTRACT_SOCKET",
     .reason = "Paces NCCL's own bootstrap; of Tutti's ranks one of each host connects to where they meet"},
    {.names = "NCCL_REPORT_CONNECT_PROGRESS",
     .reason = "Where ranks do not meet in time, the error names those who are missing"},
    {.names = "NCCL_NET_PLUGIN_REF_COUNT NCCL_NET_GDR_C2C NCCL_NET_GDR_MLOPART NCCL_GDR_FLUSH_DISABLE "
              "NCCL_NET_FORCE_FLUSH NCCL_NET_DISABLE_INTRA NCCL_NET_SHARED_BUFFERS NCCL_NET_SHARED_COMMS "
              "NCCL_NET_OPTIONAL_RECV_COMPLETION NCCL_NETDEVS_POLICY NCCL_NET_MERGE_LEVEL NCCL_NET_MERGE_POLICY "
              "NCCL_NET_FORCE_MERGE NCCL_PXN_DISABLE NCCL_P2P_PXN_LEVEL NCCL_PXN_C2C NCCL_DMABUF_ENABLE "
              "NCCL_GDRCOPY_ENABLE NCCL_GDRCOPY_FIFO_ENABLE NCCL_GDRCOPY_SYNC_ENABLE NCCL_GDRCOPY_FLUSH_ENABLE "
              "NCCL_IGNORE_NET_MISMATCH NCCL_IGNORE_COLLNET_MISMATCH NCCL_NET_OVERHEAD NCCL_NCHANNELS_PER_NET_PEER "
              "NCCL_P2P_PER_CHANNEL_NET_BW NCCL_ALLOC_P2P_NET_LL_BUFFERS NCCL_UNPACK_DOUBLE_NCHANNELS "
              "NCCL_P2P_NET_CHUNKSIZE NCCL_IBVERBS_LIB",
     .reason = "Speaks of network cards in ways that only NCCL knows; data between hosts go over TCP or a plugin, from "
               "host memory"},
    {.names = "NCCL_IB_*",
     .reason =
         "Tells NCCL's own verbs what Tutti cannot tell libfabric; NCCL_IB_HCA, NCCL_IB_DISABLE and NCCL_IB_TC count, "
         "libfabric's own settings are FI_VERBS_GID_IDX instead of NCCL_IB_GID_INDEX, and others like it"},
    {.names = "NCCL_TOPO_SPLIT_MLOPART NCCL_COLLNET_NODE_THRESHOLD NCCL_MNNVL_ENABLE "
              "NCCL_MNNVL_UUID NCCL_MNNVL_CLIQUE_ID NCCL_MNNVL_CROSS_CLIQUE NCCL_MNNVL_SCATTER_NETS_ENABLE "
              "NCCL_MNNVL_RAIL_PER_HOST",
     .reason = "Speaks of parts of GPUs, of racks whose NVLinks join several hosts, and of switches that reduce, none "
               "of which Tutti uses"},
    {.names = "NCCL_IGNORE_CPU_AFFINITY NCCL_SET_CPU_STACK_SIZE",
     .reason = "Tutti leaves affinities and stacks as it finds them"},
    {.names = "NCCL_SET_THREAD_NAME",
     .reason = "The thread that moves data in the background is always named tutti-progress"},
    {.names = "NCCL_CGA_CLUSTER_SIZE NCCL_NTHREADS NCCL_LL128_NTHREADS NCCL_WORK_FIFO_BYTES "
              "NCCL_WORK_ARGS_BYTES NCCL_MEM_SYNC_DOMAIN NCCL_SET_STACK_SIZE NCCL_L1_SHARED_MEMORY_CARVEOUT "
              "NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE NCCL_LL128_C2C NCCL_GROUP_CUDA_STREAM",
     .reason = "Shapes GPU kernels; those of Tutti take their shape from the cost model, within NCCL_MAX_CTAS"},
    {.names = "NCCL_LAUNCH_MODE NCCL_LAUNCH_ORDER_IMPLICIT NCCL_LAUNCH_RACE_FATAL NCCL_GRAPH_REGISTER "
              "NCCL_GRAPH_MIXING_SUPPORT NCCL_GRAPH_HELPER_DISABLE NCCL_GRAPH_STREAM_ORDERING",
     .reason = "Orders GPU launches; Tutti launches in the order of the calls, in the caller's stream"},
    {.names =
         "NCCL_THREAD_THRESHOLDS NCCL_PAT_ENABLE NCCL_COLLNET_ENABLE NCCL_NVLS_ENABLE NCCL_NVLS_NCHANNELS "
         "NCCL_NVLS_CHUNKSIZE NCCL_NVLSTREE_MAX_CHUNKSIZE "
         "NCCL_ALLGATHERV_ENABLE NCCL_SYM_* NCCL_P2P_LL_THRESHOLD NCCL_P2P_EPOCH_ENABLE NCCL_SINGLE_RING_THRESHOLD "
         "NCCL_TREE_THRESHOLD NCCL_LL_THRESHOLD NCCL_SINGLE_PROC_MEM_REG_ENABLE",
     .reason = "Tutti chooses by its own cost model; NCCL_ALGO and NCCL_PROTO restrict it, `tutti tune` shows it"},
    {.names = "NCCL_BUFFSIZE NCCL_LL_BUFFSIZE NCCL_LL128_BUFFSIZE NCCL_CHUNK_SIZE NCCL_P2P_PCI_CHUNKSIZE "
              "NCCL_P2P_NVL_CHUNKSIZE",
     .reason = "Chunks follow from the shared pages of a rank, which TUTTI_SHARED_BYTES sets"},
    {.names = "NCCL_MIN_P2P_NCHANNELS NCCL_MAX_P2P_NCHANNELS NCCL_P2P_MAX_PEERS NCCL_P2P_SCHEDULE_GROUP_SIZE",
     .reason = "Sends and receives of a group all proceed together, over one channel each"},
    {.names = "NCCL_COMM_SPLIT_SHARE_RESOURCES NCCL_COMM_SHRINK_SHARE_RESOURCES",
     .reason = "Every communicator owns what it uses, so that one that breaks harms no other"},
    {.names = "NCCL_CUMEM_ENABLE NCCL_CUMEM_HOST_ENABLE NCCL_LOCAL_REGISTER NCCL_LEGACY_CUDA_REGISTER "
              "NCCL_MULTI_SEGMENT_REGISTER NCCL_WIN_ENABLE NCCL_WIN_STRIDE NCCL_ELASTIC_BUFFER_REGISTER "
              "NCCL_MLOPART_RDMA_ENABLE NCCL_SHADOW_MEMPOOL_MAX_SIZE NCCL_DISABLE_MEM_MANAGER",
     .reason = "Speaks of GPU memory and its registration; Tutti needs none"},
    {.names = "NCCL_GIN_* NCCL_GDAKI_* NCCL_LSA_TEAM_SIZE NCCL_ENABLE_VERSION_CHECK NCCL_DEV_API_JIT NCCL_RMA_* "
              "NCCL_NUM_RMA_CTX",
     .reason = "Speaks of communication started by GPUs, which needs GPUs"},
    {.names = "NCCL_PROXY_APPEND_BATCH_SIZE NCCL_PROGRESS_APPENDOP_FREQ NCCL_PROXY_CPUSET NCCL_PROXY_DUMP_SIGNAL",
     .reason = "There is no proxy thread: the calling thread moves its data"},
    {.names = "NCCL_CHECK_POINTERS NCCL_CHECK_MODE", .reason = "Arguments are always checked; it costs nanoseconds"},
    {.names = "NCCL_RAS_TIMEOUT_FACTOR", .reason = "The RAS service waits for no other process"},
    {.names = "NCCL_ENV_PLUGIN NCCL_STATIC_PLUGIN",
     .reason = "Plugins of these kinds are not loaded; those of networks, tuners and profilers are"},
    {.names = "NCCL_PROFILE_* NCCL_INSPECTOR_*",
     .reason = "Belongs to a profiler plugin, which reads it itself where it is in the environment"},
    {.names = "NCCL_TUNER_CONFIG_FILE NCCL_TUNER_CONFIG_PATH",
     .reason = "Belongs to a tuner plugin, which reads it itself where it is in the environment"},
    {.names = "NCCL_PARAM_DUMP_ALL NCCL_NO_CACHE", .reason = "`tutti env` shows all settings and where they came from"},
    {.names = "NCCL_TESTS_*", .reason = "Belongs to nccl-tests; `tutti perf` reads NCCL_TESTS_MIN_BW"},
    {.names = "NCCL_BLOCKING_WAIT NCCL_ASYNC_ERROR_HANDLING NCCL_DESYNC_DEBUG NCCL_ENABLE_TIMING "
              "NCCL_USE_COMM_NONBLOCKING NCCL_NONBLOCKING_TIMEOUT",
     .reason = "Belongs to PyTorch"},
    {.names = "NCCL_HOME NCCL_ROOT NCCL_ROOT_DIR NCCL_DIR NCCL_PATH NCCL_VERSION NCCL_INCLUDE_DIR NCCL_LIB_DIR "
              "NCCL_LIBRARY NCCL_LIBRARIES NCCL_PREFIX",
     .reason = "Says where NCCL is, for builds and container images; the library does not read it"},
    {.names = "NCCL_FASTRAK_* NCCL_GPUDIRECTTCPX_* NCCL_SHIMNET_* NCCL_PLUGIN_P2P NCCL_SHARP_* NCCL_UCX_*",
     .reason = "Belongs to a network plugin; none is loaded yet"},
    {.names = "TUTTI_FUZZ_CANARY TUTTI_JOBS TUTTI_TEST_* TUTTI_LAUNCH_TEST",
     .reason = "Belongs to Tutti's own build and tests"},
};

}  // namespace

std::span<const IgnoredSettings> AllIgnoredSettings() { return kIgnored; }

}  // namespace tutti
