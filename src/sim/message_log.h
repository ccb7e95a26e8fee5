// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_MESSAGE_LOG_H_
#define TUTTI_SIM_MESSAGE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/time.h"

namespace tutti::sim {

struct MessageRecord {
  int operation = 0;  // of Job
  int channel = 0;
  int from = 0, to = 0;  // ranks
  std::uint64_t wire_bytes = 0;
  Time sent = 0, arrived = 0;  // when its step began, when its receiver could go on
};

// What became of messages, in the order in which they arrived; the first `most` of them.
class MessageLog {
 public:
  explicit MessageLog(std::size_t most) : most_(most) {}
  void Add(const MessageRecord& record) {
    if (records_.size() < most_) {
      records_.push_back(record);
    } else {
      ++left_out_;
    }
  }
  std::span<const MessageRecord> records() const { return records_; }
  std::size_t left_out() const { return left_out_; }

 private:
  std::size_t most_;
  std::vector<MessageRecord> records_;
  std::size_t left_out_ = 0;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_MESSAGE_LOG_H_
