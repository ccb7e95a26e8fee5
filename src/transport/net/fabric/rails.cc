// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/fabric/rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "sys/net/interface_choice.h"

namespace tutti::transport::net::fabric {
namespace {

// "verbs" of "verbs;ofi_rxm".
std::string_view CoreOf(std::string_view provider) { return provider.substr(0, provider.find(';')); }

// The best first. What is not here comes after all that is.
constexpr std::array<std::string_view, 9> kProviders = {"efa", "cxi", "psm3",    "opx", "verbs",
                                                        "tcp", "net", "sockets", "udp"};
constexpr std::size_t kHardware = 5;  // of these
constexpr std::size_t kOverIp = 9;

std::size_t PlaceOf(std::string_view provider) {
  return static_cast<std::size_t>(std::ranges::find(kProviders, CoreOf(provider)) - kProviders.begin());
}

bool IsOverIp(std::string_view provider) {
  const std::size_t place = PlaceOf(provider);
  return place >= kHardware && place < kOverIp;
}

// Why an offer cannot be a rail; "" where it can.
std::string WhyNot(const Offer& offer, const RailWishes& wishes, const sys::InterfaceFilter& hca) {
  if (IsHardware(offer.provider)) {
    if (wishes.no_verbs && CoreOf(offer.provider) == "verbs") return "NCCL_IB_DISABLE leaves it out";
    if (!hca.Allows(offer.domain)) return "NCCL_IB_HCA leaves it out";
    return "";
  }
  if (wishes.hardware_only) return "it is no network card, and NCCL_NET does not ask for it";
  if (!IsOverIp(offer.provider)) return "";
  const auto own = std::ranges::find(wishes.interfaces, offer.domain, &RailWishes::Interface::name);
  if (own == wishes.interfaces.end()) return "its interface is not one of those that connect hosts";
  return own->family == offer.family ? "" : "its interface is used by addresses of another family";
}

}  // namespace

bool IsHardware(std::string_view provider) { return PlaceOf(provider) < kHardware; }

Result<std::vector<std::size_t>> ChooseRails(std::span<const Offer> offers, const RailWishes& wishes) {
  const sys::InterfaceFilter hca(wishes.hca);
  std::vector<std::size_t> good;
  std::set<std::string> refused;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const std::string why = WhyNot(offers[i], wishes, hca);
    if (why.empty()) {
      good.push_back(i);
    } else {
      refused.insert(fmt::format("{} of {}: {}", offers[i].domain, offers[i].provider, why));
    }
  }
  if (good.empty()) {
    const std::string what = refused.empty() ? "it offers none at all" : fmt::format("{}", fmt::join(refused, "; "));
    return Status(
        Code::kUnsupported,
        fmt::format("libfabric has no provider here that writes into the memory of other hosts (FI_RMA) and "
                    "that may be used: {}. FI_PROVIDER leaves providers out too; `fi_info -t FI_EP_RDM` lists "
                    "them",
                    what));
  }
  // Equal ones keep libfabric's order, which is that of its own preference.
  const auto best = std::ranges::min_element(good, {}, [&](std::size_t i) { return PlaceOf(offers[i].provider); });
  const std::string& provider = offers[*best].provider;
  std::vector<std::size_t> rails;
  std::set<std::string> domains;
  for (const std::size_t i : good) {
    if (offers[i].provider == provider && domains.insert(offers[i].domain).second) rails.push_back(i);
  }
  std::ranges::sort(rails, {}, [&](std::size_t i) { return std::pair(offers[i].domain.size(), offers[i].domain); });
  return rails;
}

}  // namespace tutti::transport::net::fabric
