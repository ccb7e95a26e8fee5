// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Settings of choices of algorithm and memory, and of GPUs.
#include "base/settings_rows.h"

#include <algorithm>
#include <iterator>

#include "base/settings_columns.h"

namespace tutti {

using namespace rows;  // NOLINT: the columns

namespace {

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

constexpr Setting kRows[] = {
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
             "128 calls and 10 ms, twice more after as many, and then after 16384 calls and a second each time.",
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
    Row({.name = "TUTTI_HUGE_PAGES",
         .values = "0, 1",
         .meaning =
             "Whether large buffers in host memory that come again and again are moved to transparent huge "
             "pages, where the system allows that and other processes read them. What such a page lacks at the end of "
             "the program's memory is mapped beside it, 32 MiB in all at most; and of gaps between mappings up to 64 "
             "MiB of addresses are kept, so that new memory ends where huge pages do. Takes Linux 6.1.",
         .agreement = Agreement::kOwn},
        kNumber<&S::huge_pages, Kind::kCount, 0, 1>),
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
             "How far GPUs may be from each other that write to each other's memory, by the types of paths on the "
             "host's graph. LOC or 0: as NCCL_P2P_DISABLE=1. Unset: wherever the driver lets them.",
         .agreement = Agreement::kMust},
        kLevel<&S::p2p_level>),
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
};

}  // namespace

std::span<const Setting> SettingsOfChoices() { return kRows; }

}  // namespace tutti
