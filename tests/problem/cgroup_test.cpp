// Limits of control groups, below roots that are made up as the kernel shows them.
#include "problem/cgroup.h"

#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using tests::TempFolder;

class Root {
 public:
  void Write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(folder_.path()) / path;
    std::filesystem::create_directories(file.parent_path());
    formats::WriteFile(file.string(), content);
  }
  CgroupLimits limits() const { return ReadCgroupLimits(folder_.path()); }

 private:
  TempFolder folder_;
};

// The group of a container, which it sees as the root of the mount.
TEST(Cgroup, Version2InAContainer) {
  const Root root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  root.Write("sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(root.limits().cpus, 1.5);
  EXPECT_EQ(root.limits().memory, sim::Bytes{2} << 30);
}

// A unit in a slice: each may be limited, the least counts.
TEST(Cgroup, Version2CountsTheGroupsAround) {
  const Root root;
  root.Write("proc/self/cgroup", "0::/user.slice/job.scope\n");
  root.Write("sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
  root.Write("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
  root.Write("sys/fs/cgroup/user.slice/job.scope/memory.max", "4294967296\n");
  EXPECT_EQ(root.limits().cpus, 4);
  EXPECT_EQ(root.limits().memory, sim::Bytes{1} << 30);
}

TEST(Cgroup, Version1HasAFolderForEachController) {
  const Root root;
  root.Write("proc/self/cgroup",
             "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n");
  root.Write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "300000\n");
  root.Write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes",
             "536870912\n");  // the container's own, as it sees it
  EXPECT_EQ(root.limits().cpus, 3);
  EXPECT_EQ(root.limits().memory, sim::Bytes{1} << 29);
}

TEST(Cgroup, WithoutLimits) {
  const Root root;
  EXPECT_EQ(root.limits().cpus, 0) << "no control groups at all";
  root.Write("proc/self/cgroup", "5:cpu:/\n4:memory:/\n0::/\n broken\n");
  root.Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.Write("sys/fs/cgroup/unified/memory.max", "max\n");
  root.Write("sys/fs/cgroup/unified/cpu.max", "max 100000\n");
  EXPECT_EQ(root.limits().cpus, 0);
  EXPECT_EQ(root.limits().memory, 0);
}

}  // namespace
}  // namespace stowplan::problem
