// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/rank_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tutti::topo {
namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// One channel in one box, with ranks in place of GPUs.
struct Part {
  std::vector<int> ranks;
  std::vector<int> parents;  // by position; empty: a chain
  int port_in = -1, port_out = -1;
};

Status Wrong(std::size_t channel, const Box& box, std::string_view what) {
  return Status(Code::kInvalidArgument,
                fmt::format("Channel {} of the box of rank {} {}.", channel, box.ranks[0], what));
}

bool HasPort(const Box& box, std::optional<int> node) {
  return node && std::ranges::any_of(box.ports, [&](int own) { return box.nodes[At(own)] == *node; });
}

// Where several ranks have one GPU, the GPU's first place in the order is that of the lowest of them.
Result<Part> ToRanks(const Placement& placement, const BoxChannels& channels, std::size_t channel) {
  const Box& box = placement.boxes()[At(channels.box)];
  const ChannelOrder& order = channels.channels.channels[channel];
  std::multimap<int, int> ranks;  // by GPU
  for (std::size_t i = 0; i < box.ranks.size(); ++i) ranks.emplace(box.nodes[At(box.gpus[i])], box.ranks[i]);
  Part part;
  for (const int gpu : order.gpus) {
    const auto next = ranks.lower_bound(gpu);
    if (next == ranks.end() || next->first != gpu)
      return Wrong(channel, box, fmt::format("has node {} once too often", gpu));
    part.ranks.push_back(next->second);
    ranks.erase(next);
  }
  if (!ranks.empty())
    return Wrong(channel, box,
                 fmt::format("misses node {}, the GPU of rank {}", ranks.begin()->first, ranks.begin()->second));
  for (std::size_t i = 0; i < order.parents.size(); ++i) {
    const bool before =
        i == 0 ? order.parents[i] == -1 : order.parents[i] >= 0 && order.parents[i] < static_cast<int>(i);
    if (!before || order.parents.size() != order.gpus.size()) {
      return Wrong(channel, box, "has parents that do not come before their children");
    }
  }
  part.parents = order.parents;
  if (placement.boxes().size() == 1) return part;
  if (!HasPort(box, order.port_in) || !HasPort(box, order.port_out)) {
    return Wrong(channel, box, "needs a port of the box at each end, since there are other boxes");
  }
  part.port_in = *order.port_in;
  part.port_out = *order.port_out;
  return part;
}

// By channel, then by box.
Result<std::vector<std::vector<Part>>> ToRanks(const Placement& placement, std::span<const BoxChannels> boxes) {
  if (boxes.size() != placement.boxes().size()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("There are channels for {} boxes of {}.", boxes.size(), placement.boxes().size()));
  }
  std::vector<std::vector<Part>> all(boxes[0].channels.channels.size());
  for (const BoxChannels& box : boxes) {
    if (box.channels.channels.size() != all.size()) {
      return Status(Code::kInvalidArgument, fmt::format("Boxes have {} and {} channels: all need the same number.",
                                                        all.size(), box.channels.channels.size()));
    }
    for (std::size_t channel = 0; channel < all.size(); ++channel) {
      Result<Part> part = ToRanks(placement, box, channel);
      if (!part.ok()) return part.status();
      all[channel].push_back(*std::move(part));
    }
  }
  return all;
}

// Of the numbers first ... last (at least 1) the one that a higher power of two divides than any other.
int Roundest(int first, int last) {
  while ((last & (last - 1)) >= first) last &= last - 1;
  return last;
}

// Trees in which what is left of a node has lower numbers and what is right of it has higher ones, and odd numbers are leaves.
void HangInOrder(int first, int last, int parent, std::vector<int>& parents) {
  if (first > last) return;
  const int top = Roundest(first, last);
  parents[At(top)] = parent;
  HangInOrder(first, top - 1, top, parents);
  HangInOrder(top + 1, last, top, parents);
}

// A binary tree with its root at `first`, over ranks[first] ... ranks[end - 1].
void HangHalves(std::span<const int> ranks, std::size_t first, std::size_t end, int parent, std::vector<int>& parents) {
  if (first >= end) return;
  parents[At(ranks[first])] = parent;
  const std::size_t middle = first + (end - first + 1) / 2;
  HangHalves(ranks, first + 1, middle, ranks[first], parents);
  HangHalves(ranks, middle, end, ranks[first], parents);
}

}  // namespace

Result<std::vector<RankRing>> MakeRings(const Placement& placement, std::span<const BoxChannels> boxes) {
  Result<std::vector<std::vector<Part>>> channels = ToRanks(placement, boxes);
  if (!channels.ok()) return channels.status();
  std::vector<RankRing> rings;
  for (const std::vector<Part>& parts : *channels) {
    RankRing ring;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& next = parts[(i + 1) % parts.size()];
      ring.ranks.insert(ring.ranks.end(), parts[i].ranks.begin(), parts[i].ranks.end());
      ring.crossings.resize(ring.ranks.size());
      ring.crossings.back() = {.out = parts[i].port_out, .in = next.port_in};
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

std::vector<std::vector<int>> TreesOfBoxes(int boxes, TreesPerChannel count) {
  std::vector<int> numbers(At(boxes) + 1, 0);  // by number from 1; 0: the root has none
  HangInOrder(1, boxes, 0, numbers);
  std::vector<std::vector<int>> trees;
  for (int tree = 0; tree < static_cast<int>(count); ++tree) {
    // The second tree is the first one turned round where that makes odd numbers even, and else moved on by one.
    const auto position = [&](int number) {
      if (tree == 0) return number - 1;
      return boxes % 2 == 0 ? boxes - number : number % boxes;
    };
    std::vector<int> parents(At(boxes), -1);
    for (int number = 1; number <= boxes; ++number) {
      if (numbers[At(number)] > 0) parents[At(position(number))] = position(numbers[At(number)]);
    }
    trees.push_back(std::move(parents));
  }
  return trees;
}

Result<std::vector<RankTree>> MakeTrees(const Placement& placement, std::span<const BoxChannels> boxes,
                                        TreesPerChannel count, TreeShape shape) {
  Result<std::vector<std::vector<Part>>> channels = ToRanks(placement, boxes);
  if (!channels.ok()) return channels.status();
  const std::vector<std::vector<int>> over = TreesOfBoxes(static_cast<int>(boxes.size()), count);
  std::vector<RankTree> trees;
  for (const std::vector<Part>& parts : *channels) {
    for (std::size_t t = 0; t < over.size(); ++t) {
      RankTree tree{.parents = std::vector<int>(At(placement.ranks()), -1),
                    .crossings = std::vector<Crossing>(At(placement.ranks()))};
      for (std::size_t i = 0; i < parts.size(); ++i) {
        std::vector<int> ranks = parts[i].ranks;
        const std::vector<int>& own = parts[i].parents;
        if (parts.size() == 1 && t == 1 && own.empty()) std::ranges::reverse(ranks);
        if (own.empty() && shape == TreeShape::kBinary) {
          HangHalves(ranks, 0, ranks.size(), -1, tree.parents);
        } else {
          for (std::size_t r = 1; r < ranks.size(); ++r) {
            tree.parents[At(ranks[r])] = ranks[own.empty() ? r - 1 : At(own[r])];
          }
        }
        if (over[t][i] < 0) continue;
        const Part& parent = parts[At(over[t][i])];
        tree.parents[At(ranks[0])] = parent.ranks[0];
        tree.crossings[At(ranks[0])] = {.out = parts[i].port_in, .in = parent.port_in};
      }
      trees.push_back(std::move(tree));
    }
  }
  return trees;
}

}  // namespace tutti::topo
