// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_FAR_H_
#define TUTTI_TOOLS_TOP_FAR_H_

// Looks at ranks of other hosts: a process of this host has asked those, and tells of it at its RAS port (docs/diagnosis.md).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sys/net/address.h"
#include "watch/joint_look.h"

namespace tutti::tools {

// Threads: one.
class FarLooks {
 public:
  // Where RAS clients are answered, "localhost:28028"; empty: nowhere.
  explicit FarLooks(std::string address) : address_(std::move(address)) {}
  // What a process tells; nullopt where nobody answers there, within some seconds, who knows what to say. Nobody is asked again for a
  // while then.
  std::optional<watch::JointLook> Ask();

 private:
  Result<watch::JointLook> AskNow(std::int64_t deadline_ns);

  const std::string address_;
  std::vector<sys::Endpoint> endpoints_;
  std::int64_t not_before_ns_ = 0;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_FAR_H_
