#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <thread>

namespace inlay {
namespace {

namespace fs = std::filesystem;

// A made-up /proc/self/cgroup and /sys/fs/cgroup in a folder of its own.
class Cgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("inlay_cgroup_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  double limit() const { return cgroup_cpu_limit(folder_ / "proc", folder_ / "sys"); }

  fs::path folder_;
};

TEST_F(Cgroup, CaseH43QuotaOfVersion2) {
  write("proc", "0::/work\n");
  write("sys/work/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(limit(), 1.5);
  EXPECT_EQ(threads_within(8, limit()), 1);
}

TEST_F(Cgroup, CaseH43MaxIsNoLimit) {
  write("proc", "0::/work\n");
  write("sys/work/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(limit()));
  EXPECT_EQ(threads_within(8, limit()), 8);
}

TEST_F(Cgroup, CaseH43TheTightestParentCounts) {
  write("proc", "0::/pod/container/inner\n");
  write("sys/pod/cpu.max", "250000 100000\n");
  write("sys/pod/container/cpu.max", "max 100000\n");
  write("sys/pod/container/inner/cpu.max", "800000 100000\n");
  EXPECT_DOUBLE_EQ(limit(), 2.5);
  EXPECT_EQ(threads_within(64, limit()), 2);
}

TEST_F(Cgroup, CaseH43TheInnermostMayBeTheTightest) {
  write("proc", "0::/pod/container\n");
  write("sys/pod/cpu.max", "800000 100000\n");
  write("sys/pod/container/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(limit(), 0.5);
  EXPECT_EQ(threads_within(64, limit()), 1);
}

// In a cgroup namespace the mounted root is the own group, and the path may lead out of it.
TEST_F(Cgroup, CaseH43NamespacedRootIsTheOwnGroup) {
  write("sys/cpu.max", "300000 100000\n");
  for (const char* path : {"0::/\n", "0::/../..\n", "0::/../../other/group\n"}) {
    write("proc", path);
    EXPECT_DOUBLE_EQ(limit(), 3.0) << path;
  }
}

TEST_F(Cgroup, CaseH43QuotaOfVersion1) {
  write("proc", "12:memory:/box\n4:cpu,cpuacct:/box\n1:name=systemd:/box\n");
  write("sys/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("sys/cpu,cpuacct/box/cpu.cfs_quota_us", "450000\n");
  write("sys/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(limit(), 4.5);
}

TEST_F(Cgroup, CaseH43Version1MountedAsCpuAlone) {
  write("proc", "4:cpu,cpuacct:/docker/abc\n0::/docker/abc\n");
  // Without a namespace the path is that of the host, but the container sees its own group as the root.
  write("sys/cpu/cpu.cfs_quota_us", "20000\n");
  write("sys/cpu/cpu.cfs_period_us", "10000\n");
  EXPECT_DOUBLE_EQ(limit(), 2.0);
}

TEST_F(Cgroup, OtherControllersDoNotCount) {
  write("proc", "5:cpuset:/box\n6:cpuacct:/box\n");
  write("sys/cpuset/box/cpu.cfs_quota_us", "100000\n");
  write("sys/cpuset/box/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(limit()));
}

TEST_F(Cgroup, NamesMayHoldColons) {
  write("proc", "0::/kubepods.slice:cri-containerd:77\n");
  write("sys/kubepods.slice:cri-containerd:77/cpu.max", "100000 50000\n");
  EXPECT_DOUBLE_EQ(limit(), 2.0);
}

TEST_F(Cgroup, MissingFilesAndNonsenseAreNoLimit) {
  EXPECT_TRUE(std::isinf(limit()));
  for (const char* text :
       {"", "\n", "100000", "nonsense 100000", "100000 nonsense", "0 100000", "-5 100000", "100000 0", "1 2 3"}) {
    write("proc", "0::/work\ngarbage\n:\n");
    write("sys/work/cpu.max", text);
    EXPECT_TRUE(std::isinf(limit())) << text;
  }
}

TEST_F(Cgroup, WithoutProcTheRootStillCounts) {
  write("sys/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(limit(), 2.0);
}

TEST(Threads, AreTheSmallerOfAffinityAndQuotaRoundedDown) {
  EXPECT_EQ(threads_within(4, 2.999), 2);
  EXPECT_EQ(threads_within(2, 4.0), 2);
  EXPECT_EQ(threads_within(2, 0.01), 1);
  EXPECT_EQ(threads_within(16, HUGE_VAL), 16);
}

TEST(Threads, CaseH43AffinityIsObeyed) {
  int granted = 0;
  std::thread worker([&granted] {
    cpu_set_t allowed;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    granted = granted_threads();
  });
  worker.join();
  EXPECT_EQ(granted, 1);
}

TEST(Cpu, FeaturesImplyThoseBelow) {
  const uint64_t features = cpu_features();
  const auto implies = [features](uint64_t feature, uint64_t base) {
    return (features & feature) == 0 || (features & base) == base;
  };
  EXPECT_TRUE(implies(kCpuAvx512Vnni | kCpuAvx512Bf16, kCpuAvx512));
  EXPECT_TRUE(implies(kCpuAvx512 | kCpuAvxVnni, kCpuAvx2));
  EXPECT_TRUE(implies(kCpuNeonDot | kCpuNeonI8mm, kCpuNeon));
}

}  // namespace
}  // namespace inlay
