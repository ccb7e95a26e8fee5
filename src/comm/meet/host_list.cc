// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/host_list.h"

#include <fmt/format.h>

#include "comm/meet/rank_list.h"

namespace tutti::comm {

Status HostList::IsOne() const {
  if (ranks_.size() < 2) return Status::Ok();
  std::string list;
  for (const auto& [host, ranks] : ranks_) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", host, NamedRanks(ranks));
  }
  return Status(Code::kUnsupported,
                fmt::format("the ranks are on {} hosts: {}. This version of Tutti makes communicators within one host; "
                            "start all ranks on one, or make one communicator for each host",
                            ranks_.size(), list));
}

}  // namespace tutti::comm
