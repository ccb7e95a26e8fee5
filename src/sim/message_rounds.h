// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_MESSAGE_ROUNDS_H_
#define TUTTI_SIM_MESSAGE_ROUNDS_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/period.h"

namespace tutti::sim {

// All that a rank sends another one before it is complete, and all that it sends it then, are one message each: what programs that put
// blocks together send. Of halving_doubling that is a message in each of its rounds. A message leaves once all of it is there, so it is in
// the round after the last one of those that it needs.
class MessageRounds {
 public:
  explicit MessageRounds(Period& period);

  // Whether there is an order: messages do not wait for each other, and arrive in the order in which they are wanted. Nothing else may be
  // asked where there is none.
  bool exist() const { return exist_; }
  int count() const { return count_; }

  // Of a rank that stands at that place of its period.
  struct Message {
    std::uint32_t wire = 0;  // as of Period
    std::uint32_t blocks = 0;
  };
  struct Round {
    std::vector<Message> sent;
    std::vector<Program::Wire> received;  // before that; one message of each
    std::vector<int> steps;               // of the plan, whose work is done between
  };
  // By round; what is only received is in one more, the last.
  std::vector<Round> RoundsOf(int place) const;

 private:
  // Both messages of a wire: what is not complete, and what is.
  struct WireUse {
    std::vector<std::uint8_t> part_of;  // of each block that is sent, in their order
    std::array<int, 2> round{-1, -1};   // -1: there is no such message
  };
  using Key = std::uint32_t;  // 2 * wire + part
  void Number();
  void FindNeeds();
  bool FindRounds();
  bool ArriveInOrder() const;
  int RoundOf(Key message) const { return wires_[message / 2].round[message % 2]; }
  // In which round the receives of a step are done: that of the first message with its value.
  int RoundOfStep(int place, int step) const;
  // What a place receives, and in which round it is wanted first.
  struct Wanted {
    int round = 0;
    Program::Wire wire;
  };
  std::unordered_map<Key, Wanted> WantedAt(int place) const;
  template <typename Visit>
  void ForReceives(int place, Visit visit) const;

  Period& period_;
  std::vector<WireUse> wires_;
  std::vector<std::vector<Key>> needs_;  // by message; what has to be there before
  int count_ = 0;
  bool exist_ = false;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_MESSAGE_ROUNDS_H_
