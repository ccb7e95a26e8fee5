/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every operation of nccl.h on host memory, each result checked. One process per rank, started by any launcher:
 *
 *   tutti run -n 4 nccl_program          mpirun -np 4 nccl_program          srun -n 4 nccl_program
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "nccl.h"

enum { kCount = 1000 };

static int g_rank = -1;

static void Stop(const char* what, int line) {
  fprintf(stderr, "rank %d: line %d: %s\n", g_rank, line, what);
  exit(1);
}

/* A failed call ends the program with NCCL's sentence about it. */
#define OK(call)                                                       \
  do {                                                                 \
    if ((call) != ncclSuccess) Stop(ncclGetLastError(NULL), __LINE__); \
  } while (0)

#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) Stop("wrong: " #condition, __LINE__); \
  } while (0)

/* The first pair of variables that is set says which rank of how many this process is; without a launcher 0 of 1. */
static void ReadLauncher(int* rank, int* ranks) {
  static const char* const kNames[][2] = {
      {"TUTTI_RANK", "TUTTI_RANKS"},                    /* tutti run */
      {"RANK", "WORLD_SIZE"},                           /* torchrun */
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI */
      {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},   /* MVAPICH2 */
      {"PMI_RANK", "PMI_SIZE"},                         /* MPICH, Intel MPI */
      {"SLURM_PROCID", "SLURM_NTASKS"},                 /* srun */
      {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},              /* Flux */
      {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},     /* jsrun */
  };
  size_t i;
  *rank = 0;
  *ranks = 1;
  for (i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    const char* own = getenv(kNames[i][0]);
    const char* all = getenv(kNames[i][1]);
    if (own == NULL || all == NULL) continue;
    *rank = atoi(own);
    *ranks = atoi(all);
    return;
  }
}

/* Buffers of `ranks` parts of kCount numbers. Input: part p of rank r holds 1000 * r + p. */
static int32_t* g_in;
static int32_t* g_out;
static int g_ranks;

static int32_t Value(int rank, int part) { return 1000 * rank + part; }

static void Fill(void) {
  int i;
  for (i = 0; i < g_ranks * kCount; ++i) {
    g_in[i] = Value(g_rank, i / kCount);
    g_out[i] = -1;
  }
}

/* Whether part `part` of the output holds `value` everywhere. */
static int Holds(int part, int32_t value) {
  int i;
  for (i = 0; i < kCount; ++i) {
    if (g_out[part * kCount + i] != value) return 0;
  }
  return 1;
}

/* The sum of part `part` over all ranks. */
static int32_t Sum(int part) { return 1000 * (g_ranks * (g_ranks - 1) / 2) + g_ranks * part; }

static void TryReductions(ncclComm_t comm) {
  const int root = g_ranks - 1;
  int64_t factor = g_rank + 1;
  int64_t one = 1;
  int64_t sum = 0;
  ncclRedOp_t times;

  Fill();
  OK(ncclAllReduce(g_in, g_out, kCount, ncclInt32, ncclSum, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Sum(0)));

  OK(ncclAllReduce(g_in, g_out, kCount, ncclInt32, ncclMax, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Value(g_ranks - 1, 0)));

  OK(ncclAllReduce(g_in, g_out, kCount, ncclInt32, ncclMin, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, 0));

  OK(ncclAllReduce(g_in, g_out, kCount, ncclInt32, ncclAvg, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Sum(0) / g_ranks));

  Fill();
  OK(ncclReduce(g_in, g_out, kCount, ncclInt32, ncclSum, root, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, g_rank == root ? Sum(0) : -1));

  Fill();
  OK(ncclReduceScatter(g_in, g_out, kCount, ncclInt32, ncclSum, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Sum(g_rank)));

  /* Each rank's contribution times a factor of its own. */
  OK(ncclRedOpCreatePreMulSum(&times, &factor, ncclInt64, ncclScalarHostImmediate, comm));
  OK(ncclAllReduce(&one, &sum, 1, ncclInt64, times, comm, NULL));
  OK(ncclRedOpDestroy(times, comm));
  OK(ncclTuttiSynchronize(comm));
  CHECK(sum == g_ranks * (g_ranks + 1) / 2);
}

static void TryMoves(ncclComm_t comm) {
  const int root = g_ranks / 2;
  int p;

  Fill();
  OK(ncclBroadcast(g_in, g_out, kCount, ncclInt32, root, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Value(root, 0)));

  OK(ncclBcast(g_in, kCount, ncclInt32, root, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(g_in[0] == Value(root, 0) && g_in[kCount - 1] == Value(root, 0));

  Fill();
  OK(ncclAllGather(g_in, g_out, kCount, ncclInt32, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  for (p = 0; p < g_ranks; ++p) CHECK(Holds(p, Value(p, 0)));

  Fill();
  OK(ncclAlltoAll(g_in, g_out, kCount, ncclInt32, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  for (p = 0; p < g_ranks; ++p) CHECK(Holds(p, Value(p, g_rank)));

  Fill();
  OK(ncclGather(g_in, g_out, kCount, ncclInt32, root, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  for (p = 0; p < g_ranks; ++p) CHECK(Holds(p, g_rank == root ? Value(p, 0) : -1));

  Fill();
  OK(ncclScatter(g_in, g_out, kCount, ncclInt32, root, comm, NULL));
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Value(root, g_rank)));
}

/* Sends and receives around a ring; in a group their order does not matter. */
static void TrySendAndReceive(ncclComm_t comm) {
  const int next = (g_rank + 1) % g_ranks;
  const int previous = (g_rank + g_ranks - 1) % g_ranks;
  Fill();
  OK(ncclGroupStart());
  OK(ncclSend(g_in, kCount, ncclInt32, next, comm, NULL));
  OK(ncclRecv(g_out, kCount, ncclInt32, previous, comm, NULL));
  OK(ncclGroupEnd());
  OK(ncclTuttiSynchronize(comm));
  CHECK(Holds(0, Value(previous, 0)));
}

/* Even and odd ranks get communicators of their own, in reverse order. */
static void TrySplit(ncclComm_t comm) {
  ncclComm_t half;
  int rank, ranks;
  int32_t mine = g_rank, sum = 0;
  int expected = 0, r;
  OK(ncclCommSplit(comm, g_rank % 2, -g_rank, &half, NULL));
  OK(ncclCommUserRank(half, &rank));
  OK(ncclCommCount(half, &ranks));
  CHECK(rank == ranks - 1 - g_rank / 2);
  OK(ncclAllReduce(&mine, &sum, 1, ncclInt32, ncclSum, half, NULL));
  OK(ncclCommDestroy(half)); /* waits for the operation */
  for (r = g_rank % 2; r < g_ranks; r += 2) expected += r;
  CHECK(sum == expected);
}

int main(void) {
  ncclUniqueId id;
  ncclComm_t comm;
  int version;

  ReadLauncher(&g_rank, &g_ranks);
  OK(ncclGetVersion(&version));

  /* An id has to come to all ranks. A program with MPI would make it on rank 0 and broadcast it; this one lets Tutti
   * derive it from what the launcher says about the job (see ncclGetUniqueId). */
  if (g_ranks > 1) setenv("TUTTI_UNIQUE_ID", "job", 0);
  OK(ncclGetUniqueId(&id));
  OK(ncclCommInitRank(&comm, g_ranks, id, g_rank));

  OK(ncclMemAlloc((void**)&g_in, sizeof(int32_t) * kCount * g_ranks));
  OK(ncclMemAlloc((void**)&g_out, sizeof(int32_t) * kCount * g_ranks));
  TryReductions(comm);
  TryMoves(comm);
  TrySendAndReceive(comm);
  TrySplit(comm);
  OK(ncclMemFree(g_in));
  OK(ncclMemFree(g_out));

  OK(ncclCommFinalize(comm));
  OK(ncclCommDestroy(comm));
  printf("rank %d of %d: every operation of NCCL %d.%d.%d works\n", g_rank, g_ranks, version / 10000,
         version / 100 % 100, version % 100);
  return 0;
}
