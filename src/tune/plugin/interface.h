// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_INTERFACE_H_
#define TUTTI_TUNE_PLUGIN_INTERFACE_H_

// A tuner plugin of any version in the shape of the newest one: what older versions are asked otherwise is translated as NCCL
// does it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tune/plugin/abi.h"

namespace tutti::tune::plugin {

// The communicator that a tuner is begun for.
struct Audience {
  std::uint64_t communicator = 0;  // the same number on all its ranks
  int ranks = 1;
  int hosts = 1;
  int fewest_of_host = 1, most_of_host = 1;  // ranks
};

// The operation that a tuner is asked about.
struct Question {
  abi::Function function = 0;
  std::size_t bytes = 0;  // that a rank sends or receives, whichever is more
  int operations = 1;     // that run as one, of so many bytes together
};

// Microseconds, by algorithm and protocol. Memory around the costs takes what a plugin writes beside them: some write an answer
// that they have not found to [-1][-1].
struct CostTable {
  CostTable() {
    for (auto& row : us) row.fill(abi::kNoWay);
  }

  std::array<float, 16> before{};
  std::array<std::array<float, abi::kProtocols>, abi::kAlgorithms> us;
  std::array<float, 16> after{};
};

// Functions return numbers of ncclResult_t. Threads: one at a time.
class Interface {
 public:
  virtual ~Interface() = default;

  virtual int version() const = 0;
  // The plugin's own name; some have one only after Init.
  virtual std::string name() const = 0;
  // A function that no plugin may lack and this one does; empty: none.
  virtual std::string Lacks() const = 0;

  virtual abi::Result Init(const Audience& audience, abi::Constants& constants, void** context) const = 0;
  // `channels`: 0 before; what the plugin asks for, in any number, or still 0.
  virtual abi::Result Ask(void* context, const Question& question, CostTable& table, int& channels) const = 0;
  // `chunk_bytes` is changed, or stays as it is where the plugin has no such function.
  virtual abi::Result AskChunk(void* context, const Question& question, int algorithm, int protocol, int channels,
                               std::size_t& chunk_bytes) const = 0;
  virtual abi::Result End(void* context) const = 0;
};

// `table`: an abi::Tuner of that version, which must stay loaded. REQUIRES: a version from abi::kOldest to abi::kNewest.
std::shared_ptr<const Interface> Adapt(int version, const void* table);

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_INTERFACE_H_
