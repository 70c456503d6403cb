// SPDX-License-Identifier: Apache-2.0
// The ranks that the environments of launchers name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <transmute/tests/support/errors.h>
#include <transmute/training/distributed/ranks.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;

// Sets variables for as long as it lives, and takes out all others that a launcher sets.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const char* name : {"RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_LOCALID",
                             "SLURM_NNODES",
                             "SLURM_NODEID",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_JOB_ID",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS",
                             "TORCHELASTIC_USE_AGENT_STORE"}) {
      const char* value = getenv(name);
      if (value != nullptr) outer_.emplace_back(name, value);
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    for (const auto& variable : variables) own_.push_back(variable.first);
  }
  ~Environment() {
    for (const auto& name : own_) unsetenv(name.c_str());
    for (const auto& [name, value] : outer_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> own_;
  std::vector<std::pair<std::string, std::string>> outer_;
};

TEST(RanksFromEnvironment, AreOneWhereNoLauncherSaysOtherwise) {
  const Environment environment({});
  EXPECT_EQ(ranks_from_environment().size, 1);
}

TEST(RanksFromEnvironment, AreWhatTorchrunSays) {
  const Environment environment({{"RANK", "5"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_RANK", "1"},
                                 {"LOCAL_WORLD_SIZE", "4"},
                                 {"MASTER_ADDR", "alpha"},
                                 {"MASTER_PORT", "1234"},
                                 {"TRANSMUTE_RANK_SECRET", "0123456789abcdef"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  const RankOptions ranks = ranks_from_environment();
  EXPECT_EQ(ranks.rank, 5);
  EXPECT_EQ(ranks.size, 8);
  EXPECT_EQ(ranks.local_rank, 1);
  EXPECT_EQ(ranks.local_size, 4);
  EXPECT_EQ(ranks.address, "alpha");
  EXPECT_EQ(ranks.secret, "0123456789abcdef");
  EXPECT_EQ(ranks.port, 1235) << "torchrun's store has the other";
}

TEST(RanksFromEnvironment, AreWhatMpirunSays) {
  const Environment environment({{"OMPI_COMM_WORLD_RANK", "1"},
                                 {"OMPI_COMM_WORLD_SIZE", "2"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  const RankOptions ranks = ranks_from_environment();
  EXPECT_EQ(ranks.rank, 1);
  EXPECT_EQ(ranks.size, 2);
  EXPECT_EQ(ranks.address, "127.0.0.1") << "all are on this machine";
  const Environment hydra({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MASTER_ADDR", "alpha"}});
  EXPECT_EQ(ranks_from_environment().size, 2);
}

TEST(RanksFromEnvironment, AreWhatSrunSays) {
  const Environment environment({{"SLURM_PROCID", "3"},
                                 {"SLURM_NTASKS", "4"},
                                 {"SLURM_LOCALID", "3"},
                                 {"SLURM_NNODES", "1"},
                                 {"SLURM_JOB_ID", "7001"}});
  const RankOptions ranks = ranks_from_environment();
  EXPECT_EQ(ranks.rank, 3);
  EXPECT_EQ(ranks.size, 4);
  EXPECT_EQ(ranks.local_size, 4);
  EXPECT_EQ(ranks.port, RankOptions().port + 1);
}

TEST(RanksFromEnvironment, AreWhatSrunSaysOfSeveralNodes) {
  const auto local_size = [](const char* node, const char* tasks) {
    const Environment environment({{"SLURM_PROCID", "3"},
                                   {"SLURM_NTASKS", "8"},
                                   {"SLURM_LOCALID", "1"},
                                   {"SLURM_NNODES", "4"},
                                   {"SLURM_NODEID", node},
                                   {"SLURM_STEP_TASKS_PER_NODE", tasks},
                                   {"MASTER_ADDR", "alpha"}});
    return ranks_from_environment().local_size;
  };
  EXPECT_EQ(local_size("0", "2(x3),1"), 2);
  EXPECT_EQ(local_size("2", "2(x3),1"), 2);
  EXPECT_EQ(local_size("3", "2(x3),1"), 1);
  EXPECT_EQ(local_size("1", "1,4,3"), 4);
  for (const char* tasks : {"2", "", "x", "0(x4)", "2(x-1)"}) EXPECT_EQ(local_size("3", tasks), 1) << tasks;
}

TEST(RanksFromEnvironment, AreWhatMpirunSaysWithinAJobOfSlurm) {
  // The job's script has these, and all that it starts.
  const std::vector<std::pair<const char*, const char*>> job{
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}, {"SLURM_NNODES", "1"}};
  std::vector<std::pair<const char*, const char*>> variables = job;
  variables.insert(variables.end(), {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}});
  {
    const Environment srun(variables);
    EXPECT_EQ(ranks_from_environment().rank, 0) << "srun sets these of PMI's too";
  }
  variables.insert(variables.end(), {{"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "4"}});
  const Environment mpirun(variables);
  const RankOptions ranks = ranks_from_environment();
  EXPECT_EQ(ranks.rank, 2);
  EXPECT_EQ(ranks.size, 4);
  EXPECT_EQ(ranks.local_rank, 2);
  EXPECT_EQ(ranks.local_size, 4);
}

TEST(RanksFromEnvironment, MustMakeSense) {
  const auto error = [](const std::vector<std::pair<const char*, const char*>>& variables) {
    const Environment environment(variables);
    return testing::message_of<std::invalid_argument>([] { ranks_from_environment(); });
  };
  EXPECT_THAT(error({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("counted from 0"));
  EXPECT_THAT(error({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK=x"));
  EXPECT_THAT(error({{"RANK", "0"}}), HasSubstr("set WORLD_SIZE"));
  EXPECT_THAT(error({{"WORLD_SIZE", "2"}}), HasSubstr("set RANK"));
  EXPECT_THAT(error({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "1"}}), HasSubstr("set MASTER_ADDR"));
  for (const char* bad : {"short", "0123456789 abcdef", "0123456789abcdef\n"})
    EXPECT_THAT(error({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"TRANSMUTE_RANK_SECRET", bad}}),
                HasSubstr("TRANSMUTE_RANK_SECRET needs 16 to 256 printable characters"));
}

}  // namespace
}  // namespace transmute
