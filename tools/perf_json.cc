// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "tools/cli.h"
#include "tools/json.h"

namespace tutti::tools {
namespace {

constexpr int kLayoutVersion = 3;
constexpr int kMaxNames = 10000;  // path, path.0, path.1, ...

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

const char* Bool(bool value) { return value ? "true" : "false"; }

std::vector<std::string> KeptEnvironment() {
  constexpr std::string_view kKept[] = {"TUTTI_", "NCCL_",       "OMPI_COMM_",  "SLURM_PROCID=",    "SLURM_NTASKS=",
                                        "RANK=",  "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE="};
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool wanted = std::ranges::any_of(kKept, [&](std::string_view prefix) { return text.starts_with(prefix); });
    if (wanted && !text.starts_with("TUTTI_ID=")) kept.emplace_back(text);
  }
  return kept;
}

Json ToJson(const std::optional<Measurement>& m) {
  if (!m) return nullptr;
  return {{"time", m->time_us},
          {"alg_bw", m->algorithm_gbps},
          {"bus_bw", m->bus_gbps},
          {"nwrong", m->wrong ? Json(*m->wrong) : Json(nullptr)}};
}

Json ToJson(const RankInfo& info) {
  return {{"rank", info.rank},         {"group", 0},          {"pid", info.pid},           {"hostname", info.host},
          {"device", info.local_rank}, {"device_hex", "cpu"}, {"device_info", info.device}};
}

Json ConfigOf(const PerfOptions& options, std::span<const RankInfo> ranks) {
  Json config = {{"nthreads", options.launch == PerfOptions::Launch::kThreads ? options.ranks : 1},
                 {"ngpus", 0},
                 {"minimum_bytes", options.min_bytes},
                 {"maximum_bytes", options.max_bytes}};
  if (options.step_factor > 1) {
    config["step_factor"] = options.step_factor;
  } else {
    config["step_bytes"] = options.step_bytes;
  }
  config["warmup_iters"] = options.warmup;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = options.group;
  config["validation"] = options.checks;
  config["graph"] = 0;
  config["blocking_collectives"] = Bool(options.barrier != PerfOptions::Barrier::kNone);
  config["per_iter_timing"] = Bool(false);
  config["per_iter_skip"] = 0;
  config["parallel_init"] = Bool(false);
  config["devices"] = Json::Array();
  for (const RankInfo& info : ranks) config["devices"].Append(ToJson(info));
  return config;
}

}  // namespace

struct JsonReport::Impl {
  std::unique_ptr<std::FILE, CloseFile> file;
  std::string path;
  Json json;
};

JsonReport::JsonReport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonReport::JsonReport(JsonReport&&) noexcept = default;
JsonReport& JsonReport::operator=(JsonReport&&) noexcept = default;
JsonReport::~JsonReport() = default;

const std::string& JsonReport::path() const { return impl_->path; }

Result<JsonReport> JsonReport::Create(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  for (int i = 0; i < kMaxNames; ++i) {
    impl->file.reset(std::fopen(impl->path.c_str(), "wx"));
    if (impl->file != nullptr) return JsonReport(std::move(impl));
    if (errno != EEXIST) break;
    impl->path = fmt::format("{}.{}", path, i);
  }
  return Status(Code::kSystem, fmt::format("cannot create {}: {}", impl->path, std::strerror(errno)));
}

void JsonReport::Begin(const PerfOptions& options, std::span<const RankInfo> ranks) {
  Json& json = impl_->json;
  json["version"] = kLayoutVersion;
  json["start_time"] = Now();
  json["args"] = options.arguments;
  json["env"] = KeptEnvironment();
  json["nccl_version"] = nullptr;
  json["tutti_version"] = Version();
  json["config"] = ConfigOf(options, ranks);
  json["results"] = Json::Array();
}

void JsonReport::Add(const Row& row, int iterations) {
  Json result = {{"size", row.bytes},
                 {"count", row.count},
                 {"type", Name(row.type)},
                 {"redop", row.op},
                 {"root", fmt::format("{:6}", row.root)}};
  result["out_of_place"] = ToJson(row.out_of_place);
  result["in_place"] = ToJson(row.in_place);
  result["actual_iterations"] = iterations;
  result["experiment_name"] = nullptr;
  result["algorithm"] = row.algorithm;
  result["protocol"] = row.protocol;
  result["channels"] = row.channels;
  impl_->json["results"].Append(std::move(result));
}

Status JsonReport::Finish(const Summary& summary) {
  Json& json = impl_->json;
  json["out_of_bounds"] = {{"count", summary.wrong}, {"okay", Bool(summary.wrong == 0)}};
  json["average_bus_bandwidth"] = {{"bandwidth", summary.mean_bus_gbps},
                                   {"okay", summary.required_gbps < 0 ? "unchecked" : Bool(summary.fast_enough())}};
  json["errors"] = Json::Array();
  if (!summary.error.empty()) json["errors"].Append(summary.error);
  json["end_time"] = Now();
  const std::string text = json.Dump(1) + "\n";
  std::FILE* file = impl_->file.get();
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    return Status(Code::kSystem, fmt::format("cannot write {}: {}", impl_->path, std::strerror(errno)));
  }
  return Status::Ok();
}

}  // namespace tutti::tools
