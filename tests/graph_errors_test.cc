// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The errors and warnings of NCCL's files of a host's graph, as docs/errors.md lists them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "nccl.h"
#include "tests/support/errors_page.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

constexpr const char* kOneGpu =
    "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"1\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
    "modelid=\"143\">\n"
    "<pci busid=\"0000:10:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" "
    "sm=\"90\" rank=\"0\" "
    "gdr=\"1\"/></pci>\n</cpu>\n</system>\n";

std::string Write(const ScratchFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.Path(name)) << text;
  return folder.Path(name);
}

Status Making(const std::function<void(Settings&)>& change) {
  return OnCommunicators(
      1, [](Communicator&) { return Status::Ok(); },
      [&](int, CommunicatorOptions& options) { change(options.settings); })[0];
}

TEST_F(Provoke, FilesOfTheGraph) {
  const ScratchFolder folder;
  const std::string bad = Write(folder, "bad.xml", "<system version=\"9\"/>\n");
  const Status refused = Making([&](Settings& s) { s.topo_file = bad; });
  EXPECT_EQ(refused.code(), Code::kInvalidUsage);
  Expect(refused);
  Expect(Making([&](Settings& s) { s.topo_file = folder.path(); }));
  Expect(Making([&](Settings& s) { s.topo_file = Write(folder, "empty.xml", "<system version=\"1\"/>\n"); }));
  Expect(Making([&](Settings& s) {
    s.topo_file = Write(folder, "good.xml", kOneGpu);
    s.graph_file = Write(folder, "graph.xml", "<graphs version=\"1\">\n<graph id=\"0\"/>\n</graphs>\n");
  }));
  // And by the C interface.
  setenv("NCCL_TOPO_FILE", bad.c_str(), 1);
  ncclComm_t comm = nullptr;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidUsage);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("bad.xml:1:"), std::string::npos) << ncclGetLastError(nullptr);
  unsetenv("NCCL_TOPO_FILE");
}

TEST_F(Provoke, FilesOfTheGraphThatDoNoHarm) {
  const ScratchFolder folder;
  for (const std::string& line : SplitText(SaidByChild([&] {
                                             const Status made = Making([&](Settings& s) {
                                               s.topo_file = folder.Path("nowhere.xml");
                                               s.topo_dump_file = folder.Path("no/folder.xml");
                                             });
                                             return made.ok() ? std::string() : "failed: " + made.message();
                                           }),
                                           "\n")) {
    if (!line.empty()) Expect(line);
  }
}

}  // namespace
}  // namespace tutti::tests
