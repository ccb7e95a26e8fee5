// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_TUNER_H_
#define TUTTI_TUNE_PLUGIN_TUNER_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "proto/protocol.h"
#include "tune/plugin/interface.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::tune::plugin {

// What tuners call an operation; nothing: they are not asked about such. `bytes`: count * element size. `operations`: see Question.
std::optional<Question> QuestionOf(Collective collective, std::size_t bytes, int ranks, int operations = 1);

// The row of CostTable that an algorithm has, by NCCL's name ("RING"); nothing: NCCL has no such algorithm.
std::optional<int> RowOf(std::string_view nccl_name);

// A tuner plugin that has begun for one communicator. Once a function of it returns an error it is switched off, with one warning,
// and changes nothing any more. What it answers is alike on all ranks because it is asked alike on all.
//
// Threads: any.
class Tuner {
 public:
  // `turn`, which outlives the tuner, is held while the plugin works: one for all tuners of a process, since some plugins are not made
  // for several threads. NCCL's example reads its file by strtok. kSystem: the plugin says that it cannot begin. kInvalidUsage: it
  // lacks a function.
  static Result<std::shared_ptr<Tuner>> Begin(std::shared_ptr<const Interface> plugin, const Audience& audience,
                                              std::mutex& turn);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // "Example (v6)".
  const std::string& title() const { return title_; }
  int ranks() const { return ranks_; }

  // Lets the plugin change costs, and ask for a number of channels; whatever it writes is handed on, and 0 channels mean that it has
  // asked for none. False: it is switched off.
  bool Ask(const Question& question, CostTable& table, int& channels);
  // How long messages are to be where they could have `chunk_bytes`: no longer, and no shorter than NCCL's least for the protocol.
  // `algorithm`: a row of CostTable.
  std::size_t AskChunk(const Question& question, int algorithm, proto::Protocol protocol, int channels,
                       std::size_t chunk_bytes);

 private:
  Tuner(std::shared_ptr<const Interface> plugin, void* context, int ranks, std::mutex& turn);
  // Whether to go on.
  bool Succeeds(abi::Result result, std::string_view function);

  const std::shared_ptr<const Interface> plugin_;
  void* const context_;
  const int ranks_;
  const std::string title_;
  std::mutex& turn_;
  bool off_ = false;  // guarded by turn_
};

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_TUNER_H_
