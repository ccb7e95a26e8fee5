// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "comm/host/impl.h"
#include "comm/host/placement.h"
#include "sys/net/address.h"
#include "sys/os/clock.h"
#include "tools/doctor_paths.h"

namespace tutti::tools {
namespace {

constexpr int kMostPaths = 4;  // from each host, so that the time does not grow with hosts
constexpr int kPingPongs = 8;
constexpr double kSmallOffsetS = 0.001;

// What a host tells the others.
struct Door {
  sys::EndpointBytes endpoint{};
  std::uint8_t open = 0;
};

class Examination {
 public:
  Examination(Communicator& communicator, const doctor::ExamineOptions& options)
      : communicator_(communicator), options_(options) {
    const auto& placement = communicator.impl()->placement;
    const int ranks = communicator.ranks();
    std::vector<std::int32_t> host_of(static_cast<std::size_t>(ranks), 0);
    if (placement != nullptr && placement->several()) {
      host_of = placement->host_of;
      names_ = placement->hosts;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (host_of[static_cast<std::size_t>(rank)] == static_cast<int>(leaders_.size())) leaders_.push_back(rank);
    }
    host_ = host_of[static_cast<std::size_t>(communicator.rank())];
    leads_ = leaders_[static_cast<std::size_t>(host_)] == communicator.rank();
  }

  Result<JobReport> Run() {
    if (leads_) report_ = doctor::ExamineHost(options_);
    // Several hosts may be one machine, or have one name: the job knows them apart.
    if (!names_.empty()) Rename(names_[static_cast<std::size_t>(host_)]);
    if (leaders_.size() > 1) {
      TUTTI_RETURN_IF_ERROR(ExaminePaths());
      TUTTI_RETURN_IF_ERROR(CompareClocks());
    }
    return Collect();
  }

 private:
  int hosts() const { return static_cast<int>(leaders_.size()); }
  void Rename(const std::string& name) {
    report_.host = name;
    for (doctor::Finding& finding : report_.findings) finding.host = name;
  }
  void Add(doctor::Finding finding) {
    finding.host = report_.host;
    report_.findings.push_back(std::move(finding));
  }

  Status ExaminePaths() {
    Door own;
    std::unique_ptr<UdpAnswerer> answerer;
    if (leads_) {
      Result<std::unique_ptr<UdpAnswerer>> started = UdpAnswerer::Start();
      const auto& points =
          communicator_.impl()->placement->meeting_points[static_cast<std::size_t>(communicator_.rank())];
      if (started.ok() && !points.empty()) {
        answerer = std::move(*started);
        own.endpoint = sys::ToBytes({.address = points.front().address, .port = answerer->port()});
        own.open = 1;
      }
    }
    std::vector<Door> doors(static_cast<std::size_t>(communicator_.ranks()));
    TUTTI_RETURN_IF_ERROR(
        communicator_.Run(AllGather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(doors)))));
    for (int i = 1; leads_ && i <= std::min(kMostPaths, hosts() - 1); ++i) {
      const int other = (host_ + i) % hosts();
      ExaminePathTo(names_[static_cast<std::size_t>(other)],
                    doors[static_cast<std::size_t>(leaders_[static_cast<std::size_t>(other)])]);
    }
    return communicator_.Run(Barrier());  // the others may still ask
  }

  void ExaminePathTo(const std::string& name, const Door& door) {
    if (door.open == 0) {
      Add({.severity = doctor::Severity::kUnknown,
           .check = "path",
           .what = fmt::format("{} has no port for packets", name)});
      return;
    }
    Result<std::unique_ptr<Prober>> prober = ProbeByUdp(sys::EndpointFromBytes(door.endpoint));
    if (prober.ok()) {
      Add(ExaminePath("to " + name, **prober));
    } else {
      Add({.severity = doctor::Severity::kUnknown,
           .check = "path",
           .what = fmt::format("no packet can be sent to {}", name),
           .evidence = prober.status().message()});
    }
  }

  // One host after the other asks rank 0 for the time: half of the shortest way there and back is how wrong the offset may be.
  Status CompareClocks() {
    for (int host = 1; host < hosts(); ++host) {
      const int leader = leaders_[static_cast<std::size_t>(host)];
      if (communicator_.rank() == 0) {
        for (int i = 0; i < kPingPongs; ++i) TUTTI_RETURN_IF_ERROR(TellTime(leader));
      } else if (communicator_.rank() == leader) {
        TUTTI_RETURN_IF_ERROR(AskTime());
      }
    }
    return Status::Ok();
  }
  Status TellTime(int leader) {
    std::array<std::int64_t, 1> time{};
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Recv(time, leader)));
    time[0] = sys::UnixNs();
    return communicator_.Run(Send(time, leader));
  }
  Status AskTime() {
    std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max(), offset_ns = 0;
    for (int i = 0; i < kPingPongs; ++i) {
      std::array<std::int64_t, 1> time{};
      const std::int64_t begin_ns = sys::NowNs(), begin_unix_ns = sys::UnixNs();
      TUTTI_RETURN_IF_ERROR(communicator_.Run(Send(time, 0)));
      TUTTI_RETURN_IF_ERROR(communicator_.Run(Recv(time, 0)));
      const std::int64_t took_ns = sys::NowNs() - begin_ns;
      if (took_ns >= shortest_ns) continue;
      shortest_ns = took_ns;
      offset_ns = begin_unix_ns + took_ns / 2 - time[0];
    }
    const double offset_s = static_cast<double>(offset_ns) / sys::kNsPerSecond;
    const double error_s = static_cast<double>(shortest_ns) / 2 / sys::kNsPerSecond;
    const bool small = std::abs(offset_s) <= std::max(kSmallOffsetS, error_s);
    Add({.severity = small ? doctor::Severity::kOk : doctor::Severity::kInfo,
         .check = "clock",
         .what = small ? "the clock is that of rank 0's host" : "the clock differs from that of rank 0's host",
         .evidence = fmt::format("{:+.3f} ms, +-{:.3f} ms", offset_s * 1e3, error_s * 1e3),
         .remedy = small ? "" : "run chrony or ntpd on all hosts; only times in logs and traces suffer"});
    return Status::Ok();
  }

  Result<JobReport> Collect() {
    std::string mine = leads_ ? doctor::Encode(report_) : "";
    std::array<std::int64_t, 1> most = {static_cast<std::int64_t>(mine.size())}, size = most;
    TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(most, most, ReduceOp::kMax)));
    const auto each = static_cast<std::size_t>(most[0]), ranks = static_cast<std::size_t>(communicator_.ranks());
    std::vector<std::int64_t> sizes(ranks);
    TUTTI_RETURN_IF_ERROR(communicator_.Run(AllGather(size, sizes)));
    mine.resize(each);
    std::string all(communicator_.rank() == 0 ? each * ranks : 0, '\0');
    TUTTI_RETURN_IF_ERROR(
        communicator_.Run(Gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), 0)));
    JobReport report;
    if (communicator_.rank() != 0) return report;
    for (const int leader : leaders_) {
      const auto index = static_cast<std::size_t>(leader);
      report.hosts.push_back(doctor::Decode(all.substr(index * each, static_cast<std::size_t>(sizes[index]))));
    }
    report.between = doctor::Compare(report.hosts);
    return report;
  }

  Communicator& communicator_;
  const doctor::ExamineOptions& options_;
  std::vector<std::string> names_;  // of hosts; empty: there is one
  std::vector<int> leaders_;        // the first rank of each host
  int host_ = 0;                    // this rank's
  bool leads_ = false;
  doctor::HostReport report_;
};

}  // namespace

Result<JobReport> ExamineJob(Communicator& communicator, const doctor::ExamineOptions& options) {
  return Examination(communicator, options).Run();
}

}  // namespace tutti::tools
