// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/device_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <compare>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/words.h"
#include "sys/os/cpu_text.h"
#include "sys/os/fd.h"
#include "sys/os/notes.h"

namespace tutti::sys {
namespace {

constexpr std::size_t kMostBytes = 16 << 10;    // of a file
constexpr std::size_t kMostEntries = 16 << 10;  // of a folder

struct BusId {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0, device = 0, function = 0;
  auto operator<=>(const BusId&) const = default;
};

std::string ToString(const BusId& id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id.domain, id.bus, id.device, id.function);
}

std::optional<BusId> ParseBusId(std::string_view text) {
  std::array<std::uint32_t, 4> numbers{};
  constexpr std::array<std::uint32_t, 4> kMost = {0xffffffff, 0xff, 0x1f, 0x7};
  constexpr std::string_view kEnds = "::.";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t end = i < kEnds.size() ? text.find(kEnds[i]) : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    const auto number = ParseNumber<std::uint32_t>(text.substr(0, end), 16);
    if (!number || *number > kMost[i]) return std::nullopt;
    numbers[i] = *number;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return BusId{.domain = numbers[0], .bus = numbers[1], .device = numbers[2], .function = numbers[3]};
}

// "mlx5_2" before "mlx5_10": texts that end in numbers go by these.
bool GoesBefore(const std::string& a, const std::string& b) {
  const auto split = [](std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    return std::pair(name.substr(0, digits), ParseNumber<std::uint64_t>(name.substr(digits)).value_or(0));
  };
  return std::tuple(split(a), std::string_view(a)) < std::tuple(split(b), std::string_view(b));
}

// Reads files below a root, and notes what cannot be read. What is not there is not worth a note.
class Reader {
 public:
  explicit Reader(std::string root) : root_(std::move(root)) {}

  std::optional<std::string> Text(const std::string& path) { return Text(Fd(), "", root_ + path); }
  // Of a file in an open folder, or with an absolute path where that is none.
  std::optional<std::string> Text(const Fd& folder, std::string_view folder_path, const std::string& path) {
    // What pretends to be a file may be a pipe, which nobody writes to.
    constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const Fd fd(openat(folder.valid() ? folder.get() : AT_FDCWD, path.c_str(), kFlags));
    if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    // One read: a file of sysfs gives all that it has, and of /proc/cpuinfo the beginning is wanted.
    const ssize_t n = fd.valid() ? read(fd.get(), buffer_.data(), buffer_.size()) : -1;
    if (n >= 0) return std::string(Trim(std::string_view(buffer_.data(), static_cast<std::size_t>(n))));
    const std::string why = std::generic_category().message(errno);
    notes.Add(fmt::format("read {}", path.substr(path.rfind('/') + 1)),
              fmt::format("cannot read {}{}: {}", folder_path, path, why));
    return std::nullopt;
  }

  Fd Open(const std::string& folder) const {
    return Fd(open((root_ + folder).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  // Names in a folder, sorted; none where there is no such folder.
  std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir((root_ + folder).c_str()), &closedir);
    if (open == nullptr) {
      if (errno != ENOENT)
        notes.Add(folder, fmt::format("cannot list {}{}: {}", root_, folder, std::generic_category().message(errno)));
      return names;
    }
    while (const dirent* entry = readdir(open.get())) {
      if (entry->d_name[0] == '.') continue;
      if (names.size() == kMostEntries) {
        notes.Add(folder,
                  fmt::format("{}{} has more than {} entries; the others are left out", root_, folder, kMostEntries));
        break;
      }
      names.emplace_back(entry->d_name);
    }
    std::ranges::sort(names, GoesBefore);
    return names;
  }

  // What a symbolic link says; empty where there is none. It is not followed: it may lead in circles.
  std::string Link(const std::string& path) const {
    std::array<char, PATH_MAX> target;
    const ssize_t n = readlink((root_ + path).c_str(), target.data(), target.size());
    return n < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(n));
  }
  bool Exists(const std::string& path) const {
    return faccessat(AT_FDCWD, (root_ + path).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  }

  Notes notes;

 private:
  std::string root_;
  std::array<char, kMostBytes> buffer_;
};

// The PCI devices in the target of a link, from the host bridge down.
struct Chain {
  std::string host_bridge;
  std::vector<BusId> devices;
};

Chain ChainOf(std::string_view target) {
  Chain chain;
  ForEachPiece(target, '/', [&](std::string_view piece) {
    if (piece.starts_with("pci") && piece.find(':') != std::string_view::npos && chain.devices.empty())
      chain.host_bridge = piece;
    if (const auto id = ParseBusId(piece)) chain.devices.push_back(*id);
  });
  return chain;
}

// Devices whose links lead somewhere: network, display, bridges (NVSwitches are among them), InfiniBand, accelerators.
bool LinkMatters(std::string_view class_id) {
  return std::ranges::any_of(std::array{"0x02", "0x03", "0x06", "0x0c06", "0x12"},
                             [&](const char* prefix) { return class_id.starts_with(prefix); });
}

class PciReader {
 public:
  explicit PciReader(Reader& reader) : reader_(reader) {}

  std::vector<PciDevice> Read() {
    for (const std::string& name : reader_.Names(kFolder)) {
      if (const auto id = ParseBusId(name)) {
        found_.push_back(ReadOne(name, *id));
      } else {
        reader_.notes.Add("bus id", fmt::format("{}/{} has no name of a PCI device and is left out", kFolder, name));
      }
    }
    std::ranges::sort(found_, {}, &Found::id);
    std::vector<PciDevice> devices;
    for (Found& found : found_) {
      found.device.parent = ParentOf(found);
      devices.push_back(std::move(found.device));
    }
    return devices;
  }

 private:
  static constexpr const char* kFolder = "/sys/bus/pci/devices";
  struct Found {
    BusId id;
    PciDevice device;
    std::vector<BusId> above;  // from the host bridge down
  };

  Found ReadOne(const std::string& name, const BusId& id) {
    Found found{.id = id, .device = {.bus_id = ToString(id)}};
    PciDevice& device = found.device;
    path_ = fmt::format("{}/{}", kFolder, name);
    Chain chain = ChainOf(reader_.Link(path_));
    if (!chain.devices.empty() && chain.devices.back() == id) {
      chain.devices.pop_back();
      found.above = std::move(chain.devices);
      device.host_bridge = std::move(chain.host_bridge);
    } else {
      reader_.notes.Add(
          "chain", fmt::format("{} is no link to a PCI device's own folder, so what is above it is not known", path_));
    }
    folder_ = reader_.Open(path_);
    device.class_id = Id("class");
    device.vendor = Id("vendor");
    device.device = Id("device");
    device.subsystem_vendor = Id("subsystem_vendor");
    device.subsystem_device = Id("subsystem_device");
    device.numa = Number("numa_node", -1, kMostCpus, -1);
    if (!LinkMatters(device.class_id)) return found;
    device.virtual_function = reader_.Exists(path_ + "/physfn");
    device.link_speed = Speed("current_link_speed");
    device.best_link_speed = Speed("max_link_speed");
    device.link_width = Width("current_link_width");
    device.best_link_width = Width("max_link_width");
    return found;
  }

  std::optional<std::string> Text(const char* file) {
    return folder_.valid() ? reader_.Text(folder_, path_ + "/", file) : std::nullopt;
  }
  void NoteNonsense(const char* file, const std::string& text) {
    reader_.notes.Add(file, fmt::format("{}/{} says '{}', which is not believed", path_, file, text.substr(0, 40)));
  }

  // "0x10de"
  std::string Id(const char* file) {
    const std::optional<std::string> text = Text(file);
    if (!text) return "";
    if (text->size() > 2 && text->size() <= 8 && text->starts_with("0x") &&
        ParseNumber<std::uint32_t>(std::string_view(*text).substr(2), 16)) {
      return *text;
    }
    NoteNonsense(file, *text);
    return "";
  }
  int Number(const char* file, int least, int most, int otherwise) {
    const std::optional<std::string> text = Text(file);
    if (!text) return otherwise;
    const auto number = ParseNumber<int>(*text);
    if (number && *number >= least && *number <= most) return *number;
    NoteNonsense(file, *text);
    return otherwise;
  }
  // The kernel writes "Unknown" where a port has no link, and 0 lanes.
  std::string Speed(const char* file) {
    const std::optional<std::string> text = Text(file);
    if (!text || text->starts_with("Unknown")) return "";
    const std::size_t unit = text->find(" GT/s");
    if (unit != std::string::npos && text->find_first_not_of("0123456789.") == unit && (*text)[0] != '0' &&
        text->size() < 40) {
      return *text;
    }
    NoteNonsense(file, *text);
    return "";
  }
  int Width(const char* file) { return Number(file, 0, 32, 0); }

  // The nearest device above that is there. What claims to be above must be nearer to the host bridge by its own word,
  // so that there are no circles.
  int ParentOf(const Found& found) {
    for (std::size_t i = found.above.size(); i > 0; --i) {
      const auto above = std::ranges::lower_bound(found_, found.above[i - 1], {}, &Found::id);
      if (above == found_.end() || above->id != found.above[i - 1]) continue;
      if (above->above.size() < found.above.size()) return static_cast<int>(above - found_.begin());
      reader_.notes.Add("circle", fmt::format("the PCI devices {} and {} are said to be above each other",
                                              found.device.bus_id, above->device.bus_id));
    }
    return -1;
  }

  Reader& reader_;
  std::vector<Found> found_;
  std::string path_;  // of the device that is being read
  Fd folder_;         // likewise
};

void ReadNumaNodes(Reader& reader, DeviceTree& tree) {
  const std::string folder = "/sys/devices/system/node";
  std::vector<std::string> distances;
  for (const std::string& name : reader.Names(folder)) {
    const auto number = name.starts_with("node") ? ParseNumber<int>(std::string_view(name).substr(4)) : std::nullopt;
    if (!number || *number < 0 || *number > kMostCpus) continue;
    const std::string path = fmt::format("{}/{}/", folder, name);
    NumaNode node{.number = *number, .cpu_mask = reader.Text(path + "cpumap").value_or("")};
    auto cpus = ParseCpuList(reader.Text(path + "cpulist").value_or("?"));
    if (!cpus) cpus = ParseCpuMask(node.cpu_mask);
    if (!cpus) reader.notes.Add("cpulist", fmt::format("{}cpulist and {}cpumap name no CPUs", path, path));
    node.cpus = cpus.value_or(std::vector<int>());
    if (!ParseCpuMask(node.cpu_mask)) node.cpu_mask.clear();
    tree.numa_nodes.push_back(std::move(node));
    distances.push_back(reader.Text(path + "distance").value_or(""));
  }
  // One for each node, by number, at least 10 each.
  for (std::size_t i = 0; i < distances.size(); ++i) {
    std::vector<int> numbers;
    ForEachPiece(distances[i], ' ', [&](std::string_view piece) {
      if (!piece.empty()) numbers.push_back(ParseNumber<int>(piece).value_or(0));
    });
    if (numbers.size() == distances.size() && std::ranges::all_of(numbers, [](int n) { return n >= 10 && n <= 255; })) {
      tree.numa_nodes[i].distances = std::move(numbers);
    } else {
      reader.notes.Add("distance", fmt::format("the distances of NUMA node {} are '{}', which is not believed",
                                               tree.numa_nodes[i].number, distances[i].substr(0, 80)));
    }
  }
}

void ReadSockets(Reader& reader, DeviceTree& tree) {
  const std::string folder = "/sys/devices/system/cpu";
  for (const std::string& name : reader.Names(folder)) {
    const auto number =
        name.starts_with("cpu") ? ParseNumber<std::size_t>(std::string_view(name).substr(3)) : std::nullopt;
    if (!number || *number >= kMostCpus) continue;
    const auto text = reader.Text(fmt::format("{}/{}/topology/physical_package_id", folder, name));
    if (!text) continue;  // a CPU that is switched off has none
    if (tree.socket_of_cpu.size() <= *number) tree.socket_of_cpu.resize(*number + 1, -1);
    tree.socket_of_cpu[*number] = std::max(ParseNumber<int>(*text).value_or(-1), -1);
  }
}

// The PCI device that is behind an entry of /sys/class; -1: none.
int PciBehind(const Reader& reader, const DeviceTree& tree, const std::string& entry) {
  Chain chain = ChainOf(reader.Link(entry));
  if (chain.devices.empty()) chain = ChainOf(reader.Link(entry + "/device"));
  return chain.devices.empty() ? -1 : tree.FindPci(ToString(chain.devices.back()));
}

void ReadInterfaces(Reader& reader, DeviceTree& tree) {
  const std::string folder = "/sys/class/net";
  for (const std::string& name : reader.Names(folder)) {
    const std::string path = fmt::format("{}/{}", folder, name);
    NetworkInterface interface { .name = name, .pci = PciBehind(reader, tree, path) };
    if (interface.pci < 0) continue;
    const std::string state = reader.Text(path + "/operstate").value_or("unknown");
    interface.up = state == "up" || state == "unknown";
    // Where it is not known the kernel says -1, which older ones print without its sign, and of interfaces that are
    // down nothing.
    const std::int64_t speed =
        interface.up ? ParseNumber<std::int64_t>(reader.Text(path + "/speed").value_or("")).value_or(0) : 0;
    interface.mbit_per_s = speed > 0 && speed < INT_MAX ? speed : 0;
    tree.interfaces.push_back(std::move(interface));
  }
}

// "a088:c203:00ab:1234"
std::uint64_t ParseGuid(std::string text) {
  std::erase(text, ':');
  return ParseNumber<std::uint64_t>(text, 16).value_or(0);
}

// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)"
double ParseRate(std::string_view text) {
  constexpr std::string_view kUnit = " Gb/sec";
  const std::size_t unit = text.find(kUnit);
  if (unit == std::string_view::npos) return 0;
  const std::string_view number = text.substr(0, unit), whole = number.substr(0, number.find('.'));
  const std::string_view tenths = whole.size() < number.size() ? number.substr(whole.size() + 1) : "0";
  const auto one = ParseNumber<std::uint32_t>(whole), ten = ParseNumber<std::uint32_t>(tenths);
  if (!one || !ten || tenths.size() != 1 || *one >= 1'000'000) return 0;
  return *one + *ten / 10.0;
}

void ReadInfiniband(Reader& reader, DeviceTree& tree) {
  const std::string folder = "/sys/class/infiniband";
  for (const std::string& name : reader.Names(folder)) {
    const std::string path = fmt::format("{}/{}", folder, name);
    InfinibandDevice device{.name = name, .pci = PciBehind(reader, tree, path)};
    device.guid = ParseGuid(reader.Text(path + "/sys_image_guid").value_or(""));
    if (device.guid == 0) device.guid = ParseGuid(reader.Text(path + "/node_guid").value_or(""));
    for (const std::string& port : reader.Names(path + "/ports")) {
      const std::string files = fmt::format("{}/ports/{}/", path, port);
      const auto number = ParseNumber<int>(port);
      if (!number || *number < 1) continue;
      const std::string rate = reader.Text(files + "rate").value_or("");
      device.ports.push_back({.number = *number,
                              .gbit_per_s = ParseRate(rate),
                              .state = reader.Text(files + "state").value_or(""),
                              .link_layer = reader.Text(files + "link_layer").value_or("")});
      device.ports.back().active = device.ports.back().state.find("ACTIVE") != std::string::npos;
      if (device.ports.back().gbit_per_s == 0) {
        reader.notes.Add("rate", fmt::format("{}rate says '{}', which is not believed", files, rate.substr(0, 40)));
      }
    }
    tree.infiniband.push_back(std::move(device));
  }
}

}  // namespace

int DeviceTree::FindPci(std::string_view bus_id) const {
  const auto id = ParseBusId(bus_id);
  if (!id) return -1;
  const auto place =
      std::ranges::lower_bound(pci, *id, {}, [](const PciDevice& device) { return *ParseBusId(device.bus_id); });
  return place != pci.end() && place->bus_id == ToString(*id) ? static_cast<int>(place - pci.begin()) : -1;
}

std::optional<std::string> NormalBusId(std::string_view text) {
  const auto id = ParseBusId(text);
  return id ? std::optional(ToString(*id)) : std::nullopt;
}

Result<DeviceTree> ReadDeviceTree(const std::string& root) {
  Reader reader(root);
  if (!reader.Open("/").valid()) {
    return Status(Code::kInvalidArgument, fmt::format("{}/ cannot be opened as a folder that holds sys and proc: {}",
                                                      root, std::generic_category().message(errno)));
  }
  DeviceTree tree;
  tree.host_name = reader.Text("/proc/sys/kernel/hostname").value_or("");
  tree.cpu = ParseCpuInfo(reader.Text("/proc/cpuinfo").value_or(""));
  tree.pci = PciReader(reader).Read();
  ReadNumaNodes(reader, tree);
  ReadSockets(reader, tree);
  ReadInterfaces(reader, tree);
  ReadInfiniband(reader, tree);
  tree.gpu_memory_module =
      reader.Exists("/sys/module/nvidia_peermem") || reader.Exists("/sys/kernel/mm/memory_peers/nv_mem");
  tree.notes = reader.notes.Lines();
  return tree;
}

}  // namespace tutti::sys
