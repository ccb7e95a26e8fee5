// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/interfaces.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tutti::sys {
namespace {

using internal::ListedInterface;

constexpr unsigned kOn = IFF_UP | IFF_RUNNING;

// A folder that stands in for / with its /sys and /proc.
class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = std::filesystem::temp_directory_path() / "tutti_interfaces_XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path whole = path_ + file;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void Link(const std::string& link, const std::string& target) const {
    const std::filesystem::path whole = path_ + link;
    std::filesystem::create_directories(whole.parent_path());
    std::filesystem::create_directories((path_ + link).substr(0, (path_ + link).rfind('/')) + "/" + target);
    std::filesystem::create_directory_symlink(target, whole);
  }
  // What /sys says of every interface.
  void Add(const std::string& name, int index, const std::string& type = "1", const std::string& uevent = "") const {
    const std::string folder = "/sys/class/net/" + name;
    Write(folder + "/ifindex", std::to_string(index) + "\n");
    Write(folder + "/iflink", std::to_string(index) + "\n");
    Write(folder + "/type", type + "\n");
    Write(folder + "/uevent", uevent + "INTERFACE=" + name + "\nIFINDEX=" + std::to_string(index) + "\n");
    Write(folder + "/mtu", "1500\n");
  }
  void AddCard(const std::string& name, int index, const std::string& pci) const {
    Add(name, index);
    Link("/sys/class/net/" + name + "/device", "../../../devices/" + pci);
  }

 private:
  std::string path_;
};

Interface DescribeOne(const FakeRoot& root, const ListedInterface& listed) {
  return internal::Describe({listed}, root.path()).front();
}

TEST(InterfacesTest, ACardHasSpeedMtuAndPlace) {
  FakeRoot root;
  root.AddCard("eth0", 2, "pci0000:16/0000:16:02.0/0000:17:00.1");
  root.Write("/sys/class/net/eth0/speed", "100000\n");
  root.Write("/sys/class/net/eth0/mtu", "9000\n");
  root.Write("/sys/devices/pci0000:16/0000:16:02.0/0000:17:00.1/numa_node", "1\n");
  const Interface card = DescribeOne(root, {.name = "eth0", .index = 2, .flags = kOn, .addresses = {IpAddress()}});
  EXPECT_EQ(card.kind, InterfaceKind::kPlain);
  EXPECT_TRUE(card.physical && card.up && card.running);
  EXPECT_EQ(card.speed_mbits, 100000);
  EXPECT_EQ(card.mtu, 9000);
  EXPECT_EQ(card.numa_node, 1);
  EXPECT_EQ(card.pci_path, "pci0000:16/0000:16:02.0/0000:17:00.1");
  EXPECT_EQ(card.addresses, std::vector{IpAddress()});
  // A virtio card is a device below its PCI function.
  root.AddCard("eth1", 3, "pci0000:00/0000:00:03.0/virtio2");
  root.Write("/sys/devices/pci0000:00/0000:00:03.0/numa_node", "-1\n");
  root.Write("/sys/class/net/eth1/speed", "-1\n");
  const Interface virtio = DescribeOne(root, {.name = "eth1", .index = 3, .flags = IFF_UP, .addresses = {}});
  EXPECT_EQ(virtio.pci_path, "pci0000:00/0000:00:03.0");
  EXPECT_EQ(virtio.numa_node, -1);
  EXPECT_EQ(virtio.speed_mbits, 0);
  EXPECT_FALSE(virtio.running);
}

TEST(InterfacesTest, KindsAreTold) {
  FakeRoot root;
  root.Add("lo", 1, "772");
  root.Add("docker0", 2, "1", "DEVTYPE=bridge\n");
  root.Write("/sys/class/net/docker0/bridge/stp_state", "0\n");
  root.Add("bond0", 3, "1", "DEVTYPE=bond\n");
  root.Add("veth1", 4);
  root.Write("/sys/class/net/veth1/iflink", "9\n");
  root.Add("eth0.5", 5, "1", "DEVTYPE=vlan\n");
  root.Write("/sys/class/net/eth0.5/iflink", "9\n");
  root.Add("mac0", 6);
  root.Write("/sys/class/net/mac0/iflink", "9\n");
  root.Link("/sys/class/net/mac0/lower_eth0", "../eth0");
  root.Add("flannel.1", 7, "1", "DEVTYPE=vxlan\n");
  root.Add("wg0", 8, "65534", "DEVTYPE=wireguard\n");
  root.Add("tap0", 9);
  root.Write("/sys/class/net/tap0/tun_flags", "0x1002\n");
  root.Add("ip6tnl0", 10, "769");
  root.Add("gre0", 11, "778");
  root.Add("dummy0", 12);
  root.Add("ib0", 13, "32");
  const auto kind = [&](const char* name, std::uint32_t index, unsigned flags) {
    return DescribeOne(root, {.name = name, .index = index, .flags = flags, .addresses = {}}).kind;
  };
  EXPECT_EQ(kind("lo", 1, kOn | IFF_LOOPBACK), InterfaceKind::kLoopback);
  EXPECT_EQ(kind("docker0", 2, kOn), InterfaceKind::kBridge);
  EXPECT_EQ(kind("bond0", 3, kOn), InterfaceKind::kBond);
  EXPECT_EQ(kind("veth1", 4, kOn), InterfaceKind::kVeth);
  EXPECT_EQ(kind("eth0.5", 5, kOn), InterfaceKind::kPlain);
  EXPECT_EQ(kind("mac0", 6, kOn), InterfaceKind::kPlain);
  EXPECT_EQ(kind("flannel.1", 7, kOn), InterfaceKind::kTunnel);
  EXPECT_EQ(kind("wg0", 8, kOn | IFF_NOARP), InterfaceKind::kTunnel);
  EXPECT_EQ(kind("tap0", 9, kOn), InterfaceKind::kTunnel);
  EXPECT_EQ(kind("ip6tnl0", 10, kOn | IFF_NOARP), InterfaceKind::kTunnel);
  EXPECT_EQ(kind("gre0", 11, kOn | IFF_NOARP), InterfaceKind::kTunnel);
  EXPECT_EQ(kind("dummy0", 12, kOn | IFF_NOARP), InterfaceKind::kDummy);
  EXPECT_EQ(kind("ib0", 13, kOn), InterfaceKind::kPlain);
  EXPECT_EQ(kind("ib0", 13, kOn | IFF_POINTOPOINT), InterfaceKind::kTunnel);
}

TEST(InterfacesTest, BridgesWithACardDifferFromThoseWithout) {
  FakeRoot root;
  for (const char* bridge : {"br0", "br1", "docker0"}) {
    root.Add(bridge, bridge == std::string("br0") ? 2 : bridge == std::string("br1") ? 3 : 4, "1", "DEVTYPE=bridge\n");
  }
  root.AddCard("eth0", 5, "pci0000:00/0000:00:03.0");
  root.Write("/sys/class/net/eth0/brport/state", "3\n");
  root.Link("/sys/class/net/eth0/master", "../br0");
  root.Write("/sys/class/net/br0/brif/eth0/state", "3\n");
  root.Add("bond0", 6, "1", "DEVTYPE=bond\n");
  root.Write("/sys/class/net/br1/brif/bond0/state", "3\n");
  root.Add("veth1", 7);
  root.Write("/sys/class/net/docker0/brif/veth1/state", "3\n");
  root.AddCard("eth1", 8, "pci0000:00/0000:00:04.0");
  root.Write("/sys/class/net/eth1/bonding_slave/state", "active\n");
  const auto read = [&](const char* name, std::uint32_t index) {
    return DescribeOne(root, {.name = name, .index = index, .flags = kOn, .addresses = {}});
  };
  EXPECT_TRUE(read("br0", 2).uplink);
  EXPECT_TRUE(read("br1", 3).uplink);
  EXPECT_FALSE(read("docker0", 4).uplink);
  EXPECT_EQ(read("eth0", 5).member_of, "br0");
  EXPECT_EQ(read("eth1", 8).member_of, "another interface");
  EXPECT_EQ(read("veth1", 7).member_of, "");
}

// /sys may show another network name space, where the same name means something else; or nothing may be there.
TEST(InterfacesTest, FactsAboutAnotherInterfaceArePassedOver) {
  FakeRoot root;
  root.AddCard("eth0", 2, "pci0000:00/0000:00:03.0");
  root.Write("/sys/class/net/eth0/speed", "1000\n");
  const Interface other = DescribeOne(root, {.name = "eth0", .index = 7, .flags = kOn, .addresses = {}});
  EXPECT_FALSE(other.physical);
  EXPECT_EQ(other.speed_mbits, 0);
  EXPECT_EQ(other.pci_path, "");
  const auto kind = [&](const char* name, unsigned flags) {
    return DescribeOne(root, {.name = name, .index = 7, .flags = flags, .addresses = {}}).kind;
  };
  EXPECT_EQ(kind("docker0", kOn), InterfaceKind::kBridge);
  EXPECT_EQ(kind("virbr0", kOn), InterfaceKind::kBridge);
  EXPECT_EQ(kind("br-0a1b2c3d", kOn), InterfaceKind::kBridge);
  EXPECT_EQ(kind("br0", kOn), InterfaceKind::kPlain);
  EXPECT_EQ(kind("tun0", kOn | IFF_POINTOPOINT), InterfaceKind::kTunnel);
  EXPECT_EQ(kind("lo", kOn | IFF_LOOPBACK), InterfaceKind::kLoopback);
}

TEST(InterfacesTest, TheDefaultRouteIsTheOneWithTheSmallestMetric) {
  constexpr const char* kHead = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
  const auto v4 = [&](const std::string& lines) { return internal::DefaultRouteV4(kHead + lines); };
  EXPECT_EQ(v4(""), "");
  EXPECT_EQ(v4("eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
               "wlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"),
            "eth0");
  EXPECT_EQ(v4("wlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
               "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0   \n"),
            "eth0");
  EXPECT_EQ(v4("tun0\t00000000\t010200C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n"), "");  // half of all addresses
  EXPECT_EQ(v4("eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"), "");  // a network
  EXPECT_EQ(v4("*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0\n"), "");     // unreachable
  EXPECT_EQ(v4("eth0\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n"), "");  // not up
  EXPECT_EQ(v4("eth0\t00000000\n\n\t\n"), "");
  EXPECT_EQ(v4("eth0\t00000000\t010200C0\tzz\t0\t0\t0\t00000000\t0\t0\t0\n"), "");
  const std::string zero(32, '0'), next = "fd000000000000000000000000000001";
  const auto line = [&](const char* metric, const char* flags, const char* name) {
    return zero + " 00 " + zero + " 00 " + next + " " + metric + " 00000001 00000000 " + flags + " " + name + "\n";
  };
  EXPECT_EQ(internal::DefaultRouteV6(line("00000400", "00000003", "eth0") + line("00000100", "00000003", "ib0")),
            "ib0");
  EXPECT_EQ(internal::DefaultRouteV6(line("00000100", "00000003", "eth0") + line("00000100", "00000003", "ib0")),
            "eth0");
  EXPECT_EQ(internal::DefaultRouteV6(line("ffffffff", "00200200", "lo")), "");
  EXPECT_EQ(internal::DefaultRouteV6(line("ffffffff", "00000201", "eth0")), "");
  EXPECT_EQ(internal::DefaultRouteV6(zero + " 40 " + zero + " 00 " + next + " 00000001 0 0 00000003 eth0\n"), "");
  EXPECT_EQ(internal::DefaultRouteV6(""), "");
}

TEST(InterfacesTest, RoutesAreThoseOfTheThread) {
  FakeRoot root;
  root.Write("/proc/net/route", "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  EXPECT_TRUE(DescribeOne(root, {.name = "eth0", .index = 2, .flags = kOn, .addresses = {}}).default_v4);
  root.Write("/proc/thread-self/net/route", "eth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  EXPECT_FALSE(DescribeOne(root, {.name = "eth0", .index = 2, .flags = kOn, .addresses = {}}).default_v4);
  const Interface eth1 = DescribeOne(root, {.name = "eth1", .index = 3, .flags = kOn, .addresses = {}});
  EXPECT_TRUE(eth1.default_v4);
  EXPECT_FALSE(eth1.default_v6);
}

TEST(InterfacesTest, ThisHostHasALoopback) {
  const Result<std::vector<Interface>> all = ReadInterfaces();
  ASSERT_TRUE(all.ok()) << all.status().message();
  const auto lo = std::ranges::find(*all, InterfaceKind::kLoopback, &Interface::kind);
  ASSERT_NE(lo, all->end());
  EXPECT_TRUE(lo->up);
  EXPECT_NE(std::ranges::find(lo->addresses, IpAddress::V4(127, 0, 0, 1)), lo->addresses.end());
  EXPECT_TRUE(std::ranges::is_sorted(*all, {}, &Interface::index));
  EXPECT_EQ(std::ranges::count(*all, lo->name, &Interface::name), 1);
}

// What the kernel itself says, in a network name space of its own.
std::string SaidInNameSpace() {
  if (geteuid() != 0 || std::system("ip -V >/dev/null 2>&1") != 0) return "skip: needs root and iproute2";
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) {
    return "skip: this process may not make a network name space";
  }
  if (std::system("exec 2>/dev/null; ip link set lo up && ip link add br0 type bridge && "
                  "ip link add va type veth peer name vb && ip link add vc type veth peer name vd && "
                  "ip link set vc master br0 && ip link add vx type vxlan id 5 dstport 4789 && "
                  "ip addr add 10.7.0.1/24 dev va && ip link set va up && ip link set vb up && "
                  "ip route add default via 10.7.0.9") != 0) {
    return "skip: the kernel lacks bridges, veths or VXLAN";
  }
  // The kernel may take a second to see that a link is there.
  if (std::system(
          "for i in $(seq 200); do [ $(ip -br link show up | grep -c '^v[ab]@.* UP ') = 2 ] && exit; sleep 0.05; "
          "done; exit 1") != 0) {
    return "the links did not come up";
  }
  const Result<std::vector<Interface>> all = ReadInterfaces();
  if (!all.ok()) return all.status().message();
  std::string text;
  for (const Interface& one : *all) {
    if (one.name != "lo" && one.name != "br0" && one.name[0] != 'v') continue;  // modules add some to every name space
    text += one.name + " " + std::to_string(static_cast<int>(one.kind)) + (one.up ? " up" : "") +
            (one.running ? " running" : "") + (one.default_v4 ? " default" : "") +
            (one.member_of.empty() ? "" : " in " + one.member_of) + (one.uplink ? " uplink" : "") + " " +
            std::to_string(one.mtu) + "\n";
  }
  return text;
}

TEST(InterfacesTest, AKernelsOwnBridgesAndVeths) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = SaidInNameSpace();
    (void)!write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char piece[512];
  for (ssize_t n; (n = read(ends[0], piece, sizeof(piece))) > 0;) said.append(piece, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (said.starts_with("skip: ")) GTEST_SKIP() << said;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < said.size(); at = said.find('\n', at) + 1) {
    lines.push_back(said.substr(at, said.find('\n', at) - at));
  }
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (std::vector<std::string>{"br0 2 1500", "lo 1 up running 65536", "va 3 up running default 1500",
                                             "vb 3 up running 1500", "vc 3 in br0 1500", "vd 3 1500", "vx 5 1500"}));
}

}  // namespace
}  // namespace tutti::sys
