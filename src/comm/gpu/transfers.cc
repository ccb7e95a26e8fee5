// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/transfers.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/host/group_plan.h"
#include "exec/gpu/launch/failures.h"
#include "exec/gpu/lower/compile.h"
#include "plan/plan.h"
#include "tutti/operation.h"

namespace tutti::comm {

using exec::gpu::PreparedPlan;

struct GpuTransfers::Inside {
  const int rank;
  const int ranks;
  exec::gpu::Failures& failures;
  GroupPlans<PreparedPlan> plans;
  // What was taken.
  std::vector<int> ends;  // EndOf
  exec::gpu::GroupData data;
  std::vector<const Operation*> calls;
};

GpuTransfers::GpuTransfers(int rank, int ranks, exec::gpu::Failures& failures)
    : inside_(std::make_unique<Inside>(Inside{.rank = rank, .ranks = ranks, .failures = failures})) {}

GpuTransfers::~GpuTransfers() = default;

bool GpuTransfers::Take(std::span<const Operation> operations) {
  Inside& i = *inside_;
  bool same = true;
  std::size_t count = 0, sent = 0, received = 0;
  const auto put = [&](auto& list, std::size_t& at, auto* buffer, std::size_t bytes) {
    if (at == list.size()) list.emplace_back();
    same = same && list[at].bytes == bytes;
    list[at++] = {buffer, bytes};
  };
  i.calls.clear();
  for (const Operation& o : operations) {
    if (!IsTransfer(o.kind)) continue;
    i.calls.push_back(&o);
    const int end = EndOf(o);
    same = same && count < i.ends.size() && i.ends[count] == end;
    if (count == i.ends.size()) i.ends.emplace_back();
    i.ends[count++] = end;
    const std::size_t bytes = o.count * SizeOf(o.type);
    if (o.kind == Collective::kSend) {
      put(i.data.in, sent, o.in, bytes);
    } else {
      put(i.data.out, received, o.out, bytes);
    }
  }
  same = same && count == i.ends.size();
  i.ends.resize(count);
  i.data.in.resize(sent);
  i.data.out.resize(received);
  return same;
}

std::span<const Operation* const> GpuTransfers::calls() const { return inside_->calls; }
const exec::gpu::GroupData& GpuTransfers::data() const { return inside_->data; }
void GpuTransfers::Forget() { inside_->ends.clear(); }

Result<const PreparedPlan*> GpuTransfers::FindPlan() {
  Inside& i = *inside_;
  std::vector<std::size_t> to_self, from_self;
  std::size_t sent = 0, received = 0;
  for (const int end : i.ends) {
    const std::size_t bytes = end >= 0 ? i.data.in[sent++].bytes : i.data.out[received++].bytes;
    if (end == i.rank) to_self.push_back(bytes);
    if (end == ~i.rank) from_self.push_back(bytes);
  }
  TUTTI_RETURN_IF_ERROR(CheckOwn(i.rank, to_self, from_self));
  if (const PreparedPlan* known = i.plans.Find(i.ends)) return known;
  auto made = std::make_unique<PreparedPlan>(exec::gpu::PrepareGroup(BuildGroup(i.ends, i.rank, i.ranks)));
  return i.plans.Keep(i.ends, std::move(made), [&](const PreparedPlan& old) {
    i.failures.Forget(old);
    return true;
  });
}

}  // namespace tutti::comm
