// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_INTERFACES_H_
#define TUTTI_SYS_NET_INTERFACES_H_

// The network interfaces of this host, as the system describes them: facts, from which interface_choice.h chooses.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sys/net/address.h"
#include "tutti/status.h"

namespace tutti::sys {

enum class InterfaceKind : std::uint8_t {
  kPlain,     // a card, a VLAN on one, or what has no sign of being another kind
  kLoopback,  // lo
  kBridge,    // a switch inside this host: docker0, virbr0, or br0 with a card in it
  kVeth,      // one end of a virtual cable; in a container this is the way out
  kBond,      // several cards as one
  kTunnel,    // point to point, VPN, VXLAN, tun and tap: packets travel inside other packets
  kDummy,     // leads nowhere
};

struct Interface {
  std::string name;
  std::uint32_t index = 0;
  std::vector<IpAddress> addresses;  // in the system's order, of both families
  bool up = false;                   // somebody has switched it on
  bool running = false;              // and it has a link
  InterfaceKind kind = InterfaceKind::kPlain;
  bool physical = false;         // a device is behind it
  std::string member_of;         // the bridge or bond that sends and receives by it; empty: none
  bool uplink = false;           // of a bridge: one of its members leads out of this host
  bool default_v4 = false;       // the default route of IPv4 leaves by it
  bool default_v6 = false;       // that of IPv6
  std::int64_t speed_mbits = 0;  // Mbit/s; 0: unknown
  std::int64_t mtu = 0;          // bytes; 0: unknown
  int numa_node = -1;            // -1: none or unknown
  std::string pci_path;          // "pci0000:00/0000:00:03.0", from the root complex to the card; empty: none
};

// All interfaces of this host, or rather of the calling thread's network name space, in the order of their indices. What
// cannot be found out stays unknown. `root` is put before /sys and /proc, for tests.
// Costs about 20 file reads for each interface.
Result<std::vector<Interface>> ReadInterfaces(const std::string& root = "");

namespace internal {

// What getifaddrs says of an interface: all but what /sys and /proc add.
struct ListedInterface {
  std::string name;
  std::uint32_t index = 0;
  unsigned flags = 0;  // IFF_UP and so on
  std::vector<IpAddress> addresses;
};
Result<std::vector<ListedInterface>> ListInterfaces();
// The same with what the files below `root` say. Files about an interface of another index, as another name space's /sys
// shows them, are passed over.
std::vector<Interface> Describe(const std::vector<ListedInterface>& listed, const std::string& root);

// The interface of the best default route in the text of /proc/net/route or of /proc/net/ipv6_route; "" without one.
std::string DefaultRouteV4(std::string_view text);
std::string DefaultRouteV6(std::string_view text);

}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_INTERFACES_H_
