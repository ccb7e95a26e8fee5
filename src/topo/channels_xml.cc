// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/channels_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/words.h"
#include "topo/xml_file.h"

namespace tutti::topo {
namespace {

constexpr int kHostShift = 56;
constexpr int kMostNumber = 1 << 30;
constexpr double kMostRate = 1e9;

const std::vector<XmlRule>& Rules() {
  static const std::vector<XmlRule> rules = {
      {"graphs", {""}, {"version", "name"}},
      {"graph",
       {"graphs"},
       {"id", "pattern", "crossnic", "nchannels", "speedintra", "speedinter", "latencyinter", "typeintra", "typeinter",
        "samechannels"}},
      {"channel", {"graph"}, {}},
      {"net", {"channel"}, {"dev"}},
      {"gpu", {"channel"}, {"dev", "rank"}},
  };
  return rules;
}

class Reader {
 public:
  Reader(const std::string& where, const Graph& graph);
  Result<std::vector<Channels>> Read(std::string_view text);

 private:
  Result<Channels> ReadGraph(pugi::xml_node element) const;
  Result<ChannelOrder> ReadChannel(pugi::xml_node element) const;
  Result<int> FindGpu(pugi::xml_node gpu) const;
  Result<int> FindPort(pugi::xml_node net) const;
  // Host and number.
  Result<std::pair<int, int>> ReadDev(pugi::xml_node at) const;
  Result<PathType> ReadType(pugi::xml_node at, const char* attribute) const;

  XmlFile file_;
  std::map<std::pair<int, int>, int> gpus_, ports_;  // by host and number
  std::map<int, int> gpu_of_rank_;
};

Reader::Reader(const std::string& where, const Graph& graph) : file_(where) {
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    if (const Gpu* gpu = node.gpu()) {
      gpus_.try_emplace({node.host, gpu->dev}, i);
      if (gpu->rank >= 0) gpu_of_rank_.try_emplace(gpu->rank, i);
    }
    if (const Port* port = node.port()) ports_.try_emplace({node.host, port->dev}, i);
  }
}

Result<std::vector<Channels>> Reader::Read(std::string_view text) {
  TUTTI_RETURN_IF_ERROR(file_.Parse(text, Rules()));
  const pugi::xml_node graphs = file_.root().child("graphs");
  if (!graphs) return file_.Refuse(file_.root().first_child(), "this is no file of channels: it has no <graphs>");
  int version = 0;
  TUTTI_RETURN_IF_ERROR(file_.Require(graphs, "version", 0, kMostNumber, version));
  if (version != 1) return file_.Refuse(graphs, fmt::format("version {} is not known; NCCL writes 1", version));
  std::vector<Channels> all;
  std::set<GraphId> ids;
  for (const pugi::xml_node element : graphs.children("graph")) {
    Result<Channels> channels = ReadGraph(element);
    if (!channels.ok()) return channels.status();
    if (!ids.insert(channels->id).second) {
      return file_.Refuse(element, fmt::format("id {} is there twice", static_cast<int>(channels->id)));
    }
    all.push_back(std::move(*channels));
  }
  return all;
}

Result<Channels> Reader::ReadGraph(pugi::xml_node element) const {
  Channels is;
  int id = 0, pattern = 0, cross_nic = 0, count = 0, same = 0;
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "id", 0, static_cast<int>(GraphId::kCollNetDirect), id));
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "pattern", 1, static_cast<int>(Pattern::kCollNetDirect), pattern));
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "crossnic", 0, 2, cross_nic));
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "nchannels", 0, kMostNumber, count));
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "speedintra", 0.0, kMostRate, is.gb_per_s_inside));
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "speedinter", 0.0, kMostRate, is.gb_per_s_between));
  TUTTI_RETURN_IF_ERROR(file_.Read(element, "latencyinter", 0.0, kMostRate, is.latency_between_us));
  TUTTI_RETURN_IF_ERROR(file_.Require(element, "samechannels", 0, 1, same));
  const Result<PathType> inside = ReadType(element, "typeintra"), between = ReadType(element, "typeinter");
  if (!inside.ok()) return inside.status();
  if (!between.ok()) return between.status();
  is.id = static_cast<GraphId>(id);
  is.pattern = static_cast<Pattern>(pattern);
  is.cross_nic = cross_nic != 0;
  is.same = same != 0;
  is.type_inside = *inside;
  is.type_between = *between;
  for (const pugi::xml_node channel : element.children("channel")) {
    Result<ChannelOrder> order = ReadChannel(channel);
    if (!order.ok()) return order.status();
    is.channels.push_back(std::move(*order));
  }
  if (is.channels.size() != static_cast<std::size_t>(count)) {
    return file_.Refuse(element, fmt::format("nchannels is {}, but it has {} channels", count, is.channels.size()));
  }
  return is;
}

Result<ChannelOrder> Reader::ReadChannel(pugi::xml_node element) const {
  ChannelOrder order;
  std::set<int> seen;
  bool first_net = true;
  for (const pugi::xml_node child : element.children()) {
    const std::string_view name = child.name();
    if (name == "gpu") {
      const Result<int> gpu = FindGpu(child);
      if (!gpu.ok()) return gpu.status();
      if (!seen.insert(*gpu).second) return file_.Refuse(child, "this GPU is in the channel already");
      order.gpus.push_back(*gpu);
    }
    if (name == "net") {
      const Result<int> port = FindPort(child);
      if (!port.ok()) return port.status();
      if (order.port_out)
        return file_.Refuse(child, "a channel has two nets at most, one to come in and one to go out");
      (first_net && order.gpus.empty() ? order.port_in : order.port_out) = *port;
      first_net = false;
    }
  }
  if (order.gpus.empty()) return file_.Refuse(element, "it has no gpu");
  return order;
}

Result<int> Reader::FindGpu(pugi::xml_node gpu) const {
  int rank = -1;
  TUTTI_RETURN_IF_ERROR(file_.Read(gpu, "rank", -1, kMostNumber, rank));
  const Result<std::pair<int, int>> dev = ReadDev(gpu);
  if (!dev.ok()) return dev.status();
  if (const auto known = gpu_of_rank_.find(rank); known != gpu_of_rank_.end()) return known->second;
  if (const auto known = gpus_.find(*dev); known != gpus_.end()) return known->second;
  return file_.Refuse(gpu, fmt::format("host {} of this machine has no GPU {}", dev->first, dev->second));
}

Result<int> Reader::FindPort(pugi::xml_node net) const {
  const Result<std::pair<int, int>> dev = ReadDev(net);
  if (!dev.ok()) return dev.status();
  if (const auto known = ports_.find(*dev); known != ports_.end()) return known->second;
  return file_.Refuse(net, fmt::format("host {} of this machine has no port {}", dev->first, dev->second));
}

Result<std::pair<int, int>> Reader::ReadDev(pugi::xml_node at) const {
  const std::string_view value = Trim(at.attribute("dev").value());
  const std::string_view digits = value.starts_with("0x") ? value.substr(2) : value;
  const std::optional<std::uint64_t> number = ParseNumber<std::uint64_t>(digits, 16);
  const std::uint64_t dev = number.value_or(0) & ((std::uint64_t{1} << kHostShift) - 1);
  if (!number || dev > kMostNumber) {
    return file_.Refuse(at, fmt::format("dev=\"{}\" is no hexadecimal number of a device", Shown(value)));
  }
  return std::pair(static_cast<int>(*number >> kHostShift), static_cast<int>(dev));
}

Result<PathType> Reader::ReadType(pugi::xml_node at, const char* attribute) const {
  const std::string_view value = Trim(at.attribute(attribute).value());
  if (const std::optional<PathType> type = PathTypeFrom(value)) return *type;
  std::string names;
  for (int t = 0; t < kPathTypes; ++t)
    names += fmt::format("{}{}", t == 0 ? "" : ", ", ToString(static_cast<PathType>(t)));
  return file_.Refuse(at, fmt::format("{}=\"{}\" is no type of paths; types are {}", attribute, Shown(value), names));
}

void WriteDev(XmlWriter& xml, int host, int dev) {
  xml.Attribute("dev",
                fmt::format("{:#x}", static_cast<std::uint64_t>(host) << kHostShift | static_cast<std::uint64_t>(dev)));
}

void WriteNet(XmlWriter& xml, const std::optional<int>& port, const Graph& graph) {
  if (!port) return;
  xml.Open("net");
  WriteDev(xml, graph.node(*port).host, graph.node(*port).port()->dev);
  xml.Close();
}

void WriteGraph(XmlWriter& xml, const Channels& is, const Graph& graph) {
  const auto whole = [&](std::string_view name, int value) { xml.Attribute(name, fmt::format("{}", value)); };
  const auto number = [&](std::string_view name, double value) { xml.Attribute(name, fmt::format("{}", value)); };
  xml.Open("graph");
  whole("id", static_cast<int>(is.id));
  whole("pattern", static_cast<int>(is.pattern));
  whole("crossnic", is.cross_nic ? 1 : 0);
  whole("nchannels", static_cast<int>(is.channels.size()));
  number("speedintra", is.gb_per_s_inside);
  number("speedinter", is.gb_per_s_between);
  number("latencyinter", is.latency_between_us);
  xml.Attribute("typeintra", ToString(is.type_inside));
  xml.Attribute("typeinter", ToString(is.type_between));
  whole("samechannels", is.same ? 1 : 0);
  for (const ChannelOrder& channel : is.channels) {
    xml.Open("channel");
    WriteNet(xml, channel.port_in, graph);
    for (const int node : channel.gpus) {
      xml.Open("gpu");
      const Gpu& gpu = *graph.node(node).gpu();
      WriteDev(xml, graph.node(node).host, gpu.dev);
      if (gpu.rank >= 0) whole("rank", gpu.rank);
      xml.Close();
    }
    WriteNet(xml, channel.port_out, graph);
    xml.Close();
  }
  xml.Close();
}

}  // namespace

Result<std::vector<Channels>> ReadChannelsXml(std::string_view text, const std::string& where, const Graph& graph) {
  return Reader(where, graph).Read(text);
}

Channels ForBlocks(const Channels& channels) {
  constexpr double kBlockGbPerS = 20;
  constexpr int kMostChannels = 32;
  const auto count = static_cast<int>(channels.channels.size());
  Channels repeated = channels;
  if (count == 0) return repeated;
  const int times =
      std::clamp(static_cast<int>(channels.gb_per_s_inside / kBlockGbPerS), 1, std::max(kMostChannels / count, 1));
  for (int i = 1; i < times; ++i) {
    repeated.channels.insert(repeated.channels.end(), channels.channels.begin(), channels.channels.end());
  }
  repeated.gb_per_s_inside /= times;
  repeated.gb_per_s_between /= times;
  return repeated;
}

std::string WriteChannelsXml(std::span<const Channels> channels, const Graph& graph) {
  XmlWriter xml;
  xml.Open("graphs");
  xml.Attribute("version", "1");
  for (const Channels& each : channels) WriteGraph(xml, each, graph);
  xml.Close();
  return xml.Take();
}

}  // namespace tutti::topo
