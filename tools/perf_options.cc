// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "tools/cli.h"
#include "tools/command_line.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 46;  // an address space has room for two such buffers

constexpr std::string_view kFooter =
    "OP is one of all_reduce, all_gather, reduce_scatter, broadcast, reduce, gather, scatter, all_to_all, "
    "send_recv.\n"
    "The table is nccl-tests': time per operation, algorithm and bus bandwidth, number of wrong elements; "
    "first out\n"
    "of place, then in place. Sizes count the larger of a rank's two buffers.\n\n"
    "The ranks are those of the launcher (tutti run, mpirun, torchrun, srun); without one there is one rank, "
    "and\n"
    "--ranks N starts N. The same buffers are used in every iteration unless --rotate is given.\n\n"
    "Exit code: 0, or 7 when values were wrong, 1 when an operation failed, 2 for a wrong command line.\n\n"
    "Examples:\n"
    "  tutti perf all_reduce -b 8 -e 128M -f 2 --ranks 4\n"
    "  tutti perf all_gather -b 64K -e 64K -d all --ranks 3 --threads\n"
    "  tutti perf reduce -b 1K -e 1M -f 4 -o all -r -1 --ranks 4 --all-algos\n"
    "  mpirun -n 4 tutti perf all_to_all -b 1M -e 1M -J result.json";

// What the parser fills in before it means anything.
struct Raw {
  std::string collective, min_bytes, max_bytes, step_bytes, types = "float", ops = "sum", single_copy;
  int average = 1, blocking = 0, ranks = 0;
  std::int64_t step_factor = 1;
  bool threads = false;
};

void AddSizeOptions(CommandLine& line, Raw& raw, PerfOptions& options) {
  line.Group("Sizes");
  line.Add("-b,--minbytes", raw.min_bytes, "smallest size; 8, 64K, 32M, 1G (default 32M)").Shown("SIZE");
  line.Add("-e,--maxbytes", raw.max_bytes, "largest size (default: -b, at least 32M)").Shown("SIZE");
  line.Add("-i,--stepbytes", raw.step_bytes, "from one size to the next: add this (default 1M)").Shown("SIZE");
  line.Add("-f,--stepfactor", raw.step_factor, "or multiply by this, where above 1").Between(1, 1 << 30);
  line.AddFlag("--exact-sizes", options.exact_sizes, "do not round a rank's part of a buffer down to 16 bytes");
  line.Add("-u,--unalign", options.unalign, "start buffers this many elements behind an aligned address")
      .Between(0, 1 << 20);
}

void AddOperationOptions(CommandLine& line, Raw& raw, PerfOptions& options) {
  line.Group("Operation");
  line.Add("-d,--datatype", raw.types, "element types, or all (default float)").Shown("LIST");
  line.Add("-o,--op", raw.ops, "reductions, or all (default sum)").Shown("LIST");
  line.Add("-r,--root", options.root, "root; -1: every one (default 0)").Between(-1, std::numeric_limits<int>::max());
}

void AddMeasuringOptions(CommandLine& line, Raw& raw, PerfOptions& options) {
  constexpr int kMost = 1 << 30;
  line.Group("Measuring");
  line.Add("-n,--iters", options.iterations, "iterations (default 20)").Between(1, kMost);
  line.Add("-w,--warmup_iters", options.warmup, "iterations before the measured ones (default 1)").Between(0, kMost);
  line.Add("-m,--agg_iters", options.group, "operations that an iteration runs as one group (default 1)")
      .Between(1, kMost);
  line.Add("-c,--check", options.checks, "runs whose result is checked; 0: none (default 1)").Between(0, kMost);
  line.Add("-a,--average", raw.average, "time of 0: rank 0, 1: all ranks' mean, 2: least, 3: most (default 1)")
      .Between(0, 3);
  line.Add("-z,--blocking", raw.blocking, "barrier after each iteration: 1 in the time, 3 outside of it").Between(0, 3);
  line.AddFlag("--rotate", options.rotate, "use the next piece of the buffers in every iteration, against caches");
  line.AddFlag("--gpu", options.gpu, "buffers in device memory: rank r on GPU r, modulo their number");
  line.AddFlag("--shared", options.shared, "use buffers that the ranks share (Communicator::AllocateShared)");
}

void AddLibraryOptions(CommandLine& line, Raw& raw, PerfOptions& options) {
  line.Group("Ranks and library");
  line.Add("--ranks", raw.ranks, "start this many ranks here, as processes").Between(1, 4096);
  line.AddFlag("--threads", raw.threads, "with --ranks: as threads of this process");
  line.Add("--algo", options.algo, "algorithms that may be chosen, as in NCCL_ALGO").Shown("LIST");
  line.Add("--proto", options.proto, "protocols that may be chosen, as in NCCL_PROTO").Shown("LIST");
  line.Add("--single-copy", raw.single_copy, "read the peers' memory directly: auto, off, force")
      .OneOf({"auto", "off", "force"});
  line.Add("-T,--timeout", options.timeout_s, "seconds that one wait may last").BetweenSeconds(0.0, 1e9);
  line.AddFlag("--all-algos", options.all_algorithms, "every algorithm and protocol in turn");
}

void AddOptions(CommandLine& line, Raw& raw, PerfOptions& options) {
  line.Add("OP", raw.collective, "the operation, see below").Required().Shown(" ").SuggestCollectives();
  AddSizeOptions(line, raw, options);
  AddOperationOptions(line, raw, options);
  AddMeasuringOptions(line, raw, options);
  AddLibraryOptions(line, raw, options);
  line.Group("Output");
  line.AddFlag("--show-choice", options.show_choice, "print which algorithm and protocol ran");
  line.Add("-J,--json,--output_file", options.json, "also write a JSON file in nccl-tests' layout").Shown("FILE");
  line.Group("Options");
  line.Footer(std::string(kFooter));
}

// "a,b" or "all" as values; the error names the choices.
template <typename T>
std::optional<std::string> ParseList(const std::string& text, int count, std::string_view what,
                                     std::optional<T> (*parse)(std::string_view), std::vector<T>& values) {
  std::vector<std::string_view> names;
  std::vector<T> every;
  for (int i = 0; i < count; ++i) {
    every.push_back(static_cast<T>(i));
    names.push_back(Name(every.back()));
  }
  values = every;
  if (text == "all") return std::nullopt;
  values.clear();
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<T> value = parse(word);
    if (value && static_cast<int>(*value) < count) {
      values.push_back(*value);
    } else {
      return fmt::format("'{}' is no {}; choose from {} or all", word, what, fmt::join(names, " "));
    }
  }
  if (values.empty()) return fmt::format("no {} given", what);
  return std::nullopt;
}

std::optional<std::string> ParseCollectiveName(const std::string& name, Collective& collective) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kCollectives; ++i) {
    if (static_cast<Collective>(i) != Collective::kBarrier) names.push_back(Name(static_cast<Collective>(i)));
  }
  const std::optional<Collective> parsed = ParseCollective(name);
  if (parsed && *parsed != Collective::kBarrier) {
    collective = *parsed;
    return std::nullopt;
  }
  const std::optional<std::string_view> nearest = Nearest(name, names);
  return fmt::format("there is no operation '{}'{}", name,
                     nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
}

std::optional<std::string> ParseSizes(const Raw& raw, PerfOptions& options) {
  const std::pair<const std::string*, std::size_t*> sizes[] = {{&raw.min_bytes, &options.min_bytes},
                                                               {&raw.max_bytes, &options.max_bytes},
                                                               {&raw.step_bytes, &options.step_bytes}};
  for (const auto& [text, value] : sizes) {
    if (text->empty()) continue;
    const std::optional<std::size_t> bytes = ParseBytes(*text);
    if (!bytes || *bytes > kMaxBytes) return fmt::format("'{}' is no size; write 8, 64K, 32M or 1G", *text);
    *value = *bytes;
  }
  if (raw.max_bytes.empty()) options.max_bytes = std::max(options.max_bytes, options.min_bytes);
  if (options.min_bytes > options.max_bytes) {
    return fmt::format("the smallest size (-b {}) is above the largest (-e {})", FormatBytes(options.min_bytes),
                       FormatBytes(options.max_bytes));
  }
  options.step_factor = static_cast<std::size_t>(raw.step_factor);
  if (options.step_factor == 1 && options.step_bytes == 0) return "a step of 0 bytes (-i 0) never ends";
  return std::nullopt;
}

std::optional<std::string> Interpret(const Raw& raw, PerfOptions& options) {
  using enum PerfOptions::Barrier;
  using enum PerfOptions::Launch;
  if (auto error = ParseCollectiveName(raw.collective, options.collective)) return error;
  if (auto error = ParseSizes(raw, options)) return error;
  if (auto error = ParseList<DataType>(raw.types, kNcclDataTypes, "element type", ParseDataType, options.types))
    return error;
  if (auto error = ParseList<ReduceOp>(raw.ops, kNcclReduceOps, "reduction", ParseReduceOp, options.ops)) return error;
  options.average = static_cast<PerfOptions::Average>(raw.average);
  options.barrier = raw.blocking == 1 ? kTimed : raw.blocking == 3 ? kUntimed : kNone;
  if (!raw.single_copy.empty()) {
    options.single_copy = raw.single_copy == "auto"  ? SingleCopy::kAuto
                          : raw.single_copy == "off" ? SingleCopy::kOff
                                                     : SingleCopy::kForce;
  }
  if (raw.threads && raw.ranks == 0) return "--threads needs --ranks N: how many?";
  if (raw.ranks > 0) {
    options.launch = raw.threads ? kThreads : kProcesses;
    options.ranks = raw.ranks;
    if (options.root >= raw.ranks) {
      return fmt::format("root {} does not exist among {} ranks", options.root, raw.ranks);
    }
  }
  if (options.all_algorithms) {
    if (!options.algo.empty() || !options.proto.empty() || options.single_copy) {
      return "--all-algos runs all; leave out --algo, --proto and --single-copy";
    }
    options.show_choice = true;
  }
  if (options.gpu && (options.shared || options.all_algorithms)) {
    return "--gpu goes neither with --shared nor with --all-algos, which are about host memory";
  }
  return std::nullopt;
}

}  // namespace

std::variant<PerfOptions, int> ParsePerfOptions(int argc, char** argv) {
  Raw raw;
  PerfOptions options;
  CommandLine line("Measures a collective and checks its results.", "tutti perf");
  AddOptions(line, raw, options);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  if (const std::optional<std::string> error = Interpret(raw, options)) return UsageError("tutti perf", *error);
  options.arguments.assign(argv, argv + argc);
  return options;
}

std::optional<std::size_t> NextSize(const PerfOptions& options, std::size_t bytes) {
  std::size_t next = bytes + options.step_bytes;
  if (options.step_factor > 1) {
    if (bytes > options.max_bytes / options.step_factor) return std::nullopt;
    next = bytes == 0 ? 1 : bytes * options.step_factor;
  }
  return next <= options.max_bytes ? std::optional(next) : std::nullopt;
}

Settings SettingsOf(const PerfOptions& options) {
  Settings settings = Settings::FromEnvironment();
  if (!options.algo.empty()) settings.algo = options.algo;
  if (!options.proto.empty()) settings.proto = options.proto;
  if (options.single_copy) settings.single_copy = *options.single_copy;
  if (options.timeout_s > 0) settings.timeout_ms = static_cast<std::int64_t>(options.timeout_s * 1000);
  return settings;
}

}  // namespace tutti::tools
