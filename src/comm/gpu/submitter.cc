// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/submitter.h"

#include <optional>
#include <utility>
#include <vector>

#include "comm/gpu/core.h"
#include "comm/gpu/log_batch.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/recipe.h"
#include "comm/gpu/transfers.h"
#include "comm/gpu/work.h"
#include "comm/host/ledger.h"
#include "exec/gpu/launch/batch.h"
#include "exec/gpu/launch/executor.h"
#include "exec/gpu/launch/launch.h"

namespace tutti::comm {
namespace {

using exec::gpu::Launch;
using exec::gpu::PreparedPlan;
using exec::gpu::Shape;
using Kind = Collective;

// What a barrier reduces.
constexpr DataType kBarrierType = DataType::kUint8;
constexpr ReduceOp kBarrierOp = ReduceOp::kMax;

GpuCore::LaunchedHow HowOf(const GpuRecipe& recipe, const Shape& shape) {
  return {.algorithm = static_cast<int>(recipe.algorithm),
          .protocol = static_cast<int>(shape.protocol),
          .channels = shape.channels};
}

}  // namespace

struct GpuSubmitter::Inside {
  Inside(GpuCore& core, Ledger& ledger, GpuPlanner& planner)
      : core(core),
        ledger(ledger),
        executor(core.driver),
        planner(planner),
        transfers(core.rank, core.ranks, executor.failures()) {}

  // Run, where the last launch can not be repeated. Not inlined: what is repeated then needs few registers, which is 1 ns of 64.
  [[gnu::noinline]] Status RunAnew(const Operation& operation, sys::cuda::Stream stream);
  // As the planner says. The launch is `compiled`'s.
  Result<const Launch*> CompileAnew(const Operation& operation);
  Result<Launch> Compile(const Operation& operation, const PreparedPlan& plan, bool direct, const Shape& shape);
  // Of those that were taken.
  Result<Launch> CompileTransfers();
  // The one way of all calls into a stream: writes them into the black box, unless they are captured, and starts what they were
  // compiled to.
  Status Enqueue(const Launch& launch, std::span<const Operation* const> calls, sys::cuda::Stream stream);
  // The same where somebody is told of calls.
  [[gnu::noinline]] Status StartObserved(const Launch& launch, std::uint64_t number,
                                         std::span<const Operation* const> calls, sys::cuda::Stream stream,
                                         bool captured);
  Status Start(const Launch& launch, std::uint64_t number, sys::cuda::Stream stream, bool captured) {
    return executor.Start(launch, {.number = number, .captured = static_cast<std::uint8_t>(captured ? 1 : 0)}, stream,
                          core.presence.IsAlone());
  }
  // Whether what was compiled last is this operation, but for its buffers.
  bool IsCompiled(const Operation& operation) const;

  // The last collective that can be repeated, and its launch; a call that differs in its buffers at most costs no more than those.
  struct {
    std::optional<Operation> operation;
    Launch launch;
    GpuCore::LaunchedHow how;
  } compiled;
  GpuCore::LaunchedHow how_of_others;  // of the launch that is being enqueued, where it is not `compiled`'s
  GpuCore& core;
  Ledger& ledger;
  exec::gpu::Executor executor;
  GpuPlanner& planner;
  std::byte* barrier_bytes = nullptr;
  GpuTransfers transfers;
  Launch of_transfers;                 // of the last ones
  std::vector<exec::gpu::Work> works;  // that are being enqueued
};

GpuSubmitter::GpuSubmitter(GpuCore& core, Ledger& ledger, GpuPlanner& planner)
    : inside_(std::make_unique<Inside>(core, ledger, planner)) {}

GpuSubmitter::~GpuSubmitter() = default;

void GpuSubmitter::SetUp(const exec::gpu::ExecutorSetup& setup, std::byte* barrier_bytes) {
  inside_->executor.SetUp(inside_->core.rank, setup);
  inside_->barrier_bytes = barrier_bytes;
}

Result<Launch> GpuSubmitter::Inside::Compile(const Operation& o, const PreparedPlan& plan, bool direct,
                                             const Shape& shape) {
  compiled.operation.reset();
  exec::gpu::Work work = WorkOf(o);
  if (o.kind == Kind::kBarrier) {
    work = {.in = barrier_bytes, .out = barrier_bytes + 1, .count = 1, .type = kBarrierType, .op = kBarrierOp};
  }
  return direct ? executor.CompileTeams(plan, work) : executor.CompileSteps(plan, work, shape);
}

Status GpuSubmitter::Inside::Enqueue(const Launch& launch, std::span<const Operation* const> enqueued,
                                     sys::cuda::Stream stream) {
  const bool captured = core.IsCaptured(stream);
  std::uint64_t number = 0;  // of the last one
  for (const Operation* call : enqueued) {
    if (!captured) number = ledger.RecordGpuCall(*call);
  }
  if (core.observed != nullptr) [[unlikely]]
    return StartObserved(launch, number, enqueued, stream, captured);
  return Start(launch, number, stream, captured);
}

Status GpuSubmitter::Inside::StartObserved(const Launch& launch, std::uint64_t number,
                                           std::span<const Operation* const> enqueued, sys::cuda::Stream stream,
                                           bool captured) {
  GpuCore::LaunchedHow how = &launch == &compiled.launch ? compiled.how : std::exchange(how_of_others, {});
  how.threads = launch.threads;
  return core.LaunchObserved(enqueued, how, stream, captured, [&] { return Start(launch, number, stream, captured); });
}

bool GpuSubmitter::Inside::IsCompiled(const Operation& o) const {
  const std::optional<Operation>& last = compiled.operation;
  return last && last->kind == o.kind && last->count == o.count && last->type == o.type && last->op == o.op &&
         last->root == o.root;
}

Status GpuSubmitter::Run(const Operation& o, sys::cuda::Stream stream) {
  Inside& c = *inside_;
  const Operation* const call = &o;
  if (c.IsCompiled(o) && c.executor.ChangeBuffers(o.in, o.out)) [[likely]]
    return c.Enqueue(c.compiled.launch, std::span(&call, 1), stream);
  return c.RunAnew(o, stream);
}

Status GpuSubmitter::Inside::RunAnew(const Operation& o, sys::cuda::Stream stream) {
  const Operation* const call = &o;
  const Result<const Launch*> launch = CompileAnew(o);
  return launch.ok() ? Enqueue(**launch, std::span(&call, 1), stream) : launch.status();
}

Result<const Launch*> GpuSubmitter::Inside::CompileAnew(const Operation& o) {
  const Result<const GpuRecipe*> recipe = planner.FindRecipe(o.kind, BytesOf(o), o.root);
  if (!recipe.ok()) return recipe.status();
  const Result<Launch> launch = Compile(o, *(*recipe)->plan, (*recipe)->direct, (*recipe)->shape);
  if (!launch.ok()) return launch.status();
  compiled.launch = *launch;
  compiled.how = HowOf(**recipe, (*recipe)->shape);
  const bool repeatable = o.kind != Kind::kBarrier && o.op != ReduceOp::kPreMulSum;  // else more than buffers differs
  if (repeatable && !(*recipe)->direct) compiled.operation = o;
  return &compiled.launch;
}

Status GpuSubmitter::RunEmpty(const Operation& o, sys::cuda::Stream stream) {
  const Operation* const call = &o;
  return inside_->Enqueue(Launch(), std::span(&call, 1), stream);
}

// Of two shots also in place: a peer's copies into this rank's output wait for a word that this stream writes behind the
// kernel, which has read the input by then.
Status GpuSubmitter::RunCopies(const Operation& o, const PreparedPlan& plan, const Operation* first,
                               std::span<std::byte* const> outputs, sys::cuda::Stream stream) {
  Inside& c = *inside_;
  const Operation* const call = &o;
  const Launch copies = c.executor.CompileCopies(plan, WorkOf(o), outputs);
  Launch all = copies;
  if (first != nullptr) {
    const Result<const Launch*> kernel = c.CompileAnew(*first);
    if (!kernel.ok()) return kernel.status();
    all = **kernel;
    all.next = &copies;
  }
  const Status s = c.Enqueue(all, std::span(&call, 1), stream);
  if (!s.ok()) c.core.Break(s);
  return s;
}

Status GpuSubmitter::RunAs(const Operation& o, const GpuRecipe& recipe, sys::cuda::Stream stream) {
  const Result<Launch> launch = inside_->Compile(o, *recipe.plan, recipe.direct, recipe.shape);
  if (!launch.ok()) return launch.status();
  inside_->how_of_others = HowOf(recipe, recipe.shape);
  const Operation* const call = &o;
  return inside_->Enqueue(*launch, std::span(&call, 1), stream);
}

Result<Launch> GpuSubmitter::Inside::CompileTransfers() {
  const Result<const PreparedPlan*> plan = transfers.FindPlan();
  if (!plan.ok()) return plan.status();
  return executor.CompileGroup(**plan, transfers.data());
}

Status GpuSubmitter::RunTransfers(std::span<const Operation> operations, sys::cuda::Stream stream) {
  Inside& c = *inside_;
  if (!c.transfers.Take(operations) || !c.executor.ChangeBuffers(c.transfers.data())) {
    const Result<Launch> launch = c.CompileTransfers();
    if (!launch.ok()) {
      c.transfers.Forget();
      return launch.status();
    }
    c.of_transfers = *launch;
  }
  return c.Enqueue(c.of_transfers, c.transfers.calls(), stream);
}

Status GpuSubmitter::RunBatch(std::span<const Operation* const> operations, const GpuRecipe& recipe,
                              const Shape& cut_by, sys::cuda::Stream stream) {
  Inside& c = *inside_;
  const PreparedPlan& plan = *recipe.plan;
  c.works.clear();
  for (const Operation* o : operations) c.works.push_back(WorkOf(*o));
  Shape shape = cut_by;
  const exec::gpu::BatchCut cut = c.executor.CutBatch(plan, c.works, shape);
  shape.threads = c.planner.ThreadsOfBatch(shape.protocol, cut.message_bytes);
  const Result<Launch> launch = c.executor.CompileBatch(plan, c.works, shape, cut);
  if (!launch.ok()) return launch.status();
  c.how_of_others = HowOf(recipe, shape);
  LogBatch(*operations[0], static_cast<int>(operations.size()), shape, cut.blocks);
  return c.Enqueue(*launch, operations, stream);
}

exec::gpu::Executor& GpuSubmitter::executor() { return inside_->executor; }
exec::gpu::Failures& GpuSubmitter::failures() { return inside_->executor.failures(); }
Status GpuSubmitter::LoadKernels() { return inside_->executor.LoadKernels(); }
std::uint64_t GpuSubmitter::ends_to_count() const { return inside_->executor.ends_to_count(); }

}  // namespace tutti::comm
