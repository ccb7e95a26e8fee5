// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "algo/algorithm.h"
#include "sim/ways.h"
#include "tools/sim_cases.h"

namespace tutti::tools {

void PrintCase(const SimCase& which) {
  const std::size_t ranks = which.setup.machine.nodes.size();
  const std::size_t hosts = which.topology.graph.hosts().size();
  fmt::print("# {} ranks on {} host{}{}{}{}{}\n", ranks, hosts, hosts == 1 ? "" : "s", which.name.empty() ? "" : ", ",
             which.name, which.fault.empty() ? "" : "; ", which.fault);
}

std::string NameOf(const sim::Way& way) {
  return fmt::format("{} {}{}{}", algo::Get(way.algorithm).name, proto::Name(way.protocol),
                     way.channels > 1 ? fmt::format(", {} channels", way.channels) : "",
                     way.merge == sim::Merge::kTogether ? ", merged" : "");
}

Status WriteBy(const std::string& path,
               const std::function<Status(const std::function<void(std::string_view)>&)>& fill) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return Status(Code::kSystem, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  bool written = true;
  const Status status =
      fill([&](std::string_view text) { written &= std::fwrite(text.data(), 1, text.size(), file) == text.size(); });
  const bool closed = std::fclose(file) == 0;
  if (!status.ok()) return status;
  if (!written || !closed) return Status(Code::kSystem, fmt::format("cannot write all of {}; is the disk full?", path));
  return Status::Ok();
}

}  // namespace tutti::tools
