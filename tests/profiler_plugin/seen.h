// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_PROFILER_PLUGIN_SEEN_H_
#define TUTTI_TESTS_PROFILER_PLUGIN_SEEN_H_

#include <cstddef>
#include <cstdint>

// What the plugin of profiler_plugin.cc was called with, in the order of the calls. Its library has functions:
//
//   tutti_test_entries   the address of the first entry, and how many there are
//   tutti_test_ask       sets the mask of types
struct Entry {
  enum What : int { kInit, kStart, kStop, kState, kFinalize } what;
  void* context;  // of init, start and finalize
  void* event;    // of start, stop and state
  void* parent;   // of start
  std::uint64_t type;
  int rank;
  // Of init.
  std::uint64_t communicator;
  int ranks, hosts;
  char name[16];
  // Of start.
  const char *function, *datatype, *algorithm, *protocol;
  std::size_t count;
  std::uint64_t sequence;
  int channels, peer, depth, is_send, step;
  void* parent_group;
  std::uint64_t timer_ns;  // also of state
  int state;
};

extern "C" {
const Entry* tutti_test_entries(int* count);
void tutti_test_ask(int mask);
}

#endif  // TUTTI_TESTS_PROFILER_PLUGIN_SEEN_H_
