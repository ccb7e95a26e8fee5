// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/interfaces.h"

#include <dirent.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>

#include "base/words.h"
#include "sys/os/error.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// The files of one interface below /sys/class/net.
class Folder {
 public:
  Folder(const std::string& root, std::string_view name) : path_(fmt::format("{}/sys/class/net/{}", root, name)) {}

  bool Has(std::string_view file) const { return access(Path(file).c_str(), F_OK) == 0; }
  std::string Text(std::string_view file) const {
    const Result<std::string> text = ReadFile(Path(file));
    return text.ok() ? std::string(Trim(*text)) : "";
  }
  std::int64_t Number(std::string_view file, std::int64_t otherwise) const {
    return ParseNumber<std::int64_t>(Text(file)).value_or(otherwise);
  }
  // DEVTYPE of its uevent: "bridge", "vlan", "vxlan"; "" for most.
  std::string DeviceType() const {
    constexpr std::string_view kKey = "DEVTYPE=";
    const std::string text = Text("uevent");
    for (const std::string_view line : Split(text, "\n")) {
      if (line.starts_with(kKey)) return std::string(line.substr(kKey.size()));
    }
    return "";
  }
  // The names in a folder below it that contain `part`.
  std::vector<std::string> Names(std::string_view folder, std::string_view part = "") const {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(Path(folder).c_str()), &closedir);
    if (open == nullptr) return names;
    while (const dirent* entry = readdir(open.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != ".." && name.find(part) != std::string_view::npos) names.emplace_back(name);
    }
    return names;
  }
  // Where a link of it leads, without any link; "" where it leads nowhere.
  std::string Target(std::string_view link) const {
    const std::unique_ptr<char, void (*)(void*)> real(realpath(Path(link).c_str(), nullptr), &std::free);
    return real == nullptr ? "" : real.get();
  }

 private:
  std::string Path(std::string_view file) const { return fmt::format("{}/{}", path_, file); }
  std::string path_;
};

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool IsTunnel(unsigned flags, const Folder& folder, const std::string& device_type) {
  if ((flags & IFF_POINTOPOINT) != 0 || folder.Has("tun_flags")) return true;
  if (OneOf(device_type, {"vxlan", "geneve", "gre", "gretap", "ip6gre", "ip6gretap", "erspan", "wireguard", "ppp"})) {
    return true;
  }
  const std::int64_t type = folder.Number("type", ARPHRD_ETHER);
  constexpr std::int64_t kGreOverIpv6 = 823, kNone = 65534;
  return type == ARPHRD_PPP || type == ARPHRD_TUNNEL || type == ARPHRD_TUNNEL6 || type == ARPHRD_SIT ||
         type == ARPHRD_IPGRE || type == kGreOverIpv6 || type == kNone;
}

InterfaceKind KindOf(const internal::ListedInterface& listed, const Folder& folder) {
  if ((listed.flags & IFF_LOOPBACK) != 0) return InterfaceKind::kLoopback;
  const std::string device_type = folder.DeviceType();
  if (folder.Has("bridge") || device_type == "bridge") return InterfaceKind::kBridge;
  if (folder.Has("bonding") || device_type == "bond") return InterfaceKind::kBond;
  if (IsTunnel(listed.flags, folder, device_type)) return InterfaceKind::kTunnel;
  if (folder.Has("device")) return InterfaceKind::kPlain;
  if ((listed.flags & IFF_NOARP) != 0) return InterfaceKind::kDummy;
  // The other end of a veth counts as what it lies on, but unlike a VLAN it is not below it, and it names no type.
  const std::int64_t other = folder.Number("iflink", listed.index);
  if (other != listed.index && device_type.empty() && folder.Names(".", "lower_").empty()) return InterfaceKind::kVeth;
  return InterfaceKind::kPlain;
}

// Without /sys only names tell; these are what programs call their bridges.
InterfaceKind KindByName(const internal::ListedInterface& listed) {
  if ((listed.flags & IFF_LOOPBACK) != 0) return InterfaceKind::kLoopback;
  if ((listed.flags & IFF_POINTOPOINT) != 0) return InterfaceKind::kTunnel;
  for (const std::string_view prefix : {"docker", "virbr", "br-", "cni", "podman", "lxcbr", "lxdbr", "vmnet"}) {
    if (listed.name.starts_with(prefix)) return InterfaceKind::kBridge;
  }
  return (listed.flags & IFF_NOARP) != 0 ? InterfaceKind::kDummy : InterfaceKind::kPlain;
}

// Whether a member of a bridge leads out of this host.
bool LeadsOut(const std::string& root, const std::string& name) {
  const Folder folder(root, name);
  return folder.Has("device") || folder.Has("bonding") || OneOf(folder.DeviceType(), {"vlan", "bond"});
}

// "0000:17:00.0"
bool IsPciFunction(std::string_view word) {
  return word.size() >= 12 && word[word.size() - 2] == '.' && word[word.size() - 5] == ':' &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isxdigit(c) || c == ':' || c == '.'; });
}

// The PCI functions on the way to a device, from the folder where that way begins ("pci0000:00"). A virtio card is a
// device below its PCI function.
void FindPci(const std::string& device, Interface& found) {
  const std::size_t begin = device.find("/devices/pci");
  if (begin == std::string::npos) return;
  const std::size_t first = begin + std::string_view("/devices/").size();
  std::size_t end = std::min(device.find('/', first), device.size());
  for (std::size_t next = end; next < device.size();) {
    const std::size_t word = next + 1;
    next = std::min(device.find('/', word), device.size());
    if (IsPciFunction(std::string_view(device).substr(word, next - word))) end = next;
  }
  found.pci_path = device.substr(first, end - first);
  const Result<std::string> node = ReadFile(device.substr(0, end) + "/numa_node");
  if (node.ok()) found.numa_node = ParseNumber<int>(Trim(*node)).value_or(-1);
}

void AddFacts(const std::string& root, const Folder& folder, Interface& found) {
  found.physical = folder.Has("device");
  found.mtu = std::max<std::int64_t>(folder.Number("mtu", 0), 0);
  const std::int64_t speed = folder.Number("speed", 0);
  // Where a speed is not known the kernel says -1, which older ones print without its sign.
  found.speed_mbits = speed > 0 && speed < std::numeric_limits<std::int32_t>::max() ? speed : 0;
  if (folder.Has("brport") || folder.Has("bonding_slave")) {
    const std::string master = folder.Target("master");
    found.member_of = master.empty() ? "another interface" : master.substr(master.rfind('/') + 1);
  }
  if (found.kind == InterfaceKind::kBridge) {
    found.uplink = std::ranges::any_of(folder.Names("brif"), [&](const auto& port) { return LeadsOut(root, port); });
  }
  if (found.physical) FindPci(folder.Target("device"), found);
}

std::string ReadProcNet(const std::string& root, std::string_view file) {
  // Not /proc/net: that shows the name space of the process's first thread.
  for (const std::string_view folder : {"/proc/thread-self/net", "/proc/net"}) {
    const Result<std::string> text = ReadFile(fmt::format("{}{}/{}", root, folder, file), 16 << 20);
    if (text.ok()) return *text;
  }
  return "";
}

// The best of several routes: that with the smallest metric, and of equals the first.
class BestRoute {
 public:
  void Offer(std::string_view interface, std::uint32_t flags, std::uint32_t metric) {
    if ((flags & RTF_UP) == 0 || (flags & RTF_REJECT) != 0 || (!name_.empty() && metric >= metric_)) return;
    name_ = interface;
    metric_ = metric;
  }
  std::string name() const { return name_; }

 private:
  std::string name_;
  std::uint32_t metric_ = 0;
};

}  // namespace

namespace internal {

std::string DefaultRouteV4(std::string_view text) {
  BestRoute best;
  for (const std::string_view line : Split(text, "\n")) {
    // Interface, destination, gateway, flags, references, uses, metric, mask, ...
    const std::vector<std::string_view> words = Split(line, " \t");
    if (words.size() < 8 || words[1] != "00000000" || words[7] != "00000000") continue;
    const auto flags = ParseNumber<std::uint32_t>(words[3], 16), metric = ParseNumber<std::uint32_t>(words[6]);
    if (flags && metric) best.Offer(words[0], *flags, *metric);
  }
  return best.name();
}

std::string DefaultRouteV6(std::string_view text) {
  constexpr std::string_view kAll = "00000000000000000000000000000000";
  BestRoute best;
  for (const std::string_view line : Split(text, "\n")) {
    // Destination, its bits, source, its bits, next hop, metric, references, uses, flags, interface.
    const std::vector<std::string_view> words = Split(line, " \t");
    if (words.size() < 10 || words[0] != kAll || words[1] != "00" || words[9] == "lo") continue;
    const auto flags = ParseNumber<std::uint32_t>(words[8], 16), metric = ParseNumber<std::uint32_t>(words[5], 16);
    if (flags && metric) best.Offer(words[9], *flags, *metric);
  }
  return best.name();
}

Result<std::vector<ListedInterface>> ListInterfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return SystemError(errno, "cannot list the network interfaces of this host (getifaddrs)",
                       "A sandbox may forbid netlink sockets: allow AF_NETLINK");
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, &freeifaddrs);
  std::vector<ListedInterface> found;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const std::string_view label = entry->ifa_name;  // may be an old kind of name for one address, "eth0:1"
    const std::string name(label.substr(0, label.find(':')));
    auto place = std::ranges::find(found, name, &ListedInterface::name);
    if (place == found.end()) {
      found.push_back(
          {.name = name, .index = if_nametoindex(name.c_str()), .flags = entry->ifa_flags, .addresses = {}});
      place = found.end() - 1;
    }
    if (entry->ifa_addr == nullptr) continue;
    const bool v4 = entry->ifa_addr->sa_family == AF_INET;
    if (!v4 && entry->ifa_addr->sa_family != AF_INET6) continue;
    const Result<Endpoint> endpoint =
        Endpoint::FromSockaddr(entry->ifa_addr, v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (endpoint.ok()) place->addresses.push_back(endpoint->address);
  }
  std::ranges::sort(found, {}, &ListedInterface::index);
  return found;
}

std::vector<Interface> Describe(const std::vector<ListedInterface>& listed, const std::string& root) {
  const std::string default_v4 = DefaultRouteV4(ReadProcNet(root, "route"));
  const std::string default_v6 = DefaultRouteV6(ReadProcNet(root, "ipv6_route"));
  std::vector<Interface> all;
  for (const ListedInterface& one : listed) {
    const Folder folder(root, one.name);
    Interface found;
    found.name = one.name;
    found.index = one.index;
    found.addresses = one.addresses;
    found.up = (one.flags & IFF_UP) != 0;
    found.running = (one.flags & IFF_RUNNING) != 0;
    found.default_v4 = one.name == default_v4;
    found.default_v6 = one.name == default_v6;
    if (folder.Number("ifindex", -1) == one.index) {
      found.kind = KindOf(one, folder);
      AddFacts(root, folder, found);
    } else {
      found.kind = KindByName(one);
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace internal

Result<std::vector<Interface>> ReadInterfaces(const std::string& root) {
  Result<std::vector<internal::ListedInterface>> listed = internal::ListInterfaces();
  if (!listed.ok()) return listed.status();
  return internal::Describe(*listed, root);
}

}  // namespace tutti::sys
