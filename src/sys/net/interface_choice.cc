// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/interface_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tutti::sys {
namespace {

constexpr std::size_t kMostListed = 16;  // interfaces in one sentence

struct Wish {
  InterfaceFilter filter;
  std::string filter_text;         // "NCCL_SOCKET_IFNAME=eth1"; empty: none
  std::optional<IpFamily> family;  // nullopt: both
};

Wish MakeWish(const Settings& settings, NetworkUse use) {
  const bool own = use == NetworkUse::kMeeting && settings.oob_net_enable && !settings.oob_net_ifname.empty();
  const std::string& list = own ? settings.oob_net_ifname : settings.socket_ifname;
  Wish wish{.filter = InterfaceFilter(list), .filter_text = "", .family = std::nullopt};
  if (!wish.filter.empty())
    wish.filter_text = fmt::format("{}={}", own ? "NCCL_OOB_NET_IFNAME" : "NCCL_SOCKET_IFNAME", list);
  if (settings.socket_family == "AF_INET") wish.family = IpFamily::kV4;
  if (settings.socket_family == "AF_INET6") wish.family = IpFamily::kV6;
  return wish;
}

bool IsRoutable(const IpAddress& address) {
  return !address.IsLinkLocal() && !address.IsLoopback() && !address.IsMulticast() && !address.IsUnspecified();
}

std::vector<IpAddress> WithFamily(const std::vector<IpAddress>& addresses, std::optional<IpFamily> family) {
  std::vector<IpAddress> some;
  for (const IpAddress& address : addresses) {
    if (!family || address.family() == *family) some.push_back(address);
  }
  std::ranges::stable_sort(some, {}, [](const IpAddress& address) { return address.family(); });
  return some;
}

// Why an interface cannot be used, whoever asks for it; "" where it can.
std::string WhyUnusable(const Interface& interface, const Wish& wish) {
  if (!wish.filter.Allows(interface.name)) return fmt::format("{} leaves it out", wish.filter_text);
  if (!interface.up) return fmt::format("it is down; `ip link set {} up` switches it on", interface.name);
  if (!interface.running) return "it has no link: look at the cable or at the other end";
  if (!WithFamily(interface.addresses, wish.family).empty()) return "";
  if (!wish.family) return "it has no address";
  return fmt::format("it has no {} address", *wish.family == IpFamily::kV4 ? "IPv4" : "IPv6");
}

bool HasNoWayOut(const Interface& interface) {
  return interface.kind == InterfaceKind::kLoopback || interface.kind == InterfaceKind::kDummy;
}

// Why an interface is not used unless somebody asks for it; "" where it is.
std::string WhyUnlikely(const Interface& interface, const Wish& wish) {
  if (!interface.member_of.empty())
    return fmt::format("it is a member of {}, whose addresses count", interface.member_of);
  if (interface.kind == InterfaceKind::kTunnel) return "it is a tunnel";
  const bool default_route = interface.default_v4 || interface.default_v6;
  if (interface.kind == InterfaceKind::kBridge && !interface.uplink && !default_route) {
    return "it is a bridge of containers or virtual machines of this host";
  }
  const std::vector<IpAddress> addresses = WithFamily(interface.addresses, wish.family);
  if (interface.kind != InterfaceKind::kLoopback && std::ranges::none_of(addresses, IsRoutable)) {
    return "it has link-local addresses only";
  }
  return "";
}

// `interface` with the addresses to use: routable ones, or all where there are none of these.
Interface WithUsable(Interface interface, const Wish& wish) {
  interface.addresses = WithFamily(interface.addresses, wish.family);
  if (std::ranges::any_of(interface.addresses, IsRoutable)) {
    std::erase_if(interface.addresses, [](const IpAddress& address) { return !IsRoutable(address); });
  }
  return interface;
}

int Place(const Interface& interface, const Wish& wish) {
  const bool v4 = interface.default_v4 && wish.family != IpFamily::kV6;
  const bool v6 = interface.default_v6 && wish.family != IpFamily::kV4;
  return v4 ? 0 : v6 ? 1 : 2;
}

// Moves to `choice` those without a way out, where nothing else was chosen: with addresses of their own, else with
// loopback's.
void ChooseLast(const std::vector<Interface>& last, const Wish& wish, InterfaceChoice& choice) {
  const auto has_own = [&](const Interface& interface) {
    return std::ranges::any_of(WithFamily(interface.addresses, wish.family), IsRoutable);
  };
  const bool nothing = choice.chosen.empty(), any_own = std::ranges::any_of(last, has_own);
  for (const Interface& interface : last) {
    if (!nothing) {
      choice.refused.push_back({interface, "it does not leave this host"});
    } else if (any_own && !has_own(interface)) {
      choice.refused.push_back({interface, "it does not leave this host, and another one has an address of its own"});
    } else {
      choice.chosen.push_back(WithUsable(interface, wish));
    }
  }
}

}  // namespace

InterfaceFilter::InterfaceFilter(std::string_view list) {
  const auto take = [&](char sign) {
    const bool there = list.starts_with(sign);
    if (there) list.remove_prefix(1);
    return there;
  };
  excludes_ = take('^');
  exact_ = take('=');
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    name = name.substr(0, name.find(':'));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names_.emplace_back(name);
  }
}

bool InterfaceFilter::Allows(std::string_view name) const {
  if (empty()) return true;
  const bool listed = std::ranges::any_of(
      names_, [&](const std::string& entry) { return exact_ ? name == entry : name.starts_with(entry); });
  return listed != excludes_;
}

InterfaceChoice ChooseInterfaces(std::span<const Interface> interfaces, const Settings& settings, NetworkUse use) {
  const Wish wish = MakeWish(settings, use);
  InterfaceChoice choice;
  choice.setting = wish.filter_text;
  if (wish.family)
    choice.setting += (choice.setting.empty() ? "" : " and ") + ("NCCL_SOCKET_FAMILY=" + settings.socket_family);
  std::vector<Interface> last;
  for (const Interface& interface : interfaces) {
    std::string reason = WhyUnusable(interface, wish);
    if (reason.empty() && !wish.filter.asks()) reason = WhyUnlikely(interface, wish);
    if (!reason.empty()) {
      choice.refused.push_back({interface, std::move(reason)});
    } else if (HasNoWayOut(interface) && !wish.filter.asks()) {
      last.push_back(interface);
    } else {
      choice.chosen.push_back(WithUsable(interface, wish));
    }
  }
  std::ranges::stable_sort(choice.chosen, {}, [&](const Interface& interface) { return Place(interface, wish); });
  ChooseLast(last, wish, choice);
  return choice;
}

Status InterfaceChoice::Usable() const {
  if (!chosen.empty()) return Status::Ok();
  std::vector<const RefusedInterface*> listed;
  for (const RefusedInterface& one : refused) listed.push_back(&one);
  // Those with addresses first: one of them was likely meant.
  std::ranges::stable_sort(listed, {}, [](const RefusedInterface* one) { return one->interface.addresses.empty(); });
  std::string list;
  for (std::size_t i = 0; i < std::min(listed.size(), kMostListed); ++i) {
    const Interface& interface = listed[i]->interface;
    list += fmt::format("{}{}{}: {}", i == 0 ? "" : "; ", interface.name,
                        interface.addresses.empty() ? "" : fmt::format(" ({})", ListAddresses(interface.addresses)),
                        listed[i]->reason);
  }
  if (listed.size() > kMostListed) list += fmt::format("; and {} more", listed.size() - kMostListed);
  return Status(
      Code::kInvalidUsage,
      fmt::format("no network interface of this host can be used{}: {}. Name one that other hosts reach in "
                  "NCCL_SOCKET_IFNAME, or take away what leaves it out",
                  setting.empty() ? "" : fmt::format(" with {}", setting), list.empty() ? "there is none" : list));
}

}  // namespace tutti::sys
