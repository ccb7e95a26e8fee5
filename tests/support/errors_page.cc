// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/errors_page.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "nccl.h"

namespace tutti::tests {

std::vector<std::string> SplitText(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool Fits(const ErrorRow& row, const std::string& sentence) {
  std::size_t at = 0;
  for (const std::string& piece : row.pieces) {
    at = sentence.find(piece, at);
    if (at == std::string::npos) return false;
    at += piece.size();
  }
  return true;
}

std::vector<ErrorRow> Provoke::ReadPage() {
  std::vector<ErrorRow> rows;
  std::ifstream page(TUTTI_SOURCE_DIR "/docs/errors.md");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ``")) continue;
    ErrorRow row;
    row.message = line.substr(4, line.find("`` |") - 4);
    row.pieces = SplitText(row.message, "...");
    row.provoked_by = SplitText(line, " | ").back();
    row.provoked_by.resize(row.provoked_by.find(" |"));
    rows.push_back(std::move(row));
  }
  EXPECT_GT(rows.size(), 150u);
  return rows;
}

void Provoke::Expect(const std::string& sentence) {
  bool found = false;
  for (ErrorRow& row : rows_) {
    if (!Fits(row, sentence)) continue;
    row.seen = sentence;
    found = true;
  }
  EXPECT_TRUE(found) << "docs/errors.md has no row for: " << sentence;
}

void Provoke::Expect(const Status& status) {
  ASSERT_FALSE(status.ok());
  Expect(status.message());
}

void Provoke::ExpectLast(int result) {
  EXPECT_NE(result, ncclSuccess);
  EXPECT_NE(result, ncclInProgress);
  Expect(std::string(ncclGetLastError(nullptr)));
}

void Provoke::TearDown() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test->test_suite_name()) + "." + test->name();
  for (const ErrorRow& row : rows_) {
    if (row.provoked_by == name) {
      EXPECT_FALSE(row.seen.empty()) << name << " does not provoke: " << row.message;
    }
    if (!row.seen.empty() && !row.provoked_by.starts_with("Provoke.")) {
      ADD_FAILURE() << "docs/errors.md: this row is provoked by " << name << ": " << row.message;
    }
  }
}

Settings Quick() {
  Settings settings;
  settings.timeout_ms = 20000;
  settings.init_timeout_ms = 20000;
  return settings;
}

std::vector<Status> OnRankThreads(int ranks, const std::function<Status(int rank)>& body) {
  std::vector<Status> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { outcomes[static_cast<std::size_t>(rank)] = body(rank); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<Status> OnCommunicators(int ranks, const std::function<Status(Communicator&)>& body,
                                    const std::function<void(int rank, CommunicatorOptions&)>& change) {
  const UniqueId id = *CreateUniqueId();
  return OnRankThreads(ranks, [&](int rank) {
    CommunicatorOptions options = {.rank = rank, .ranks = ranks, .id = id, .settings = Quick()};
    if (change) change(rank, options);
    Result<Communicator> communicator = Communicator::Create(options);
    return communicator.ok() ? body(*communicator) : communicator.status();
  });
}

std::string SaidByChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);  // where the log goes
    const std::string said = body();
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t got; (got = read(ends[0], part, sizeof(part))) > 0;) said.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return said;
}

}  // namespace tutti::tests
