// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "comm/gpu_impl.h"
#include "exec/gpu/copies.h"

namespace tutti {

using comm::BytesOf;
using comm::CollectiveOf;
using comm::IsEmpty;
using comm::IsTransfer;

namespace {

using exec::gpu::PreparedPlan;
using exec::gpu::Shape;
using Kind = Operation::Kind;

// What a barrier reduces.
constexpr DataType kBarrierType = DataType::kUint8;
constexpr ReduceOp kBarrierOp = ReduceOp::kMax;

// Of direct ways: whether ranks fold or pass on what they receive.
bool IsRelayed(const PreparedPlan& plan) {
  const bool broadcast = plan.collective == Collective::kBroadcast;
  return Reduces(plan.collective) || (broadcast && (plan.blocks_per_piece > 1 || plan.chain));
}

}  // namespace

bool comm::MovesOnly(const Operation& o, const PreparedPlan& plan, proto::Protocol protocol) {
  if (o.kind == Kind::kBarrier) return false;
  const bool scales = o.op == ReduceOp::kAvg || o.op == ReduceOp::kPreMulSum;
  return !Reduces(plan.collective) || (plan.copies && !scales && protocol == proto::Protocol::kSimple);
}

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

// Launches overlap in streams, where it saves 0.7 us of 4.9; in graphs it would cost 0.1 us.
exec::gpu::Launcher::Overlap GpuCommunicator::Impl::OverlapFor(int blocks, int threads, bool captured) {
  using Overlap = exec::gpu::Launcher::Overlap;
  return !captured && overlap_limit.Admit(blocks, threads, presence.IsAlone()) ? Overlap::kWithPrevious : Overlap::kNo;
}

Result<const PreparedPlan*> GpuCommunicator::Impl::FindPlan(algo::Algorithm algorithm, Collective collective,
                                                            int root) {
  std::unique_ptr<PreparedPlan>& slot = plans[{algorithm, collective, root}];
  if (slot == nullptr) {
    const Result<PreparedPlan> prepared =
        exec::gpu::PreparePlan(algo::BuildAll(algorithm, collective, host.ranks, root), host.rank);
    if (!prepared.ok()) return prepared.status();
    slot = std::make_unique<PreparedPlan>(*prepared);
  }
  return slot.get();
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
    recipe = {*plan,
              {.protocol = choice.protocol,
               .channels = choice.channels,
               .threads = choice.threads,
               .chunk_bytes = choice.chunk_bytes},
              choice.direct,
              choice.predicted_us};
    return &recipe;
  }
  return why;
}

Status GpuCommunicator::Impl::Enqueue(const Operation& o, const PreparedPlan& plan, const Shape& shape,
                                      sys::cuda::Stream stream) {
  compiled.operation.reset();
  const bool barrier = o.kind == Kind::kBarrier;
  exec::gpu::Work work = comm::WorkOf(o);
  if (barrier) {  // one byte, in the words that kernels of this rank may use
    auto* byte = reinterpret_cast<std::byte*>(program.host) + sizeof(exec::gpu::HostWords);
    work = {.in = byte, .out = byte + 1, .count = 1, .type = kBarrierType, .op = kBarrierOp};
  }
  const Result<sys::cuda::Kernel> kernel = FindKernel(o, plan, shape.protocol);
  if (!kernel.ok()) return kernel.status();
  exec::gpu::Compile(plan, work, shape, fabric->geometry(), program);
  program.states += fabric->state_shift();
  compiled.kernel = *kernel;
  compiled.channels = static_cast<int>(program.full_parts) + (program.parts[1].count != 0 ? 1 : 0);
  compiled.threads = shape.threads;
  return LaunchProgram(o, stream);
}

Status GpuCommunicator::Impl::LaunchProgram(const Operation& o, sys::cuda::Stream stream) {
  const int channels = compiled.channels;
  const bool captured = IsCaptured(stream);
  program.captured = captured ? 1 : 0;
  Record(o, captured);
  TUTTI_RETURN_IF_ERROR(launcher.Launch(compiled.kernel, program, channels, compiled.threads,
                                        OverlapFor(channels, compiled.threads, captured), stream));
  blocks_launched += channels;
  ++kernels_launched;
  if (!captured) ends_to_count += channels;
  return Status::Ok();
}

bool GpuCommunicator::Impl::IsCompiled(const Operation& o) const {
  const std::optional<Operation>& last = compiled.operation;
  return last && last->kind == o.kind && last->count == o.count && last->type == o.type && last->op == o.op &&
         last->root == o.root;
}

Result<sys::cuda::Kernel> GpuCommunicator::Impl::FindKernel(const Operation& o, const PreparedPlan& plan,
                                                            proto::Protocol protocol) {
  if (o.kind == Kind::kBarrier) return launcher.Find(kBarrierType, kBarrierOp, protocol);
  return comm::MovesOnly(o, plan, protocol) ? launcher.FindMove(protocol) : launcher.Find(o.type, o.op, protocol);
}

Status GpuCommunicator::Impl::Prepare(const Operation& o) {
  if (IsTransfer(o.kind) || IsEmpty(o) || windows->Takes(o)) return Status::Ok();
  if (windows->TakesSecondShot(o)) return Prepare(exec::gpu::ShotsOf(o, host.rank, host.ranks).scatter);
  return FindRecipe(CollectiveOf(o.kind), BytesOf(o), o.root).status();
}

Status GpuCommunicator::Impl::Validate(const Operation& o) {
  // NCCL takes an all-to-all whose output is its input and promises nothing about the result; benchmarks time that.
  Operation apart = o;
  if (o.kind == Kind::kAllToAll && o.in == o.out && o.out != nullptr) {
    apart.out = static_cast<std::byte*>(o.out) + static_cast<std::size_t>(host.ranks) * o.count * SizeOf(o.type);
  }
  TUTTI_RETURN_IF_ERROR(host.Validate(apart));
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
  if (IsEmpty(o)) return Status::Ok();
  if (!windows->empty()) {
    if (windows->Takes(o)) return RunCopies(o, stream);
    if (windows->TakesSecondShot(o)) return RunShots(o, stream);
  }
  if (IsCompiled(o) && exec::gpu::ChangeBuffers(o.in, o.out, program)) [[likely]]
    return LaunchProgram(o, stream);
  const Result<const comm::GpuRecipe*> recipe = FindRecipe(CollectiveOf(o.kind), BytesOf(o), o.root);
  if (!recipe.ok()) return recipe.status();
  if ((*recipe)->direct) return RunDirect(o, *(*recipe)->plan, stream);
  TUTTI_RETURN_IF_ERROR(Enqueue(o, *(*recipe)->plan, (*recipe)->shape, stream));
  const bool repeatable = o.kind != Kind::kBarrier && o.op != ReduceOp::kPreMulSum;  // else more than buffers differs
  if (repeatable) compiled.operation = o;
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
  if (!captured) host.RecordGpuCall(whole == nullptr ? o : *whole);
}

Result<sys::cuda::Kernel> GpuCommunicator::Impl::FindRelayKernel(const Operation& o, const PreparedPlan& plan) {
  return comm::MovesOnly(o, plan, proto::Protocol::kSimple) ? launcher.FindMoveRelay()
                                                            : launcher.FindRelay(o.type, o.op);
}

Status GpuCommunicator::Impl::RunRelay(const Operation& o, const PreparedPlan& plan, sys::cuda::Stream stream) {
  const Result<sys::cuda::Kernel> kernel = FindRelayKernel(o, plan);
  if (!kernel.ok()) return kernel.status();
  exec::gpu::CompileRelay(plan, comm::WorkOf(o), fabric->layout(), team_blocks, relay);
  for (std::uint64_t& states : relay.states) states += fabric->transfer_state_shift();
  relay.lent.states += fabric->transfer_state_shift();
  relay.counts = program.counts;
  const bool captured = IsCaptured(stream);
  relay.captured = captured ? 1 : 0;
  Record(o, captured);
  TUTTI_RETURN_IF_ERROR(
      launcher.Launch(*kernel, relay, OverlapFor(relay.blocks, exec::gpu::ThreadsPerBlock(relay), captured), stream));
  blocks_launched += relay.blocks;
  ++kernels_launched;
  if (!captured) ends_to_count += relay.teams;
  return Status::Ok();
}

Status GpuCommunicator::Impl::RunDirect(const Operation& o, const PreparedPlan& plan, sys::cuda::Stream stream) {
  if (IsRelayed(plan)) return RunRelay(o, plan, stream);
  const exec::gpu::CopyList list = exec::gpu::ListCopies(o, host.rank, host.ranks);
  const std::size_t piece = BytesOf(o);
  auto* out = static_cast<std::byte*>(o.out);
  sends.clear();
  receives.clear();
  for (const exec::gpu::CopyList::Copy& copy : std::span(list.copies).first(list.count)) {
    sends.push_back({.peer = copy.peer, .in = copy.from, .bytes = piece});
    if (copy.peer == host.rank) receives.push_back({.peer = copy.peer, .out = out + copy.offset, .bytes = piece});
  }
  for (int peer = 0; peer < host.ranks; ++peer) {
    if ((list.written_by >> peer & 1) == 0) continue;
    receives.push_back({.peer = peer, .out = out + peer * list.stride, .bytes = piece});
  }
  const int directions = (list.writes_to != 0 ? 1 : 0) + (list.written_by != 0 ? 1 : 0);  // the same on all ranks
  TUTTI_RETURN_IF_ERROR(CompileTransfers(directions * (host.ranks - 1)));
  const bool captured = IsCaptured(stream);
  Record(o, captured);
  return LaunchTransfers(stream, captured);
}

Status GpuCommunicator::Impl::RunTransfers(std::span<const Operation> operations, sys::cuda::Stream stream) {
  bool same = group_is_compiled;  // as the group before, but for buffers
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
  if (!same || !exec::gpu::ChangeBuffers(sends, receives, group)) {
    TUTTI_RETURN_IF_ERROR(CompileTransfers(0));
    group_is_compiled = true;
  }
  const bool captured = IsCaptured(stream);
  TUTTI_RETURN_IF_ERROR(LaunchTransfers(stream, captured));
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind)) Record(o, captured);
  }
  return Status::Ok();
}

Status GpuCommunicator::Impl::CompileTransfers(int lanes) {
  group_is_compiled = false;
  const exec::gpu::GroupLimits limits{.most_blocks = most_blocks,
                                      .team_blocks = team_blocks,
                                      .whole_lines = whole_lines,
                                      .lanes = lanes,
                                      .own_beside_bytes = own_beside_bytes,
                                      .sent_beside_bytes = sent_beside_bytes};
  TUTTI_RETURN_IF_ERROR(
      exec::gpu::CompileGroup(sends, receives, host.rank, fabric->layout(), limits, group, own_copies));
  for (std::uint64_t& states : group.states) states += fabric->transfer_state_shift();
  group.counts = program.counts;
  return Status::Ok();
}

Status GpuCommunicator::Impl::LaunchTransfers(sys::cuda::Stream stream, bool captured) {
  group.captured = captured ? 1 : 0;
  const auto side = sides->Copy(std::span(own_copies.copies).first(own_copies.count), stream);
  if (!side.ok()) return side.status();
  if (group.blocks == 0) return sides->Join(*side, stream);
  const Result<sys::cuda::Kernel> kernel = launcher.FindSendRecv(group.kernel);
  if (!kernel.ok()) return kernel.status();
  TUTTI_RETURN_IF_ERROR(
      launcher.Launch(*kernel, group, OverlapFor(group.blocks, exec::gpu::ThreadsPerBlock(group), captured), stream));
  TUTTI_RETURN_IF_ERROR(sides->Join(*side, stream));
  blocks_launched += group.blocks;
  ++kernels_launched;
  if (!captured) ends_to_count += group.teams;
  return Status::Ok();
}

Status GpuCommunicator::Impl::RunAs(const Operation& o, const tune::GpuChoice& choice, sys::cuda::Stream stream) {
  TUTTI_RETURN_IF_ERROR(host.Validate(o));
  if (IsEmpty(o)) return Status::Ok();
  const Collective collective = CollectiveOf(o.kind);
  const Result<const PreparedPlan*> plan = FindPlan(choice.algorithm, collective, HasRoot(collective) ? o.root : 0);
  if (!plan.ok()) return plan.status();
  if (tune::IsDirect(choice.algorithm, collective, choice.protocol, host.ranks)) return RunDirect(o, **plan, stream);
  const int channels =
      std::min({choice.channels, fabric->geometry().Channels(static_cast<int>(choice.protocol)), most_blocks});
  return Enqueue(
      o, **plan,
      {.protocol = choice.protocol, .channels = channels, .threads = choice.threads, .chunk_bytes = choice.chunk_bytes},
      stream);
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
      chooser.Candidates(CollectiveOf(o.kind), comm::SmallestOfClass(comm::SizeClass(BytesOf(o))));
  return choices.empty() ? "nothing that NCCL_ALGO and NCCL_PROTO allow" : tune::ToString(choices.front());
}

std::string GpuCommunicator::Explain(const Operation& operation) {
  const Status s = impl_->host.Validate(operation);
  return s.ok() ? impl_->Explain(operation) : s.ToString();
}

}  // namespace tutti
