// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A tuner plugin of version TUTTI_FACE of NCCL's interface, which it declares by itself; with TUTTI_NO_ASK one without
// getCollInfo. What it does is in the environment, in TUTTI_TEST_TUNER, when it begins:
//
//   nothing                            no answer
//   want A P C K                       algorithm A with protocol P, C channels, chunks of K bytes; -1 and 0: no answer
//   only B A P                         that algorithm and protocol for B bytes, else no answer
//   forbid A P                         not that one
//   fail_init, fail_ask, fail_chunk    an error of that function
//   fail_every_other                   an error of every second init
//   nan                                costs that are no numbers, and a number of channels beyond all bounds
//   outside                            an answer beside the table
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tuner_plugin/seen.h"

enum { kSuccess = 0, kInternalError = 3, kInfo = 3, kInit = 1, kTuning = 0x40 };
typedef void (*Log)(int level, unsigned long subsystems, const char* file, int line, const char* format, ...);

static struct Seen g_seen;
static char g_script[64];
const struct Seen* tutti_test_seen(void) { return &g_seen; }

static int Says(const char* word) { return strcmp(g_script, word) == 0; }

struct Want {
  int algorithm, protocol, channels;
  size_t chunk_bytes;
};
static struct Want Wanted(size_t bytes) {
  struct Want want = {-1, -1, 0, 0};
  size_t only;
  if (sscanf(g_script, "only %zu %d %d", &only, &want.algorithm, &want.protocol) == 3 && only != bytes) {
    want.algorithm = want.protocol = -1;
  }
  sscanf(g_script, "want %d %d %d %zu", &want.algorithm, &want.protocol, &want.channels, &want.chunk_bytes);
  return want;
}

static int Begin(size_t ranks, size_t nodes, Log log, void** context) {
  const char* script = getenv("TUTTI_TEST_TUNER");
  snprintf(g_script, sizeof(g_script), "%s", script != NULL ? script : "nothing");
  ++g_seen.inits;
  g_seen.ranks = ranks;
  g_seen.nodes = nodes;
  log(kInfo, kInit | kTuning, __FILE__, __LINE__, "a tuner of tests begins for %zu ranks", ranks);
  *context = &g_seen;
  return Says("fail_init") || (Says("fail_every_other") && g_seen.inits % 2 == 1) ? kInternalError : kSuccess;
}

static int End(void* context) {
  ++((struct Seen*)context)->ends;
  return kSuccess;
}

static void Note(int function, size_t bytes, int operations, int registered) {
  ++g_seen.asks;
  g_seen.function = function;
  g_seen.bytes = bytes;
  g_seen.operations = operations;
  g_seen.registered = registered;
}

#if TUTTI_FACE == 2
static int Ask(void* context, int function, size_t bytes, int collnet, int nvls, int operations, int* algorithm,
               int* protocol, int* channels) {
  Note(function, bytes, operations, 0);
  const struct Want want = Wanted(bytes);
  if (Says("fail_ask") || collnet != 0 || nvls != 0 || context != &g_seen) return kInternalError;
  *algorithm = Says("outside") ? 99 : want.algorithm;
  *protocol = want.protocol;
  *channels = Says("nan") ? 1 << 30 : want.channels;
  return kSuccess;
}
#else
__attribute__((unused)) static int Change(void* context, int function, size_t bytes, int operations, float** costs,
                                          int algorithms, int protocols, int registered, int* channels) {
  float(*table)[3] = (float(*)[3])costs;
  Note(function, bytes, operations, registered);
  memcpy(g_seen.table, costs, sizeof(g_seen.table));
  if (Says("fail_ask") || algorithms != 7 || protocols != 3 || context != &g_seen) {
    table[1][0] = 0;  // which must not count
    return kInternalError;
  }
  struct Want want = Wanted(bytes);
  if (Says("nan")) {
    for (int i = 0; i < 21; ++i) table[i / 3][i % 3] = i % 2 != 0 ? NAN : -INFINITY;
    want.channels = 1 << 30;
  }
  if (Says("outside")) {
    const volatile int before = -4, after = 23;  // [-1][-1] and [7][2]
    ((float*)costs)[before] = ((float*)costs)[after] = 0;
  }
  int algorithm = -1, protocol = -1;
  if (sscanf(g_script, "forbid %d %d", &algorithm, &protocol) == 2) table[algorithm][protocol] = -1;
  if (want.algorithm >= 0) table[want.algorithm][want.protocol] = 0;
  if (want.channels != 0) *channels = want.channels;
  return kSuccess;
}
#endif
#if TUTTI_FACE == 3
static int Ask(void* context, int function, size_t bytes, int operations, float** costs, int algorithms, int protocols,
               int* channels) {
  return Change(context, function, bytes, operations, costs, algorithms, protocols, -1, channels);
}
#elif TUTTI_FACE >= 4
#define Ask Change
#endif

#if TUTTI_FACE <= 4
static int Init(size_t ranks, size_t nodes, Log log, void** context) { return Begin(ranks, nodes, log, context); }
#else
struct Domains {
  int count, fewest, most;
};
static int Init(void** context, uint64_t communicator, size_t ranks, size_t nodes, Log log, struct Domains* domains,
                double* constants) {
  g_seen.communicator = communicator;
  g_seen.domains = domains->count;
  g_seen.fewest = domains->fewest;
  g_seen.most = domains->most;
  g_seen.tree_base_us = constants[0];
  constants[143] = 81;  // the last of them
  return Begin(ranks, nodes, log, context);
}
#endif

#if TUTTI_FACE >= 6
static int Cut(void* context, int function, size_t bytes, int algorithm, int protocol, int channels,
               size_t* chunk_bytes) {
  (void)context, (void)function, (void)bytes, (void)algorithm, (void)protocol, (void)channels;
  ++g_seen.chunk_asks;
  g_seen.chunk_bytes = *chunk_bytes;
  const struct Want want = Wanted(bytes);
  if (want.chunk_bytes != 0) *chunk_bytes = want.chunk_bytes;
  return Says("fail_chunk") ? kInternalError : kSuccess;
}
#endif

#ifdef TUTTI_NO_ASK
#undef Ask
#define Ask NULL
#endif
#define TUTTI_JOIN(a, b) a##b
#define TUTTI_SYMBOL(version) TUTTI_JOIN(ncclTunerPlugin_v, version)
// A table of pointers, as the interface's structures are.
const void* const TUTTI_SYMBOL(TUTTI_FACE)[] = {"Tests", (const void*)Init, (const void*)Ask, (const void*)End,
#if TUTTI_FACE >= 6
                                                (const void*)Cut
#endif
};
