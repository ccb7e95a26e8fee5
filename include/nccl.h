/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's C interface, as Tutti offers it: all of NCCL 2.28.9 and what 2.29 and 2.30 added. C99 and C++, with or without
 * CUDA installed.
 *
 * Every function returns ncclSuccess or says in ncclGetLastError what failed and what to do. Each also exists under the
 * name pnccl...; the nccl... names are weak, so that a profiler can take their place and call the others.
 *
 * Device memory. Where there are CUDA devices (and this build has kernels for them), a communicator belongs to the device
 * that is current when it is made, and buffers lie in device memory or in pinned host memory. An operation takes place in
 * its stream, after what the stream holds and after this communicator's operations before it; the call returns at once,
 * and may be captured in a CUDA graph. Errors that show later come from ncclCommGetAsyncError.
 *
 * Host memory. Operations on pageable host memory, and all of them where there is no CUDA device or TUTTI_GPU=0 is set,
 * take no stream: every stream argument is NULL (other values are ignored). Calls on a communicator take place in the order in which they are made, and return before they
 * have ended. There is no stream to synchronise with, so:
 *   - ncclCommGetAsyncError gives ncclInProgress until all operations called so far have ended,
 *   - ncclTuttiSynchronize, at the end of this file, waits for them,
 *   - ncclCommFinalize and ncclCommDestroy wait for them too.
 * Buffers must stay as they are until then.
 *
 * Threads: one thread at a time calls functions on a communicator, except ncclCommAbort, ncclCommRevoke,
 * ncclCommGetAsyncError, ncclTuttiVerdict and ncclGetLastError, which any thread may call at any time.
 */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* CUDA's own headers where they are there; otherwise a stream is an opaque pointer of the same type. */
#if defined(__CUDACC__)
#include <cuda_runtime.h>
#elif defined(__has_include)
#if __has_include(<cuda_runtime.h>) && !defined(TUTTI_NO_CUDA_HEADERS)
#include <cuda_runtime.h>
#else
typedef struct CUstream_st* cudaStream_t;
#endif
#else
typedef struct CUstream_st* cudaStream_t;
#endif

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""

/* X * 10000 + Y * 100 + Z from 2.9 on. */
#define NCCL_VERSION_CODE 22809
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------------------
 * Types */

/* A communicator, and memory that all its ranks have registered. */
typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
#define NCCL_COMM_NULL NULL

/* Names a job: the ranks that hold the same id form one communicator. Holds a secret: give it to ranks only. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8, /* since 2.30.3 */
  ncclNumResults = 9
} ncclResult_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/* Values from ncclNumOps to ncclMaxRedOp are made by ncclRedOpCreatePreMulSum. */
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4, /* integers: sum, then divide, truncating; floating types: times 1/ranks, then sum */
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

/* Where the scalar of ncclRedOpCreatePreMulSum lies and when it is read: ncclScalarDevice at each call that uses it (on
 * host memory: a host address), ncclScalarHostImmediate before ncclRedOpCreatePreMulSum returns. */
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f
#define NCCL_API_MAGIC 0xcafebeef

#define NCCL_SPLIT_NOCOLOR -1

#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_STRICT_ORDERING 0x02 /* since 2.29.7 */
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00
#define NCCL_SUSPEND_MEM 0x01 /* since 2.29.7 */

/* Options of a communicator. Start from NCCL_CONFIG_INITIALIZER and set what you want; what stays undefined gets its
 * default. On host memory `blocking`, `splitShare`, `shrinkShare` and `commName` have a meaning; the fields that shape
 * GPU kernels and networks are checked and otherwise without effect. Variables of the environment (NCCL_COMM_BLOCKING) win
 * over fields. */
typedef struct ncclConfig_v23000 {
  size_t size; /* these three are the initialiser's */
  unsigned int magic;
  unsigned int version;

  int blocking; /* 1 (default): calls wait for what they start; 0: they give ncclInProgress, see ncclCommGetAsyncError */
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;     /* since 2.26 */
  const char* commName; /* for the log and `tutti top`, 63 characters are kept; since 2.27, as the next four */
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer; /* since 2.28, as the next */
  int nvlinkCentricSched;
  int graphUsageMode; /* since 2.29, as the next */
  int numRmaCtx;
  int maxP2pPeers;         /* since 2.30.3 */
  int graphStreamOrdering; /* since 2.30.7 */
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                                    \
  {                                                                                                                \
    sizeof(ncclConfig_t), NCCL_API_MAGIC, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR,                \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT,                \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                \
        NCCL_CONFIG_UNDEF_INT                                                                                      \
  }

/* What ncclGroupSimulateEnd found: the estimated time of the group, us. */
typedef struct ncclSimInfo_v22200 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), NCCL_UNDEF_FLOAT }

/* Memory of a communicator, bytes; ncclStatGpuMemSuspended is 1 while it is suspended, else 0. On host memory: its
 * shared pages. */
typedef enum {
  ncclStatGpuMemSuspend = 0, /* can be given back by ncclCommSuspend */
  ncclStatGpuMemSuspended = 1,
  ncclStatGpuMemPersist = 2, /* can not */
  ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;

/* One wait of ncclWaitSignal: for opCnt signals of a peer. */
typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;

typedef struct ncclParamHandle ncclParamHandle_t;

/* ---------------------------------------------------------------------------------------------------------------
 * The library */

/* The version of NCCL whose interface this is: 22809. */
ncclResult_t ncclGetVersion(int* version);

/* A fresh id, for one rank to make and give to all. With NCCL_COMM_ID set, the id of that name, the same for every
 * process of the user that calls. With TUTTI_UNIQUE_ID=job, the id of the launcher's job: every rank calls, and its n-th
 * call gives the n-th id of the job; so a program needs no other way to talk before it has a communicator. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);

/* What a result code means, in general. */
const char* ncclGetErrorString(ncclResult_t result);
/* What failed last on this thread, in a sentence: what, where, why, and what to do. "" where nothing has. With a
 * communicator that failed in the background: that failure. Valid until this thread's next failure. */
const char* ncclGetLastError(ncclComm_t comm);

/* Does nothing, as in NCCL since 2.28: the log's variables are read once, by the first communicator. */
void ncclResetDebugInit(void);

/* Page-aligned memory for buffers, of the current CUDA device; host memory where there is none, or TUTTI_GPU=0 is set. */
ncclResult_t ncclMemAlloc(void** ptr, size_t size);
ncclResult_t ncclMemFree(void* ptr);

/* ---------------------------------------------------------------------------------------------------------------
 * Communicators
 *
 * All ranks call with the same id and number of ranks, each with a rank of its own. Returns when all have come, or with
 * an error that names who is missing after TUTTI_INIT_TIMEOUT_MS. A failed call leaves *comm NULL. Several ranks of one
 * process put their calls into one group. */

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config);
/* With several ids, the same list on all ranks; nId from 1 to nranks. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                                      ncclConfig_t* config);
/* One communicator of ndev ranks, all in this process; rank i belongs to device devlist[i], or i where devlist is NULL.
 * A device may occur once. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/* Waits for all operations; then the communicator may only be destroyed. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
/* Waits for all operations and frees the communicator. NULL is fine. */
ncclResult_t ncclCommDestroy(ncclComm_t comm);
/* Ends all operations with an error, here and on the peers, and frees the communicator. Where it is still being made, or
 * others are split off from it in the background: ends that too, and tells the ranks that wait. Any thread; NULL is fine. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
/* Ends all operations with an error, here and on the peers. The communicator stays for queries, ncclCommSplit,
 * ncclCommShrink, ncclCommDestroy and ncclCommAbort. Any thread. revokeFlags: NCCL_REVOKE_DEFAULT. */
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);

/* Collective. Ranks of one color form a new communicator, ordered by key, then by rank. NCCL_SPLIT_NOCOLOR: *newcomm
 * becomes NULL. config NULL: the parent's, without its name. A broken parent gives its error at once; one that all ranks
 * have revoked can be split. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);
/* Called by the ranks that stay, all with the same list of ranks that do not. NCCL_SHRINK_ABORT: ends unfinished
 * operations first; then the parent may be broken. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
                            ncclConfig_t* config, int shrinkFlags);
/* An id for ncclCommGrow. */
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
/* A larger communicator. Its old ranks keep their numbers: they pass the old communicator and rank -1, and at least one
 * of them the id. New ranks pass comm NULL, the id, and a rank from the old size to nRanks - 1. */
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank, ncclComm_t* newcomm,
                          ncclConfig_t* config);

/* *asyncError: ncclInProgress while something is unfinished, the first failure, or ncclSuccess. ncclGetLastError of the
 * same thread then has the sentence of the failure. Any thread, cheap. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);

/* Collective. Gives back the communicator's buffers until ncclCommResume; no operation may run in between. flags:
 * NCCL_SUSPEND_MEM. */
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);

/* ---------------------------------------------------------------------------------------------------------------
 * Buffers. Host memory needs no registration: these check their arguments and keep account. */

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);
/* Collective; in a group when that ends. Makes a buffer on the GPU a window: all ranks map it, and copy engines may write
 * into it. *win becomes NULL, on all ranks, where some rank's buffer can not be mapped by all others. The buffers of windows
 * with NCCL_WIN_COLL_SYMMETRIC are to be used at the same offset on all ranks. Deregister is for this rank alone, waits for
 * its operations, and need not be called before the communicator is destroyed. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);

/* ---------------------------------------------------------------------------------------------------------------
 * Reductions with a factor: each rank's input is multiplied by *scalar, of type datatype, before the sum. The operator
 * belongs to this communicator. Destroying it does not disturb operations that were called before. */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---------------------------------------------------------------------------------------------------------------
 * Collectives. All ranks call them in the same order with the same count, type, operator and root. Counts are elements.
 * In place: sendbuff == recvbuff, except for AllGather (sendbuff == recvbuff + rank * sendcount) and ReduceScatter
 * (recvbuff == sendbuff + rank * recvcount). */

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream);
/* In place on every rank. */
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream);
/* sendbuff: nranks * recvcount elements. */
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
/* recvbuff: nranks * sendcount elements. */
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream);
/* Both buffers: nranks * count elements. */
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                          cudaStream_t stream);
/* recvbuff, on the root: nranks * count elements. */
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream);
/* sendbuff, on the root: nranks * count elements. */
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                         ncclComm_t comm, cudaStream_t stream);

/* Sends and receives between two ranks meet in the order of their calls. Those of one group proceed together. A send to
 * oneself needs its receive in the same group. */
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);

/* One-sided access to windows: copies into the peer's, and counts signals behind what was copied; the peer waits for so
 * many signals more than all its waits before. sigIdx, ctx and flags are 0. Not in graphs, and not on host memory, which has
 * no windows: ncclInvalidUsage. In a group the waits come last. */
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin,
                           size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream);

/* ---------------------------------------------------------------------------------------------------------------
 * Groups. What is called between the outermost Start and End of a thread begins at that End, as one: sends and receives
 * of a communicator proceed together, several communicators and several ranks of one process do not wait for one
 * another. Communicators made in the group are made first. */

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
/* Ends the group without running it; the estimated time of its operations goes into *simInfo. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

/* ---------------------------------------------------------------------------------------------------------------
 * Settings, by the name of their variable; since 2.30.4. Strings stay valid until the thread's next call of the same
 * function. An unknown key is ncclInvalidArgument, a value that does not fit ncclInvalidArgument too. */

ncclResult_t ncclParamBind(ncclParamHandle_t** out, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t* h, int8_t* out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t* h, int16_t* out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t* h, int32_t* out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t* h, int64_t* out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t* h, uint8_t* out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t* h, uint16_t* out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t* h, uint32_t* out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t* h, uint64_t* out);
ncclResult_t ncclParamGetStr(ncclParamHandle_t* h, const char** out);
/* Copies at most maxLen bytes of the value: 8 bytes for a number, the characters and a final 0 for a text. *len: how
 * many the whole value has. */
ncclResult_t ncclParamGet(ncclParamHandle_t* h, void* out, int maxLen, int* len);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
void ncclParamDumpAll(void);

/* ---------------------------------------------------------------------------------------------------------------
 * Tutti's additions. Waits until all operations called so far on comm have ended; returns the first failure. What
 * cudaStreamSynchronize is for GPU memory. */

ncclResult_t ncclTuttiSynchronize(ncclComm_t comm);

/* What holds comm up, as far as this process can tell: the verdict that the log has too. Does not wait, and any thread may call it.
 * sentence: up to sentenceBytes bytes of it, a final 0 among them; empty where nothing is known to hold comm up.
 * ranks: those that certainly cannot go on (ended, stopped, or on a host that is gone), in order, as ncclCommShrink takes them.
 * *rankCount: before, for how many there is room in ranks; after, how many there are. With more than fit, only the first are written.
 * Either of sentence and ranks may be NULL with a length of 0. A verdict stays when an error ends comm, until comm is destroyed. */
ncclResult_t ncclTuttiVerdict(ncclComm_t comm, char* sentence, size_t sentenceBytes, int* ranks, int* rankCount);

/* ---------------------------------------------------------------------------------------------------------------
 * The same functions under the names that are never replaced. */

ncclResult_t pncclGetVersion(int* version);
ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId);
const char* pncclGetErrorString(ncclResult_t result);
const char* pncclGetLastError(ncclComm_t comm);
void pncclResetDebugInit(void);
ncclResult_t pncclMemAlloc(void** ptr, size_t size);
ncclResult_t pncclMemFree(void* ptr);
ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config);
ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                                       ncclConfig_t* config);
ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);
ncclResult_t pncclCommFinalize(ncclComm_t comm);
ncclResult_t pncclCommDestroy(ncclComm_t comm);
ncclResult_t pncclCommAbort(ncclComm_t comm);
ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags);
ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
                             ncclConfig_t* config, int shrinkFlags);
ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t pncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank, ncclComm_t* newcomm,
                           ncclConfig_t* config);
ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
ncclResult_t pncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t pncclCommResume(ncclComm_t comm);
ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);
ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle);
ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags);
ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                         int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                         ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                          ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclGroupStart(void);
ncclResult_t pncclGroupEnd(void);
ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo);
ncclResult_t pncclParamBind(ncclParamHandle_t** out, const char* key);
ncclResult_t pncclParamGetI8(ncclParamHandle_t* h, int8_t* out);
ncclResult_t pncclParamGetI16(ncclParamHandle_t* h, int16_t* out);
ncclResult_t pncclParamGetI32(ncclParamHandle_t* h, int32_t* out);
ncclResult_t pncclParamGetI64(ncclParamHandle_t* h, int64_t* out);
ncclResult_t pncclParamGetU8(ncclParamHandle_t* h, uint8_t* out);
ncclResult_t pncclParamGetU16(ncclParamHandle_t* h, uint16_t* out);
ncclResult_t pncclParamGetU32(ncclParamHandle_t* h, uint32_t* out);
ncclResult_t pncclParamGetU64(ncclParamHandle_t* h, uint64_t* out);
ncclResult_t pncclParamGetStr(ncclParamHandle_t* h, const char** out);
ncclResult_t pncclParamGet(ncclParamHandle_t* h, void* out, int maxLen, int* len);
ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen);
void pncclParamDumpAll(void);
ncclResult_t pncclTuttiSynchronize(ncclComm_t comm);
ncclResult_t pncclTuttiVerdict(ncclComm_t comm, char* sentence, size_t sentenceBytes, int* ranks, int* rankCount);

#ifdef __cplusplus
}
#endif

#endif /* NCCL_H_ */
