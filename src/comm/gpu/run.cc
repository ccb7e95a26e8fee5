// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "comm/gpu/impl.h"
#include "comm/host/ledger.h"
#include "comm/host/validate.h"
#include "exec/gpu/lower/copies.h"
#include "plan/seats.h"

namespace tutti {

using comm::BytesOf;
using comm::IsEmpty;

namespace {

using exec::gpu::Launch;
using exec::gpu::PreparedPlan;
using exec::gpu::Shape;
using transport::p2p::LinkKind;
using Kind = Collective;

// What a barrier reduces.
constexpr DataType kBarrierType = DataType::kUint8;
constexpr ReduceOp kBarrierOp = ReduceOp::kMax;

LinkKind LinksOf(algo::Algorithm algorithm) {
  return algorithm == algo::Algorithm::kRing   ? LinkKind::kRing
         : algorithm == algo::Algorithm::kTree ? LinkKind::kTree
                                               : LinkKind::kDoubleTree;
}

}  // namespace

exec::gpu::Work comm::WorkOf(const Operation& o) {
  return {.in = o.in,
          .out = o.out,
          .count = o.count,
          .type = o.type,
          .op = o.op,
          .scalar = o.scalar,
          .integer_scalar = o.integer_scalar,
          .device_scalar = o.device_scalar};
}

bool GpuCommunicator::Impl::IsCaptured(sys::cuda::Stream stream) const {
  int capturing = 0;
  return driver->StreamIsCapturing(stream, &capturing) == 0 && capturing != 0;
}

Result<const PreparedPlan*> GpuCommunicator::Impl::FindPlan(algo::Algorithm algorithm, Collective collective,
                                                            int root) {
  std::unique_ptr<PreparedPlan>& slot = plans[{algorithm, collective, root}];
  if (slot == nullptr) {
    const algo::Entry& entry = algo::Get(algorithm);
    const exec::gpu::Seating* seating = entry.few_links(collective) ? FindSeating(algorithm) : nullptr;
    const Result<PreparedPlan> prepared = exec::gpu::PreparePlan(
        seating != nullptr ? algo::BuildAllOverFixedLinks(algorithm, collective, host.ranks, root)
                           : algo::BuildAll(algorithm, collective, host.ranks, root),
        host.rank, seating);
    if (!prepared.ok()) return prepared.status();
    slot = std::make_unique<PreparedPlan>(*prepared);
  }
  return slot.get();
}

const exec::gpu::Seating* GpuCommunicator::Impl::FindSeating(algo::Algorithm algorithm) {
  if (!fabric->sections().many()) return nullptr;
  const auto [it, fresh] = seatings.try_emplace(algorithm);
  if (fresh) {
    const LinkKind kind = LinksOf(algorithm);
    it->second = {
        .section = fabric->sections().SectionOf(kind),
        .seats = transport::p2p::kLinkSeats[static_cast<int>(kind)],
        .seats_of = plan::SeatRanks(algo::BuildAllOverFixedLinks(algorithm, Collective::kAllReduce, host.ranks))};
  }
  return &it->second;
}

const transport::p2p::Geometry& GpuCommunicator::Impl::GeometryOf(const PreparedPlan& plan) const {
  return fabric->sections().At(plan.section).collectives;
}

Result<const PreparedPlan*> GpuCommunicator::Impl::FindMoves(Collective collective, int root) {
  for (const algo::Entry& entry : algo::Registry()) {
    if (!entry.supports(collective, host.ranks)) continue;
    Result<const PreparedPlan*> plan = FindPlan(entry.algorithm, collective, root);
    if (plan.ok() && (*plan)->forms.moves && (*plan)->blocks_per_piece == 1) return plan;
  }
  return nullptr;
}

Result<const comm::GpuRecipe*> GpuCommunicator::Impl::FindRecipe(Collective collective, std::size_t bytes, int root) {
  return FindIn(recipes, chooser, collective, bytes, root);
}

Result<const comm::GpuRecipe*> GpuCommunicator::Impl::FindIn(comm::GpuRecipes& all, tune::GpuChooser& by,
                                                             Collective collective, std::size_t bytes, int root) {
  auto& tables = all[static_cast<int>(collective)];
  if (tables.empty()) tables.resize(host.ranks);
  std::unique_ptr<comm::GpuRecipeTable>& table = tables[HasRoot(collective) ? root : 0];
  if (table == nullptr) table = std::make_unique<comm::GpuRecipeTable>();
  const int size_class = comm::SizeClass(bytes);
  comm::GpuRecipe& recipe = (*table)[size_class];
  if (recipe.plan != nullptr) [[likely]]
    return &recipe;
  Status why(Code::kInvalidUsage,
             fmt::format("NCCL_ALGO=\"{}\" and NCCL_PROTO=\"{}\" leave nothing that can do {} among {} ranks",
                         host.settings.algo, host.settings.proto, Name(collective), host.ranks));
  for (const tune::GpuChoice& choice : by.Candidates(collective, comm::SmallestOfClass(size_class))) {
    const Result<const PreparedPlan*> plan = FindPlan(choice.algorithm, collective, root);
    if (!plan.ok()) {  // does not fit a kernel's arguments: on all ranks alike
      why = plan.status();
      continue;
    }
    if (const Status can = choice.direct ? Status::Ok() : executor.CanRunSteps(**plan, choice.protocol); !can.ok()) {
      why = can;
      continue;
    }
    recipe = {*plan,
              {.protocol = choice.protocol,
               .channels = std::min(choice.channels, GeometryOf(**plan).Channels(static_cast<int>(choice.protocol))),
               .threads = choice.threads,
               .chunk_bytes = choice.chunk_bytes},
              choice.direct,
              choice.predicted_us};
    return &recipe;
  }
  return why;
}

Result<Launch> GpuCommunicator::Impl::Compile(const Operation& o, const PreparedPlan& plan, bool direct,
                                              const Shape& shape) {
  compiled.operation.reset();
  exec::gpu::Work work = comm::WorkOf(o);
  if (o.kind == Kind::kBarrier) {
    work = {.in = barrier_bytes, .out = barrier_bytes + 1, .count = 1, .type = kBarrierType, .op = kBarrierOp};
  }
  return direct ? executor.CompileTeams(plan, work) : executor.CompileSteps(plan, work, shape);
}

Status GpuCommunicator::Impl::Enqueue(const Launch& launch, std::span<const Operation* const> calls,
                                      sys::cuda::Stream stream) {
  const bool captured = IsCaptured(stream);
  for (const Operation* call : calls) Record(*call, captured);
  return executor.Start(launch, stream, captured, presence.IsAlone());
}

bool GpuCommunicator::Impl::IsCompiled(const Operation& o) const {
  const std::optional<Operation>& last = compiled.operation;
  return last && last->kind == o.kind && last->count == o.count && last->type == o.type && last->op == o.op &&
         last->root == o.root;
}

Status GpuCommunicator::Impl::Prepare(const Operation& o) {
  if (IsTransfer(o.kind) || IsEmpty(o) || windows->Takes(o)) return Status::Ok();
  if (windows->TakesSecondShot(o)) return Prepare(exec::gpu::ShotsOf(o, host.rank, host.ranks).scatter);
  return FindRecipe(o.kind, BytesOf(o), o.root).status();
}

Status GpuCommunicator::Impl::Validate(const Operation& o) {
  // NCCL takes an all-to-all whose output is its input and promises nothing about the result; benchmarks time that.
  Operation apart = o;
  if (o.kind == Kind::kAllToAll && o.in == o.out && o.out != nullptr) {
    apart.out = static_cast<std::byte*>(o.out) + static_cast<std::size_t>(host.ranks) * o.count * SizeOf(o.type);
  }
  TUTTI_RETURN_IF_ERROR(comm::Validate(apart, host.rank, host.ranks));
  if (host.broken.load(std::memory_order_relaxed)) [[unlikely]]
    return host.Broken();
  return Status::Ok();
}

Status GpuCommunicator::Impl::Run(const Operation& o, sys::cuda::Stream stream) {
  TUTTI_RETURN_IF_ERROR(Validate(o));
  return RunValid(o, stream);
}

Status GpuCommunicator::Impl::RunValid(const Operation& o, sys::cuda::Stream stream) {
  return IsTransfer(o.kind) ? RunTransfers(std::span(&o, 1), stream) : RunCollective(o, stream);
}

Status GpuCommunicator::Impl::RunCollective(const Operation& o, sys::cuda::Stream stream) {
  if (IsEmpty(o)) {
    Record(o, IsCaptured(stream));
    return Status::Ok();
  }
  if (!windows->empty()) {
    if (windows->Takes(o)) return RunCopies(o, stream);
    if (windows->TakesSecondShot(o)) return RunShots(o, stream);
  }
  const Operation* const call = &o;
  if (IsCompiled(o) && executor.ChangeBuffers(o.in, o.out)) [[likely]]
    return Enqueue(compiled.launch, std::span(&call, 1), stream);
  const Result<const comm::GpuRecipe*> recipe = FindRecipe(o.kind, BytesOf(o), o.root);
  if (!recipe.ok()) return recipe.status();
  const Result<Launch> launch = Compile(o, *(*recipe)->plan, (*recipe)->direct, (*recipe)->shape);
  if (!launch.ok()) return launch.status();
  TUTTI_RETURN_IF_ERROR(Enqueue(*launch, std::span(&call, 1), stream));
  const bool repeatable = o.kind != Kind::kBarrier && o.op != ReduceOp::kPreMulSum;  // else more than buffers differs
  if (repeatable && !(*recipe)->direct) {
    compiled.operation = o;
    compiled.launch = *launch;
  }
  return Status::Ok();
}

Status GpuCommunicator::Impl::RunCopies(const Operation& o, sys::cuda::Stream stream) {
  const bool captured = IsCaptured(stream);
  Record(o, captured);
  return windows->Run(o, stream, captured);
}

// Also in place: a peer's copies into this rank's output wait for a word that this stream writes behind the kernel, which
// has read the input by then.
Status GpuCommunicator::Impl::RunShots(const Operation& o, sys::cuda::Stream stream) {
  const exec::gpu::Shots shots = exec::gpu::ShotsOf(o, host.rank, host.ranks);
  whole = &o;
  const Status scattered = RunCollective(shots.scatter, stream);
  whole = nullptr;
  return scattered.ok() ? windows->Run(shots.gather, stream, IsCaptured(stream)) : scattered;
}

void GpuCommunicator::Impl::Record(const Operation& o, bool captured) {
  if (!captured) host.ledger.RecordGpuCall(whole == nullptr ? o : *whole);
}

Status GpuCommunicator::Impl::RunTransfers(std::span<const Operation> operations, sys::cuda::Stream stream) {
  bool same = true;  // as the group before, but for buffers
  std::size_t sent = 0, received = 0;
  for (const Operation& o : operations) {
    if (!IsTransfer(o.kind)) continue;
    const bool send = o.kind == Kind::kSend;
    std::vector<exec::gpu::TransferRequest>& list = send ? sends : receives;
    std::size_t& at = send ? sent : received;
    const exec::gpu::TransferRequest request{
        .peer = o.root, .in = o.in, .out = o.out, .bytes = o.count * SizeOf(o.type)};
    same = same && at < list.size();
    if (at == list.size()) list.emplace_back();
    same = same && list[at].peer == request.peer && list[at].bytes == request.bytes;
    list[at++] = request;
  }
  same = same && sent == sends.size() && received == receives.size();
  sends.resize(sent);
  receives.resize(received);
  if (!same || !executor.ChangeBuffers(sends, receives)) {
    const Result<Launch> launch = executor.CompileTransfers(sends, receives);
    if (!launch.ok()) return launch.status();
    transfers = *launch;
  }
  alike.clear();
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind)) alike.push_back(&o);
  }
  return Enqueue(transfers, alike, stream);
}

Status GpuCommunicator::Impl::RunAs(const Operation& o, const tune::GpuChoice& choice, sys::cuda::Stream stream) {
  TUTTI_RETURN_IF_ERROR(comm::Validate(o, host.rank, host.ranks));
  if (IsEmpty(o)) return Status::Ok();
  const Collective collective = o.kind;
  const Result<const PreparedPlan*> plan = FindPlan(choice.algorithm, collective, HasRoot(collective) ? o.root : 0);
  if (!plan.ok()) return plan.status();
  const bool direct = choice.protocol == proto::Protocol::kSimple && (*plan)->forms.ForTeams();
  if (!direct) TUTTI_RETURN_IF_ERROR(executor.CanRunSteps(**plan, choice.protocol));
  const int channels =
      std::min({choice.channels, GeometryOf(**plan).Channels(static_cast<int>(choice.protocol)), most_blocks});
  const Result<Launch> launch = Compile(o, **plan, direct,
                                        {.protocol = choice.protocol,
                                         .channels = channels,
                                         .threads = choice.threads,
                                         .chunk_bytes = choice.chunk_bytes});
  if (!launch.ok()) return launch.status();
  const Operation* const call = &o;
  return Enqueue(*launch, std::span(&call, 1), stream);
}

Status GpuCommunicator::Run(const Operation& operation, void* stream) {
  return impl_->Run(operation, static_cast<sys::cuda::Stream>(stream));
}

Status GpuCommunicator::RunGroup(std::span<const Operation> operations, void* stream) {
  return impl_->RunGroup(operations, static_cast<sys::cuda::Stream>(stream));
}

std::string GpuCommunicator::Impl::Explain(const Operation& o) {
  if (IsTransfer(o.kind)) return "direct";
  if (windows->Takes(o)) return "copy engines";
  if (windows->TakesSecondShot(o)) {
    return Explain(exec::gpu::ShotsOf(o, host.rank, host.ranks).scatter) + ", then copy engines";
  }
  const std::vector<tune::GpuChoice> choices =
      chooser.Candidates(o.kind, comm::SmallestOfClass(comm::SizeClass(BytesOf(o))));
  return choices.empty() ? "nothing that NCCL_ALGO and NCCL_PROTO allow" : tune::ToString(choices.front());
}

std::string GpuCommunicator::Explain(const Operation& operation) {
  const Status s = comm::Validate(operation, impl_->host.rank, impl_->host.ranks);
  return s.ok() ? impl_->Explain(operation) : s.ToString();
}

}  // namespace tutti
