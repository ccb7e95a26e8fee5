# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Options of a communicator."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields

from ._library import API_MAGIC, HEADER_VERSION, ConfigStruct, NcclInvalid
from ._types import NCCL_UNDEF_INT, CTAPolicy

_IN_C = {"cga_cluster_size": "cgaClusterSize", "min_ctas": "minCTAs", "max_ctas": "maxCTAs", "net_name": "netName",
         "split_share": "splitShare", "traffic_class": "trafficClass", "comm_name": "commName", "collnet_enable": "collnetEnable",
         "cta_policy": "CTAPolicy", "shrink_share": "shrinkShare", "nvls_ctas": "nvlsCTAs",
         "n_channels_per_net_peer": "nChannelsPerNetPeer", "nvlink_centric_sched": "nvlinkCentricSched",
         "graph_usage_mode": "graphUsageMode", "num_rma_ctx": "numRmaCtx", "max_p2p_peers": "maxP2pPeers",
         "graph_stream_ordering": "graphStreamOrdering"}


@dataclass(kw_only=True)
class NCCLConfig:
    """Options of a communicator; what is None gets its default. The library checks them when a communicator is made of them.

    In host memory `blocking`, `split_share`, `shrink_share` and `comm_name` have a meaning.
    """

    blocking: bool | None = None
    cga_cluster_size: int | None = None
    min_ctas: int | None = None
    max_ctas: int | None = None
    net_name: str | None = None
    split_share: bool | None = None
    traffic_class: int | None = None
    comm_name: str | None = None
    collnet_enable: bool | None = None
    cta_policy: CTAPolicy | None = None
    shrink_share: bool | None = None
    nvls_ctas: int | None = None
    n_channels_per_net_peer: int | None = None
    nvlink_centric_sched: bool | None = None
    graph_usage_mode: int | None = None
    num_rma_ctx: int | None = None
    max_p2p_peers: int | None = None
    graph_stream_ordering: int | None = None

    def as_struct(self) -> ConfigStruct:
        """ncclConfig_t."""
        struct = ConfigStruct(size=ctypes.sizeof(ConfigStruct), magic=API_MAGIC, version=HEADER_VERSION)
        for field in fields(self):
            name = _IN_C.get(field.name, field.name)
            value = getattr(self, field.name)
            if field.name in ("net_name", "comm_name"):
                if value is not None and not isinstance(value, str):
                    raise NcclInvalid(f"{field.name} is a text, not {value!r}")
                setattr(struct, name, None if value is None else value.encode())
            else:
                setattr(struct, name, NCCL_UNDEF_INT if value is None else int(value))
        return struct


def pointer_to(config: NCCLConfig | None) -> ctypes.Array[ConfigStruct] | None:
    """For the library, which copies what it reads."""
    if config is None:
        return None
    if not isinstance(config, NCCLConfig):
        raise NcclInvalid(f"config is an NCCLConfig, not {type(config).__name__}")
    return (ConfigStruct * 1)(config.as_struct())
