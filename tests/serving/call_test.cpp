// SPDX-License-Identifier: Apache-2.0
// How many requests a client has under way.

#include <gtest/gtest.h>
#include <transmute/serving/call.h>
#include <transmute/tests/serving/no_memory.h>

#include <memory>
#include <new>
#include <string>

namespace transmute::testing {
namespace {

// The exchange of a client that waits and hears nothing.
class SilentExchange : public HttpExchange {
 public:
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse /*response*/) override {}
  void begin_stream(HttpResponse /*head*/) override {}
  void write(std::string /*chunk*/) override {}
  bool is_writing() const override { return false; }
  void end() override {}
  bool is_abandoned() const override { return false; }

 private:
  HttpRequest request_;
};

std::unique_ptr<Call> call_without_report() {
  return std::make_unique<Call>(std::make_shared<SilentExchange>(), "/translate", CallReport{});
}

TEST(ACall, IsCountedUntilItEnds) {
  ClientCounts counts(1);
  auto first = call_without_report();
  EXPECT_TRUE(first->enter(counts, "client"));
  EXPECT_FALSE(call_without_report()->enter(counts, "client"));
  EXPECT_TRUE(call_without_report()->enter(counts, "another client"));
  EXPECT_TRUE(first->enter(counts, "client")) << "as before";
  EXPECT_TRUE(first->enter(counts, "its key"));
  EXPECT_FALSE(call_without_report()->enter(counts, "its key"));
  auto second = call_without_report();
  EXPECT_TRUE(second->enter(counts, "client")) << "the first one's place";
  EXPECT_FALSE(second->enter(counts, "its key"));
  EXPECT_FALSE(call_without_report()->enter(counts, "client")) << "the second one keeps it";
  first.reset();
  EXPECT_TRUE(call_without_report()->enter(counts, "its key"));
}

TEST(ACall, IsNotCountedWhereMemoryForItsClientsNameIsMissing) {
  const std::string client = "a name that no string holds within itself";
  ClientCounts counts(2);
  const auto first = call_without_report();
  ASSERT_TRUE(first->enter(counts, client)) << "the counts have the name from now on";
  auto second = call_without_report();
  {
    const NoMemory none;
    EXPECT_THROW(second->enter(counts, client), std::bad_alloc);
  }
  second.reset();
  EXPECT_TRUE(call_without_report()->enter(counts, client));
}

}  // namespace
}  // namespace transmute::testing
