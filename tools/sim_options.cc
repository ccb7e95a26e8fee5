// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/words.h"
#include "tools/cli.h"
#include "tools/command_line.h"

namespace tutti::tools {
namespace {

constexpr int kMostChannels = 256;
constexpr int kSwitchChannels = 16;  // as NCCL's NVLS has on Hopper
constexpr std::uint64_t kUsualChunk = 512 << 10;

constexpr std::string_view kFooter =
    "Sizes are those of the larger buffer, as in tutti perf; 14e9 is 14 GB. What is slow or dead from the beginning, "
    "and known, is said "
    "in the machine's text (docs/planning.md).\n\n"
    "Examples:\n"
    "  tutti sim all_reduce --machine hgx-h100 --hosts 4 -b 8 -e 1G -f 8\n"
    "  tutti sim all_reduce --machine hgx-h100 --hosts 2,8,32 --algo hier_ring,hier_tree --channels 16\n"
    "  tutti sim all_reduce --machine hgx-h100 --hosts 32 --algo hier_ring -b 1G -e 1G --trace ring.json\n"
    "  tutti sim --workload step.txt --machine hgx-h100 --hosts 64\n\n"
    "Exit code: 0, 1 when it fails or ranks would wait for ever, 2 for a wrong command line.";

template <typename... Values>
Status Bad(fmt::format_string<Values...> format, Values&&... values) {
  return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Values>(values)...));
}

Status AddAlgorithms(const SimOptions& options, SimWays& ways) {
  for (const std::string& name : options.algorithms) {
    const std::optional<algo::Algorithm> algorithm = algo::ParseAlgorithm(name);
    if (!algorithm) return Bad("there is no algorithm '{}'; `tutti plan {}` lists them", name, options.collective);
    ways.algorithms.push_back(*algorithm);
  }
  return Status::Ok();
}

Status AddProtocols(const SimOptions& options, SimWays& ways) {
  for (const std::string& name : options.protocols) {
    const std::optional<proto::Protocol> protocol = proto::ParseProtocol(name);
    if (!protocol) return Bad("there is no protocol '{}'; use LL, LL128 or Simple", name);
    ways.protocols.push_back(*protocol);
  }
  return Status::Ok();
}

}  // namespace

void AddSimOptions(CommandLine& line, SimOptions& o) {
  line.Footer(std::string(kFooter));
  line.Add("OP", o.collective, "the collective: all_reduce, all_gather, ...").SuggestCollectives();
  line.Add("--file", o.files, "a machine from this file; more with commas").Shown("FILE").SplitAtCommas();
  line.Add("--machine", o.machines,
           "a machine by its name, as hgx-h100, or from a file with a dot or a slash in its name; more with commas; an "
           "unknown one "
           "prints all names")
      .Shown("NAME")
      .SplitAtCommas();
  line.Add("--hosts", o.hosts, "so many hosts of each machine (default 1); more with commas")
      .Shown("N")
      .SplitAtCommas();
  line.Add("--algo", o.algorithms,
           "the algorithm; default: the fastest by simulation; several with commas are compared, each in its fastest "
           "way")
      .Shown("NAME")
      .SplitAtCommas();
  line.Add("--proto", o.protocols, "LL, LL128 or Simple (default Simple of one --algo; else all); more with commas")
      .Shown("NAME")
      .SplitAtCommas();
  line.Add("--channels", o.channels,
           "channels (default 1 of one --algo, 16 where it needs switches; else 1,8,32 are tried); more with commas")
      .Shown("N")
      .SplitAtCommas();
  line.Add("--chunk", o.chunks, "largest message (default 512K); more with commas").Shown("BYTES").SplitAtCommas();
  line.AddFlag("--merge", o.merge,
               "what a rank sends another one together is one message, as where blocks are put together: of "
               "algorithms that treat all ranks "
               "alike and do not cut blocks into a pipeline");
  line.Add("-b,--minbytes", o.begin, "smallest size (default 8)").Shown("BYTES");
  line.Add("-e,--maxbytes", o.end, "largest size (default 1G)").Shown("BYTES");
  line.Add("-f,--stepfactor", o.factor, "from a size to the next (default 8)").Between(2, 1 << 20);
  line.Add("--sizes", o.sizes, "these sizes instead, with commas").Shown("BYTES").SplitAtCommas();
  line.Add("--late", o.late, "ranks that begin later, as 5:300 for rank 5 and 300 us; more with commas")
      .SplitAtCommas();
  line.Add("--slow", o.slow,
           "everything once more with a slow cable that nobody knows of, as 30:1:0.1 for host 30, port 1 and a tenth "
           "of its rate; 0 for "
           "a dead one; several at a time with a plus, one time after the other with commas")
      .Shown("HOST:PORT:RATE")
      .SplitAtCommas();
  line.Add("--gdr-level", o.gdr_level,
           "how far a card may be from a GPU whose memory it uses, as NCCL_NET_GDR_LEVEL: PXB, SYS, ...")
      .Shown("LEVEL");
  line.Add("--seed", o.seed, "of hashes by which switches choose links (default 1)").Between(0, 1 << 30);
  line.Add("--workload", o.workloads, "a training step from this file, instead of OP; more with commas")
      .Shown("FILE")
      .SplitAtCommas();
  line.Add("--trace", o.trace, "write the last size's tasks and messages for about:tracing or ui.perfetto.dev")
      .Shown("FILE");
  line.Add("--json", o.json, "write all rows to a file as JSON, too; - is the standard output, without the tables")
      .Shown("FILE");
  line.Add("--goal", o.goal, "write the last size's plan as GOAL, the input of LogGOPSim").Shown("FILE");
}

Result<SimWays> WaysOf(const SimOptions& options) {
  SimWays ways;
  TUTTI_RETURN_IF_ERROR(AddAlgorithms(options, ways));
  TUTTI_RETURN_IF_ERROR(AddProtocols(options, ways));
  const bool one = ways.algorithms.size() == 1;
  if (ways.algorithms.empty() && !ways.protocols.empty()) {
    return Bad("--proto needs --algo: where no algorithm is named, protocols are chosen with it");
  }
  if (!options.goal.empty() && !options.workloads.empty()) {
    return Bad("--goal writes the plan of one operation; a --workload has none");
  }
  if (ways.protocols.empty()) {
    ways.protocols = {proto::Protocol::kSimple};
    if (!one) ways.protocols = {proto::Protocol::kLl, proto::Protocol::kLl128, proto::Protocol::kSimple};
  }
  for (const std::string& text : options.channels) {
    const std::optional<int> number = ParseNumber<int>(text);
    if (!number || *number < 1 || *number > kMostChannels) {
      return Bad("--channels is a number from 1 to {}, or several with commas, found '{}'", kMostChannels, text);
    }
    ways.channels.push_back(*number);
  }
  const bool switches = one && algo::NeedsSwitches(ways.algorithms.front());
  if (ways.channels.empty()) ways.channels = one ? std::vector{switches ? kSwitchChannels : 1} : std::vector{1, 8, 32};
  for (const std::string& text : options.chunks) {
    const std::optional<std::size_t> bytes = ParseBytes(text);
    if (!bytes || *bytes == 0) return Bad("--chunk is a size, as 512K, or several with commas, found '{}'", text);
    ways.chunks.push_back(*bytes);
  }
  if (ways.chunks.empty()) ways.chunks = {kUsualChunk};
  if (options.merge && ways.algorithms.empty()) return Bad("--merge needs --algo: which algorithms are to merge?");
  if (options.merge && !options.goal.empty()) return Bad("--goal writes the messages of the plan; leave out --merge");
  if (options.merge) ways.merge = sim::Merge::kTogether;
  return ways;
}

Result<std::vector<std::size_t>> SizesOf(const SimOptions& options) {
  std::vector<std::size_t> sizes;
  for (const std::string& text : options.sizes) {
    const std::optional<std::size_t> bytes = ParseBytes(text);
    if (!bytes || *bytes == 0) return Bad("--sizes are sizes with commas, as 8,32M,14e9, found '{}'", text);
    sizes.push_back(*bytes);
  }
  std::ranges::sort(sizes);
  if (!sizes.empty()) return sizes;
  const std::optional<std::size_t> begin = ParseBytes(options.begin), end = ParseBytes(options.end);
  if (!begin || !end || *begin == 0 || *begin > *end) {
    return Bad("-b and -e are sizes, as 8, 32M or 1G, and -b is not above -e");
  }
  const auto factor = static_cast<std::size_t>(options.factor);
  for (std::size_t size = *begin;; size *= factor) {
    sizes.push_back(size);
    if (size > *end / factor) return sizes;
  }
}

std::string StemOf(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

}  // namespace tutti::tools
