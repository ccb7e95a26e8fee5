// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/log_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/words.h"
#include "sys/net/interface_choice.h"
#include "transport/net/fabric/fabric.h"

namespace tutti::comm {
namespace {

constexpr log::Subsystems kNetwork = log::kInit | log::kNet;

void SayOnce(const std::string& line) {
  if (log::FirstTime(line)) TUTTI_INFO(kNetwork, "{}", line);
}

// "eth0:10.0.0.1<0>": its first address.
std::string NameOf(const sys::Interface& interface) {
  return fmt::format("{}:{}<0>", interface.name, interface.addresses.front().ToString());
}

// " [0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>"
std::string List(const sys::InterfaceChoice& choice) {
  std::string list;
  for (std::size_t i = 0; i < choice.chosen.size(); ++i) list += fmt::format(" [{}]{}", i, NameOf(choice.chosen[i]));
  return list;
}

// "3[1]"
std::string NameOf(int rank, std::span<const std::int32_t> host_of) {
  const auto at = static_cast<std::size_t>(rank);
  return fmt::format("{}[{}]", rank, std::ranges::count(host_of.first(at), host_of[at]));
}

// Whether it takes more than the settings to know which network is used.
bool AsksForNetwork(const Settings& settings) {
  if (settings.net.empty()) return !settings.net_plugin.empty() || transport::net::fabric::HasHardware();
  return !EqualIgnoringCase(settings.net, "Socket");
}

}  // namespace

void LogNetwork(const Settings& settings) {
  if (!log::Enabled(log::Level::kInfo, kNetwork)) return;
  const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
  if (!interfaces.ok()) return;
  const auto meeting = sys::ChooseInterfaces(*interfaces, settings, sys::NetworkUse::kMeeting);
  const auto data = sys::ChooseInterfaces(*interfaces, settings, sys::NetworkUse::kData);
  if (meeting.Usable().ok()) SayOnce("Bootstrap: Using " + NameOf(meeting.chosen.front()));
  if (!data.Usable().ok()) return SayOnce("NET/Socket : No interface found");
  SayOnce("NET/Socket : Using" + List(data));
  if (!AsksForNetwork(settings)) SayOnce("Using network Socket");
}

void LogUse(const Settings& settings, std::string_view network) {
  if (AsksForNetwork(settings)) SayOnce(fmt::format("Using network {}", network));
}

void LogLinks(const LoggedLinks& links) {
  constexpr log::Subsystems kWithin = log::kInit | log::kShm | log::kP2p | log::kGraph,
                            kNetwork = log::kInit | log::kNet;
  const int ranks = static_cast<int>(links.host_of.size());
  if (ranks < 2 || !log::Enabled(log::Level::kInfo, kWithin | kNetwork)) return;
  const int next = (links.rank + 1) % ranks, before = (links.rank + ranks - 1) % ranks;
  const auto host = [&](int rank) { return links.host_of[static_cast<std::size_t>(rank)]; };
  const std::string own = NameOf(links.rank, links.host_of);
  const std::string to_next = fmt::format("{} -> {}", own, NameOf(next, links.host_of));
  for (int channel = 0; channel < links.channels; ++channel) {
    if (host(before) != host(links.rank)) {
      TUTTI_INFO(kNetwork, "Channel {:02}/0 : {} -> {} [receive] via NET/{}/{}", channel, NameOf(before, links.host_of),
                 own, links.network, links.device);
    }
    if (host(next) != host(links.rank)) {
      TUTTI_INFO(kNetwork, "Channel {:02}/0 : {} [send] via NET/{}/{}", channel, to_next, links.network, links.device);
    } else {
      TUTTI_INFO(kWithin, "Channel {:02}/0 : {} via {}", channel, to_next, links.way);
    }
  }
}

}  // namespace tutti::comm
