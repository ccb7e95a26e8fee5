// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_TUNER_PLUGIN_SEEN_H_
#define TUTTI_TESTS_TUNER_PLUGIN_SEEN_H_

#include <stddef.h>
#include <stdint.h>

// What a plugin of tuner_plugin.c was called with. Its library has a function tutti_test_seen that returns the address.
struct Seen {
  int inits, ends, asks, chunk_asks;
  // Of the last init. The last five only from version 5 on.
  size_t ranks, nodes;
  uint64_t communicator;
  int domains, fewest, most;
  double tree_base_us;  // a constant that was handed over
  // Of the last getCollInfo.
  int function, operations, registered;
  size_t bytes;
  float table[7][3];  // as it was handed over; not in version 2
  // Of the last getChunkSize.
  size_t chunk_bytes;
};

#endif  // TUTTI_TESTS_TUNER_PLUGIN_SEEN_H_
