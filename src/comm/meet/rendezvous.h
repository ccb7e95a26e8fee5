// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RENDEZVOUS_H_
#define TUTTI_COMM_MEET_RENDEZVOUS_H_

// A host's side of the rendezvous (rendezvous_server.h): what the rank that gathers the others of its host exchanges with the
// leaders of other hosts. A thread of its own talks to the network, so that whoever gathers never waits for it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/identity/unique_id.h"
#include "sys/os/fd.h"
#include "sys/os/process.h"
#include "tutti/status.h"

namespace tutti::comm {

// A rank of another host.
struct RemoteMember {
  int rank = 0;
  int host = 0;  // index into Rendezvous::hosts
  std::int32_t pid = 0;
  std::uint32_t uid = 0;
  std::vector<std::byte> payload;
};

// Threads: one at a time.
class Rendezvous {
 public:
  struct Options {
    IdParts id;  // with addresses
    int rank = 0;
    int ranks = 1;
    std::string host;  // this one's name
    std::int64_t deadline_ns = 0;
  };
  // Begins to connect. Errors: no thread or socket can be had.
  static Result<std::unique_ptr<Rendezvous>> Begin(Options options);
  // Leaves, without a word.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // A rank has come to this host; this one's own, too.
  void Arrived(int rank, sys::ProcessId process, std::uint32_t uid, std::span<const std::byte> payload);
  // All ranks of this host have all members. After kAll.
  void Ready();
  // The meeting has failed here: all hosts are told.
  void Fail(const Status& fault);

  // Readable where there is news.
  const sys::Fd& fd() const;
  enum class Stage : std::uint8_t {
    kGathering,
    kAll,       // all ranks have come somewhere: members() and hosts() say who and where
    kComplete,  // all ranks of all hosts have everything
  };
  // What has become of it; an error is a failure that another host, or the rendezvous, tells of. What cannot be reached is no
  // error: the ranks may all come to this host.
  Result<Stage> Look();

  // REQUIRES, of both: kAll or later.
  const std::vector<RemoteMember>& members() const;
  const std::vector<std::string>& hosts() const;
  int own_host() const;
  // Ranks that have come to any host, as far as is known here.
  std::vector<int> Known() const;
  // For how long nothing has come from where hosts meet; while it is long nobody knows who has come to other hosts.
  std::int64_t SilentNs() const;
  // That place: "10.0.0.1:500 of the process that made the id".
  std::string Place() const;
  // What is known of other hosts, to complete "... have come": which have come to the rendezvous, or why it cannot be reached.
  std::string Describe() const;
  // After kAll, to complete "all have come, but ...": which hosts are not known to have heard of that.
  std::string DescribeAwaited() const;

 private:
  struct Shared;
  explicit Rendezvous(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  const std::shared_ptr<Shared> shared_;  // with the thread, which ends by itself
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_H_
