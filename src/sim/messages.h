// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_MESSAGES_H_
#define TUTTI_SIM_MESSAGES_H_

// Messages under way, in places that are used again.

#include <cstdint>
#include <vector>

#include "sim/time.h"

namespace tutti::sim {

struct Message {
  enum class Way : std::uint8_t {
    kRouted,        // from a rank to another one
    kSwitched,      // to the end of a segment (switch_trees.h)
    kSwitchedLast,  // of the last segment, to a rank
  };
  std::uint32_t run = 0, wire = 0;  // for who sends it
  std::uint32_t order = 0;          // of its wire, from 0
  std::uint32_t route = 0;
  std::uint32_t hop = 0, last_hop = 0;  // the next one of its route's, and where they end
  std::int32_t node = -1;               // where it is, while switches choose its way
  float pci_charge = 1, charge = 1;     // bytes that each byte takes on PCI links, on others
  Way way = Way::kRouted;
  std::uint64_t wire_bytes = 0;  // on links
  Time sent = 0;
  Time tail = 0;           // when its last byte is before the next link
  Time after = 0;          // from its arrival until it is received
  std::uint64_t turn = 0;  // LogGOPS: who came first; on a segment: which one, and of what (switch_traffic.cc)
};

class Messages {
 public:
  std::uint32_t Add(const Message& message) {
    if (free_.empty()) {
      messages_.push_back(message);
      return static_cast<std::uint32_t>(messages_.size()) - 1;
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    messages_[index] = message;
    return index;
  }
  void Remove(std::uint32_t index) { free_.push_back(index); }
  Message& operator[](std::uint32_t index) { return messages_[index]; }

 private:
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_MESSAGES_H_
