// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <transmute/common/threads.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/sanitizers.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using testing::message_of;

TEST(AvailableCores, CountsThoseThatTheThreadMayRunOn) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), sysconf(_SC_NPROCESSORS_CONF));
  int cores_of_one = 0;
  std::thread([&] {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &mine);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mine), &mine), 0);
    cores_of_one = available_cores();
  }).join();
  EXPECT_EQ(cores_of_one, 1);
}

TEST(WorkerCrew, NeedsAWorker) {
  for (const int size : {0, -1}) EXPECT_THROW(WorkerCrew crew(size), std::invalid_argument);
}

// Each worker waits for all others: a crew that ran them one after the other would not get past this.
TEST(WorkerCrew, RunsAllWorkersAtTheSameTime) {
  for (const int size : {1, 2, 5}) {
    WorkerCrew crew(size);
    EXPECT_EQ(crew.size(), size);
    std::mutex mutex;
    std::condition_variable everyone;
    std::vector<int> arrived;
    std::atomic<int> met{0};
    crew.run([&](int worker) {
      std::unique_lock<std::mutex> lock(mutex);
      arrived.push_back(worker);
      everyone.notify_all();
      if (everyone.wait_for(lock, std::chrono::seconds(20), [&] { return static_cast<int>(arrived.size()) == size; }))
        ++met;
    });
    EXPECT_EQ(met, size);
    std::sort(arrived.begin(), arrived.end());
    for (int worker = 0; worker < size; ++worker) EXPECT_EQ(arrived[static_cast<size_t>(worker)], worker);
  }
}

TEST(WorkerCrew, RunsItsFirstWorkerOnTheCallersThread) {
  std::atomic<int> started{0};
  WorkerCrew crew(3, [&] { ++started; });
  std::array<std::thread::id, 3> threads;
  crew.run([&](int worker) { threads[static_cast<size_t>(worker)] = std::this_thread::get_id(); });
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 3u);
  crew.run([](int) {});
  EXPECT_EQ(started, 2) << "once on each of the crew's own threads";
}

TEST(WorkerCrew, RethrowsTheFirstWorkersExceptionAndGoesOn) {
  WorkerCrew crew(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ended{0};
    const std::string message = message_of<std::runtime_error>([&] {
      crew.run([&](int worker) {
        ++ended;
        if (worker == 1 || worker == 3) throw std::runtime_error("worker " + std::to_string(worker));
      });
    });
    EXPECT_EQ(message, "worker 1");
    EXPECT_EQ(ended, 4) << "the others run to their end";
    EXPECT_NO_THROW(crew.run([](int) {})) << "an exception is reported once";
  }
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              crew.run([](int worker) {
                if (worker == 0) throw std::runtime_error("the caller's own");
              });
            }),
            "the caller's own");
}

TEST(WorkerCrew, CoversEachElementExactlyOnce) {
  WorkerCrew crew(3);
  for (const size_t count : {0, 1, 2, 63, 64, 65, 1000})
    for (const size_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> visits(count);
      std::atomic<bool> sound{true};
      crew.for_each_chunk(count, grain, [&](size_t begin, size_t end, int worker) {
        if (begin >= end || end - begin > grain || worker < 0 || worker >= 3) sound = false;
        for (size_t i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_TRUE(sound);
      for (const auto& times : visits) ASSERT_EQ(times, 1) << count << " elements in chunks of " << grain;
    }
}

TEST(WorkerCrew, ServesManyRounds) {
  WorkerCrew crew(3);
  std::array<int, 3> rounds{};  // each worker's own: no two write to the same
  for (int round = 0; round < 5000; ++round) crew.run([&](int worker) { ++rounds[static_cast<size_t>(worker)]; });
  EXPECT_THAT(rounds, ElementsAre(5000, 5000, 5000));
}

TEST(ThreadPool, NeedsAThread) {
  EXPECT_THROW(ThreadPool pool(0), std::invalid_argument);
}

TEST(ThreadPool, DoesEachTaskOnceOnThreadsOfItsOwn) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> done(1000);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  pool.for_each(done.size(), [&](size_t task) {
    ++done[task];
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  for (const auto& count : done) ASSERT_EQ(count, 1);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0U);
  EXPECT_LE(threads.size(), 3U);
  pool.for_each(0, [](size_t) { FAIL() << "there is no task"; });
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<size_t> sum{0};
        const auto count = static_cast<size_t>(caller * 7 + round % 5);
        pool.for_each(count, [&](size_t task) { sum += task + 1; });
        if (sum != count * (count + 1) / 2) ++wrong;
      }
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, DoesNotLetAShortCallWaitForALongOne) {
  constexpr size_t kTasks = 10'000;
  ThreadPool pool(1);
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  std::atomic<bool> short_done{false};
  std::atomic<size_t> tasks_of_long{0};
  std::thread long_caller([&] {
    pool.for_each(kTasks, [&](size_t task) {
      ++tasks_of_long;
      if (task == 0) {
        const std::lock_guard<std::mutex> lock(mutex);
        begun = true;
        changed.notify_all();
      }
      // Ten seconds in all for the short call to get in line, on a busy machine too.
      if (!short_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return begun; });
  }
  size_t seen = 0;
  pool.for_each(1, [&](size_t) {
    seen = tasks_of_long;
    short_done = true;
  });
  long_caller.join();
  EXPECT_LT(seen, kTasks);
}

TEST(ThreadPool, RethrowsAndBeginsNothingMoreOfThatCall) {
  ThreadPool pool(1);
  std::atomic<int> begun{0};
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              pool.for_each(100, [&](size_t task) {
                ++begun;
                if (task == 3) throw std::runtime_error("task 3");
              });
            }),
            "task 3");
  EXPECT_EQ(begun, 4);
  size_t after = 0;
  pool.for_each(1, [&](size_t) { ++after; });
  EXPECT_EQ(after, 1U);
}

// Pools of one thread: a task that waited for another one of its pool would wait forever.
TEST(ThreadPool, LetsATaskRunItsOwnCallsOfAnyPool) {
  ThreadPool pool(1), other(1);
  std::set<std::thread::id> threads;
  std::vector<size_t> tasks;
  pool.for_each(1, [&](size_t) {
    other.for_each(2, [&](size_t) {
      pool.for_each(2, [&](size_t task) {
        tasks.push_back(task);
        threads.insert(std::this_thread::get_id());
      });
    });
  });
  EXPECT_THAT(tasks, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(threads.size(), 1U);
}

// This is like `ulimit -v`: the threads' stacks do not fit. In a process of its own, which a hang would end too.
template <class Crew>
void make_more_threads_than_fit() {
  ::alarm(60);
  const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    Crew crew(3000);
  } catch (const std::runtime_error& error) {
    std::fputs(error.what(), stderr);
    std::exit(7);
  }
  std::exit(0);
}

TEST(ThreadsThatCannotBeStarted, TellWhatWentWrongOnThem) {
  const auto fail = [] { throw std::runtime_error("no such setting"); };
  EXPECT_THROW(WorkerCrew(3, fail), std::runtime_error);
}

TEST(ThreadsThatCannotBeStarted, AreAnErrorAndNoHang) {
  if (testing::kHasSanitizer) GTEST_SKIP() << "a sanitizer takes more address space than the test allows";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(make_more_threads_than_fit<ThreadPool>(), ::testing::ExitedWithCode(7), "of 3000 cannot be started");
  EXPECT_EXIT(make_more_threads_than_fit<WorkerCrew>(), ::testing::ExitedWithCode(7), "of 3000 cannot be started");
}

}  // namespace
}  // namespace transmute
