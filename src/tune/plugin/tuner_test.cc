// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Tables of functions that are made here, and how they are found in libraries that are not there.
#include "tune/plugin/tuner.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "tune/plugin/find_tuner.h"

namespace tutti::tune::plugin {
namespace {

using proto::Protocol;

std::vector<std::string> g_lines;  // "WARN text"
constexpr log::Sink kSink = {
    .write =
        [](const log::Record& record) {
          g_lines.push_back(std::string(log::Name(record.level)) + " " + std::string(record.text));
        },
    .now_ns = [] { return std::int64_t{1}; }};

int CountLines(const std::string& begin, const std::string& text) {
  int count = 0;
  for (const std::string& line : g_lines) {
    count += line.starts_with(begin) && line.find(text) != std::string::npos ? 1 : 0;
  }
  return count;
}

// What the tuners below do, and what they were told.
struct {
  abi::Result init_result, ask_result, chunk_result;
  int algorithm, protocol, channels;
  std::size_t chunk;
  abi::Constants constants;
  abi::NvlDomainInfo domains;
  std::uint64_t communicator;
  int collnet, nvls, ended;
} g;

int g_context;
std::mutex g_turn;

abi::Result InitOld(std::size_t, std::size_t, abi::Log log, void** context) {
  log(2, 0x40, "tuner.c", 7, "%d ranks are too %s", 4, "many");
  *context = &g_context;
  return g.init_result;
}
abi::Result InitNew(void** context, std::uint64_t communicator, std::size_t, std::size_t, abi::Log,
                    abi::NvlDomainInfo* domains, abi::Constants* constants) {
  *context = &g_context;
  g.communicator = communicator;
  g.domains = *domains;
  g.constants = *constants;
  return g.init_result;
}
abi::Result AskForOne(void*, abi::Function, std::size_t, int collnet, int nvls, int, int* algorithm, int* protocol,
                      int* channels) {
  g.collnet = collnet;
  g.nvls = nvls;
  *algorithm = g.algorithm;
  *protocol = g.protocol;
  *channels = g.channels;
  return g.ask_result;
}
abi::Result Ask(void* context, abi::Function, std::size_t, int, float** table, int, int, int, int*) {
  EXPECT_EQ(context, &g_context);
  reinterpret_cast<float*>(table)[7] = 42;
  return g.ask_result;
}
abi::Result Cut(void*, abi::Function, std::size_t, int, int, int, std::size_t* chunk) {
  *chunk = g.chunk;
  return g.chunk_result;
}
abi::Result End(void*) {
  ++g.ended;
  return abi::kSuccess;
}

constexpr abi::Tuner<2> kTwo = {"Two", InitOld, AskForOne, End};
constexpr abi::Tuner<5> kFive = {"Five", InitNew, Ask, End};
constexpr abi::Tuner<6> kSix = {"Six", InitNew, Ask, End, Cut};

class TunerTest : public testing::Test {
 protected:
  void SetUp() override {
    g = {};
    g_lines.clear();
    log::Install(&kSink, {.level = log::Level::kInfo, .subsystems = log::kAllSubsystems, .lines_per_second = 0});
  }
  static std::shared_ptr<Tuner> Begin(int version, const void* table) {
    const Audience audience{.communicator = 0x1234, .ranks = 12, .hosts = 3, .fewest_of_host = 2, .most_of_host = 6};
    Result<std::shared_ptr<Tuner>> tuner = Tuner::Begin(Adapt(version, table), audience, g_turn);
    EXPECT_TRUE(tuner.ok()) << tuner.status().message();
    return tuner.ok() ? *tuner : nullptr;
  }
};

TEST_F(TunerTest, AsksAsNcclNamesAndMeasuresOperations) {
  struct Case {
    Collective collective;
    abi::Function function;
    std::size_t bytes;
  };
  for (const Case& c :
       {Case{Collective::kBroadcast, 0, 10}, Case{Collective::kReduce, 1, 10}, Case{Collective::kAllGather, 2, 40},
        Case{Collective::kReduceScatter, 3, 40}, Case{Collective::kAllReduce, 4, 10}}) {
    const std::optional<Question> question = QuestionOf(c.collective, 10, 4, 3);
    ASSERT_TRUE(question);
    EXPECT_EQ(question->function, c.function);
    EXPECT_EQ(question->bytes, c.bytes);
    EXPECT_EQ(question->operations, 3);
  }
  for (const Collective other : {Collective::kGather, Collective::kScatter, Collective::kAllToAll,
                                 Collective::kSendRecv, Collective::kBarrier}) {
    EXPECT_FALSE(QuestionOf(other, 10, 4));
  }
}

TEST_F(TunerTest, RowsAreNcclsAlgorithms) {
  EXPECT_EQ(RowOf("TREE"), 0);
  EXPECT_EQ(RowOf("RING"), 1);
  EXPECT_EQ(RowOf("NVLS_TREE"), 5);
  EXPECT_EQ(RowOf("PAT"), 6);
  EXPECT_FALSE(RowOf(""));
  EXPECT_FALSE(RowOf("ring"));
}

TEST_F(TunerTest, BeginsWithWhatTheCommunicatorIs) {
  const auto tuner = Begin(5, &kFive);
  ASSERT_NE(tuner, nullptr);
  EXPECT_EQ(tuner->title(), "Five (v5)");
  EXPECT_EQ(g.communicator, 0x1234u);
  EXPECT_EQ(g.domains.nNvlDomains, 3);
  EXPECT_EQ(g.domains.minRanksPerNvlDomain, 2);
  EXPECT_EQ(g.domains.maxRanksPerNvlDomain, 6);
  // NCCL's figures, some from each table.
  EXPECT_EQ(g.constants.baseLatencies[1][0], 6.6);
  EXPECT_EQ(g.constants.hwLatencies[0][1][1], 1.9);
  EXPECT_EQ(g.constants.hwLatencies[2][5][2], 20.9);
  EXPECT_EQ(g.constants.llMaxBws[2][1], 45);
  EXPECT_EQ(g.constants.perChMaxRingLL128Bws[3][2], 40);
  EXPECT_EQ(g.constants.perChMaxTreeLL128Bws[3][1], 31.67);
  EXPECT_EQ(g.constants.perChMaxTreeBws[1][2], 17.8);
  EXPECT_EQ(g.constants.perChMaxNVLSTreeBws[2][1], 57.7);
}

TEST_F(TunerTest, EndsOnceAndNeverWhatHasNotBegun) {
  Begin(6, &kSix).reset();
  EXPECT_EQ(g.ended, 1);
  g.init_result = 2;
  const Result<std::shared_ptr<Tuner>> tuner = Tuner::Begin(Adapt(6, &kSix), {}, g_turn);
  ASSERT_FALSE(tuner.ok());
  EXPECT_EQ(tuner.status().message(), "the tuner Six (v6) does not begin: its init said ncclSystemError (2)");
  EXPECT_EQ(g.ended, 1);
}

TEST_F(TunerTest, WhatLacksAFunctionIsRefused) {
  const auto why = [](int version, const void* table) {
    return Tuner::Begin(Adapt(version, table), {}, g_turn).status().message();
  };
  const abi::Tuner<3> no_init = {"T", nullptr, nullptr, End};
  EXPECT_EQ(why(3, &no_init), "the tuner T (v3) lacks the function init");
  const abi::Tuner<4> no_end = {nullptr, InitOld, Ask, nullptr};
  EXPECT_EQ(why(4, &no_end), "the tuner without a name (v4) lacks the function destroy");
  abi::Tuner<6> six = kSix;
  six.finalize = nullptr;
  EXPECT_EQ(why(6, &six), "the tuner Six (v6) lacks the function finalize");
  six = kSix;
  six.getChunkSize = nullptr;
  EXPECT_NE(Begin(6, &six), nullptr) << "it may lack this one";
}

TEST_F(TunerTest, ItsLinesAreLinesOfTheLog) {
  Begin(2, &kTwo);
  EXPECT_EQ(CountLines("WARN", "tuner plugin, tuner.c:7: 4 ranks are too many"), 1);
}

TEST_F(TunerTest, ChangesTheTable) {
  CostTable table;
  int channels = 0;
  EXPECT_TRUE(Begin(6, &kSix)->Ask({.function = 4, .bytes = 8}, table, channels));
  EXPECT_EQ(table.us[2][1], 42) << "rows are algorithms";
}

TEST_F(TunerTest, AnAnswerOfVersionTwoCostsNothing) {
  const auto tuner = Begin(2, &kTwo);
  CostTable table;
  table.us[1] = {3, 4, 5};
  table.us[abi::kNvlsTree][2] = 9;
  g.algorithm = 1;
  g.protocol = 2;
  g.channels = 6;
  int channels = 0;
  EXPECT_TRUE(tuner->Ask({}, table, channels));
  EXPECT_EQ(table.us[1][2], 0);
  EXPECT_EQ(table.us[1][1], 4);
  EXPECT_EQ(channels, 6);
  EXPECT_EQ(g.nvls, 1);
  EXPECT_EQ(g.collnet, 0);
  const CostTable before = table;
  for (const auto& [algorithm, protocol] : {std::pair(0, 0), {-1, -1}, {7, 0}, {1, 3}, {1, -1}}) {
    g.algorithm = algorithm;
    g.protocol = protocol;
    EXPECT_TRUE(tuner->Ask({}, table, channels));
    EXPECT_EQ(table.us, before.us) << algorithm << ' ' << protocol;
  }
}

TEST_F(TunerTest, AnErrorSwitchesItOffWithOneWarning) {
  const auto tuner = Begin(6, &kSix);
  CostTable table;
  int channels = 0;
  g.ask_result = 5;
  EXPECT_FALSE(tuner->Ask({}, table, channels));
  g.ask_result = 0;
  EXPECT_FALSE(tuner->Ask({}, table, channels));
  g.chunk = 512;
  EXPECT_EQ(tuner->AskChunk({}, 1, Protocol::kSimple, 1, 4096), 4096u);
  EXPECT_EQ(CountLines("WARN", "Six (v6) is switched off: its getCollInfo said ncclInvalidUsage (5)"), 1);
  EXPECT_EQ(CountLines("WARN", ""), 1);
}

TEST_F(TunerTest, ChunksAreNoLongerThanTheyCanBe) {
  const auto tuner = Begin(6, &kSix);
  const auto chunk = [&](std::size_t asked, Protocol protocol, std::size_t most) {
    g.chunk = asked;
    return tuner->AskChunk({}, 1, protocol, 1, most);
  };
  EXPECT_EQ(chunk(131072, Protocol::kSimple, 131072), 131072u);
  EXPECT_EQ(chunk(~std::size_t{0}, Protocol::kSimple, 131072), 131072u);
  EXPECT_EQ(chunk(1500, Protocol::kSimple, 131072), 1024u);
  EXPECT_EQ(chunk(0, Protocol::kSimple, 131072), 512u);
  EXPECT_EQ(chunk(0, Protocol::kSimple, 128), 128u);
  EXPECT_EQ(chunk(5000, Protocol::kLl128, 61440), 3840u);
  EXPECT_EQ(chunk(31, Protocol::kLl, 4096), 16u);
  EXPECT_EQ(Begin(5, &kFive)->AskChunk({}, 1, Protocol::kLl, 1, 4096), 4096u) << "version 5 has no such function";
  g.chunk_result = 3;
  EXPECT_EQ(chunk(1024, Protocol::kSimple, 4096), 4096u);
  EXPECT_EQ(CountLines("WARN", "getChunkSize said ncclInternalError (3)"), 1);
}

// Libraries with their symbols; whatever was asked for is in `opened`.
class FindTunerTest : public TunerTest {
 protected:
  // "Six (v6)", "" or the error.
  std::string Found(const std::string& plugin, const std::string& network = "") {
    opened_.clear();
    const Result<std::shared_ptr<const Interface>> found =
        FindTuner({.plugin = plugin, .network_library = network, .open = [this](const std::string& name) {
                     opened_.push_back(name);
                     return Open(name);
                   }});
    if (!found.ok()) return "error: " + found.status().message();
    return *found == nullptr ? "" : (*found)->name() + " (v" + std::to_string((*found)->version()) + ")";
  }
  Result<Library> Open(const std::string& name) const {
    if (name == "libbroken.so") return Status(Code::kSystem, "no good");
    const auto found = libraries_.find(name);
    if (found == libraries_.end()) return Status(Code::kUnsupported, "no " + name);
    return Library{.path = name, .find = [symbols = found->second](const char* symbol) -> const void* {
                     const auto at = symbols.find(symbol);
                     return at == symbols.end() ? nullptr : at->second;
                   }};
  }

  using Symbols = std::map<std::string, const void*>;
  std::map<std::string, Symbols> libraries_;
  std::vector<std::string> opened_;
  const Symbols all_ = {{"ncclTunerPlugin_v2", &kTwo}, {"ncclTunerPlugin_v5", &kFive}, {"ncclTunerPlugin_v6", &kSix}};
};

using Names = std::vector<std::string>;

TEST_F(FindTunerTest, TheNewestVersionCounts) {
  libraries_ = {{"/a", all_},
                {"/b", {{"ncclTunerPlugin_v2", &kTwo}, {"ncclTunerPlugin_v5", &kFive}}},
                {"/c", {{"ncclTunerPlugin_v2", &kTwo}}},
                {"/d", {{"ncclTunerPlugin_v1", &kTwo}, {"ncclTunerPlugin_v7", &kSix}}}};
  EXPECT_EQ(Found("/a"), "Six (v6)");
  EXPECT_EQ(CountLines("INFO", "TUNER/Plugin: Using Six (v6) from /a"), 1);
  EXPECT_EQ(Found("/b"), "Five (v5)");
  EXPECT_EQ(Found("/c"), "Two (v2)");
  EXPECT_EQ(Found("/d"),
            "error: none of the symbols ncclTunerPlugin_v2 to _v6 is in /d, so it is no tuner plugin that "
            "Tutti knows");
}

TEST_F(FindTunerTest, NamesStandForFiles) {
  libraries_ = {{"libnccl-tuner-fast.so", all_}, {"libother.so", all_}, {"", all_}};
  EXPECT_EQ(Found("fast"), "Six (v6)");
  EXPECT_EQ(opened_, Names({"fast", "libnccl-tuner-fast.so"}));
  EXPECT_EQ(Found("libother.so"), "Six (v6)");
  EXPECT_EQ(opened_, Names({"libother.so"}));
  EXPECT_EQ(Found("STATIC_PLUGIN"), "Six (v6)");
  EXPECT_EQ(Found("static"), "Six (v6)");
  EXPECT_EQ(opened_, Names({""}));
  EXPECT_EQ(Found("slow"),
            "error: it cannot be loaded: no slow; no libnccl-tuner-slow.so; a path, or a name in a folder "
            "of LD_LIBRARY_PATH, is found");
  EXPECT_EQ(Found("./slow.so").find("error: it cannot be loaded: no ./slow.so; a path"), 0u);
  EXPECT_EQ(Found("None"), "");
  EXPECT_EQ(opened_, Names());
}

TEST_F(FindTunerTest, WithoutASettingTheDefaultFileCountsAndNobodyIsWarned) {
  EXPECT_EQ(Found(""), "");
  EXPECT_EQ(opened_, Names({"libnccl-tuner.so"}));
  EXPECT_EQ(CountLines("", ""), 0);
  libraries_["libnccl-tuner.so"] = {};
  EXPECT_EQ(Found(""), "");
  EXPECT_EQ(CountLines("INFO", "libnccl-tuner.so has no interface of a tuner"), 1);
  libraries_["libnccl-tuner.so"] = all_;
  EXPECT_EQ(Found(""), "Six (v6)");
}

TEST_F(FindTunerTest, TheNetworksLibraryStandsIn) {
  libraries_ = {{"/net.so", all_}, {"/other.so", {}}, {"libnccl-tuner.so", {{"ncclTunerPlugin_v2", &kTwo}}}};
  EXPECT_EQ(Found("", "/net.so"), "Two (v2)") << "only where there is no other";
  EXPECT_EQ(Found("slow", "/net.so"), "Six (v6)");
  EXPECT_EQ(opened_, Names({"slow", "libnccl-tuner-slow.so", "/net.so"}));
  EXPECT_EQ(Found("libbroken.so", "/net.so"), "Six (v6)");
  libraries_.erase("libnccl-tuner.so");
  EXPECT_EQ(Found("", "/net.so"), "Six (v6)");
  EXPECT_EQ(Found("", "/other.so"), "");
  EXPECT_EQ(Found("slow", "/other.so").find("error: it cannot be loaded: no slow"), 0u);
  EXPECT_EQ(Found("none", "/net.so"), "");
  libraries_[""] = all_;
  EXPECT_EQ(Found("", "STATIC_PLUGIN"), "Six (v6)");
}

}  // namespace
}  // namespace tutti::tune::plugin
