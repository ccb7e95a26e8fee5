// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/graph_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "comm/agree/host_graph.h"
#include "sys/os/error.h"
#include "sys/os/text_file.h"
#include "topo/channels_xml.h"
#include "topo/topology_xml.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

Status WriteFile(const std::string& path, std::string_view text) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored)) return Status(Code::kInvalidUsage, path + " is a pipe");
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return sys::SystemError(errno, fmt::format("cannot open {}", path));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) == 0 && written) return Status::Ok();
  return sys::SystemError(written ? errno : error, fmt::format("cannot write {}", path));
}

void Dump(std::string_view variable, const std::string& path, std::string_view text) {
  const Status written = WriteFile(path, text);
  if (written.ok()) {
    TUTTI_INFO(log::kGraph | log::kEnv, "{}: {} is written", variable, path);
    return;
  }
  const std::string line = fmt::format("{} is not written: {}; name a file in a folder where the rank may write",
                                       variable, written.message());
  if (log::FirstTime(line)) TUTTI_WARN("{}", line);
}

}  // namespace

Result<std::vector<topo::Channels>> ReadGivenChannels(const Settings& settings, const HostGraph& host) {
  const std::string& file = settings.graph_file;
  if (file.empty()) return std::vector<topo::Channels>();
  if (host.graph.All(topo::NodeKind::kGpu, host.host).empty()) {
    TUTTI_INFO(log::kGraph, "NCCL_GRAPH_FILE={} is not read: this host has no GPU", file);
    return std::vector<topo::Channels>();
  }
  const Result<std::string> text = sys::ReadRegularFile(file, kMostFileBytes);
  Result<std::vector<topo::Channels>> channels =
      text.ok() ? topo::ReadChannelsXml(*text, file, host.graph) : Result<std::vector<topo::Channels>>(text.status());
  if (channels.ok()) {
    // As NCCL does it: NCCL_CROSS_NIC=0 leaves out what goes from one rail to another.
    const auto crosses = [&](const topo::Channels& one) { return settings.cross_nic == 0 && one.cross_nic; };
    if (std::erase_if(*channels, crosses) > 0) {
      TUTTI_INFO(log::kGraph, "NCCL_GRAPH_FILE={}: graphs with crossnic=1 are passed over, since NCCL_CROSS_NIC is 0",
                 file);
    }
    return channels;
  }
  return Status(Code::kInvalidUsage,
                fmt::format("NCCL_GRAPH_FILE={}: {}; mend the file, or unset the variable, so that channels "
                            "are searched",
                            file, channels.status().message()));
}

const topo::Channels* RingsOf(std::span<const topo::Channels> channels) {
  const auto rings = std::ranges::find(channels, topo::GraphId::kRing, &topo::Channels::id);
  return rings == channels.end() || rings->channels.empty() ? nullptr : &*rings;
}

void DumpTopology(const Settings& settings, const HostGraph& host) {
  Dump("NCCL_TOPO_DUMP_FILE", settings.topo_dump_file, topo::WriteTopologyXml(host.graph, host.host));
}

void DumpChannels(const Settings& settings, const HostGraph& host, std::span<const topo::Channels> channels) {
  Dump("NCCL_GRAPH_DUMP_FILE", settings.graph_dump_file, topo::WriteChannelsXml(channels, host.graph));
}

}  // namespace tutti::comm
