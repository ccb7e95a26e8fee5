// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FABRIC_RAILS_H_
#define TUTTI_TRANSPORT_NET_FABRIC_RAILS_H_

// Which of the networks that libfabric offers are used. A function of what it offers and of settings; it opens nothing.
//
//   * One provider: of network cards first, then over TCP, then what is left. libfabric's FI_PROVIDER leaves providers out before.
//   * Of cards those that NCCL_IB_HCA allows, and no verbs where NCCL_IB_DISABLE is 1. Of TCP the interfaces that Tutti's own TCP
//     would use (sys/net/interface_choice.h).
//   * In the order of their names. Of one name the first, in the address family that the interface has.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::transport::net::fabric {

inline constexpr std::size_t kMostRails = 4;  // of one connection

enum class Family : unsigned char { kNone, kV4, kV6 };

// What libfabric offers.
struct Offer {
  std::string provider;  // "tcp;ofi_rxm"
  std::string domain;    // "mlx5_0", "eth0"
  Family family = Family::kNone;
};

struct RailWishes {
  struct Interface {
    std::string name;
    Family family = Family::kV4;
  };
  std::string hca;                    // NCCL_IB_HCA, in the syntax of sys::InterfaceFilter
  bool no_verbs = false;              // NCCL_IB_DISABLE
  bool hardware_only = false;         // nobody has asked for it by name
  std::vector<Interface> interfaces;  // for providers over IP
};

// Whether a provider drives a network card past the system's own TCP.
bool IsHardware(std::string_view provider);

// Indices of the offers that become rails. kUnsupported: none can be used; the sentence says what was left out.
Result<std::vector<std::size_t>> ChooseRails(std::span<const Offer> offers, const RailWishes& wishes);

}  // namespace tutti::transport::net::fabric

#endif  // TUTTI_TRANSPORT_NET_FABRIC_RAILS_H_
