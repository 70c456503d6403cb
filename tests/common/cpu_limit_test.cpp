// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/cpu_limit.h>
#include <transmute/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace transmute {
namespace {

using testing::TemporaryFolder;

class CpuLimit : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }

  std::optional<double> limit() const { return cpu_limit(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

TEST_F(CpuLimit, IsNoneWithoutControlGroups) {
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(CpuLimit, IsThatOfAContainer) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(limit(), 2.5);
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(CpuLimit, IsTheLeastOfTheGroupsAbove) {
  write("/proc/self/cgroup", "0::/system.slice/transmute.service\n");
  write("/sys/fs/cgroup/system.slice/transmute.service/cpu.max", "800000 100000\n");
  EXPECT_EQ(limit(), 8);
  write("/sys/fs/cgroup/system.slice/cpu.max", "150000 50000\n");
  EXPECT_EQ(limit(), 3);
  write("/sys/fs/cgroup/system.slice/transmute.service/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 3);
}

TEST_F(CpuLimit, IsReadFromVersion1) {
  write("/proc/self/cgroup", "7:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n3:cpuset:/docker/ab\n0::/docker/ab\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(limit(), 0.5);
}

TEST_F(CpuLimit, IsNoneWhereFilesAreMalformed) {
  write("/proc/self/cgroup", "\n0\n0:\nnonsense\n0::/\n");
  for (const std::string content : {"", "100000", "0 100000", "100000 0", "-1 -1", "a b"}) {
    write("/sys/fs/cgroup/cpu.max", content);
    EXPECT_EQ(limit(), std::nullopt) << content;
  }
}

}  // namespace
}  // namespace transmute
