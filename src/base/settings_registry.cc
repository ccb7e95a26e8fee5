// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Long because every setting has a row.
#include "base/settings_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/nearest.h"
#include "base/settings_checks.h"
#include "base/words.h"

namespace tutti {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongest = 1'000'000'000'000;  // some years; what is computed from it cannot overflow
constexpr std::int64_t kMostChannels = 64;            // as NCCL's MAXCHANNELS
constexpr std::int64_t kMostLines = 1'000'000;

// A whole number and nothing else; decimal, or hexadecimal after 0x.
std::optional<std::int64_t> ParseNumber(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && text[2] != '-') {
    base = 16;
    text.remove_prefix(2);
  }
  return tutti::ParseNumber<std::int64_t>(text, base);
}

// A number of bytes: "4096", "64K", "6M", "1G", in powers of 1024.
std::optional<std::int64_t> ParseBytes(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMG";
  int shift = 0;
  if (!text.empty()) {
    const std::size_t suffix = kSuffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<std::int64_t> number = ParseNumber(text);
  if (!number || *number < 0 || *number > kLargest >> shift) return std::nullopt;
  return *number << shift;
}

std::string NotInRange(std::string_view what, std::int64_t least, std::int64_t most) {
  return most == kLargest ? fmt::format("{}, at least {}", what, least)
                          : fmt::format("{}, {} to {}", what, least, most);
}

// The columns `read` and `print` of a row, for a field of Settings.
struct Columns {
  std::string (*read)(std::string_view, Settings&);
  std::string (*print)(const Settings&);
};

enum class Kind { kCount, kMs, kUs, kBytes, kChannels };
constexpr std::string_view What(Kind kind) {
  constexpr std::string_view kWhat[] = {"a number", "a number of milliseconds", "a number of microseconds",
                                        "a number of bytes (K, M and G may follow)", "a number of channels"};
  return kWhat[static_cast<int>(kind)];
}

template <auto kField, Kind kKind, std::int64_t kLeast, std::int64_t kMost>
std::string ReadNumber(std::string_view text, Settings& settings) {
  const std::optional<std::int64_t> number = kKind == Kind::kBytes ? ParseBytes(text) : ParseNumber(text);
  if (!number || *number < kLeast || *number > kMost) return NotInRange(What(kKind), kLeast, kMost);
  settings.*kField = static_cast<std::remove_reference_t<decltype(settings.*kField)>>(*number);
  return "";
}
template <auto kField>
std::string PrintNumber(const Settings& settings) {
  return fmt::format("{}", std::int64_t{settings.*kField});
}
template <auto kField, Kind kKind, std::int64_t kLeast, std::int64_t kMost>
constexpr Columns kNumber = {&ReadNumber<kField, kKind, kLeast, kMost>, &PrintNumber<kField>};

std::string Anything(std::string_view) { return ""; }
// Text that `kCheck` approves: it returns what the text is not, or "".
template <auto kField, std::string (*kCheck)(std::string_view)>
std::string ReadText(std::string_view text, Settings& settings) {
  std::string wrong = kCheck(text);
  if (wrong.empty()) settings.*kField = text;
  return wrong;
}
template <auto kField>
std::string PrintText(const Settings& settings) {
  return settings.*kField;
}
template <auto kField, std::string (*kCheck)(std::string_view) = &Anything>
constexpr Columns kText = {&ReadText<kField, kCheck>, &PrintText<kField>};

constexpr std::string_view kSingleCopyNames[] = {"auto", "off", "force"};
std::string ReadSingleCopy(std::string_view text, Settings& settings) {
  const auto found = std::ranges::find(kSingleCopyNames, Lower(text));
  if (found == std::end(kSingleCopyNames)) return "one of auto, off, force";
  settings.single_copy = static_cast<SingleCopy>(found - std::begin(kSingleCopyNames));
  return "";
}
std::string PrintSingleCopy(const Settings& settings) {
  return std::string(kSingleCopyNames[static_cast<int>(settings.single_copy)]);
}
constexpr Columns kSingleCopy = {&ReadSingleCopy, &PrintSingleCopy};

// A bound on channels that has several names: of those that are set the strictest holds.
enum class Bound { kMost, kFewest };
template <Bound kBound>
std::string ReadChannels(std::string_view text, Settings& settings) {
  const std::optional<std::int64_t> number = ParseNumber(text);
  if (!number || *number < 1 || *number > kMostChannels) return NotInRange(What(Kind::kChannels), 1, kMostChannels);
  const int channels = static_cast<int>(*number);
  const bool most = kBound == Bound::kMost;
  int& field = most ? settings.max_channels : settings.min_channels;
  const std::string_view begin = most ? "NCCL_MAX_" : "NCCL_MIN_";
  const bool again =
      std::ranges::any_of(settings.origins, [begin](const auto& origin) { return origin.first.starts_with(begin); });
  field = !again ? channels : most ? std::min(field, channels) : std::max(field, channels);
  return "";
}
constexpr Columns kMostColumns = {&ReadChannels<Bound::kMost>, &PrintNumber<&Settings::max_channels>};
constexpr Columns kFewestColumns = {&ReadChannels<Bound::kFewest>, &PrintNumber<&Settings::min_channels>};

// As NCCL: names, or numbers of which those above the last stand for it. Kept in capitals, so that ranks compare equal.
std::string ReadP2pLevel(std::string_view text, Settings& settings) {
  constexpr std::string_view kNames[] = {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS"};
  std::string level(text);
  std::ranges::transform(level, level.begin(), [](unsigned char c) { return std::toupper(c); });
  const std::optional<std::int64_t> number = ParseNumber(text);
  if (std::ranges::find(kNames, level) == std::end(kNames) && (!number || *number < 0)) {
    return "one of LOC, NVL, PIX, PXB, PHB, SYS, or a number from 0 to 5";
  }
  settings.p2p_level = number ? fmt::format("{}", *number) : level;
  return "";
}
constexpr Columns kP2pLevel = {&ReadP2pLevel, &PrintText<&Settings::p2p_level>};

// Words, several with | between them, or their bits as a number.
std::string ReadCtaPolicy(std::string_view text, Settings& settings) {
  constexpr std::string_view kWords[] = {"default", "efficiency", "zero"};
  constexpr int kBits[] = {0, 1, 2};
  const std::optional<std::int64_t> number = ParseNumber(text);
  int policy = number ? static_cast<int>(std::clamp<std::int64_t>(*number, -2, 4)) : 0;
  for (std::string_view rest = text; !number && policy >= 0;) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    const auto* word = std::ranges::find(kWords, Lower(rest.substr(0, end)));
    policy = word == std::end(kWords) ? -1 : policy | kBits[word - kWords];
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (policy < (number ? -1 : 0) || policy > 3)
    return "DEFAULT, EFFICIENCY, ZERO, several joined by a vertical bar, or a number from -1 to 3";
  settings.cta_policy = policy;
  return "";
}
constexpr Columns kCtaPolicy = {&ReadCtaPolicy, &PrintNumber<&Settings::cta_policy>};

constexpr Setting Row(Setting row, Columns columns) {
  row.read = columns.read;
  row.print = columns.print;
  return row;
}

using S = Settings;

// In the order of docs/environment.md.
constexpr Setting kSettings[] = {
    // Choices of algorithm and memory.
    Row({.name = "NCCL_ALGO",
         .values = "names, separated by commas; ^ before them excludes them; collective:names; ... for some only",
         .meaning =
             "Which algorithms may be chosen. Unset: every algorithm whose result is the fold in rank order; for a "
             "reduce of device memory, every one. NVLS and CollNet are ignored.",
         .agreement = Agreement::kRankZero},
        kText<&S::algo>),
    Row({.name = "NCCL_PROTO",
         .values = "LL, LL128, Simple; the same syntax as NCCL_ALGO",
         .meaning = "Which protocols may be chosen. Unset: all.",
         .agreement = Agreement::kRankZero},
        kText<&S::proto>),
    Row({.name = "NCCL_MAX_NCHANNELS",
         .unit = "channels",
         .values = "1 to 64",
         .meaning = "Most channels that one operation may use.",
         .agreement = Agreement::kMust},
        kMostColumns),
    Row({.name = "NCCL_MIN_NCHANNELS",
         .unit = "channels",
         .values = "1 to 64",
         .meaning = "Fewest channels that one operation uses. Above an unset NCCL_MAX_NCHANNELS it raises that too.",
         .agreement = Agreement::kMust},
        kFewestColumns),
    Row({.name = "NCCL_MAX_CTAS",
         .unit = "channels",
         .values = "1 to 64",
         .meaning = "Another name of NCCL_MAX_NCHANNELS; where both are set, the smaller holds.",
         .bounds = "NCCL_MAX_NCHANNELS"},
        kMostColumns),
    Row({.name = "NCCL_MIN_CTAS",
         .unit = "channels",
         .values = "1 to 64",
         .meaning = "Another name of NCCL_MIN_NCHANNELS; where both are set, the larger holds.",
         .bounds = "NCCL_MIN_NCHANNELS"},
        kFewestColumns),
    Row({.name = "NCCL_MAX_NRINGS",
         .unit = "channels",
         .values = "1 to 64",
         .meaning = "An old name of NCCL_MAX_NCHANNELS; where both are set, the smaller holds.",
         .bounds = "NCCL_MAX_NCHANNELS"},
        kMostColumns),
    Row({.name = "NCCL_MIN_NRINGS",
         .unit = "channels",
         .values = "1 to 64",
         .meaning = "An old name of NCCL_MIN_NCHANNELS; where both are set, the larger holds.",
         .bounds = "NCCL_MIN_NCHANNELS"},
        kFewestColumns),
    Row({.name = "TUTTI_TRIAL_AFTER",
         .unit = "calls",
         .values = "-1 to 1000000000000",
         .meaning =
             "After how many calls of one collective, size and root in host memory some calls try other ways than "
             "the one that is thought best, of which the fastest stays; and again after as many. 0: never. -1: after "
             "128 calls and 10 ms, and again after 4096 calls and half a second.",
         .agreement = Agreement::kRankZero},
        kNumber<&S::calls_before_trial, Kind::kCount, -1, kLongest>),
    Row({.name = "TUTTI_SHARED_BYTES",
         .unit = "bytes",
         .values = "at least 4096; K, M or G may follow",
         .meaning = "Shared pages of one rank, for all its links together.",
         .agreement = Agreement::kMust},
        kNumber<&S::shared_bytes, Kind::kBytes, 4096, kLargest>),
    Row({.name = "TUTTI_SINGLE_COPY",
         .values = "auto, off, force",
         .meaning = "Whether large messages are read straight from the sender's memory: where a trial shows that it "
                    "works and it is thought faster, never, or wherever it works.",
         .agreement = Agreement::kRankZero},
        kSingleCopy),
    Row({.name = "TUTTI_GPU",
         .values = "0, 1",
         .meaning =
             "Whether communicators of the C interface use the GPUs of this machine, if there are any: then they "
             "take device memory at init and work on device pointers too. 0: host memory only.",
         .agreement = Agreement::kMust},
        kNumber<&S::gpu, Kind::kCount, 0, 1>),
    Row({.name = "NCCL_P2P_DISABLE",
         .values = "0, 1",
         .meaning =
             "1: GPUs exchange data through host memory also where they reach each other's memory (peer access).",
         .agreement = Agreement::kMust},
        kNumber<&S::p2p_disable, Kind::kCount, 0, 1>),
    Row({.name = "NCCL_P2P_LEVEL",
         .values = "LOC, NVL, PIX, PXB, PHB, SYS, or 0 to 5",
         .meaning =
             "LOC or 0: as NCCL_P2P_DISABLE=1. The others allow peer access wherever a trial shows that it works.",
         .agreement = Agreement::kMust},
        kP2pLevel),
    Row({.name = "NCCL_CTA_POLICY",
         .values = "DEFAULT, EFFICIENCY, ZERO, joined by a vertical bar, or -1 to 3",
         .meaning =
             "ZERO: operations on windows that copy engines can do take no multiprocessors, whatever their size; it "
             "counts where all ranks ask for it. EFFICIENCY changes nothing. -1: as the communicator's config.",
         .agreement = Agreement::kShould},
        kCtaPolicy),
    Row({.name = "TUTTI_TUNING_FILE",
         .values = "a path",
         .meaning = "Tables of constants of the cost models, as `tutti tune --calibrate` and `tutti tune --gpu` store "
                    "them; `tutti env --tables` prints them. Unset: those that they stored for this host; else host "
                    "memory is measured when a communicator is made, and for GPUs a table that is compiled in holds.",
         .agreement = Agreement::kRankZero},
        kText<&S::tuning_file>),
    Row({.name = "NCCL_TUNER_PLUGIN",
         .values = "the name of a library; none",
         .meaning =
             "A tuner plugin, which may choose algorithm, protocol and channels of collectives. It is tried as a file, "
             "then as libnccl-tuner-NAME.so; else the network plugin's library may have one (docs/plugins.md). Unset: "
             "libnccl-tuner.so, if there is one.",
         .agreement = Agreement::kMust},
        kText<&S::tuner_plugin>),
    // The network between hosts.
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
    // Waiting.
    Row({.name = "TUTTI_TIMEOUT_MS",
         .unit = "ms",
         .values = "1 to 1000000000000",
         .meaning = "How long one wait inside an operation may last. A dead peer is found within a second whatever "
                    "this says.",
         .agreement = Agreement::kShould},
        kNumber<&S::timeout_ms, Kind::kMs, 1, kLongest>),
    Row({.name = "TUTTI_INIT_TIMEOUT_MS",
         .unit = "ms",
         .values = "1 to 1000000000000",
         .meaning = "How long the making of a communicator waits for the other ranks.",
         .agreement = Agreement::kShould},
        kNumber<&S::init_timeout_ms, Kind::kMs, 1, kLongest>),
    Row({.name = "TUTTI_SPIN_US",
         .unit = "us",
         .values = "-1 to 1000000000000",
         .meaning = "How long a wait spins before it gives the core away. -1: decided from ranks and cores.",
         .agreement = Agreement::kShould},
        kNumber<&S::spin_us, Kind::kUs, -1, kLongest>),
    Row({.name = "TUTTI_BLACK_BOX",
         .values = "0, 1",
         .meaning =
             "0: calls are not written down and their messages not marked. `tutti top` shows none then, and calls "
             "that do not match may hang or give wrong results. For measurements (docs/black_box.md).",
         .agreement = Agreement::kRankZero},
        kNumber<&S::black_box, Kind::kCount, 0, 1>),
    Row({.name = "NCCL_COMM_BLOCKING",
         .values = "0, 1, -1",
         .meaning =
             "Whether calls of the C interface wait until they are done. -1: as the communicator's config says."},
        kNumber<&S::comm_blocking, Kind::kCount, -1, 1>),
    // The log.
    Row({.name = "NCCL_DEBUG",
         .values = "NONE, VERSION, WARN, INFO, ABORT, TRACE",
         .meaning =
             "What the log shows: each level its own lines and those before it. Unlike NCCL's, the default shows "
             "warnings. ABORT shows what INFO shows.",
         .scope = Scope::kProcess},
        kText<&S::debug, &CheckLevel>),
    Row({.name = "NCCL_DEBUG_SUBSYS",
         .values = "INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, CALL, PROXY, NVLS, BOOTSTRAP, REG, PROFILE, "
                   "RAS, DESTROY, ALLOC_HOST, ALL; separated by commas; ^ before them: all others",
         .meaning = "What INFO and TRACE lines may be about.",
         .scope = Scope::kProcess},
        kText<&S::debug_subsys, &CheckSubsystems>),
    Row({.name = "NCCL_DEBUG_FILE",
         .values = "a path; %h: host, %p: process id, %d: rank, %%: %",
         .meaning = "The file that the log is appended to. Unset: stderr.",
         .scope = Scope::kProcess},
        kText<&S::debug_file>),
    Row({.name = "NCCL_DEBUG_TIMESTAMP_FORMAT",
         .values = "as strftime's; %3f: three digits of the second's fraction",
         .meaning = "The time at the beginning of a line, local time.",
         .scope = Scope::kProcess},
        kText<&S::debug_timestamp_format>),
    Row({.name = "NCCL_DEBUG_TIMESTAMP_LEVELS",
         .values = "levels, separated by commas; ^ before them: all others",
         .meaning = "Levels whose lines begin with the time.",
         .scope = Scope::kProcess},
        kText<&S::debug_timestamp_levels, &CheckLevels>),
    Row({.name = "NCCL_WARN_ENABLE_DEBUG_INFO",
         .values = "0, 1",
         .meaning = "1: from the first warning on as if NCCL_DEBUG were INFO.",
         .scope = Scope::kProcess},
        kNumber<&S::warn_enable_debug_info, Kind::kCount, 0, 1>),
    Row({.name = "TUTTI_LOG_FORMAT",
         .values = "text, json",
         .meaning = "json: one JSON object per line, with the time in UTC.",
         .scope = Scope::kProcess},
        kText<&S::log_format, &CheckFormat>),
    Row({.name = "TUTTI_LOG_RATE",
         .unit = "lines/s",
         .values = "0 to 1000000",
         .meaning =
             "Most lines per second from one place in the code; the next line says how many were left out. 0: no "
             "limit. Lines of COLL, P2P, TUNING, CALL and TRACE are never left out.",
         .scope = Scope::kProcess},
        kNumber<&S::log_rate, Kind::kCount, 0, kMostLines>),
    // Read from the environment only.
    {.name = "NCCL_CONF_FILE",
     .values = "a path",
     .meaning = "A file of settings, one NAME=value per line, read instead of ~/.nccl.conf.",
     .scope = Scope::kEnvironment},
    {.name = "NCCL_COMM_ID",
     .values = "host:port",
     .meaning =
         "Names the job: ranks of one user that have the same value meet. On several hosts the process of rank 0 "
         "listens at that address, and the others connect to it.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_UNIQUE_ID",
     .values = "random, job",
     .meaning = "What ncclGetUniqueId returns: a fresh id at each call (the default), or the id of the launcher's job, "
                "the same on every rank.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_SECRET",
     .values = "at least 16 characters",
     .meaning =
         "What only the processes of one user know, the same on all hosts: it protects ids that are derived from a "
         "launcher's variables or from NCCL_COMM_ID. Unset: a file that is made in the user's home.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_RANK",
     .values = "0 to TUTTI_RANKS - 1",
     .meaning = "This process's rank; `tutti run` sets it. Comes before the variables of other launchers.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_RANKS",
     .values = "at least 1",
     .meaning = "The number of ranks; `tutti run` sets it.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_ID",
     .values = "256 hexadecimal digits",
     .meaning = "The job's id with its secret; `tutti run` sets it. Unset: derived from what the launcher says.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_PRELOAD_LIBRARY",
     .values = "a path",
     .meaning = "`tutti preload` sets it: the libnccl.so.2 to which its libtutti_audit.so leads every look-up.",
     .scope = Scope::kEnvironment},
    {.name = "TUTTI_PRELOAD_REPORT",
     .values = "a path",
     .meaning = "`tutti preload` sets it: the file in which its libtutti_audit.so notes who maps which libnccl.",
     .scope = Scope::kEnvironment},
};

std::string_view WithoutPrefix(std::string_view name) {
  for (std::string_view prefix : {"NCCL_", "TUTTI_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

}  // namespace

std::span<const Setting> AllSettings() { return kSettings; }

const Setting* FindSetting(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::optional<std::string_view> WhyIgnored(std::string_view name) {
  if (FindSetting(name) != nullptr) return std::nullopt;  // used, whatever its beginning stands for
  for (const IgnoredSettings& group : AllIgnoredSettings()) {
    std::string_view rest = group.names;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      std::string_view known = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const bool pattern = known.ends_with('*');
      if (pattern) known.remove_suffix(1);
      if (pattern ? name.starts_with(known) : name == known) return group.reason;
    }
  }
  return std::nullopt;
}

std::string_view NearestSetting(std::string_view name) {
  std::vector<std::string_view> names, words;
  for (const Setting& setting : kSettings) names.push_back(setting.name);
  for (const IgnoredSettings& group : AllIgnoredSettings()) {
    std::string_view rest = group.names;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (end > 0 && rest[end - 1] != '*') names.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const std::string_view known : names) words.push_back(WithoutPrefix(known));
  const std::optional<std::string_view> nearest = Nearest(WithoutPrefix(name), words);
  if (!nearest) return "";
  return names[std::ranges::find(words, *nearest) - words.begin()];
}

log::Config LogConfig(const Settings& settings) {
  log::Config config;
  std::string unknown;
  config.level = log::ParseLevel(settings.debug).value_or(config.level);
  config.banner = settings.origins.contains("NCCL_DEBUG");
  config.subsystems = log::ParseSubsystems(settings.debug_subsys, unknown).value_or(config.subsystems);
  config.file = settings.debug_file;
  config.timestamp_format = settings.debug_timestamp_format;
  config.timestamp_levels =
      log::ParseLevels(settings.debug_timestamp_levels, unknown).value_or(config.timestamp_levels);
  config.info_after_warn = settings.warn_enable_debug_info;
  config.lines_per_second = settings.log_rate;
  config.format = Lower(settings.log_format) == "json" ? log::Format::kJson : log::Format::kText;
  return config;
}

}  // namespace tutti
