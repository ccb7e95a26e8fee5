// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/joint_look.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>

#include "watch/far_report.h"

namespace tutti::watch {
namespace {

// As a process of east tells it: ranks 0 and 1 there, 2 on west, 3 on north, which is silent.
JointLook Told() {
  diag::Look look{.taken_ns = 5'000'000'000};
  look.hosts = {{.name = "east"}, {.name = "west"}, {.name = "north", .silent_ns = 3 * diag::kSecond}};
  look.processes.push_back({.host = "east", .pid = 10});
  look.processes.push_back({.host = "east", .pid = 11});
  look.processes.push_back({.host = "west", .pid = 10, .state = diag::ProcessState::kStopped});
  look.processes.push_back({.host = "north", .pid = 7});
  diag::CommunicatorLook c{.id = 0xc0, .whole = 0xabc, .ranks = 4, .own_collectives = 3};
  for (int rank = 0; rank < 4; ++rank) c.seen.push_back({.rank = rank, .process = rank, .called = 100});
  look.communicators.push_back(c);
  return {.machine = 77, .look = look};
}

TEST(JointLook, ComesOverWithItsHosts) {
  const std::vector<std::byte> message = Encode(Told());
  const Result<JointLook> come = ParseJointLook(message);
  ASSERT_TRUE(come.ok());
  EXPECT_EQ(come->machine, 77u);
  ASSERT_EQ(come->look.hosts.size(), 3u);
  EXPECT_EQ(come->look.hosts[2].name, "north");
  EXPECT_EQ(come->look.hosts[2].silent_ns, 3 * diag::kSecond);
  EXPECT_EQ(come->look.processes.at(2).host, "west");
  EXPECT_EQ(come->look.communicators.at(0).seen.at(3).called, 100u);
  EXPECT_EQ(Encode(*come), message);
}

TEST(JointLook, IsRefusedWhereItIsCutOrPointsNowhere) {
  std::vector<std::byte> message = Encode(Told());
  for (std::size_t bytes = 0; bytes < message.size(); ++bytes)
    EXPECT_FALSE(ParseJointLook(std::span(message).first(bytes)).ok()) << bytes;
  message.push_back(std::byte{0});
  EXPECT_FALSE(ParseJointLook(message).ok());
  // The host of the first process: behind the form, the machine, three names with their silences, and how many processes there are.
  message = Encode(Told());
  const std::size_t place = 1 + 8 + 4 + (1 + 4 + 8) + (1 + 4 + 8) + (1 + 5 + 8) + 4;
  ASSERT_EQ(message[place], std::byte{0});
  message[place] = std::byte{3};
  EXPECT_FALSE(ParseJointLook(message).ok());
}

TEST(JointLook, IsEmptyWhereItIsTooLarge) {
  JointLook told = Told();
  told.look.processes[0].name = std::string(512, 'x');
  told.look.processes.resize(kMostReportBytes / 512 + 1, told.look.processes[0]);
  EXPECT_TRUE(Encode(told).empty());
}

// What the machine sees itself stays; what it does not see is added.
TEST(JointLook, IsAddedBehindOwnEvidence) {
  diag::Look own{.taken_ns = 6'000'000'000, .hosts = {{.name = "vm"}}};
  own.processes.push_back({.host = "vm", .pid = 10});
  own.processes.push_back({.host = "vm", .pid = 99});  // of another job
  diag::CommunicatorLook c{.id = 0xc0, .ranks = 4};
  c.seen.push_back({.rank = 0, .process = 0, .island = 2, .called = 101});
  own.communicators.push_back(c);
  AddJointLook(own, Told());
  const diag::CommunicatorLook& joint = own.communicators.at(0);
  ASSERT_EQ(joint.seen.size(), 4u);
  EXPECT_EQ(joint.seen[0].called, 101u);
  EXPECT_EQ(own.ProcessOf(joint.seen[0])->host, "east");
  EXPECT_EQ(own.processes[1].host, "vm");
  EXPECT_EQ(own.ProcessOf(joint.seen[1])->pid, 11);
  // The same pid on another host is another process.
  EXPECT_EQ(own.ProcessOf(joint.seen[2])->host, "west");
  EXPECT_EQ(own.ProcessOf(joint.seen[2])->state, diag::ProcessState::kStopped);
  // Ranks of one host share memory, others do not.
  EXPECT_EQ(joint.seen[1].island, joint.seen[0].island);
  EXPECT_NE(joint.seen[2].island, joint.seen[0].island);
  EXPECT_NE(joint.seen[3].island, joint.seen[2].island);
  ASSERT_EQ(own.hosts.size(), 4u);
  EXPECT_EQ(own.hosts[3].silent_ns, 3 * diag::kSecond);
}

TEST(JointLook, TellsOfCommunicatorsThatNobodyHereSees) {
  diag::Look own{.hosts = {{.name = "vm"}}};
  AddJointLook(own, Told());
  ASSERT_EQ(own.communicators.size(), 1u);
  EXPECT_EQ(own.communicators[0].seen.size(), 4u);
  // A part of which nobody is here stays a part.
  EXPECT_EQ(own.communicators[0].whole, 0xabcu);
  EXPECT_EQ(own.communicators[0].own_collectives, 3u);
  // One of another size is not the same.
  own.communicators[0].ranks = 5;
  own.communicators[0].seen.resize(1);
  AddJointLook(own, Told());
  EXPECT_EQ(own.communicators[0].seen.size(), 1u);
}

}  // namespace
}  // namespace tutti::watch
