// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "diag/sentence.h"
#include "diag/what.h"
#include "tools/top_look.h"
#include "tools/top_view.h"
#include "trace/view.h"
#include "transport/shm/segment.h"

namespace tutti::tools {
namespace {

using transport::shm::kBoxOffset;

// The latest moment that a black box speaks of.
std::int64_t LatestNs(const trace::View& box) {
  std::int64_t latest_ns = std::max(box.created_ns(), box.wait().looked_ns);
  (void)box.FindLatest([&](const trace::CallRecord& r) {
    latest_ns = std::max({latest_ns, r.enqueued_at_most ? 0 : r.enqueued_ns, r.started_ns, r.finished_ns});
    return false;
  });
  return latest_ns;
}

class Reader {
 public:
  Reader(const sys::CoreFile& core, CoreLook& out) : core_(core), out_(out) {}

  Status Run() {
    for (const sys::CoreFile::Region& region : core_.regions()) {
      if (const Status read = Visit(region); !read.ok()) return read;
    }
    if (out_.own.empty() && out_.peers.empty()) return NothingThere();
    SetTimes();
    for (diag::CommunicatorLook& c : out_.look.communicators) std::ranges::sort(c.seen, {}, &diag::RankLook::rank);
    const auto order = [](const BoxCopy& b) {
      return std::tuple(b.view().created_ns() / 1000000000, b.view().communicator(), b.view().rank());
    };
    std::ranges::sort(out_.own, {}, order);
    std::ranges::sort(out_.peers, {}, order);
    return {};
  }

 private:
  Status Visit(const sys::CoreFile::Region& region) {
    if (region.in_file < sizeof(std::uint64_t)) return {};
    std::uint64_t magic = 0;
    if (const Status s = core_.ReadMemory(region.begin, std::as_writable_bytes(std::span(&magic, 1))); !s.ok())
      return s;
    const std::uint64_t bytes = magic == transport::shm::kSegmentMagic ? core_.BytesFrom(region.begin) : 0;
    if (bytes < kBeginningBytes) return {};
    alignas(4096) std::byte page[kBeginningBytes];
    if (const Status s = core_.ReadMemory(region.begin, page); !s.ok()) return s;
    if (!IsBeginning(page)) return {};
    // Of a file that is made up, parts of the memory may lie at one place, and be many.
    const trace::BoxHeader& header = *reinterpret_cast<const trace::BoxHeader*>(page + kBoxOffset);
    if ((copied_ += header.bytes) > core_.bytes())
      return Status(Code::kInvalidArgument, "it is no core file: it holds more shared pages than it has bytes");
    const auto read = [this](std::uint64_t address, std::byte* to, std::size_t length) {
      return core_.ReadMemory(address, std::span(to, length));
    };
    Result<BoxCopy> box = BoxCopy::Take(read, region.begin + kBoxOffset, bytes - kBoxOffset);
    if (!box.ok()) return {};
    const auto& segment = *reinterpret_cast<const transport::shm::Header*>(page);
    AddRank(box->view(), segment, region.writable);
    (region.writable ? out_.own : out_.peers).push_back(std::move(*box));
    return {};
  }

  void AddRank(const trace::View& box, const transport::shm::Header& segment, bool own) {
    std::vector<diag::CommunicatorLook>& all = out_.look.communicators;
    auto c = std::ranges::find(all, box.communicator(), &diag::CommunicatorLook::id);
    if (c == all.end()) c = all.insert(all.end(), diag::ReadCommunicator(box));
    if (c->ranks != box.ranks() || std::ranges::find(c->seen, box.rank(), &diag::RankLook::rank) != c->seen.end())
      return;
    diag::RankLook rank = ReadRankLook(box, segment.state.load(std::memory_order_relaxed), segment.culprit);
    const std::int32_t pid = own && core_.pid() != 0 ? core_.pid() : box.pid();
    const auto [place, is_new] = place_of_.try_emplace(pid, static_cast<int>(out_.look.processes.size()));
    if (is_new) out_.look.processes.push_back({.pid = pid, .name = own ? core_.program() : ""});
    rank.process = place->second;
    c->seen.push_back(std::move(rank));
  }

  void SetTimes() {
    std::int64_t taken_ns = 0, to_unix_ns = 0;
    for (std::vector<BoxCopy>* boxes : {&out_.own, &out_.peers}) {
      for (const BoxCopy& box : *boxes) {
        taken_ns = std::max(taken_ns, LatestNs(box.view()));
        if (box.view().created_unix_ns() != 0) to_unix_ns = box.view().created_unix_ns() - box.view().created_ns();
      }
    }
    for (std::vector<BoxCopy>* boxes : {&out_.own, &out_.peers}) {
      for (BoxCopy& box : *boxes) box.set_taken_ns(taken_ns);
    }
    out_.look.taken_ns = taken_ns;
    if (to_unix_ns != 0) out_.look.taken_unix_ns = taken_ns + to_unix_ns;
  }

  Status NothingThere() const {
    const bool mapped = std::ranges::any_of(core_.mapped_files(), [](const sys::CoreFile::MappedFile& file) {
      return file.path.starts_with(fmt::format("/memfd:{}", transport::shm::kSegmentName));
    });
    if (!mapped) {
      return Status(Code::kInvalidArgument,
                    fmt::format("process {} had no Tutti communicator of two or more ranks when this core file was "
                                "written; is it of another process of the job?",
                                core_.pid()));
    }
    const char* why =
        core_.is_cut() ? "it is cut: see to `ulimit -c unlimited` and to room on the disk"
                       : "bit 1 of /proc/PID/coredump_filter, which is set by default, says whether they are in it; or "
                         "they are of another version of Tutti";
    return Status(Code::kInvalidArgument,
                  fmt::format("this core file lacks the shared pages of Tutti that the process had: {}", why));
  }

  const sys::CoreFile& core_;
  CoreLook& out_;
  std::map<std::int32_t, int> place_of_;
  std::uint64_t copied_ = 0;
};

// "ended by signal 6 (Aborted)"
std::string EndOf(const CoreLook& core) {
  if (core.signal == 0) return "not ended by a signal";
  const char* name = strsignal(core.signal);
  return fmt::format("ended by signal {} ({})", core.signal, name == nullptr ? "unknown" : name);
}

bool IsOfOneLook(diag::Kind kind) {
  switch (kind) {
    case diag::Kind::kLateHost:
    case diag::Kind::kMismatch:
    case diag::Kind::kDeadlock:
    case diag::Kind::kInitIncomplete:
    case diag::Kind::kBroken:
      return true;
    default:
      return false;
  }
}

std::string FormatVerdict(const diag::Verdict& v) {
  const std::string effect = diag::Effect(v);
  return fmt::format("  {} {}{}{}\n", diag::Name(v.severity), diag::What(v), effect.empty() ? "" : "; ", effect);
}

}  // namespace

Result<CoreLook> ReadCore(const sys::CoreFile& core, const std::string& path) {
  CoreLook look{.path = path,
                .pid = core.pid(),
                .program = core.program(),
                .signal = core.signal(),
                .is_cut = core.is_cut(),
                .own = {},
                .peers = {},
                .look = {}};
  if (const Status read = Reader(core, look).Run(); !read.ok())
    return Status(read.code(), fmt::format("{}: {}", path, read.message()));
  return look;
}

Result<CoreLook> ReadCore(const std::string& path) {
  const Result<sys::CoreFile> core = sys::CoreFile::Open(path);
  if (!core.ok()) return Status(core.status().code(), fmt::format("{}: {}", path, core.status().message()));
  return ReadCore(*core, path);
}

std::vector<diag::Verdict> JudgeCore(const CoreLook& core) {
  // As if nothing had moved since a look before: of who waits that is so, for as long as the wait is.
  diag::Look before = core.look;
  before.taken_ns -= ApartNs(core.look, diag::kLeastApartNs);
  std::vector<diag::Verdict> verdicts = diag::Judge(before, core.look);
  std::erase_if(verdicts, [](const diag::Verdict& v) { return !IsOfOneLook(v.kind); });
  for (diag::Verdict& v : verdicts) {
    if (v.kind == diag::Kind::kMismatch || v.kind == diag::Kind::kBroken) continue;
    const auto least = v.kind == diag::Kind::kDeadlock ? diag::Confidence::kLikely : diag::Confidence::kUnsure;
    v.confidence = std::max(v.confidence, least);
  }
  return verdicts;
}

JobStatus StatusOf(const CoreLook& core, const std::vector<diag::Verdict>& verdicts) {
  JobStatus status = core.signal != 0 ? JobStatus::kCritical : JobStatus::kOk;
  for (const diag::Verdict& v : verdicts) status = Worse(status, StatusOf(v));
  return status;
}

std::string FormatCore(const CoreLook& core, const std::vector<diag::Verdict>& verdicts) {
  std::string text = fmt::format("core file {} of process {}{}, {}\n", core.path, core.pid,
                                 core.program.empty() ? "" : fmt::format(" ({})", core.program), EndOf(core));
  if (core.is_cut) text += "the file is cut: some memory of the process is not in it\n";
  if (!core.own.empty()) text += FormatRows(core.pid, MakeRows(core.own, {}));
  if (!core.peers.empty()) {
    text += fmt::format("its peers on that host, from pages that it had mapped: {} rank{}\n", core.peers.size(),
                        core.peers.size() == 1 ? "" : "s");
    text += FormatTable(MakeRows(core.peers, {}));
  }
  for (const diag::Verdict& v : verdicts) {
    if (v.severity > diag::Severity::kQuiet) text += FormatVerdict(v);
  }
  return text +
         "This is one look: whether processes ran, were stopped or had ended, and whether data moved, is not in it.\n";
}

Json CoreAsJson(const CoreLook& core, const std::vector<diag::Verdict>& verdicts) {
  Json json = RowsAsJson(core.pid, core.own, MakeRows(core.own, {}));
  json["peers"] = RowsAsJson(core.pid, core.peers, MakeRows(core.peers, {}))["ranks"];
  json["core"] = {{"file", core.path}, {"program", core.program}, {"signal", core.signal}, {"cut", core.is_cut}};
  json["status"] = Name(StatusOf(core, verdicts));
  json["verdicts"] = VerdictsAsJson(verdicts);
  return json;
}

}  // namespace tutti::tools
