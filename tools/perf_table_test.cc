// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_table.h"

#include <gtest/gtest.h>

namespace tutti::tools {
namespace {

TEST(FormatNumber, TakesAsManyOfTwoDecimalsAsFit) {
  EXPECT_EQ(FormatNumber(0, 7), "   0.00");
  EXPECT_EQ(FormatNumber(0.004, 7), "   0.00");
  EXPECT_EQ(FormatNumber(21.724, 7), "  21.72");
  EXPECT_EQ(FormatNumber(9999.99, 7), "9999.99");
  EXPECT_EQ(FormatNumber(9999.996, 7), "10000.0");
  EXPECT_EQ(FormatNumber(12345.67, 7), "12345.7");
  EXPECT_EQ(FormatNumber(123456.7, 7), " 123457");
  EXPECT_EQ(FormatNumber(1234567, 7), "1234567");
  EXPECT_EQ(FormatNumber(12345678, 7), "1.2e+07");
  EXPECT_EQ(FormatNumber(355.88, 6), "355.88");
  EXPECT_EQ(FormatNumber(1000.54, 6), "1000.5");
  EXPECT_EQ(FormatNumber(12345.6, 6), " 12346");
  EXPECT_EQ(FormatNumber(1234567, 6), " 1e+06");
}

// The expected lines are nccl-tests' own (4 x H200, nccl-tests 2.19.6).
TEST(FormatRow, IsThatOfNcclTests) {
  Row row{.bytes = 1073741824, .count = 268435456, .type = DataType::kFloat32, .op = "sum"};
  row.out_of_place = {.time_us = 4525.74, .algorithm_gbps = 237.25, .bus_gbps = 355.88, .wrong = 0};
  row.in_place = {.time_us = 4538.78, .algorithm_gbps = 236.57, .bus_gbps = 354.86, .wrong = 0};
  EXPECT_EQ(FormatRow(row, Columns::kStandard),
            "  1073741824     268435456     float     sum      -1  4525.74  237.25  355.88       0  4538.78  "
            "236.57  "
            "354.86       0\n");
}

TEST(FormatRow, SaysWhatWasNotCheckedAndWhatDoesNotExist) {
  Row row{.bytes = 64, .count = 4, .type = DataType::kFloat32};
  row.out_of_place = {.time_us = 21.79};
  row.in_place = {.time_us = 22.33};
  EXPECT_EQ(FormatRow(row, Columns::kStandard),
            "          64             4     float    none      -1    21.79    0.00    0.00     N/A    22.33  "
            "  0.00    "
            "0.00     N/A\n");
  row.in_place.reset();
  row.out_of_place.wrong = 12345678;
  row.root = 3;
  EXPECT_EQ(FormatRow(row, Columns::kStandard),
            "          64             4     float    none       3    21.79    0.00    0.00  1.23457e+07      "
            "N/A     N/A "
            "    N/A     N/A\n");
}

TEST(FormatRow, NamesTheChoiceWhereAsked) {
  Row row{.bytes = 8, .count = 2, .op = "sum"};
  row.algorithm = "recursive_doubling";
  row.protocol = "LL128";
  EXPECT_TRUE(FormatRow(row, Columns::kWithChoice).ends_with("     N/A  recursive_doubling   LL128      1\n"));
}

TEST(FormatTitles, AreThoseOfNcclTests) {
  EXPECT_EQ(FormatTitles(Columns::kStandard),
            "#\n"
            "#                                                              out-of-place                     "
            "  in-place         "
            " \n"
            "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time  "
            " algbw   busbw  "
            "#wrong \n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  "
            "(GB/s)  (GB/s)  "
            "       \n");
}

TEST(FormatHeader, ListsTheOptions) {
  PerfOptions options;
  options.min_bytes = 8;
  options.max_bytes = 1 << 30;
  options.step_factor = 2;
  options.warmup = 5;
  const std::string header = FormatHeader(options);
  EXPECT_TRUE(header.starts_with("# tutti version "));
  EXPECT_NE(header.find("# Collective test starting: tutti perf all_reduce\n"
                        "# nThread 1 nGpus 0 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 "
                        "agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
                        "#\n"
                        "# Using devices\n"),
            std::string::npos);
  options.step_factor = 1;
  EXPECT_NE(FormatHeader(options).find(" step: 1048576(bytes) "), std::string::npos);
}

TEST(FormatDevice, IsThatOfNcclTests) {
  EXPECT_EQ(FormatDevice({.rank = 3, .pid = 889, .host = "vm", .local_rank = 3, .device = "AMD EPYC"}),
            "#  Rank  3 Group  0 Pid    889 on         vm device  3 [cpu] AMD EPYC\n");
}

TEST(FormatFooter, IsThatOfNcclTests) {
  EXPECT_EQ(FormatFooter({.mean_bus_gbps = 100.036}, Collective::kAllReduce),
            "# Out of bounds values : 0 OK\n"
            "# Avg bus bandwidth    : 100.036 \n"
            "#\n"
            "# Collective test concluded: tutti perf all_reduce\n"
            "#\n"
            "\n");
  const std::string failed =
      FormatFooter({.wrong = 4, .mean_bus_gbps = 10, .required_gbps = 12, .error = "TIMEOUT: x"}, Collective::kGather);
  EXPECT_NE(failed.find("Out of bounds values : 4 FAILED\n"), std::string::npos);
  EXPECT_NE(failed.find("Avg bus bandwidth    : 10 FAILED\n"), std::string::npos);
  EXPECT_TRUE(failed.ends_with("#\n# error: TIMEOUT: x\n"));
}

TEST(Summary, MayFallATenthShortOfWhatIsRequired) {
  EXPECT_TRUE((Summary{.mean_bus_gbps = 9.1, .required_gbps = 10}).fast_enough());
  EXPECT_FALSE((Summary{.mean_bus_gbps = 8.9, .required_gbps = 10}).fast_enough());
  EXPECT_TRUE((Summary{.mean_bus_gbps = 0}).fast_enough());
}

}  // namespace
}  // namespace tutti::tools
