// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_flight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/cli.h"
#include "tools/record_calls.h"

namespace tutti::tools {
namespace {

using trace::CallRecord;

// Of the dump's format. From 2.7 on groups of calls are read as they are here.
constexpr const char* kFormat = "2.10";
constexpr std::uint64_t kEver = UINT64_MAX;

// Collectives, or the sends or receives with one peer, of one rank, by their sequence numbers.
struct Reach {
  std::uint64_t from = kEver;  // from here on all are held
  std::uint64_t ended = 0;     // up to here they have ended
};

// A row of calls that ranks number alike: the collectives of a communicator, or the sends from one rank to another.
struct Row {
  std::string name, about;
  std::vector<int> ranks;  // of the job, as the group numbers them
  std::uint64_t first = 0, last = kEver;
  bool apart = false;  // whether what one rank holds ended before what another holds began
};

// How PyTorch calls a collective whose buffers are one tensor each.
std::string_view TorchName(Collective kind) {
  switch (kind) {
    case Collective::kAllGather:
      return "_all_gather_base";
    case Collective::kReduceScatter:
      return "_reduce_scatter_base";
    default:
      return Name(kind);
  }
}

const char* TorchName(DataType type) {
  constexpr const char* kNames[kDataTypes] = {"Char", "Byte",  "Int",    "UInt32",       "Long",          "UInt64",
                                              "Half", "Float", "Double", "BFloat16",     "Float8_e4m3fn", "Float8_e5m2",
                                              "Bool", "Short", "UInt16", "ComplexFloat", "ComplexDouble"};
  return kNames[static_cast<int>(type)];
}

// Elements of the input and output of a rank (tutti/operation.h); 0 of a buffer that it does not use. Of a reduce the output of all
// ranks, as PyTorch has one there.
std::pair<std::uint64_t, std::uint64_t> Elements(const trace::Call& call, int rank, int ranks) {
  const std::uint64_t count = call.count, all = count * static_cast<std::uint64_t>(ranks);
  switch (call.function()) {
    case Collective::kAllGather:
      return {count, all};
    case Collective::kReduceScatter:
      return {all, count};
    case Collective::kGather:
      return {count, rank == call.root() ? all : 0};
    case Collective::kScatter:
      return {rank == call.root() ? all : 0, count};
    case Collective::kAllToAll:
      return {all, all};
    default:
      return {count, count};
  }
}

Json OneTensor(std::uint64_t elements) {
  Json sizes = Json::Array(), shape = Json::Array();
  shape.Append(elements);
  sizes.Append(std::move(shape));
  return sizes;
}

const char* TorchState(CallState state) {
  constexpr const char* kNames[] = {"scheduled", "started", "scheduled", "completed"};
  return kNames[static_cast<int>(state)];
}

// One communicator.
class Group {
 public:
  Group(const RecordJob& job, const RecordCommunicator& c, bool main) : job_(job), c_(c), main_(main) {
    for (const RecordMember& m : c.members) {
      if (m.box != nullptr) held_.push_back(ReadHeldCalls(*m.box, m.taken_ns));
    }
  }

  // Why it cannot be in a record; empty: it can.
  std::string Obstacle() const {
    for (const RecordMember& m : c_.members) {
      const bool sure = job_.ranks[m.place].sure;
      if (!sure) return fmt::format("which rank of the job its rank {} is cannot be told", m.look->rank);
      if (m.box == nullptr) return fmt::format("the black box of its rank {} cannot be read", m.look->rank);
      if (!m.look->records_calls)
        return fmt::format("its rank {} does not write its calls down (TUTTI_BLACK_BOX=0)", m.look->rank);
    }
    if (!main_ && c_.members.size() < static_cast<std::size_t>(c_.look->ranks))
      return fmt::format("of its {} ranks {} are seen here", c_.look->ranks, c_.members.size());
    return "";
  }

  // The row of the collectives.
  const Row& Collectives() {
    FindRows();
    return rows_.at(kCollectives);
  }
  // Calls `visit(member, row, call)` for what belongs into the record, of each member in the order of its calls.
  template <typename Visit>
  void Each(const Visit& visit) {
    FindRows();
    for (std::size_t i = 0; i < c_.members.size(); ++i) {
      for (const HeldCall& call : held_[i].calls) {
        const Row& row = rows_.at(KeyOf(c_.members[i].look->rank, call.record));
        if (call.record.sequence >= row.first && call.record.sequence <= row.last) visit(c_.members[i], row, call);
      }
    }
  }

 private:
  // Sender and receiver, and of what a rank sends to itself which side; -1 of collectives.
  using Key = std::tuple<int, int, bool>;
  static constexpr Key kCollectives{-1, -1, false};

  static Key KeyOf(int rank, const CallRecord& r) {
    if (!r.call.is_transfer()) return kCollectives;
    const bool sends = r.call.function() == Collective::kSend;
    const bool alone = r.call.root() == rank;
    return sends ? Key{rank, r.call.root(), alone} : Key{r.call.root(), rank, false};
  }

  // What the member holds of a row; of one that it never called all.
  Reach ReachOf(std::size_t member, const Key& key) const {
    const HeldCalls& held = held_[member];
    const int rank = c_.members[member].look->rank;
    const std::uint64_t finished = c_.members[member].box->finished();
    Reach reach{.from = held.whole ? 1 : kEver};
    for (const HeldCall& call : held.calls) {
      if (KeyOf(rank, call.record) != key) continue;
      reach.from = std::min(reach.from, call.record.sequence);
      if (call.record.number <= finished) reach.ended = call.record.sequence;
    }
    const diag::RankLook& look = *c_.members[member].look;
    if (std::get<0>(key) < 0 && reach.from == kEver && look.knows_collectives) reach.from = look.sequence + 1;
    return reach;
  }

  // Narrows the row to what these members, which all take part, can be compared by.
  void Narrow(Row& row, const Key& key, const std::vector<std::size_t>& members) const {
    bool all_move = true;
    std::uint64_t ended = kEver;
    for (const std::size_t m : members) {
      const Reach reach = ReachOf(m, key);
      row.first = std::max(row.first, reach.from);
      ended = std::min(ended, reach.ended);
      all_move &= c_.members[m].moved;
    }
    if (!all_move) return;
    row.last = ended;
    row.apart = row.first > row.last && row.first - row.last > 1;
  }

  int JobRank(int rank) const {
    const RecordMember* member = c_.Find(rank);
    return member == nullptr ? rank : job_.ranks[member->place].number;
  }

  Row MakeRow(const Key& key) const {
    const auto [from, to, alone] = key;
    Row row{.name = fmt::format("{:016x}", c_.look->id), .about = c_.look->name.empty() ? "undefined" : c_.look->name};
    std::vector<std::size_t> members;
    for (std::size_t m = 0; m < c_.members.size(); ++m) {
      const int rank = c_.members[m].look->rank;
      if (from < 0 || rank == from || rank == to) members.push_back(m);
    }
    Narrow(row, key, members);
    if (from < 0) {
      for (int rank = 0; rank < c_.look->ranks; ++rank) row.ranks.push_back(JobRank(rank));
      return row;
    }
    row.name += fmt::format(" {}to{}{}", from, to, from != to ? "" : alone ? " sends" : " receives");
    row.about = fmt::format("{} rank {} to rank {}", c_.title, from, to);
    row.ranks = {JobRank(from), JobRank(to)};
    std::ranges::sort(row.ranks);
    row.ranks.erase(std::unique(row.ranks.begin(), row.ranks.end()), row.ranks.end());
    return row;
  }

  void FindRows() {
    if (!rows_.empty()) return;
    rows_.emplace(kCollectives, MakeRow(kCollectives));
    for (std::size_t m = 0; m < c_.members.size(); ++m) {
      for (const HeldCall& call : held_[m].calls) {
        const Key key = KeyOf(c_.members[m].look->rank, call.record);
        if (!rows_.contains(key)) rows_.emplace(key, MakeRow(key));
      }
    }
  }

  const RecordJob& job_;
  const RecordCommunicator& c_;
  const bool main_;
  std::vector<HeldCalls> held_;
  std::map<Key, Row> rows_;
};

// One rank's dump.
class Dump {
 public:
  // REQUIRES: all of these outlive this.
  void Add(const RecordCommunicator& c, const RecordMember& member, const Row& row, const HeldCall& call, int group) {
    const CallState state = StateOf(call.record, *member.box);
    Note(row, call.record.sequence, state, group);
    entries_.push_back(
        {.communicator = &c, .member = &member, .row = &row, .call = &call, .state = state, .group = group});
  }
  // So that the group is in it without a call too.
  void Join(const Row& row, int group) { groups_.try_emplace(group, row); }

  // Within a communicator the bounds never go back, so its calls keep their order.
  void Sort() {
    std::ranges::stable_sort(entries_, {}, [](const OneEntry& e) { return e.call->at_most_ns; });
  }

  Json Content(const RecordJob& job) const {
    Json dump = {{"version", kFormat}, {"comm_lib_version", fmt::format("tutti {}", Version())}};
    for (const auto& [number, group] : groups_) {
      const Row& row = *group.row;
      dump["pg_config"][row.name] = {
          {"name", row.name}, {"desc", row.about}, {"ranks", fmt::format("[{}]", fmt::join(row.ranks, ", "))}};
      dump["pg_status"][std::to_string(number)] = {{"last_enqueued_collective", group.enqueued},
                                                   {"last_started_collective", group.started},
                                                   {"last_completed_collective", group.completed}};
    }
    Json entries = Json::Array();
    for (const OneEntry& entry : entries_) entries.Append(AsJson(job, entry, entries.size()));
    dump["entries"] = std::move(entries);
    return dump;
  }

 private:
  struct OneEntry {
    const RecordCommunicator* communicator;
    const RecordMember* member;
    const Row* row;
    const HeldCall* call;
    CallState state;
    int group;
  };
  struct JoinedGroup {
    explicit JoinedGroup(const Row& its_row) : row(&its_row) {}
    const Row* row;
    std::int64_t enqueued = -1, started = -1, completed = -1;  // -1: none
  };

  void Note(const Row& row, std::uint64_t sequence, CallState state, int group) {
    JoinedGroup& joined = groups_.try_emplace(group, row).first->second;
    const auto number = static_cast<std::int64_t>(sequence);
    joined.enqueued = std::max(joined.enqueued, number);
    if (state == CallState::kRunning || state == CallState::kEnded) joined.started = std::max(joined.started, number);
    if (state == CallState::kEnded) joined.completed = std::max(joined.completed, number);
  }

  // `rank`: of the job, whose call it is.
  static std::string ProfilingName(int rank, const Row& row, const trace::Call& call) {
    if (!call.is_transfer()) return fmt::format("nccl:{}", TorchName(call.function()));
    const int own = row.ranks.front() == rank ? 0 : 1;
    const int peer = row.ranks.size() == 1 ? own : 1 - own;
    return call.function() == Collective::kSend ? fmt::format("nccl:send {}->{}", own, peer)
                                                : fmt::format("nccl:recv {}<-{}", own, peer);
  }

  static Json AsJson(const RecordJob& job, const OneEntry& entry, std::size_t record) {
    const HeldCall& held = *entry.call;
    const CallRecord& r = held.record;
    const Row& row = *entry.row;
    const auto [in, out] = Elements(r.call, entry.member->look->rank, entry.communicator->look->ranks);
    Json names = Json::Array(), types = Json::Array();
    names.Append(row.name);
    names.Append(row.about);
    const bool data = r.call.function() != Collective::kBarrier;
    if (data) types.Append(TorchName(r.call.type()));
    const auto at = [&](std::int64_t ns) { return ns > 0 ? Json(ns + job.unix_offset_ns) : Json(); };
    const bool timed = r.started_ns > 0 && r.finished_ns > 0;
    return {{"record_id", record},
            {"pg_id", entry.group},
            {"process_group", names},
            {"collective_seq_id", r.sequence},
            {"p2p_seq_id", r.call.is_transfer() ? r.sequence : 0},
            {"op_id", r.number},
            {"profiling_name", ProfilingName(job.ranks[entry.member->place].number, row, r.call)},
            {"time_created_ns", at(held.at_most_ns)},
            {"time_created_at_most", !held.exact()},
            {"duration_ms", timed ? Json(static_cast<double>(r.finished_ns - r.started_ns) * 1e-6) : Json()},
            {"input_sizes", data ? OneTensor(in) : Json::Array()},
            {"input_dtypes", types},
            {"output_sizes", data ? OneTensor(out) : Json::Array()},
            {"output_dtypes", types},
            {"state", TorchState(entry.state)},
            {"time_discovered_started_ns", at(r.started_ns)},
            {"time_discovered_completed_ns", at(r.finished_ns)},
            {"retired", entry.state == CallState::kEnded},
            {"is_p2p", r.call.is_transfer()},
            {"frames", Json::Array()}};
  }

  std::map<int, JoinedGroup> groups_;
  std::vector<OneEntry> entries_;
};

}  // namespace

struct FlightRecord::Parts {
  const RecordJob* job;
  std::deque<Group> groups;  // what the dumps point to
  std::map<int, Dump> dumps;
  std::vector<std::string> notes;
  bool apart = false;
};

FlightRecord::FlightRecord(const RecordJob& job) : parts_(std::make_unique<Parts>()) {
  parts_->job = &job;
  std::map<std::string, int> numbers;  // of groups, the same in all dumps
  const auto number_of = [&](const Row& row) {
    return numbers.try_emplace(row.name, static_cast<int>(numbers.size())).first->second;
  };
  const auto dump_of = [&](const RecordMember& member) -> Dump& {
    return parts_->dumps[job.ranks[member.place].number];
  };
  for (const RecordCommunicator& c : job.communicators) {
    Group& group = parts_->groups.emplace_back(job, c, &c == &job.communicators.front());
    if (const std::string why = group.Obstacle(); !why.empty()) {
      parts_->notes.push_back(fmt::format("communicator {} is not in the flight record: {}", c.title, why));
      continue;
    }
    const Row& collectives = group.Collectives();
    if (collectives.apart) {
      parts_->apart = true;
      parts_->notes.push_back(
          fmt::format("no collective of communicator {} is in the flight record: its ranks go on faster than their "
                      "black boxes can be copied one after another",
                      c.title));
    }
    for (const RecordMember& member : c.members) dump_of(member).Join(collectives, number_of(collectives));
    group.Each([&](const RecordMember& member, const Row& row, const HeldCall& call) {
      dump_of(member).Add(c, member, row, call, number_of(row));
    });
  }
  for (auto& [rank, dump] : parts_->dumps) dump.Sort();
}

FlightRecord::~FlightRecord() = default;

const std::vector<std::string>& FlightRecord::notes() const { return parts_->notes; }

bool FlightRecord::apart() const { return parts_->apart; }

std::vector<int> FlightRecord::ranks() const {
  std::vector<int> ranks;
  for (const auto& [rank, dump] : parts_->dumps) ranks.push_back(rank);
  return ranks;
}

Json FlightRecord::DumpOf(int rank) const { return parts_->dumps.at(rank).Content(*parts_->job); }

}  // namespace tutti::tools
