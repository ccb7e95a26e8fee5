// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "comm/identity/unique_id.h"
#include "comm/life/creation.h"
#include "sys/net/interface_choice.h"
#include "transport/net/fabric/fabric.h"
#include "transport/net/plugin/catalog.h"

namespace tutti::comm {

using transport::net::plugin::Catalog;
using transport::net::plugin::Network;

namespace {

namespace fabric = transport::net::fabric;

fabric::Options FabricOptions(const Settings& settings) {
  fabric::Options options{
      .rails = {.hca = settings.ib_hca, .no_verbs = settings.ib_disable, .hardware_only = settings.net.empty()},
      .traffic_class = settings.ib_traffic_class};
  const Result<std::vector<sys::Interface>> interfaces = sys::ReadInterfaces();
  if (!interfaces.ok()) return options;
  for (const sys::Interface& one : sys::ChooseInterfaces(*interfaces, settings, sys::NetworkUse::kData).chosen) {
    if (one.addresses.empty()) continue;
    const bool v4 = one.addresses.front().family() == sys::IpFamily::kV4;
    options.rails.interfaces.push_back({.name = one.name, .family = v4 ? fabric::Family::kV4 : fabric::Family::kV6});
  }
  return options;
}

}  // namespace

Result<std::shared_ptr<Network>> Creation::ChooseNetwork() const {
  const Result<IdParts> parts = ReadId(made.id);
  if (!parts.ok()) return parts.status();
  ByteReader name(parts->name);
  const Settings& settings = made.settings;
  return Catalog::OfProcess().Choose({.plugins = settings.net_plugin,
                                      .network = settings.net,
                                      .communicator = name.Number<std::uint64_t>(),
                                      .built_in = {.name = fabric::kName,
                                                   .other_name = fabric::kOtherName,
                                                   .automatic = settings.net.empty() && fabric::HasHardware(),
                                                   .find = [&] { return fabric::Open(FabricOptions(settings)); }}});
}

}  // namespace tutti::comm
