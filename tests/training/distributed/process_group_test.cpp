// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <transmute/common/free_port.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/training/distributed/gradient_sum.h>
#include <transmute/training/distributed/launcher.h>
#include <transmute/training/distributed/process_group.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>
#include <thread>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct Meeting {
  double timeout = 60;
  int absent = -1;                     // a rank that does not come
  std::vector<std::string> secrets{};  // by rank; empty: none
  int port = free_loopback_port();
};

// Ranks of one group as threads; what each threw, or "".
std::vector<std::string> run_ranks(int size, const std::function<void(ProcessGroup&)>& body,
                                   const Meeting& meeting = {}) {
  RankOptions options;
  options.size = options.local_size = size;
  options.port = meeting.port;
  options.timeout_seconds = meeting.timeout;
  options.origin = "a test";
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    if (rank == meeting.absent) continue;
    threads.emplace_back([&, rank] {
      RankOptions own = options;
      own.rank = own.local_rank = rank;
      if (!meeting.secrets.empty()) own.secret = meeting.secrets[static_cast<size_t>(rank)];
      try {
        ProcessGroup group(own, torch::kCPU);
        try {
          body(group);
        } catch (const std::exception& error) {
          group.fail(error.what());
          throw;
        }
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

// All ranks do this and end well.
void run_ranks_well(int size, const std::function<void(ProcessGroup&)>& body) {
  EXPECT_THAT(run_ranks(size, body), Each(""));
}

class ProcessGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TRANSMUTE_HAS_GLOO) GTEST_SKIP() << "this LibTorch has no c10d with Gloo";
  }
};
using GradientSums = ProcessGroups;

TEST_F(ProcessGroups, SumsToTheSameBitsOnAllRanksAndInEveryRun) {
  constexpr int64_t kElements = (1 << 20) + 12345;  // more than one bucket
  std::vector<torch::Tensor> sums(6);
  for (size_t run = 0; run < 2; ++run) {
    run_ranks_well(3, [&](ProcessGroup& group) {
      torch::Tensor values =
          torch::arange(kElements, torch::kFloat).mul(0.37F * static_cast<float>(group.rank() + 1)).sin();
      group.start_sum(values);
      group.finish_sums();
      group.wait_for_all();
      sums[run * 3 + static_cast<size_t>(group.rank())] = values;
    });
  }
  for (size_t i = 1; i < sums.size(); ++i) EXPECT_TRUE(torch::equal(sums[i], sums[0])) << i;
  torch::Tensor expected = torch::zeros({kElements}, torch::kDouble);
  for (int rank = 0; rank < 3; ++rank)
    expected += torch::arange(kElements, torch::kFloat).mul(0.37F * static_cast<float>(rank + 1)).sin();
  EXPECT_LT((sums[0] - expected).abs().max().item<double>(), 1e-6);  // three numbers below 1 in float32
}

TEST_F(ProcessGroups, SharesWhatTheFirstRankHasAndWhatEachGives) {
  run_ranks_well(2, [](ProcessGroup& group) {
    EXPECT_EQ(group.broadcast(group.is_first() ? std::string("a\0b", 3) : ""), std::string("a\0b", 3));
    EXPECT_EQ(group.broadcast(std::string()), "");
    EXPECT_EQ(group.gather(10 + group.rank()), (std::vector<int64_t>{10, 11}));
    std::vector<double> values{1.5, group.is_first() ? 1e300 : 1.0};
    group.sum(values);
    EXPECT_EQ(values, (std::vector<double>{3.0, 1e300}));
    group.wait_for_all();
  });
}

// True if another machine could connect to a socket of this process.
bool is_open_to_others(int socket) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return false;
  sockaddr_in6 address{};
  size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.sin6_family == AF_UNIX) return false;
  if (address.sin6_family == AF_INET &&
      reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_LOOPBACK))
    return false;
  char device[IFNAMSIZ] = {};
  size = sizeof(device);
  return ::getsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, device, &size) != 0 || std::string(device) != "lo";
}

TEST_F(ProcessGroups, OnOneMachineListensToThatMachineAlone) {
  run_ranks_well(2, [](ProcessGroup& group) {
    group.wait_for_all();
    int sockets = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int descriptor = std::stoi(entry.path().filename().string());
      struct stat status {};
      // The ranks are threads of this process, so a descriptor may have been closed since the folder was listed.
      if (::fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
      ++sockets;
      EXPECT_FALSE(is_open_to_others(descriptor)) << descriptor;
    }
    EXPECT_GT(sockets, 2);
    group.wait_for_all();
  });
}

TEST_F(ProcessGroups, TellsARankWithAnotherSecret) {
  const auto errors = run_ranks(2, [](ProcessGroup& group) { group.wait_for_all(); },
                                {5, -1, {"one secret of many", "another secret of many"}});
  EXPECT_THAT(errors[1], HasSubstr("rank 1 has another TRANSMUTE_RANK_SECRET than rank 0"));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("waited 5 seconds for 1 of 2 ranks"), HasSubstr("TRANSMUTE_RANK_SECRET")));
}

// A reason to end ends all ranks: with a secret, it takes the secret to give one.
TEST_F(ProcessGroups, BelievesNobodyWithoutTheSecret) {
  for (const std::string secret : {"", "a secret of the ranks"}) {
    const Meeting meeting{60, -1, {secret, secret}};
    RankOptions stranger;
    stranger.port = meeting.port;
    const auto errors = run_ranks(
        2,
        [&](ProcessGroup& group) {
          if (group.is_first()) report_lost_rank(stranger, "a stranger says so");
          if (!group.is_first())
            std::this_thread::sleep_for(std::chrono::seconds(2));  // who waits looks for a reason to end
          group.wait_for_all();
        },
        meeting);
    if (secret.empty()) {
      EXPECT_THAT(errors[0], HasSubstr("a stranger says so"));
    } else {
      EXPECT_THAT(errors, Each(""));
    }
  }
}

// A wait looks for a reason to end every half second: a rank that comes at that very moment is not lost.
TEST_F(ProcessGroups, WaitsForWhoComesJustThen) {
  const auto errors = run_ranks(2,
                                [](ProcessGroup& group) {
                                  for (int i = 0; i < 10; ++i) {
                                    group.wait_for_all();
                                    if (!group.is_first())
                                      std::this_thread::sleep_for(std::chrono::microseconds(499500 + 100 * i));
                                    EXPECT_EQ(group.gather(i), (std::vector<int64_t>{i, i}));
                                  }
                                },
                                {5});
  EXPECT_THAT(errors, Each(""));
}

TEST(ProcessGroupOfOne, NeedsNobody) {
  ProcessGroup group({}, torch::kCPU);
  torch::Tensor values = torch::ones({3});
  group.start_sum(values);
  group.finish_sums();
  EXPECT_TRUE(torch::equal(values, torch::ones({3})));
  EXPECT_EQ(group.broadcast("text"), "text");
  EXPECT_EQ(group.gather(7), std::vector<int64_t>{7});
  group.check_equal(1, "nothing");
}

TEST_F(ProcessGroups, NamesTheRankThatDiffers) {
  const auto errors = run_ranks(3, [](ProcessGroup& group) {
    group.check_equal(group.rank() == 1 ? 8 : 7, "the weather; wait for another day");
  });
  for (const auto& error : errors) EXPECT_EQ(error, "rank 1 differs from rank 0 in the weather; wait for another day");
}

TEST_F(ProcessGroups, TellsAllWhyARankEnded) {
  const auto errors = run_ranks(3, [](ProcessGroup& group) {
    if (group.rank() == 2) throw std::runtime_error("the dog ate it");
    group.wait_for_all();
  });
  EXPECT_EQ(errors[2], "the dog ate it");
  for (const size_t rank : {0, 1})
    EXPECT_EQ(errors[rank], "rank 2 ended: the dog ate it") << "no remedy: what ended it has one of its own";
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 4) << "threads that are left wait, and use no core";
}

TEST_F(ProcessGroups, MakesABrokenPipeAnErrorThatCanBeHandled) {
  ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  EXPECT_THAT(run_ranks(2, [](ProcessGroup& group) { group.wait_for_all(); }), Each(""));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

TEST_F(ProcessGroups, NamesRanksThatDoNotCome) {
  const auto errors = run_ranks(3, [](ProcessGroup&) {}, {2, 1, {}});
  EXPECT_THAT(errors[0], AllOf(HasSubstr("waited 2 seconds for 1 of 3 ranks (1)"), HasSubstr("a test")));
}

// A parameter of more than a bucket's size each.
std::vector<torch::Tensor> large_parameters(int64_t count) {
  std::vector<torch::Tensor> parameters;
  for (int64_t p = 0; p < count; ++p) parameters.push_back(torch::empty({2, (1 << 19) + 10 * p + 1}));
  return parameters;
}

TEST_F(GradientSums, IsUnderWayWhileOtherGradientsAreMissing) {
  run_ranks_well(2, [](ProcessGroup& group) {
    const auto parameters = large_parameters(2);
    torch::Tensor last;
    GradientSum sum(parameters, 1, group, [&](size_t p, torch::Tensor& values) {
      values.fill_(group.rank() + 1.0);
      if (p == 1) last = values;
    });
    for (int step = 0; step < 2; ++step) {
      sum.start();
      sum.complete(1);
      const auto has_come = [&] {
        float value;
        __atomic_load(last.data_ptr<float>() + last.numel() - 1, &value, __ATOMIC_ACQUIRE);
        return value == 3.0F;
      };
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!has_come() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      EXPECT_TRUE(has_come()) << "rank " << group.rank();
      EXPECT_THROW(sum.finish(), std::logic_error);
      sum.complete(0);
      for (const torch::Tensor& values : sum.finish()) EXPECT_TRUE(torch::all(values == 3.0).item<bool>());
    }
    group.wait_for_all();
  });
}

TEST_F(GradientSums, GoesOutInOneOrderWhateverOrderGradientsComeIn) {
  constexpr int kParameters = 5, kWorkers = 3;
  run_ranks_well(3, [](ProcessGroup& group) {
    const auto parameters = large_parameters(kParameters);
    GradientSum sum(parameters, kWorkers, group, [&](size_t p, torch::Tensor& values) {
      values.fill_(static_cast<double>(100 * p) + group.rank());
    });
    for (int step = 0; step < 3; ++step) {
      sum.start();
      std::vector<std::thread> workers;
      for (int worker = 0; worker < kWorkers; ++worker)
        workers.emplace_back([&, worker] {
          for (int i = 0; i < kParameters; ++i)
            sum.complete(static_cast<size_t>((i * (1 + (worker + group.rank() + step) % 4) + worker) % kParameters));
        });
      for (auto& worker : workers) worker.join();
      const auto sums = sum.finish();
      for (size_t p = 0; p < kParameters; ++p) {
        EXPECT_EQ(sums[p].sizes(), parameters[p].sizes());
        EXPECT_TRUE(torch::all(sums[p] == 300.0 * static_cast<double>(p) + 3).item<bool>()) << p;
      }
    }
    group.wait_for_all();
  });
}

TEST(RunLocalRanks, BlameTheOneThatASignalEndedForWhatOthersEndedWith) {
  bool late = false;  // both have ended before the launcher looks
  const auto stop_signal = [&late] {
    if (!late) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    late = true;
    return 0;
  };
  for (const std::string killed : {"0", "1"}) {
    late = false;
    EXPECT_EQ(run_local_ranks(2, {"sh", "-c", "test $RANK = " + killed + " && kill -9 $$; exit 3"}, 10, stop_signal),
              128 + SIGKILL);
  }
}

}  // namespace
}  // namespace transmute
