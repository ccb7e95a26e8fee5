// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_MACHINE_TREE_H_
#define TUTTI_TOPO_MACHINE_TREE_H_

// The tree of a host in a machine's text (machine_text.h), and the lines that change single things of it.

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/machine.h"
#include "topo/machine_words.h"
#include "tutti/status.h"

namespace tutti::topo {

inline constexpr int kMostParts = 1024;  // of a host
inline constexpr int kMostNumaNodes = 64;

// Reads what is left of a line as properties of a part, whose kind says which there are.
Status ReadProperties(MachineWords& words, HostPart& part);

class MachineTree {
 public:
  // Parts are like those of their kind in `usual`, where nothing else is said.
  explicit MachineTree(std::vector<HostPart> usual) : usual_(std::move(usual)) {}

  // A line below `host`, in order.
  Status AddLine(MachineWords words);
  // The parts that all lines make.
  Result<std::vector<HostPart>> Parts();

 private:
  struct Line {
    MachineWords words;
    std::optional<std::size_t> parent;
    HostPart part;
    int count = 1;
    std::vector<int> numbers;  // that stand there
  };

  Status CheckPlace(const Line& line) const;
  Status Expand(std::size_t line, int parent);
  Status AddPart(const Line& line, const HostPart& part);
  Result<int> NumberOf(const Line& line, int index);
  int NextNumber(NodeKind kind);

  std::vector<HostPart> usual_;
  std::vector<Line> lines_;
  std::vector<std::size_t> open_;  // lines above the last one, the outermost first
  std::vector<HostPart> parts_;
  int numa_nodes_ = 0;
  std::set<std::pair<NodeKind, int>> numbers_;  // that parts have
  std::map<NodeKind, int> next_;                // below these all numbers are taken
};

// Reads a line behind `but`, and changes the machine's parts, or adds to its exceptions.
Status ReadBut(MachineWords& words, Machine& machine);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_MACHINE_TREE_H_
