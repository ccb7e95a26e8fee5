// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tune/tuning_file.h"

namespace tutti::tune {
namespace {

struct Values {
  double hop_us = 0;
  int threads = 0;
  std::size_t bytes = 0;
  std::string gpu;

  std::vector<Constant> Constants() {
    return {{"hop_us", &hop_us, 0, 100}, {"threads", &threads, 32, 512}, {"bytes", &bytes}, {"gpu", &gpu}};
  }
};

// The sentence of a text, "" where it is good.
std::string SentenceOf(const std::string& text) {
  const Result<std::vector<TableText>> tables = SplitTables(text);
  if (!tables.ok()) return tables.status().message();
  Values values;
  for (const TableText& table : *tables) {
    if (const Status s = ReadTable(table, values.Constants()); !s.ok()) return s.message();
  }
  return "";
}

TEST(Table, SaysWhatItRead) {
  Values written{.hop_us = 1.25, .threads = 64, .bytes = (std::size_t{1} << 40) + 1, .gpu = "NVIDIA H200"};
  const std::string text = "# of a test\n\n" + WriteTable(kGpuTable, written.Constants());
  EXPECT_EQ(text, "# of a test\n\n[gpu]\nhop_us 1.25\nthreads 64\nbytes 1099511627777\ngpu NVIDIA H200\n");
  const Result<std::vector<TableText>> tables = SplitTables(text);
  ASSERT_TRUE(tables.ok());
  ASSERT_EQ(tables->size(), 1u);
  EXPECT_EQ(tables->front().number, 3);
  Values read;
  ASSERT_TRUE(ReadTable(tables->front(), read.Constants()).ok());
  EXPECT_EQ(WriteTable(kGpuTable, read.Constants()), WriteTable(kGpuTable, written.Constants()));
}

TEST(Table, BlanksAndLineEndsOfOtherSystemsAreNoMatter) {
  EXPECT_EQ(SentenceOf("\t[gpu] \r\n  hop_us\t 3\r\nthreads 32\r\nbytes 1\r\n# c\r\ngpu  a b \r\n"), "");
}

TEST(Table, WhatIsWrongIsSaidWithItsLineAndARemedy) {
  const std::string good = "[gpu]\nhop_us 1\nthreads 64\nbytes 1\ngpu x\n";
  ASSERT_EQ(SentenceOf(good), "");
  const std::string remedy = "`tutti tune --gpu` writes a valid table";
  EXPECT_EQ(SentenceOf("hop_us 1\n"),
            "line 1 of the tuning file: \"hop_us 1\" is in no table; a table begins with [host] or [gpu], and "
            "`tutti tune --calibrate` writes a valid file");
  for (const char* heading : {"[disk]", "[gpu", "[", "[]", "[gpu] x"}) {
    EXPECT_EQ(SentenceOf(fmt::format("\n{}\n", heading)),
              fmt::format("line 2 of the tuning file: \"{}\" begins no table that is known; write [host] for host "
                          "memory or [gpu] for GPUs",
                          heading));
  }
  EXPECT_EQ(SentenceOf(good + "hop_ms 1\n"),
            "line 6 of the tuning file: \"hop_ms\" is not a constant of a table [gpu]; " + remedy);
  EXPECT_EQ(SentenceOf(good + "hop_us 2\n"),
            "line 6 of the tuning file: hop_us has a value in line 2 already; leave one of them");
  EXPECT_EQ(SentenceOf("[gpu]\nhop_us 1\nbytes 1\ngpu x\n"),
            "the table [gpu] in line 1 of the tuning file has no threads; " + remedy);
  EXPECT_EQ(SentenceOf("[gpu]\ngpu\n"), "line 2 of the tuning file: gpu has no value; " + remedy);
  for (const char* number : {"", "-1", "nan", "inf", "1e400", "0x1", "1,5", "1 2", "101", "one"}) {
    EXPECT_EQ(SentenceOf(fmt::format("[gpu]\nhop_us {}\n", number)),
              fmt::format("line 2 of the tuning file: hop_us needs a number from 0 to 100, found \"{}\"; {}", number,
                          remedy));
  }
  for (const char* number : {"31", "513", "64.5", "1e99"}) {
    EXPECT_EQ(
        SentenceOf(fmt::format("[host]\nthreads {}\n", number)),
        fmt::format("line 2 of the tuning file: threads needs a whole number from 32 to 512, found \"{}\"; `tutti "
                    "tune --calibrate` writes a valid table",
                    number));
  }
  const std::string sentence = SentenceOf("[gpu]\n" + std::string(5000, 'x') + "\n");
  EXPECT_LT(sentence.size(), 250u) << sentence;
}

TEST(TuningFile, HoldsWhatWasPutIntoIt) {
  TuningFile file;
  file.host.emplace().switch_us = 4.5;
  GpuTable table = ShippedGpuTable("generic");
  table.name = "mine";
  table.ranks_most = 2;
  file.Put(table);
  table.machine.start_us = 7;
  file.Put(table);  // in its place
  ASSERT_EQ(file.gpus.size(), 1u);
  const Result<TuningFile> back = TuningFile::Parse(file.ToText());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->host->switch_us, 4.5);
  EXPECT_EQ(back->gpus.at(0).machine.start_us, 7);
  EXPECT_EQ(back->ToText(), file.ToText());
  EXPECT_EQ(TuningFile::Parse(file.ToText() + file.host->ToText()).status().message(),
            fmt::format("line {} of the tuning file begins a second table of host memory; leave one of them",
                        std::ranges::count(file.ToText(), '\n') + 1));
  EXPECT_EQ(TuningFile::Parse(table.ToText() + "\n" + table.ToText()).status().message(),
            fmt::format("line {} of the tuning file begins a second table of the class mine; leave one of them",
                        std::ranges::count(table.ToText(), '\n') + 2));
}

}  // namespace
}  // namespace tutti::tune
