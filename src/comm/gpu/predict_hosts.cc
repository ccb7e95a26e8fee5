// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/predict_hosts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "comm/gpu/host_pieces.h"
#include "comm/gpu/kernel_piece.h"

namespace tutti::comm {
namespace {

// Stand for the caller's buffers, which lie apart: what is predicted does not depend on where.
Operation WithBuffers(Operation o) {
  constexpr std::uintptr_t kIn = std::uintptr_t{1} << 45, kOut = std::uintptr_t{1} << 46;
  o.in = reinterpret_cast<const void*>(kIn);
  o.out = reinterpret_cast<void*>(kOut);
  return o;
}

bool IsSame(const HostOperation& a, const HostOperation& b) {
  return a.operation.kind == b.operation.kind && a.operation.count == b.operation.count &&
         a.operation.root == b.operation.root;
}

class Division {
 public:
  explicit Division(const HostsModel& model) : model_(model) {}

  Result<HostsTime> Predict(std::span<const Operation> operations) {
    if (!model_.shape) {
      TUTTI_RETURN_IF_ERROR(AddThroughHostMemory(operations));
      return Take();
    }
    TUTTI_RETURN_IF_ERROR(AddTransfers(operations));
    std::vector<Operation> as_they_are;
    for (const Operation& o : operations) {
      if (IsTransfer(o.kind) || !AsTransfers(WithBuffers(o), *model_.shape).empty()) continue;
      if (GoesInStages(o, *model_.shape)) {
        TUTTI_RETURN_IF_ERROR(AddStages(o));
      } else {
        as_they_are.push_back(o);
      }
    }
    TUTTI_RETURN_IF_ERROR(AddThroughHostMemory(as_they_are));
    return Take();
  }

 private:
  HostsTime Take() {
    std::erase_if(time_.parts, [](const HostsPart& part) { return part.us <= 0; });
    for (const HostsPart& part : time_.parts) time_.us += part.us;
    return std::move(time_);
  }

  // Ranks that together do all that any rank does for an operation: of the root's host and of another one, the first and the last, and
  // the root.
  std::vector<HostShape> Typical(const Operation& o) const {
    const HostShape& own = *model_.shape;
    const int root = HasRoot(o.kind) ? o.root : 0;
    const int host = own.HostOf(root), other = (host + 1) % own.hosts;
    std::vector<HostShape> ranks;
    for (const auto& [at, place] :
         {std::pair{host, own.PlaceOf(root)}, {host, 0}, {host, own.places - 1}, {other, 0}, {other, own.places - 1}}) {
      ranks.push_back({.hosts = own.hosts, .places = own.places, .host = at, .place = place});
    }
    return ranks;
  }

  Result<HostsPart> Within(std::vector<Operation> operations) const {
    HostsPart part{.place = HostsPlace::kWithin, .operations = std::move(operations)};
    if (part.operations.empty()) return part;
    const Result<double> us = model_.within(part.operations);
    if (!us.ok()) return us.status();
    part.us = *us;
    return part;
  }

  Result<HostsPart> Across(HostsPlace place, std::vector<Operation> operations, int rank, int ranks) const {
    HostsPart part{.place = place, .operations = std::move(operations)};
    const std::vector<HostPiece> pieces = CutForHost(part.operations, rank, ranks);
    std::vector<tune::AcrossPiece> costs;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const HostPiece& piece = pieces[i];
      tune::AcrossPiece cost{.by_kernel = model_.has_kernel && FitsKernel(piece)};
      for (const HostCopy& copy : piece.in) cost.in_bytes += copy.bytes;
      for (const HostCopy& copy : piece.out) cost.out_bytes += copy.bytes;
      if (i > 0 && std::ranges::equal(piece.operations, pieces[i - 1].operations, IsSame)) {
        cost.run_us = costs.back().run_us;
      } else {
        std::vector<Operation> run;
        for (const HostOperation& operation : piece.operations) run.push_back(operation.operation);
        const Result<double> us = model_.in_host_memory(place, run);
        if (!us.ok()) return us.status();
        cost.run_us = *us;
        if (i == 0) part.piece = std::move(run);
      }
      costs.push_back(cost);
    }
    part.pieces = static_cast<int>(pieces.size());
    part.across = tune::PredictAcross(model_.across, costs);
    part.us = part.across.us();
    return part;
  }

  Status AddThroughHostMemory(std::span<const Operation> operations) {
    if (operations.empty()) return Status::Ok();
    std::vector<Operation> all;
    for (const Operation& o : operations) all.push_back(WithBuffers(o));
    Result<HostsPart> longest = Across(HostsPlace::kAll, all, model_.rank, model_.ranks);
    // Roots copy more than others do.
    for (const Operation& o : operations) {
      if (!longest.ok() || !HasRoot(o.kind) || o.root == model_.rank) continue;
      Result<HostsPart> at_root = Across(HostsPlace::kAll, all, o.root, model_.ranks);
      if (!at_root.ok() || at_root->us > longest->us) longest = std::move(at_root);
    }
    if (!longest.ok()) return longest.status();
    time_.parts.push_back(std::move(*longest));
    return Status::Ok();
  }

  // A stage as it is at the rank where it takes longest.
  Status AddLongest(Result<HostsPart> candidate, HostsPart& longest) const {
    if (!candidate.ok()) return candidate.status();
    if (candidate->us > longest.us) longest = std::move(*candidate);
    return Status::Ok();
  }

  Status AddStages(const Operation& o) {
    HostsPart before, between, after;
    for (const HostShape& rank : Typical(o)) {
      std::byte* const scratch = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 47);
      HostStages stages = CutIntoStages(WithBuffers(o), rank, scratch);
      TUTTI_RETURN_IF_ERROR(AddLongest(Within(std::move(stages.before)), before));
      TUTTI_RETURN_IF_ERROR(
          AddLongest(Across(HostsPlace::kRail, std::move(stages.between), rank.host, rank.hosts), between));
      TUTTI_RETURN_IF_ERROR(AddLongest(Within(std::move(stages.after)), after));
    }
    for (HostsPart* part : {&before, &between, &after}) time_.parts.push_back(std::move(*part));
    return Status::Ok();
  }

  // Those within a host and those between hosts take place at the same time.
  Status AddTransfers(std::span<const Operation> operations) {
    HostsPart longest;
    const auto consider = [&](const HostShape& rank, std::span<const Operation> transfers) -> Status {
      std::vector<Operation> near, far;
      for (Operation o : transfers) {
        const bool is_near = rank.HostOf(o.root) == rank.host;
        if (is_near) o.root = rank.PlaceOf(o.root);
        (is_near ? near : far).push_back(WithBuffers(o));
      }
      TUTTI_RETURN_IF_ERROR(AddLongest(Within(std::move(near)), longest));
      return AddLongest(Across(HostsPlace::kAll, std::move(far), rank.rank(), rank.ranks()), longest);
    };
    std::vector<Operation> own;
    for (const Operation& o : operations) {
      if (IsTransfer(o.kind)) own.push_back(o);
    }
    TUTTI_RETURN_IF_ERROR(consider(*model_.shape, own));
    for (const Operation& o : operations) {
      if (IsTransfer(o.kind)) continue;
      for (const HostShape& rank : Typical(o)) {
        TUTTI_RETURN_IF_ERROR(consider(rank, AsTransfers(WithBuffers(o), rank)));
      }
    }
    time_.parts.push_back(std::move(longest));
    return Status::Ok();
  }

  const HostsModel& model_;
  HostsTime time_;
};

}  // namespace

Result<HostsTime> PredictAcrossHosts(const HostsModel& model, std::span<const Operation> operations) {
  return Division(model).Predict(operations);
}

}  // namespace tutti::comm
