// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/batch.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tutti::exec::gpu {
namespace {

bool AreOfASize(const Work& a, const Work& b) { return a.count == b.count && a.type == b.type; }

std::size_t MessageBytes(const ProgramItem& item) { return item.chunk * item.element; }

// Puts items behind each other on channels.
class Chains {
 public:
  explicit Chains(Batch& batch) : batch_(batch) { last_.fill(kNoItem); }

  // Lets an item have `channels` channels from `first` on.
  void Add(std::uint16_t item, int first, int channels) {
    batch_.items[item].first_channel = static_cast<std::uint16_t>(first);
    batch_.items[item].next = kNoItem;
    for (int channel = first; channel < first + channels; ++channel) {
      std::uint16_t& last = last_[channel];
      (last == kNoItem ? batch_.first_item[channel] : batch_.items[last].next) = item;
      last = item;
    }
  }

 private:
  Batch& batch_;
  std::array<std::uint16_t, kMaxBatchChannels> last_;
};

}  // namespace

BatchCut CompileItems(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape,
                      const transport::p2p::Geometry& geometry, const plan::Cuts& cuts, Batch& batch) {
  const auto load_of = [&](const Work& work) -> std::uint64_t {
    return cuts.item_bytes + work.count * SizeOf(work.type);
  };
  std::uint64_t total = 0;
  for (const Work& work : works) total += load_of(work);
  const auto channels = static_cast<std::uint64_t>(shape.channels);
  // Groups often have items of one size: what follows from it is found once.
  const Work* last_shared = nullptr;
  int last_share = 0;
  const auto share = [&](const Work& work) {
    if (last_shared == nullptr || !AreOfASize(work, *last_shared)) {
      last_share = static_cast<int>(load_of(work) * channels / total);
    }
    last_shared = &work;
    return last_share;
  };
  Shape own = shape;
  Chains chains(batch);
  BatchCut cut;
  int before = -1, before_channels = 0, used = 0;  // the last one compiled
  const auto compile = [&](std::uint16_t item) {
    const Work& work = works[item];
    ProgramItem& made = batch.items[item];
    if (before >= 0 && AreOfASize(work, works[before]) && own.channels == before_channels) {
      made = batch.items[before];
      made.in = static_cast<const std::byte*>(work.in);
      made.out = static_cast<std::byte*>(work.out);
    } else {
      used = CompileItem(plan, work, own, geometry, made);
    }
    before = item;
    before_channels = own.channels;
    cut.message_bytes = std::max(cut.message_bytes, MessageBytes(batch.items[item]));
  };
  for (std::uint16_t item = 0; item < works.size(); ++item) {
    own.channels = share(works[item]);
    if (own.channels == 0) continue;
    compile(item);
    chains.Add(item, cut.blocks, used);
    cut.blocks += used;
  }
  // Where there are such items, the others have left them a channel at least: shares are rounded down.
  const int taken = cut.blocks, left = shape.channels - taken;
  own.channels = 1;
  int turn = 0;
  for (std::uint16_t item = 0; item < works.size(); ++item) {
    if (share(works[item]) != 0) continue;
    compile(item);
    chains.Add(item, taken + turn++ % left, 1);
  }
  cut.blocks += std::min(turn, left);
  return cut;
}

}  // namespace tutti::exec::gpu
