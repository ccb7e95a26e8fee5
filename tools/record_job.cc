// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::tools {
namespace {

using diag::CommunicatorLook;
using diag::RankLook;

class Maker {
 public:
  Maker(const diag::Look& before, const diag::Look& now, const TopJob& job, const std::vector<BoxCopy>& boxes)
      : before_(before), now_(now), boxes_(boxes) {
    made_.verdicts = job.verdicts;
    made_.taken_ns = now.taken_ns;
    made_.unix_offset_ns = now.taken_unix_ns - now.taken_ns;
    std::vector<const CommunicatorLook*> all = job.communicators;
    std::ranges::stable_sort(all, [](const CommunicatorLook* a, const CommunicatorLook* b) {
      return a->ranks != b->ranks ? a->ranks > b->ranks : a->created_unix_ns < b->created_unix_ns;
    });
    for (const CommunicatorLook* c : all) Add(*c);
  }
  RecordJob Take() { return std::move(made_); }

 private:
  // Whom a number was given, and for whom.
  struct Given {
    int process;
    std::int32_t thread;
    bool main;  // in the largest communicator
  };

  void Add(const CommunicatorLook& c) {
    RecordCommunicator added{.look = &c, .title = c.name.empty() ? fmt::format("{:016x}", c.id) : c.name};
    const bool main = made_.communicators.empty();
    if (main) next_ = c.ranks;
    std::vector<std::size_t> taken;
    for (const RankLook& rank : c.seen) {
      // Of one that was made anew under the same number the later.
      if (!added.members.empty() && added.members.back().look->rank == rank.rank) {
        if (added.members.back().look->created_ns > rank.created_ns) continue;
        added.members.back() = MemberOf(c, rank, added.members.back().place);
        continue;
      }
      const std::size_t place = main ? Give(rank, rank.rank, true, true) : PlaceOf(rank, taken);
      taken.push_back(place);
      added.members.push_back(MemberOf(c, rank, place));
    }
    made_.communicators.push_back(std::move(added));
  }

  std::size_t Give(const RankLook& rank, int number, bool sure, bool main) {
    RecordRank given{.number = number, .sure = sure};
    if (const diag::ProcessLook* process = now_.ProcessOf(rank)) {
      given.host = process->host;
      given.pid = process->pid;
      given.process = process->name;
    }
    made_.ranks.push_back(std::move(given));
    given_.push_back({.process = rank.process, .thread = rank.thread, .main = main});
    return made_.ranks.size() - 1;
  }

  // Of a rank that is not in the largest communicator: who of those that have numbers it is, or somebody new.
  std::size_t PlaceOf(const RankLook& rank, const std::vector<std::size_t>& taken) {
    if (rank.process < 0) return Give(rank, next_++, false, false);
    std::vector<std::size_t> mains, same_thread;
    bool process_known = false;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i].process != rank.process) continue;
      process_known = true;
      if (given_[i].main) mains.push_back(i);
      if (rank.thread != 0 && given_[i].thread == rank.thread) same_thread.push_back(i);
    }
    const auto free = [&](std::size_t i) { return std::ranges::find(taken, i) == taken.end(); };
    if (mains.size() == 1 && free(mains[0])) return mains[0];
    if (same_thread.size() == 1 && free(same_thread[0])) return same_thread[0];
    const bool sure = mains.empty() && same_thread.empty() && (rank.thread != 0 || !process_known);
    return Give(rank, next_++, sure, false);
  }

  RecordMember MemberOf(const CommunicatorLook& c, const RankLook& rank, std::size_t place) const {
    RecordMember member{.place = place, .look = &rank};
    const auto box = std::ranges::find_if(boxes_, [&](const BoxCopy& b) {
      const trace::View& view = b.view();
      return view.communicator() == c.id && view.rank() == rank.rank && view.created_ns() == rank.created_ns;
    });
    if (box != boxes_.end()) {
      member.box = &box->view();
      member.taken_ns = box->taken_ns();
    }
    const CommunicatorLook* old = before_.Find(c.id);
    const RankLook* then = old == nullptr ? nullptr : old->Find(rank.rank);
    member.moved = then == nullptr || then->created_ns != rank.created_ns || then->finished != rank.finished;
    return member;
  }

  const diag::Look& before_;
  const diag::Look& now_;
  const std::vector<BoxCopy>& boxes_;
  RecordJob made_;
  std::vector<Given> given_;  // of each of the job's ranks
  int next_ = 0;
};

}  // namespace

const RecordMember* RecordCommunicator::Find(int rank) const {
  const auto found = std::ranges::find_if(members, [&](const RecordMember& m) { return m.look->rank == rank; });
  return found == members.end() ? nullptr : &*found;
}

const RecordCommunicator* RecordJob::Find(std::uint64_t id) const {
  const auto found = std::ranges::find_if(communicators, [&](const RecordCommunicator& c) { return c.look->id == id; });
  return found == communicators.end() ? nullptr : &*found;
}

RecordJob MakeRecordJob(const diag::Look& before, const diag::Look& now, const TopJob& job,
                        const std::vector<BoxCopy>& boxes) {
  return Maker(before, now, job, boxes).Take();
}

}  // namespace tutti::tools
