// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/reporting/tensorboard.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The definition, bit by bit: the remainder of a division by the polynomial of RFC 3720.
uint32_t crc_by_division(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = ((crc >> 31) ^ (static_cast<uint8_t>(byte) >> bit)) & 1;
      crc = (crc << 1) ^ (carry ? 0x1edc6f41U : 0U);
    }
  uint32_t reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (~crc >> bit & 1) << (31 - bit);
  return reversed;
}

// A reader of our own: frames, then fields.
struct Reader {
  explicit Reader(std::string text) : bytes(std::move(text)) {}
  bool done() const { return at == bytes.size(); }
  template <class Number>
  Number take() {
    Number number{};
    std::memcpy(&number, take(sizeof(number)).data(), sizeof(number));
    return number;
  }
  std::string take(size_t count) {
    if (at + count > bytes.size()) throw std::runtime_error("cut short");
    at += count;
    return bytes.substr(at - count, count);
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = take<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string bytes;
  size_t at = 0;
};

// Values by field number, as bytes.
std::multimap<int, std::string> fields_of(const std::string& message) {
  std::multimap<int, std::string> fields;
  for (Reader reader(message); !reader.done();) {
    const uint64_t key = reader.varint();
    std::string value;
    switch (key & 7) {
      case 0:
        value = std::to_string(reader.varint());
        break;
      case 1:
        value = reader.take(8);
        break;
      case 2:
        value = reader.take(reader.varint());
        break;
      case 5:
        value = reader.take(4);
        break;
      default:
        throw std::runtime_error("no such kind of field");
    }
    fields.emplace(static_cast<int>(key >> 3), value);
  }
  return fields;
}

template <class Number>
Number as(const std::string& bytes) {
  Reader reader(bytes);
  return reader.take<Number>();
}

std::vector<std::string> events_in(const std::string& path) {
  std::vector<std::string> events;
  for (Reader reader(testing::read_text(path)); !reader.done();) {
    const std::string length = reader.take(8);
    const auto unmasked = [&] {
      const uint32_t rotated = reader.take<uint32_t>() - 0xa282ead8U;
      return rotated >> 17 | rotated << 15;
    };
    EXPECT_EQ(unmasked(), crc_by_division(length));
    events.push_back(reader.take(as<uint64_t>(length)));
    EXPECT_EQ(unmasked(), crc_by_division(events.back()));
  }
  return events;
}

// Step, then what was measured, by tag.
using Scalars = std::pair<int64_t, std::map<std::string, float>>;

Scalars scalars_of(const std::string& event) {
  const auto fields = fields_of(event);
  Scalars scalars;
  scalars.first = std::stoll(fields.find(2)->second);
  const auto summary = fields_of(fields.find(5)->second);
  for (const auto& [field, value] : summary) {
    EXPECT_EQ(field, 1);
    const auto parts = fields_of(value);
    scalars.second[parts.find(1)->second] = as<float>(parts.find(2)->second);
  }
  return scalars;
}

TEST(Crc32c, IsThatOfTheRfc) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc_by_division("123456789"), 0xe3069283U);
}

TEST(TensorBoardLog, HoldsEveryNumberOfTheRecords) {
  const testing::TemporaryFolder folder;
  TensorBoardLog log(folder / "tensorboard", 0);
  log.add({{"type", "train"}, {"step", 300}, {"loss", 2.5}, {"target_tokens", 5000000}, {"time", 1700000000.25}});
  log.add({{"type", "validation"}, {"step", 301}, {"chrf++", 12.5}, {"note", "no number"}});
  const auto names = testing::names_in(folder / "tensorboard");
  ASSERT_EQ(names.size(), 1U);
  EXPECT_THAT(names[0], HasSubstr("events.out.tfevents."));
  const auto events = events_in(folder / ("tensorboard/" + names[0]));
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(fields_of(events[0]).find(3)->second, "brain.Event:2");
  EXPECT_EQ(fields_of(fields_of(events[1]).find(7)->second).find(1)->second, "1") << "the start of a session";
  EXPECT_EQ(as<double>(fields_of(events[2]).find(1)->second), 1700000000.25);
  EXPECT_EQ(scalars_of(events[2]), (Scalars{300, {{"train/loss", 2.5F}, {"train/target_tokens", 5e6F}}}));
  EXPECT_EQ(scalars_of(events[3]), (Scalars{301, {{"validation/chrfpp", 12.5F}}}));
}

TEST(TensorBoardLog, OfAResumedRunIsANewFileThatTakesBackWhatIsRepeated) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> names;
  for (const int64_t last_step : {0, 10, 10}) {  // within one second, as a rule
    TensorBoardLog log(folder.path(), last_step);
    log.add({{"type", "train"}, {"step", last_step + 10}, {"loss", 3}});
    names = testing::names_in(folder.path());
  }
  ASSERT_EQ(names.size(), 3U);
  std::vector<std::pair<std::string, int64_t>> found;  // where the session starts, and what follows, in reading order
  for (const auto& name : names) {
    const auto events = events_in(folder / name);
    ASSERT_EQ(events.size(), 3U) << name;
    found.emplace_back(fields_of(events[1]).find(2)->second, scalars_of(events[2]).first);
  }
  EXPECT_THAT(found, ElementsAre(std::make_pair("1", 10), std::make_pair("11", 20), std::make_pair("11", 20)));
}

TEST(TensorBoardLog, ComesBehindAFileOfTheFutureAndMindsNoOtherNames) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"9000000000.host.1.v2", "one", "99999999999999999999999.host.1.v2", "-000000001.host"})
    testing::write_text(folder / (std::string("events.out.tfevents.") + name), "");
  const TensorBoardLog log(folder.path(), 0);
  EXPECT_THAT(testing::names_in(folder.path()),
              ::testing::Contains(::testing::StartsWith("events.out.tfevents.9000000001.")));
}

}  // namespace
}  // namespace transmute
