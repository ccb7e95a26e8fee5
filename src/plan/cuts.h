// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_CUTS_H_
#define TUTTI_PLAN_CUTS_H_

#include <cstddef>

namespace tutti::plan {

// How the GPU executor cuts what a plan is run on, in bytes and counts. It depends on the machine, so it is data: tune has it in
// its tables and hands it on. "least": less does not pay.
struct Cuts {
  // Sends and receives: up to lines_bytes by LL128, beyond it by Simple; what one channel should have to do at least, of those up
  // to small_bytes, of others by LL128, and by Simple.
  std::size_t small_channel_bytes, lines_channel_bytes, simple_channel_bytes;
  std::size_t small_bytes, lines_bytes;
  std::size_t
      short_bytes;  // beyond it transfers have fewer channels, so that groups of them take a part of the GPU only
  int messages;     // of Simple, of a channel's part, where they are as long as that pays
  std::size_t message_least_bytes;
  // Relays: slices of blocks, their messages, and those of chains, where every rank waits for a message of the one before it.
  std::size_t slice_least_bytes;
  int slice_messages;
  std::size_t slice_message_least_bytes;
  int chain_messages;
  std::size_t chain_message_least_bytes;
  // Relays of less than an all_reduce, of so many bytes in all, do as well or better with so many blocks at most; a reduction to a
  // root from more bytes on.
  int few_blocks;
  std::size_t few_blocks_bytes, few_blocks_root_bytes;
  // A reduce_scatter by a relay, of so many bytes in all, does better with so many blocks: taken where the kernels of the communicator
  // may have twice as many, so that half of the GPU stays free.
  int many_blocks;
  std::size_t many_blocks_least_bytes, many_blocks_most_bytes;
  // Short forms: reductions of so many rounds at most, since of more the steps are as fast; all of a block's warps together up to
  // so many channels (docs/decisions/0009-short-forms.md).
  int short_rounds, short_together_channels;
  // What the messages of a batch's item cost a channel beside its bytes, in bytes: a hop at the rate of one channel.
  std::size_t item_bytes;
};

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_CUTS_H_
