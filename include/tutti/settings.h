// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SETTINGS_H_
#define TUTTI_SETTINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/export.h"

namespace tutti {

// How large messages cross between processes (TUTTI_SINGLE_COPY).
enum class SingleCopy : std::uint8_t {
  kAuto,   // the receiver reads the sender's memory where a trial at init shows that it can and the cost model says so
  kOff,    // always through shared pages
  kForce,  // wherever possible, whatever the cost model says
};

// Everything that can be set, read once. Each field names its variable; docs/environment.md has all variables with
// meaning, default, unit and range.
// Long because a field is a setting.
struct TUTTI_EXPORT Settings {
  // NCCL_ALGO: which algorithms may be chosen, in NCCL's syntax: "ring,tree", "^pat", "allreduce:tree;broadcast:ring".
  // Empty: every algorithm whose result is the fold in rank order; for a reduce of device memory, every one.
  std::string algo;
  // NCCL_PROTO: likewise for protocols: "LL", "LL128", "Simple". Empty: all.
  std::string proto;
  // TUTTI_TIMEOUT_MS: how long one wait inside an operation may last, ms. A peer that is merely late is waited for
  // this long; a dead one is found within a second.
  std::int64_t timeout_ms = 1800000;
  // TUTTI_INIT_TIMEOUT_MS: how long Create waits for the other ranks, ms.
  std::int64_t init_timeout_ms = 60000;
  // TUTTI_SINGLE_COPY: auto, off, force.
  SingleCopy single_copy = SingleCopy::kAuto;
  // TUTTI_HUGE_PAGES: whether large buffers in ordinary memory that come again and again are moved to huge pages, where others read them.
  bool huge_pages = true;
  // TUTTI_TRIAL_AFTER: after how many calls of a kind in host memory the ways that the cost model thinks best are tried, and again
  // after as many. 0: never. -1: after 128 calls and 10 ms, and again after 4096 calls and half a second.
  std::int64_t calls_before_trial = -1;
  // TUTTI_SHARED_BYTES: shared pages of one rank, bytes, for all its links together.
  std::int64_t shared_bytes = 6 << 20;
  // NCCL_MAX_NCHANNELS: most channels that one operation may use.
  int max_channels = 2;
  // NCCL_MIN_NCHANNELS: fewest channels that one operation uses.
  int min_channels = 1;
  // TUTTI_GPU: whether communicators of the C interface may work on device memory (1), where there are GPUs, or on host
  // memory only (0).
  bool gpu = true;
  // NCCL_P2P_DISABLE, NCCL_P2P_LEVEL: whether GPUs may write to each other's memory, and how far they may be from each other then: a
  // type of path on the host's graph ("NVL", "PXB"), or an old number. LOC or 0 as the level, or 1 for the other, forbids it: they
  // exchange data through host memory then. Empty: wherever the driver lets them.
  bool p2p_disable = false;
  std::string p2p_level;
  // The host as a graph, in the shape of NCCL's XML files. NCCL_TOPO_FILE: what to take instead of what the system says.
  // NCCL_TOPO_DUMP_FILE, NCCL_TOPO_DUMP_FILE_RANK: where it is written to, and by which rank. NCCL_GRAPH_FILE,
  // NCCL_GRAPH_DUMP_FILE, NCCL_GRAPH_DUMP_FILE_RANK: likewise for channels. Empty: no such file. -1: no rank.
  std::string topo_file;
  std::string topo_dump_file;
  int topo_dump_rank = 0;
  std::string graph_file;
  std::string graph_dump_file;
  int graph_dump_rank = 0;
  // NCCL_CROSS_NIC: whether data may go from a network card to one of another rail at the other host: never (0), by what is closest
  // at each end (1), or where the rail leads nowhere (2).
  int cross_nic = 2;
  // NCCL_NET_GDR_LEVEL: how far a card may be from GPUs whose memory it reads and writes, as p2p_level; empty: as NCCL decides.
  // NCCL_NET_GDR_READ: whether it may read (1) or not (0); below 0: as NCCL decides by what GPUs there are.
  std::string gdr_level;
  int gdr_read = -1;
  // NCCL_CTA_POLICY: how GPU operations treat multiprocessors, bits as in NCCL's config (CTAPolicy): 2, none where copy
  // engines can do it. -1: as the communicator's config says.
  int cta_policy = -1;
  // TUTTI_TUNING_FILE: constants of the cost model as `tutti tune --calibrate` stores them. Empty: the built-in ones.
  std::string tuning_file;
  // NCCL_SOCKET_IFNAME: which network interfaces connect hosts, in NCCL's syntax: "eth,ib0", "=eth0", "^docker,lo". Empty:
  // chosen as sys/net/interface_choice.h says. NCCL_SOCKET_FAMILY: "AF_INET" or "AF_INET6"; empty: both.
  std::string socket_ifname;
  std::string socket_family;
  // NCCL_HOSTID: ranks with different ids count as being on different hosts. Empty: those that find each other are on one.
  std::string host_id;
  // NCCL_OOB_NET_ENABLE, NCCL_OOB_NET_IFNAME: whether hosts meet over interfaces of their own, and over which, in the same
  // syntax.
  bool oob_net_enable = false;
  std::string oob_net_ifname;
  // TUTTI_PORTS: the TCP ports that this process listens on for other hosts: "4000" or "4000-4100". Each process with ranks
  // takes up to two, and one more where it makes ids or is rank 0's. Empty: any that is free.
  std::string ports;
  // NCCL_NET_PLUGIN: the libraries of network plugins that may carry data between hosts, separated by commas; empty:
  // libnccl-net.so where NCCL_NET names its network, else none. NCCL_NET: the name of the network that shall; "Socket" is TCP;
  // empty: that of a plugin in NCCL_NET_PLUGIN, else TCP.
  std::string net_plugin;
  std::string net;
  // NCCL_TUNER_PLUGIN: the library of a tuner plugin, which may choose how collectives are done; "none"; empty: libnccl-tuner.so, if
  // there is one.
  std::string tuner_plugin;
  // Of network cards that libfabric drives. NCCL_IB_HCA: which, in the syntax of socket_ifname; empty: all. NCCL_IB_DISABLE: none by
  // verbs. NCCL_IB_TC: the traffic class as the byte of an IP header; -1: libfabric's choice.
  std::string ib_hca;
  bool ib_disable = false;
  int ib_traffic_class = -1;
  // NCCL_SOCKET_NTHREADS, NCCL_NSOCKS_PERTHREAD: threads that move data between two ranks of different hosts, the waiting one
  // included, and TCP connections for each of them, by each network card. -1: decided from ranks and cores.
  int socket_threads = -1;
  int socks_per_thread = -1;
  // TUTTI_SPIN_US: how long a wait spins before it starts to give the core away, us; -1: decided from ranks and cores.
  std::int64_t spin_us = -1;
  // TUTTI_BLACK_BOX: whether calls are written down and their messages marked, so that `tutti top` shows them and calls
  // that do not match end in an error.
  bool black_box = true;
  // TUTTI_MONITOR: whether a thread of the process finds out who holds this communicator up, and logs it (docs/diagnosis.md).
  bool monitor = true;
  // TUTTI_KERNEL_LOG: where the monitor and `tutti top` read why the kernel has ended a process, and which GPUs have failed: /dev/kmsg, a file
  // with lines as dmesg writes them; "none". The first communicator's settings hold.
  std::string kernel_log = "/dev/kmsg";
  // NCCL_RAS_ENABLE, NCCL_RAS_ADDR: whether the process answers RAS clients as ncclras, and at which host and port. The first
  // communicator's settings hold.
  bool ras_enable = true;
  std::string ras_addr = "localhost:28028";
  // TUTTI_DOCTOR: whether the first rank of each host looks once, for at most a millisecond, at what is bad about the host, and logs it.
  bool doctor = true;
  // TUTTI_ON_VERDICT: "report", or "abort:SECONDS": ms that a verdict on a fault that cannot end by itself may stand at WARN until the
  // monitor ends the communicator with its sentence; -1: for ever.
  std::int64_t abort_after_ms = -1;
  // NCCL_PROFILER_PLUGIN: the library of a profiler plugin, which is told of every call of the C interface; "none"; empty:
  // libnccl-profiler.so, if there is one. NCCL_NVTX_DISABLE: calls of the C interface are not marked for tools that read NVTX.
  std::string profiler_plugin;
  bool nvtx_disable = false;
  // NCCL_COMM_BLOCKING: whether calls of the C interface wait (1) or return ncclInProgress (0); -1: as the
  // communicator's config says, which by default waits.
  int comm_blocking = -1;

  // The log of the process; the first communicator's settings hold. NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE,
  // NCCL_DEBUG_TIMESTAMP_FORMAT, NCCL_DEBUG_TIMESTAMP_LEVELS, NCCL_WARN_ENABLE_DEBUG_INFO, TUTTI_LOG_FORMAT,
  // TUTTI_LOG_RATE (lines per second from one place in the code).
  std::string debug = "WARN";
  std::string debug_subsys = "INIT,BOOTSTRAP,ENV";
  std::string debug_file;
  std::string debug_timestamp_format = "[%F %T] ";
  std::string debug_timestamp_levels = "WARN";
  bool warn_enable_debug_info = false;
  std::string log_format = "text";
  int log_rate = 1000;

  // The settings of this process: its environment, then the file named in NCCL_CONF_FILE or else ~/.nccl.conf, then
  // /etc/nccl.conf; the first that has a variable holds. Reads the files anew at each call and never changes the
  // environment. Values that cannot be read keep their default and are named in `warnings`, one line each.
  static Settings FromEnvironment();

  // Where each value that is not the default came from, by variable: "environment", "/etc/nccl.conf:3". Whoever sets a
  // field otherwise may say so here.
  std::map<std::string, std::string> origins;
  // Variables that are set and that Tutti knowingly does not use; docs/environment.md says why.
  std::vector<std::string> ignored;
  std::string warnings;

  // origins[variable], or "default".
  std::string OriginOf(const std::string& variable) const;
};

}  // namespace tutti

#endif  // TUTTI_SETTINGS_H_
