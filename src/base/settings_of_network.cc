// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Settings of the network between hosts.
#include "base/settings_rows.h"

#include "base/settings_checks.h"
#include "base/settings_columns.h"

namespace tutti {

using namespace rows;  // NOLINT: the columns

namespace {

constexpr Setting kRows[] = {
    Row({.name = "NCCL_SOCKET_IFNAME",
         .values = "beginnings of names, separated by commas; = before them: whole names; ^ before all: all others",
         .meaning =
             "Which network interfaces connect hosts. Unset: that of the default route, then the others, without "
             "bridges of containers, tunnels and link-local addresses. Ranks of one host use none."},
        kText<&S::socket_ifname>),
    Row({.name = "NCCL_SOCKET_FAMILY",
         .values = "AF_INET, AF_INET6",
         .meaning = "Which addresses of these interfaces count: IPv4 or IPv6. Unset: both, IPv4 first."},
        kText<&S::socket_family, &CheckFamily>),
    Row({.name = "NCCL_HOSTID",
         .values = "text",
         .meaning = "Ranks with different ids count as being on different hosts. Unset: the machine decides."},
        kText<&S::host_id>),
    Row({.name = "NCCL_OOB_NET_ENABLE",
         .values = "0, 1",
         .meaning =
             "1: hosts meet over the interfaces of NCCL_OOB_NET_IFNAME; data still go over NCCL_SOCKET_IFNAME's."},
        kNumber<&S::oob_net_enable, Kind::kCount, 0, 1>),
    Row({.name = "NCCL_OOB_NET_IFNAME",
         .values = "as NCCL_SOCKET_IFNAME",
         .meaning = "The interfaces that hosts meet over where NCCL_OOB_NET_ENABLE is 1. Unset: NCCL_SOCKET_IFNAME's."},
        kText<&S::oob_net_ifname>),
    Row({.name = "NCCL_SOCKET_NTHREADS",
         .values = "-1 to 16",
         .meaning =
             "Threads that move large data between two ranks of different hosts, the one that waits included. -1: "
             "one more for each 4 cores that a rank has, up to 4."},
        kNumber<&S::socket_threads, Kind::kCount, -1, 16>),
    Row({.name = "NCCL_NSOCKS_PERTHREAD",
         .values = "-1 to 16",
         .meaning =
             "TCP connections for each of these threads, by each network card. -1: 1 where NCCL_SOCKET_NTHREADS is "
             "set; else 4 connections in all, or 1 where only one thread moves data."},
        kNumber<&S::socks_per_thread, Kind::kCount, -1, 16>),
    Row({.name = "TUTTI_PORTS",
         .values = "a port, or first-last",
         .meaning =
             "The TCP ports that processes listen on for other hosts, for firewalls. A process takes up to two of "
             "them, that of rank 0 one more. Unset: any that are free."},
        kText<&S::ports, &CheckPorts>),
    Row({.name = "NCCL_NET_PLUGIN",
         .values = "names of libraries, separated by commas; none",
         .meaning =
             "Network plugins that may carry data between hosts. Each is tried as a file, then as libnccl-net-NAME.so; "
             "the first that sees a device is used (docs/plugins.md). Unset: libnccl-net.so where NCCL_NET names its "
             "network, else none."},
        kText<&S::net_plugin>),
    Row({.name = "NCCL_NET",
         .values = "a name, in any case",
         .meaning = "The network between hosts: Socket is TCP, Libfabric or OFI is libfabric, any other must be a "
                    "plugin's. Unset: "
                    "that of a plugin in NCCL_NET_PLUGIN that can be used, else libfabric where all hosts have network "
                    "cards that "
                    "it drives, else TCP. All ranks must use the same."},
        kText<&S::net>),
    Row({.name = "NCCL_IB_HCA",
         .values = "a list, as NCCL_SOCKET_IFNAME",
         .meaning = "Which network cards libfabric may use: mlx5_0 or the like. A port after a colon is dropped."},
        kText<&S::ib_hca>),
    Row({.name = "NCCL_IB_DISABLE", .values = "0, 1", .meaning = "1: libfabric uses no card by verbs."},
        kNumber<&S::ib_disable, Kind::kCount, 0, 1>),
    Row({.name = "NCCL_IB_TC",
         .values = "-1 to 255",
         .meaning = "The traffic class of data, the byte of an IP header. libfabric's provider is told its upper six "
                    "bits and may not heed them. -1: none."},
        kNumber<&S::ib_traffic_class, Kind::kCount, -1, 255>),
};

}  // namespace

std::span<const Setting> SettingsOfNetwork() { return kRows; }

}  // namespace tutti
