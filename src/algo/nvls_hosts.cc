// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// NVLS of several hosts: inside each host an NVSwitch folds and copies, and the owners of the parts deal with other hosts.
//
//   all_reduce, 2 hosts of 3 ranks     host 0                       host 1
//     inside: a reducing read            0 ^ 1 ^ 2 of each part       3 ^ 4 ^ 5 of each part
//     between: by rail                   0 ---------------------------- 3
//                                          1 ---------------------------- 4
//                                            2 ---------------------------- 5
//     inside: a multicast                each part to all             each part to all
//
// nvls_tree goes up and down two trees between hosts (double_tree.cc), nvls_sharp through the network's switches (sharp.cc). Of g ranks
// in each host an NVLink carries S (1 + 1/g) each way; a rank's network interface S/g with nvls_sharp and, with nvls_tree, S/g among two
// hosts and at most 2 S/g among more.
//
// After NCCL's NVLSTree, and its NVLS of several hosts. hierarchy.h says how it is composed.

#include "algo/build.h"
#include "algo/hierarchy.h"
#include "algo/switches.h"

namespace tutti::algo {
namespace {

template <Algorithm kOuter>
plan::RankPlan Build(const Request& q) {
  return ComposeHierarchy(q, Lanes::kRails, Get(kOuter), Inside::kSwitch);
}

}  // namespace

Entry NvlsTreeEntry() {
  return InSwitches(
      Algorithm::kNvlsTree, "nvls_tree", "NVLSTREE",
      [](Collective c, const Hosts& hosts) {
        return hosts.count() > 1 && (c == Collective::kAllReduce || c == Collective::kBroadcast);
      },
      Build<Algorithm::kDoubleTree>);
}

Entry NvlsSharpEntry() {
  return InSwitches(Algorithm::kNvlsSharp, "nvls_sharp", "", RailsPassSwitches, Build<Algorithm::kSharp>);
}

}  // namespace tutti::algo
