// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HOST_JOB_H_
#define TUTTI_TOOLS_HOST_JOB_H_

// What `tutti run --hosts` and the `tutti run --on-host` that it starts on each host say to each other.
//
//   tutti run --hosts                                tutti run --on-host, on the host
//        |  starts it: ssh HOST tutti run --on-host         |
//        | <----- standard output: "tutti run --on-host of version 0.1.0 is here" -----
//        | ------ standard input: "job 1234", and so many bytes (HostJob) ------------>  finds folder and program
//        | <----- standard output: "tutti run --on-host is set" -----------------------
//        |        when all hosts are set:
//        | ------ standard input: "go" ----------------------------------------------->  starts its ranks
//        | ------ standard input: "signal 15" ---------------------------------------->  ranks get the signal
//        | <----- standard output and error: what the ranks write ---------------------
//        | ------ standard input ends, because this process is gone ------------------>  kills its ranks
//        | <----- exit code: of the rank that failed first ----------------------------
//
// The job, with the secret of its id, is never on a command line, where other users could read it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::tools {

// A host as --hosts names it.
struct HostShare {
  std::string name;
  int ranks = 1;
};
// "a:4,b:4,user@c,[fd00::7]:2": names and how many ranks, 1 where there is no number. kInvalidArgument, with a sentence.
Result<std::vector<HostShare>> ParseHosts(std::string_view text);

// How commands are run on other hosts.
struct HostAgent {
  std::vector<std::string> words;  // of the command that takes a host and a command for it; none: ssh
  std::string tutti;               // the path of `tutti` on the hosts

  std::string name() const { return words.empty() ? "ssh" : words[0]; }
};
// `ip netns exec` and the like, at blanks.
std::vector<std::string> SplitAgent(std::string_view text);
// The words that start `tutti run --on-host` on a host. An agent gets the host and each further word by itself; ssh gets one
// text, which a shell on the host reads.
std::vector<std::string> HostCommand(const HostAgent& agent, const std::string& host);

// What one host has to do.
struct HostJob {
  std::string host;
  std::string id_hex;
  int first_rank = 0;
  int local_ranks = 1;
  int ranks = 1;
  std::string folder;  // where this command was started
  std::int64_t grace_ms = 5000;
  bool tag_output = false;
  std::vector<std::string> words;        // the program and its arguments
  std::vector<std::string> environment;  // "NAME=value"
};
// With the line before it.
std::string Encode(const HostJob& job);
// Without that line. kInvalidArgument for what Encode does not make.
Result<HostJob> ParseHostJob(std::string_view bytes);
// So many bytes follow this line; kInvalidArgument for another one.
Result<std::size_t> ParseJobLine(std::string_view line);

inline constexpr std::string_view kSetLine = "tutti run --on-host is set";
inline constexpr std::string_view kGoLine = "go";
// "tutti run --on-host of version 0.1.0 is here"
std::string HereLine(std::string_view version);
// The version in such a line; empty for another one.
std::string_view VersionOfHere(std::string_view line);

// Of these variables those that ranks on other hosts get too, although nobody asked for it: settings of NCCL and Tutti, but
// not who this process is.
std::vector<std::string> SettingsAmong(const std::vector<std::string>& variables);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HOST_JOB_H_
