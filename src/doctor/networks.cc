// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/networks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tutti::doctor {
namespace {

constexpr std::int64_t kManyFlaps = 10;
constexpr double kManyErrors = 1e-6;  // of the packets
constexpr std::int64_t kSomeErrors = 100;

std::string RateText(std::int64_t mbits) { return fmt::format("{:g} Gbit/s", static_cast<double>(mbits) / 1000); }

void ExamineCounters(const Root& root, const sys::Interface& interface, Findings& findings) {
  const std::string folder = "/sys/class/net/" + interface.name;
  const std::int64_t flaps = root.Number(folder + "/carrier_down_count").value_or(0);
  if (flaps >= kManyFlaps) {
    Add(findings, Severity::kInfo, "nic", fmt::format("{}: the link has gone and come back often", interface.name),
        fmt::format("{} times since the driver was loaded", flaps),
        "look at cable and switch port if it still happens");
  }
  const std::int64_t errors = root.Number(folder + "/statistics/rx_crc_errors").value_or(0);
  const std::int64_t packets = root.Number(folder + "/statistics/rx_packets").value_or(0);
  if (errors >= kSomeErrors && static_cast<double>(errors) > kManyErrors * static_cast<double>(packets)) {
    Add(findings, Severity::kWarn, "nic", fmt::format("{}: packets arrive damaged", interface.name),
        fmt::format("{} of {} packets", errors, packets), "change the cable or the transceiver");
  }
}

bool HasLink(const sys::InfinibandDevice& device) {
  return std::ranges::any_of(device.ports, &sys::InfinibandPort::active);
}

void ExaminePort(const Root& root, const sys::InfinibandDevice& device, const sys::InfinibandPort& port, double fastest,
                 Findings& findings) {
  const std::string name = fmt::format("{} port {}", device.name, port.number);
  if (!port.active) {
    Add(findings, HasLink(device) ? Severity::kInfo : Severity::kWarn, "rdma", name + ": no link",
        fmt::format("state '{}'", port.state),
        "look at cable, switch port and subnet manager; or leave the card out (NCCL_IB_HCA=^...)");
    return;
  }
  if (port.gbit_per_s > 0 && port.gbit_per_s < fastest) {
    Add(findings, Severity::kWarn, "rdma", name + ": slower than other ports of this host",
        fmt::format("{:g} of {:g} Gbit/s", port.gbit_per_s, fastest),
        "look at cable and switch port, for all wait for it");
  }
  const std::string counters = fmt::format("/sys/class/infiniband/{}/ports/{}/counters/", device.name, port.number);
  const std::int64_t symbols = root.Number(counters + "symbol_error").value_or(0);
  const std::int64_t downs = root.Number(counters + "link_downed").value_or(0);
  const std::int64_t received = root.Number(counters + "port_rcv_errors").value_or(0);
  if (symbols + downs + received > 0) {
    Add(findings, Severity::kInfo, "rdma", name + ": errors were counted",
        fmt::format("{} symbol errors, {} receive errors, link down {} times", symbols, received, downs),
        "look again in an hour: counters that grow mean a bad cable or transceiver");
  }
}

}  // namespace

void ExamineInterfaces(const Root& root, const std::vector<sys::Interface>& interfaces, Findings& findings) {
  const std::size_t before = findings.size();
  std::map<std::int64_t, std::string> mtus;  // the first interface of each
  std::int64_t fastest = 0;
  int with_link = 0;
  for (const sys::Interface& interface : interfaces) {
    if (interface.physical && interface.running) fastest = std::max(fastest, interface.speed_mbits);
  }
  for (const sys::Interface& interface : interfaces) {
    if (!interface.physical) continue;
    if (!interface.up) {
      Add(findings, Severity::kInfo, "nic", fmt::format("{}: switched off", interface.name), "");
      continue;
    }
    if (!interface.running) {
      Add(findings, Severity::kWarn, "nic", fmt::format("{}: no link", interface.name), "switched on, carrier 0",
          "look at cable and switch port; or leave it out (NCCL_SOCKET_IFNAME=^...)");
      continue;
    }
    ++with_link;
    if (interface.mtu > 0 && !interface.addresses.empty()) mtus.emplace(interface.mtu, interface.name);
    if (interface.speed_mbits > 0 && interface.speed_mbits < fastest) {
      Add(findings, Severity::kInfo, "nic", fmt::format("{}: slower than other cards of this host", interface.name),
          fmt::format("{} of {}", RateText(interface.speed_mbits), RateText(fastest)),
          "where it is not meant to be so, look at cable and switch port");
    }
    ExamineCounters(root, interface, findings);
  }
  if (mtus.size() > 1) {
    Add(findings, Severity::kInfo, "mtu", "cards of this host have different MTUs",
        fmt::format("{} has {}, {} has {}", mtus.begin()->second, mtus.begin()->first, mtus.rbegin()->second,
                    mtus.rbegin()->first),
        "give all cards that carry the job's data one MTU");
  }
  if (findings.size() == before) {
    Add(findings, Severity::kOk, "nic",
        with_link == 0 ? "no interface of this host is a card" : "all cards that are on have a link",
        fmt::format("{} cards{}", with_link, fastest > 0 ? ", up to " + RateText(fastest) : ""));
  }
}

void ExamineInfiniband(const Root& root, const std::vector<sys::InfinibandDevice>& devices, Findings& findings) {
  const std::size_t before = findings.size();
  double fastest = 0;
  std::size_t ports = 0;
  for (const sys::InfinibandDevice& device : devices) {
    for (const sys::InfinibandPort& port : device.ports) {
      ++ports;
      if (port.active) fastest = std::max(fastest, port.gbit_per_s);
    }
  }
  for (const sys::InfinibandDevice& device : devices) {
    for (const sys::InfinibandPort& port : device.ports) ExaminePort(root, device, port, fastest, findings);
  }
  if (findings.size() == before && ports > 0) {
    Add(findings, Severity::kOk, "rdma", "all ports of RDMA devices have a link",
        fmt::format("{} ports of {:g} Gbit/s", ports, fastest));
  }
}

}  // namespace tutti::doctor
