// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Settings of the machine as a graph (docs/planning.md).
#include "base/settings_rows.h"

#include "base/settings_columns.h"

namespace tutti {

using namespace rows;  // NOLINT: the columns

namespace {

constexpr std::int64_t kMostRank = 65535;

constexpr Setting kRows[] = {
    Row({.name = "NCCL_TOPO_FILE",
         .values = "a path",
         .meaning = "The host as NCCL's topology XML, instead of what the system says; what it leaves out of GPUs and "
                    "cards comes from "
                    "there. Unset: /var/run/nvidia-topologyd/virtualTopology.xml where that exists."},
        kText<&S::topo_file>),
    Row({.name = "NCCL_TOPO_DUMP_FILE",
         .values = "a path",
         .meaning = "Where the host's graph is written to, as NCCL's topology XML."},
        kText<&S::topo_dump_file>),
    Row({.name = "NCCL_TOPO_DUMP_FILE_RANK",
         .values = "-1 to 65535",
         .meaning = "The rank that writes NCCL_TOPO_DUMP_FILE. -1: none."},
        kNumber<&S::topo_dump_rank, Kind::kCount, -1, kMostRank>),
    Row({.name = "NCCL_GRAPH_FILE",
         .values = "a path",
         .meaning =
             "Channels as NCCL's graph XML: the order in which a ring visits GPUs, the most channels of an operation "
             "on them, and "
             "the port by which each GPU leaves the host, instead of those that a search finds (docs/planning.md)."},
        kText<&S::graph_file>),
    Row({.name = "NCCL_GRAPH_DUMP_FILE",
         .values = "a path",
         .meaning = "Where the channels of a communicator's GPUs are written to, as NCCL's graph XML."},
        kText<&S::graph_dump_file>),
    Row({.name = "NCCL_GRAPH_DUMP_FILE_RANK",
         .values = "-1 to 65535",
         .meaning = "The rank that writes NCCL_GRAPH_DUMP_FILE. -1: none."},
        kNumber<&S::graph_dump_rank, Kind::kCount, -1, kMostRank>),
    Row({.name = "NCCL_CROSS_NIC",
         .values = "0, 1, 2",
         .meaning = "Whether data may go from a network card to one of another rail at the other host. 0: never. 1: "
                    "the closest card at "
                    "each end, whatever its rail. 2: the rail first, other cards where that leads nowhere.",
         .agreement = Agreement::kRankZero},
        kNumber<&S::cross_nic, Kind::kCount, 0, 2>),
    Row({.name = "NCCL_NET_GDR_LEVEL",
         .values = "LOC, NVL, PIX, PXB, PHB, SYS, or 0 to 5",
         .meaning = "How far a network card may be from a GPU whose memory it reads and writes itself. Unset: as NCCL "
                    "decides it. Data "
                    "between hosts go through host memory so far: it changes which cards count as close, and the log."},
        kLevel<&S::gdr_level>),
    Row({.name = "NCCL_NET_GDR_READ",
         .values = "-2 to 1",
         .meaning = "Whether cards may read GPU memory too. Below 0: of GPUs from compute capability 8.0 on, of those "
                    "with NVLinks, and of a "
                    "GPU that is alone. As NCCL_NET_GDR_LEVEL."},
        kNumber<&S::gdr_read, Kind::kCount, -2, 1>),
};

}  // namespace

std::span<const Setting> SettingsOfGraph() { return kRows; }

}  // namespace tutti
