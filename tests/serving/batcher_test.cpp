// SPDX-License-Identifier: Apache-2.0
// Many requests on one model: what shares a batch, what is let in, and who is left alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/serving/batcher.h>
#include <transmute/serving/task.h>
#include <transmute/tests/serving/no_memory.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/errors.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;

// The limit of the batcher's thread, where a function that it calls sets it.
thread_local std::optional<NoMemory> no_memory;

struct Promised {
  std::promise<Translation> promise;
  std::future<Translation> future = promise.get_future();
};

class ABatcher : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    TranslatorOptions options;
    options.threads = 1;
    folder_ = std::make_unique<TinyModelFolder>();
    model_ = std::make_shared<const Translator>(folder_->path(), options);
  }
  static void TearDownTestSuite() {
    model_.reset();
    folder_.reset();
  }

  static std::shared_ptr<const SegmentOptions> options_with(int64_t beam_size) {
    SegmentOptions options;
    options.translation.search.beam_size = beam_size;
    options.translation.search.max_extra_length = 10;
    options.key = std::to_string(beam_size);
    return std::make_shared<const SegmentOptions>(options);
  }

  Segment segment(const std::string& text, const std::shared_ptr<const SegmentOptions>& options = options_with(1)) {
    auto promised = std::make_shared<Promised>();
    futures_.push_back(promised);
    Segment segment;
    segment.model = model_;
    segment.options = options;
    segment.text = text;
    segment.done = [promised](Translation translation) { promised->promise.set_value(std::move(translation)); };
    segment.failed = [promised](const std::exception_ptr& error) { promised->promise.set_exception(error); };
    return segment;
  }

  // Occupies the only worker until it is released; what is submitted then waits together.
  Segment blocking_segment() {
    Segment first = segment("the red house", options_with(9));
    first.on_text = [this](const std::string&) {
      if (!std::exchange(is_running_, true)) running_.set_value();
      release_future_.wait();
    };
    return first;
  }
  // Submits segments of these texts together.
  bool submit(Batcher& batcher, const std::vector<std::string>& texts) {
    std::vector<Segment> segments;
    for (const std::string& text : texts) segments.push_back(segment(text));
    return batcher.submit(std::move(segments));
  }
  void wait_until_running() { running_.get_future().wait(); }
  void occupy(Batcher& batcher) {
    std::vector<Segment> segments;
    segments.push_back(blocking_segment());
    ASSERT_TRUE(batcher.submit(std::move(segments)));
    wait_until_running();
  }
  void release() { release_.set_value(); }

  // The translation of the text by itself.
  static std::string alone(const std::string& text, int64_t beam_size = 1) {
    return model_->translate(text, options_with(beam_size)->translation);
  }
  std::string result(size_t number) { return futures_[number]->future.get().hypotheses.front().text; }

  static std::unique_ptr<TinyModelFolder> folder_;
  static std::shared_ptr<const Translator> model_;
  std::vector<std::shared_ptr<Promised>> futures_;

 private:
  std::promise<void> running_, release_;
  std::shared_future<void> release_future_ = release_.get_future().share();
  bool is_running_ = false;
};
std::unique_ptr<TinyModelFolder> ABatcher::folder_;
std::shared_ptr<const Translator> ABatcher::model_;

// An answer for which there is no memory is no reason to translate, and to answer, the others twice.
TEST_F(ABatcher, HandsOutTheOthersOnceWhereAnAnswerFails) {
  Batcher batcher({1});
  std::vector<Segment> segments;
  segments.push_back(blocking_segment());
  std::atomic<int> answers{0};
  for (const char* text : {"the red house", "the old train", "the river"}) {
    segments.push_back(segment(text));
    segments.back().done = [&answers, answer = segments.back().done](Translation translation) {
      if (++answers == 2) throw std::bad_alloc();
      answer(std::move(translation));
    };
  }
  ASSERT_TRUE(batcher.submit(std::move(segments)));
  wait_until_running();
  release();
  EXPECT_EQ(result(1), alone("the red house"));
  EXPECT_THROW(result(2), std::bad_alloc);
  EXPECT_EQ(result(3), alone("the river"));
  EXPECT_EQ(answers, 3);
}

TEST_F(ABatcher, TranslatesWhatWaitsTogetherAsIfEachWereAlone) {
  std::mutex mutex;
  std::vector<size_t> sizes;
  Batcher batcher({1, 64, 100, 10'000}, [&](size_t size) {
    const std::lock_guard<std::mutex> lock(mutex);
    sizes.push_back(size);
  });
  occupy(batcher);
  const std::vector<std::string> texts{"the old train is here.", "the red house", "a green bridge is far.", "river"};
  for (const std::string& text : texts) ASSERT_TRUE(submit(batcher, {text}));
  std::vector<Segment> other;
  other.push_back(segment("the blue river", options_with(3)));
  ASSERT_TRUE(batcher.submit(std::move(other)));
  EXPECT_EQ(batcher.state().waiting_segments, 5U);
  release();
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(result(i + 1), alone(texts[i]));
  EXPECT_EQ(result(5), alone("the blue river", 3));
  EXPECT_THAT(sizes, ElementsAre(1, 4, 1)) << "only segments with the same options share a batch";
}

TEST_F(ABatcher, LetsAShortSentenceThatIsTheOldestWaitForNoLongOnes) {
  std::vector<size_t> sizes;
  Batcher batcher({1, 64, 100, 100'000}, [&](size_t size) { sizes.push_back(size); });
  occupy(batcher);
  std::string long_text;
  for (int i = 0; i < 80; ++i) long_text += "the old train is here. ";
  std::vector<std::string> texts(16, long_text);
  texts.insert(texts.begin(), "the red house");
  texts.emplace_back("river");
  ASSERT_TRUE(submit(batcher, texts));
  release();
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(result(i + 1), alone(texts[i]));
  EXPECT_THAT(sizes, ElementsAre(1, 2, 8, 8)) << "the short ones, and the long ones in batches of about one search";
}

// The model's own thread is one, which a search of the first segment would occupy.
TEST_F(ABatcher, SearchesOnItsOwnThreads) {
  Batcher batcher({2});
  occupy(batcher);
  ASSERT_TRUE(submit(batcher, {"river"}));
  EXPECT_EQ(result(1), alone("river"));
  release();
}

TEST_F(ABatcher, LetsSmallRequestsOvertakeALargeOneThreeTimes) {
  std::string order;
  Batcher batcher({1, 1});
  occupy(batcher);
  const auto submit_of = [&](char name, size_t texts, size_t bytes) {
    std::vector<Segment> segments;
    for (size_t i = 0; i < texts; ++i) {
      segments.push_back(segment("river"));
      segments.back().request_bytes = bytes;
      segments.back().done = [&order, name, done = segments.back().done](Translation translation) {
        order += name;
        done(std::move(translation));
      };
    }
    ASSERT_TRUE(batcher.submit(std::move(segments)));
  };
  submit_of('A', 3, 1024);
  for (const char name : {'b', 'c', 'd', 'e', 'f', 'g', 'h'}) submit_of(name, 1, 5);
  release();
  for (size_t i = 1; i < futures_.size(); ++i) result(i);
  EXPECT_EQ(order, "bcdAefgAhA");
}

TEST_F(ABatcher, TranslatesWhileJobsWaitForEachOther) {
  std::promise<void> release, second_ran;
  Batcher batcher({1});
  EXPECT_TRUE(batcher.run([released = release.get_future().share()] { released.wait(); }, 1));
  EXPECT_TRUE(batcher.run([&] { second_ran.set_value(); }, 1));
  ASSERT_TRUE(submit(batcher, {"river"}));
  EXPECT_EQ(result(0), alone("river"));
  std::future<void> second = second_ran.get_future();
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout) << "one job at a time";
  release.set_value();
  second.get();
}

TEST_F(ABatcher, LetsInNoMoreJobsThanItHasRoomForAndSmallOnesFirst) {
  std::promise<void> began, release, ended;
  std::vector<size_t> order;
  BatcherOptions options;
  options.max_jobs = 6;
  options.max_job_bytes = 20;
  Batcher batcher(options);
  ASSERT_TRUE(batcher.run(
      [&, released = release.get_future().share()] {
        began.set_value();
        released.wait();
      },
      20));
  began.get_future().wait();
  const auto run = [&](size_t bytes) { return batcher.run([&order, bytes] { order.push_back(bytes); }, bytes); };
  EXPECT_TRUE(run(9));
  EXPECT_FALSE(run(12)) << "21 bytes are more than 20";
  for (const size_t bytes : {3, 1, 1, 1, 1}) EXPECT_TRUE(run(bytes));
  EXPECT_FALSE(run(0)) << "seven jobs are more than six";
  EXPECT_EQ(batcher.state().waiting_jobs, 6U);
  release.set_value();
  while (batcher.state().waiting_jobs > 0) std::this_thread::yield();
  EXPECT_TRUE(batcher.run([&] { ended.set_value(); }, 100)) << "nothing waits";
  ended.get_future().wait();
  EXPECT_THAT(order, ElementsAre(1, 1, 1, 9, 1, 3));
}

TEST_F(ABatcher, LetsNobodyInWhereTheQueueIsFull) {
  Batcher batcher({1, 64, 3, 40});
  occupy(batcher);
  EXPECT_FALSE(submit(batcher, {"a", "b", "c", "d"})) << "four are more than three";
  EXPECT_EQ(batcher.state().waiting_segments, 0U) << "all or nothing";
  EXPECT_FALSE(submit(batcher, {std::string(41, 'x')})) << "41 bytes are more than 40";
  EXPECT_TRUE(submit(batcher, {"a", "b"}));
  EXPECT_FALSE(submit(batcher, {"c", "d"}));
  EXPECT_TRUE(submit(batcher, {"e"}));
  EXPECT_EQ(batcher.state().waiting_bytes, 3U);
  release();
}

TEST_F(ABatcher, TakesNothingWhereMemoryEndsHalfway) {
  Batcher batcher({1});
  std::vector<Segment> segments;
  for (int i = 0; i < 20; ++i) segments.push_back(segment("the red house"));
  {
    const NoMemory none(2);
    EXPECT_THROW(batcher.submit(std::move(segments)), std::bad_alloc);
  }
  EXPECT_EQ(batcher.state().waiting_segments, 0U);
  EXPECT_EQ(batcher.state().waiting_bytes, 0U);
  ASSERT_TRUE(submit(batcher, {"river"}));
  EXPECT_EQ(result(20), alone("river"));
  EXPECT_EQ(futures_[0]->future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(ABatcher, GivesUpWhatNobodyWantsWithoutMemoryToo) {
  Batcher batcher({1});
  std::vector<Segment> segments;
  segments.push_back(segment("the red house"));
  segments.back().is_unwanted = [] {
    no_memory.emplace();
    return true;
  };
  segments.back().failed = [failed = segments.back().failed](const std::exception_ptr& error) {
    no_memory.reset();
    failed(error);
  };
  segments.push_back(segment("river"));
  ASSERT_TRUE(batcher.submit(std::move(segments)));
  EXPECT_THROW(futures_[0]->future.get(), std::bad_alloc);
  EXPECT_EQ(result(1), alone("river"));
}

TEST_F(ABatcher, RefusesATextOfATaskByTheTasksOwnNumberOrForLackOfMemory) {
  const std::exception_ptr refusal = std::make_exception_ptr(BadText(6, "it is refused"));
  Batcher batcher({1});
  const auto error_of_task = [&](bool has_memory) {
    const auto failed = std::make_shared<std::promise<void>>();
    std::future<void> future = failed->get_future();
    TaskRequest request;
    request.documents.emplace_back("the red house");
    request.routes = {std::make_shared<const TaskRoute>(TaskRoute{"en", {{model_}}, options_with(1)})};
    request.on_done = [refusal, has_memory](const std::vector<std::vector<Translation>>&) {
      if (!has_memory) no_memory.emplace();
      std::rethrow_exception(refusal);
    };
    request.on_failed = [failed](const std::exception_ptr& error) {
      no_memory.reset();
      failed->set_exception(error);
    };
    EXPECT_TRUE(start_task(std::move(request), batcher));
    return future;
  };
  EXPECT_THROW(error_of_task(false).get(), std::bad_alloc);
  EXPECT_EQ(message_of<BadText>([&] { error_of_task(true).get(); }), "text 1: it is refused");
}

TEST_F(ABatcher, LeavesASentenceThatNobodyWantsAndFinishesTheOthers) {
  std::atomic<bool> gone{false};
  std::atomic<int> asked{0};
  Batcher batcher({1, 64, 100, 10'000});
  occupy(batcher);
  std::vector<Segment> both;
  both.push_back(segment("the old train is here."));
  both.back().is_unwanted = [&] {
    if (++asked == 4) gone = true;  // in the middle of the search
    return gone.load();
  };
  both.push_back(segment("the red house is near."));
  ASSERT_TRUE(batcher.submit(std::move(both)));
  release();
  EXPECT_THROW(futures_[1]->future.get(), Cancelled);
  EXPECT_EQ(result(2), alone("the red house is near."));
  EXPECT_LT(asked, 9) << "the search continued for a sentence that was left";
}

TEST_F(ABatcher, LeavesWhatWasGivenUpInTheQueueBeforeTheNextBatch) {
  std::vector<size_t> waiting;
  Batcher batcher({1, 1}, [&](size_t) { waiting.push_back(batcher.state().waiting_segments); });
  occupy(batcher);
  std::vector<Segment> segments;
  for (const char* text : {"river", "the red house", "the old train"}) segments.push_back(segment(text));
  segments[1].is_unwanted = segments[2].is_unwanted = [] { return true; };
  ASSERT_TRUE(batcher.submit(std::move(segments)));
  release();
  EXPECT_EQ(result(1), alone("river"));
  for (const size_t unwanted : {2, 3}) EXPECT_THROW(futures_[unwanted]->future.get(), Cancelled);
  EXPECT_THAT(waiting, ElementsAre(0, 0)) << "at the beginning of both batches";
}

TEST_F(ABatcher, OneTextThatFailsDoesNotFailItsNeighbors) {
  Batcher batcher({1, 64, 100, 10'000});
  occupy(batcher);
  ASSERT_TRUE(submit(batcher, {"the red house", "no UTF-8: \xff", "river"}));
  release();
  EXPECT_EQ(result(1), alone("the red house"));
  EXPECT_THROW(futures_[2]->future.get(), std::invalid_argument);
  EXPECT_EQ(result(3), alone("river"));
}

TEST_F(ABatcher, CancelsItsWorkWhenItGoes) {
  std::thread helper;
  {
    Batcher batcher({1, 1, 100, 10'000});
    occupy(batcher);
    ASSERT_TRUE(submit(batcher, {"river"}));
    helper = std::thread([this] {
      futures_[1]->future.wait();
      release();
    });
  }
  helper.join();
  EXPECT_THROW(futures_[0]->future.get(), Cancelled) << "what ran";
  EXPECT_THROW(futures_[1]->future.get(), Cancelled) << "what waited";
}

}  // namespace
}  // namespace transmute::testing
