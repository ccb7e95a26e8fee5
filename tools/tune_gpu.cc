// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_gpu.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "comm/agree/gpu_machine.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/memory.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/runner.h"
#include "comm/gpu/window.h"
#include "exec/gpu/lower/compile.h"
#include "plan/plan.h"
#include "sys/cuda/cuda.h"
#include "tools/cli.h"
#include "tools/gpu_timer.h"
#include "tools/launch.h"
#include "tools/median.h"
#include "tools/tuning_store.h"
#include "transport/p2p/fabric.h"
#include "tune/gpu_model.h"
#include "tutti/tutti.h"

namespace tutti::tools {
namespace {

using sys::cuda::Check;

constexpr int kRounds = 5;
constexpr double kNoWorse = 0.005;  // of a mean regret: what times differ by when they are taken again
constexpr int kWarmUps = 2000;      // clocks rise with work: some tens of milliseconds of it first
constexpr std::size_t kMib = std::size_t{1} << 20, kWarmUpBytes = 4 * kMib;
constexpr std::size_t kSizes[] = {8, 1024, 8192, 65536, 262144, kMib, 4 * kMib, 16 * kMib, 64 * kMib, 256 * kMib};
constexpr std::size_t kMostLl = kMib, kLeastSimple = std::size_t{256} << 10;
constexpr int kMostRanks = 128, kMostMeasurements = 4096;

// What the ranks share with whoever started them.
struct Board {
  int gpus;
  bool staged;
  comm::GpuProfile profiles[kMostRanks];
  // Of GpuChooserOptions.
  int max_channels, max_simple_channels, min_channels;
  bool whole_lines;
  GpuMeasurement measurements[kMostMeasurements];
  int count;
  char failure[512];
};
static_assert(std::is_trivially_copyable_v<Board>);

// A rank with its GPU and two buffers there.
class Rank {
 public:
  Rank(Communicator& communicator, Board& board) : communicator_(communicator), board_(board) {}
  ~Rank() {
    timer_.reset();
    gpu_.reset();  // waits for its kernels, which use the buffers
    if (in_ != nullptr) comm::FreeOnGpu(in_);
    if (out_ != nullptr) comm::FreeOnGpu(out_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  Status Measure() {
    TUTTI_RETURN_IF_ERROR(Open());
    const Operation warm = MakeOperation(Collective::kAllReduce, kWarmUpBytes);
    for (int i = 0; i < kWarmUps; ++i) TUTTI_RETURN_IF_ERROR(gpu_->Run(warm, timer_->stream()));
    for (const std::size_t bytes : kSizes) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (collective == Collective::kSendRecv || collective == Collective::kBarrier) continue;
        TUTTI_RETURN_IF_ERROR(MeasureWays(collective, bytes));
      }
    }
    TUTTI_RETURN_IF_ERROR(MeasureCopies());
    return gpu_->Check();
  }

 private:
  Status Open() {
    const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
    int gpus = 1, device = 0;
    if (driver.ok() && (*driver)->DeviceGetCount(&gpus) == 0 && gpus > 0) device = communicator_.rank() % gpus;
    // With copy engines where they can do it. The ranks agree on an error of any.
    Result<GpuCommunicator> made = GpuCommunicator::Create(communicator_, {.device = device, .zero_ctas = true});
    if (!made.ok()) return made.status();
    gpu_.emplace(std::move(*made));
    const GpuCommunicator::Impl& impl = *gpu_->impl();
    TUTTI_RETURN_IF_ERROR(Check(**driver, (*driver)->CtxSetCurrent(impl.context.get()), "the GPU's context"));
    for (std::byte** buffer : {&in_, &out_}) {
      const Result<void*> memory = comm::AllocateOnGpu(std::end(kSizes)[-1]);
      if (!memory.ok()) return memory.status();
      *buffer = static_cast<std::byte*>(*memory);
      if (*buffer == nullptr) return Status(Code::kUnsupported, "no device memory can be had");
    }
    timer_.emplace(communicator_, **driver);
    board_.profiles[communicator_.rank()] = comm::ProfileOf(**driver, device);
    if (communicator_.rank() != 0) return Status::Ok();
    const tune::GpuChooserOptions& options = gpu_->impl()->planner.chooser().options();
    board_.gpus = gpus;
    board_.staged = impl.fabric->staged();
    board_.max_channels = options.max_channels;
    board_.max_simple_channels = options.max_simple_channels;
    board_.min_channels = options.min_channels;
    board_.whole_lines = options.whole_lines;
    return Status::Ok();
  }

  Operation MakeOperation(Collective collective, std::size_t bytes) const {
    return {.kind = collective,
            .in = in_,
            .out = out_,
            .count = MeasuredCount(collective, bytes, communicator_.ranks()),
            .type = DataType::kFloat32};
  }

  Status MeasureWays(Collective collective, std::size_t size) {
    GpuCommunicator::Impl& impl = *gpu_->impl();
    const Operation o = MakeOperation(collective, size);
    const std::size_t bytes = o.count * sizeof(float);
    for (const tune::GpuChoice& way : impl.planner.chooser().Candidates(collective, bytes)) {
      if (!IsMeasured(way, size) || RunsByTeamsInstead(impl, collective, way)) continue;
      const Result<double> us = Time([&](sys::cuda::Stream stream) { return impl.runner.RunAs(o, way, stream); }, size);
      if (!us.ok() && us.status().code() == Code::kUnsupported) continue;  // on all ranks alike
      if (!us.ok()) return us.status();
      Note({.collective = collective, .bytes = bytes, .algorithm = way.algorithm, .protocol = way.protocol, .us = *us});
    }
    return Status::Ok();
  }

  // RunAs leaves to teams all that they can do, also where another algorithm with the same plan is predicted to be theirs.
  static bool RunsByTeamsInstead(GpuCommunicator::Impl& impl, Collective collective, const tune::GpuChoice& way) {
    if (way.direct || way.protocol != proto::Protocol::kSimple) return false;
    const auto plan = impl.planner.FindPlan(way.algorithm, collective, 0);
    return plan.ok() && (*plan)->forms.ForTeams();
  }

  // all_gathers into a window, where copy engines can do that here.
  Status MeasureCopies() {
    GpuCommunicator::Impl& impl = *gpu_->impl();
    const auto window = impl.windows.Register(out_, std::end(kSizes)[-1], comm::GpuWindows::Symmetry::kSymmetric);
    if (!window.ok()) return window.status();
    if (*window == nullptr) return Status::Ok();
    for (const std::size_t size : {std::size_t{8192}, kMib, 16 * kMib, 256 * kMib}) {
      const Operation o = MakeOperation(Collective::kAllGather, size);
      if (impl.windows.FindCopies(o) == nullptr) return Status::Ok();
      const Result<double> us = Time([&](sys::cuda::Stream stream) { return gpu_->Run(o, stream); }, size);
      if (!us.ok()) return us.status();
      const auto peers = static_cast<std::size_t>(communicator_.ranks() - 1);
      Note({.collective = Collective::kAllGather, .bytes = o.count * sizeof(float) * peers, .copies = true, .us = *us});
    }
    return Status::Ok();
  }

  Result<double> Time(const GpuTimer::Enqueue& enqueue, std::size_t bytes) {
    Result<GpuTimer::Batch> batch = timer_->Prepare(enqueue, OperationsFor(bytes), true);
    if (!batch.ok()) return batch.status();
    std::vector<double> us;
    for (int round = 0; round < kRounds; ++round) {
      const Result<GpuTimer::Timing> time = timer_->Time(*batch);
      if (!time.ok()) return time.status();
      us.push_back(time->us);
    }
    timer_->Forget(*batch);
    return MedianOf(std::move(us));
  }

  void Note(const GpuMeasurement& measurement) {
    if (communicator_.rank() != 0 || board_.count == kMostMeasurements || measurement.us <= 0) return;
    board_.measurements[board_.count++] = measurement;
  }

  Communicator& communicator_;
  Board& board_;
  std::optional<GpuCommunicator> gpu_;
  std::optional<GpuTimer> timer_;
  std::byte *in_ = nullptr, *out_ = nullptr;
};

Status MeasureAsRank(int rank, int ranks, const UniqueId& id, Board& board) {
  Settings settings = Settings::FromEnvironment();
  std::error_code ignored;
  if (!std::filesystem::exists(settings.tuning_file, ignored)) settings.tuning_file.clear();  // it is to be written
  settings.algo.clear();                                                                      // all ways are measured
  settings.proto.clear();
  Result<Communicator> communicator =
      Communicator::Create({.rank = rank, .ranks = ranks, .id = id, .settings = settings});
  if (!communicator.ok()) return communicator.status();
  return Rank(*communicator, board).Measure();
}

// Runs `body` in so many processes that share the board. An error is that of the rank that failed first.
Status RunRanks(int ranks, Board& board, const std::function<Status(int rank)>& body) {
  const int code = LaunchRanks(ranks, {.name = "tutti tune", .quiet_codes = {kExitFailed}}, [&](int rank) {
    const Status s = body(rank);
    if (!s.ok()) std::snprintf(board.failure, sizeof(board.failure), "%s", s.message().c_str());
    return s.ok() ? kExitOk : kExitFailed;
  });
  if (code == 0) return Status::Ok();
  return Status(Code::kUnsupported, fmt::format("the GPUs could not be measured: {}",
                                                board.failure[0] != 0 ? board.failure : "a rank died"));
}

// Asked of a process of its own, since a driver that is in use does not survive a fork.
Result<int> CountGpus(Board& board) {
  const Status s = RunRanks(1, board, [&](int) -> Status {
    const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
    if (!driver.ok()) return driver.status();
    return Check(**driver, (*driver)->DeviceGetCount(&board.gpus), "counting GPUs");
  });
  if (s.ok() && board.gpus > 0) return board.gpus;
  return Status(Code::kUnsupported,
                fmt::format("{}. Run `tutti tune --gpu` on the machine that has the GPUs; without it choices go by the "
                            "tables that are compiled in (`tutti env --tables`)",
                            s.ok() ? "the driver sees no GPU" : s.message()));
}

struct Unmap {
  void operator()(Board* board) const { munmap(board, sizeof(Board)); }
};

}  // namespace

bool IsMeasured(const tune::GpuChoice& way, std::size_t bytes) {
  if (way.protocol == proto::Protocol::kLl) return bytes <= kMostLl;
  return way.protocol != proto::Protocol::kSimple || bytes >= kLeastSimple;
}

std::span<const std::size_t> MeasuredSizes() { return kSizes; }

std::size_t MeasuredCount(Collective collective, std::size_t bytes, int ranks) {
  const bool pieces = plan::InPieces(collective, ranks) > 1 || plan::OutPieces(collective, ranks) > 1;
  return std::max<std::size_t>(bytes / sizeof(float) / static_cast<std::size_t>(pieces ? ranks : 1), 1);
}

std::string DescribeFit(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements,
                        const tune::GpuTable& before, const tune::GpuTable& after) {
  std::string text = DescribeChanges(before, after);
  const auto add = [&](const char* when, const tune::GpuTable& table) {
    tune::GpuChooserOptions by = options;
    by.machine = table.machine;
    const FitQuality q = QualityOf(by, measurements);
    text += fmt::format(
        "# {} \"{}\": predictions are off by {:.1f} % (median of {} times); choices take {:.1f} % longer "
        "than the best way that was measured (mean of {})",
        when, table.name, 100 * q.median_error, measurements.size(), 100 * q.mean_regret, q.choices);
    if (q.worst_regret > 0) {
      text += fmt::format(", at worst {:.1f} %: {} of {}", 100 * q.worst_regret, Name(q.worst_collective),
                          FormatBytes(q.worst_bytes));
    }
    text += '\n';
  };
  add("before, by", before);
  add("now, by", after);
  return text;
}

tune::GpuTable TableOf(const tune::GpuSituation& s, const tune::GpuMachine& machine) {
  tune::GpuTable table{.gpu = s.gpu.empty() ? "*" : s.gpu,
                       .memory = s.staged ? "host" : "gpu",
                       .compute_capability = s.compute_capability,
                       .multiprocessors = s.multiprocessors,
                       .ranks_least = s.ranks,
                       .ranks_most = s.ranks,
                       .ranks_per_gpu = s.ranks_per_gpu,
                       .machine = machine};
  for (const char c : s.gpu) {
    table.name += std::isalnum(static_cast<unsigned char>(c)) != 0
                      ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                      : '_';
  }
  if (table.name.empty()) table.name = "several_gpus";
  table.name += fmt::format("_{}_multiprocessors_{}_ranks_{}_per_gpu{}", s.multiprocessors, s.ranks, s.ranks_per_gpu,
                            s.staged ? "_host_memory" : "");
  return table;
}

Result<std::string> TuneGpu(const std::string& file, int ranks) {
  void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Status(Code::kSystem, "no memory for the measurement");
  const std::unique_ptr<Board, Unmap> board(new (page) Board{});
  const Result<int> gpus = CountGpus(*board);
  if (!gpus.ok()) return gpus.status();
  if (ranks == 0) ranks = std::max(*gpus, 2);
  if (ranks < 2 || ranks > kMostRanks) {
    return Status(Code::kInvalidUsage, fmt::format("{} ranks cannot be measured: 2 to {} can", ranks, kMostRanks));
  }
  Result<tune::TuningFile> tables = StoredTables(file);
  if (!tables.ok()) return tables.status();
  const Result<UniqueId> id = CreateUniqueId();
  if (!id.ok()) return id.status();
  TUTTI_RETURN_IF_ERROR(RunRanks(ranks, *board, [&](int rank) { return MeasureAsRank(rank, ranks, *id, *board); }));

  const tune::GpuSituation situation =
      comm::SituationOf(std::span(board->profiles).first(static_cast<std::size_t>(ranks)), board->staged);
  const tune::GpuTable before = tune::FindGpuTable(tables->gpus, situation);
  tune::GpuChooserOptions options{.ranks = ranks,
                                  .max_channels = board->max_channels,
                                  .max_simple_channels = board->max_simple_channels,
                                  .min_channels = board->min_channels,
                                  .direct = true,
                                  .whole_lines = board->whole_lines,
                                  .machine = before.machine};
  const std::span<const GpuMeasurement> measurements(board->measurements, static_cast<std::size_t>(board->count));
  const tune::GpuTable after = TableOf(situation, FitGpuMachine(options, measurements));
  std::string text = DescribeFit(options, measurements, before, after);
  tune::GpuChooserOptions by_fit = options;
  by_fit.machine = after.machine;
  if (QualityOf(by_fit, measurements).mean_regret > QualityOf(options, measurements).mean_regret + kNoWorse) {
    return text + "# not stored: choices by the table before are better. Was the machine idle?\n";
  }
  tables->Put(after);
  TUTTI_RETURN_IF_ERROR(WriteTables(file, *tables));
  return text + fmt::format("# stored in {}\n", file);
}

}  // namespace tutti::tools
