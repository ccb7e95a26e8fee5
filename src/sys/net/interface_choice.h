// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_INTERFACE_CHOICE_H_
#define TUTTI_SYS_NET_INTERFACE_CHOICE_H_

// Which network interfaces ranks of several hosts use. A function of the host's interfaces and of the settings
// NCCL_SOCKET_IFNAME, NCCL_SOCKET_FAMILY, NCCL_OOB_NET_ENABLE and NCCL_OOB_NET_IFNAME, and of nothing else.
//
// Chosen is what is up, has a link and has an address that other hosts can reach. The interface that the default route
// leaves by comes first, that of IPv4 before that of IPv6, then the others in the order of their indices. Refused are, each
// with a reason in words:
//
//   * what a setting leaves out, what is down or has no link, and what has no address of the family that was asked for;
//   * bridges of containers and virtual machines, such as docker0 and virbr0: a bridge counts only where a card is a member
//     of it, or the default route leaves by it;
//   * members of bridges and bonds, tunnels, and what has link-local addresses only;
//   * interfaces without a way out, lo among them, unless nothing else is left. Of these, one with an address of its own
//     beats 127.0.0.1: so some hosts keep their address that is routed to them by several cards.
//
// A list of names without ^ asks for what it names: then only what is down or has no address is refused.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sys/net/interfaces.h"
#include "tutti/settings.h"

namespace tutti::sys {

// A list of interfaces in NCCL's syntax: names separated by commas, each standing for all that begin so; = before the
// list: only what has exactly these names; ^ before all: what is not in the list. A colon and what follows it in a name is
// dropped, blanks around names too. A list without a name counts as none.
class InterfaceFilter {
 public:
  explicit InterfaceFilter(std::string_view list);

  bool empty() const { return names_.empty(); }
  bool Allows(std::string_view name) const;
  // Whether the list names what may be used, rather than what may not.
  bool asks() const { return !empty() && !excludes_; }

 private:
  std::vector<std::string> names_;
  bool excludes_ = false;
  bool exact_ = false;
};

enum class NetworkUse {
  kMeeting,  // ranks meet: NCCL_OOB_NET_IFNAME counts where NCCL_OOB_NET_ENABLE is 1, else NCCL_SOCKET_IFNAME
  kData,     // NCCL_SOCKET_IFNAME
};

struct RefusedInterface {
  Interface interface;
  std::string reason;  // "it is down"
};

struct InterfaceChoice {
  std::vector<Interface> chosen;  // the best first; `addresses` holds those to use, IPv4 first
  std::vector<RefusedInterface> refused;
  std::string
      setting;  // "NCCL_SOCKET_IFNAME=eth1 and NCCL_SOCKET_FAMILY=AF_INET", as far as they are set; may be empty

  // kInvalidUsage where nothing is chosen: a sentence with each interface, its addresses and why it was refused.
  Status Usable() const;
};

InterfaceChoice ChooseInterfaces(std::span<const Interface> interfaces, const Settings& settings, NetworkUse use);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_INTERFACE_CHOICE_H_
