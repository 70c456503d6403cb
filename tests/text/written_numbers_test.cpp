// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/text/written_numbers.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

std::string with_numbers_of(const std::string& source, const std::string& translation,
                            const std::vector<std::string>& kept = {}) {
  Rewriting rewriting(translation, kept);
  WrittenNumbers(source).restore(rewriting);
  return rewriting.rewritten().text;
}

TEST(WrittenNumbers, HaveAllSeparatorsExchangedOrNone) {
  EXPECT_EQ(with_numbers_of("$1,299.99 each.", "$1.299.99 cada."), "$1.299,99 cada.");
  EXPECT_EQ(with_numbers_of("98,765.43", "98,765,43"), "98.765,43");
  EXPECT_EQ(with_numbers_of("1,299.99, 3,456,789.1", "3.456.789.1; 1,299,99"), "3.456.789,1; 1.299,99");
  EXPECT_EQ(with_numbers_of("1.299,99 Euro", "1.299.99 euros"), "1,299.99 euros");
  EXPECT_EQ(with_numbers_of("1.234.567 votos", "1.234,567 votes"), "1,234,567 votes");
}

TEST(WrittenNumbers, StayWhereTheySaySomething) {
  for (const auto& [source, translation] : {
           std::pair<std::string, std::string>{"1,299.99", "1,299.99"},
           {"1,299.99", "1.299,99"},
           {"1,299.99", "1.299.98"},
           {"1,299.99", "1.29.999"},
           {"version 1.299.99", "versão 1.299,99"},
           {"1.299.999", "1.299.999"},
           {"1,299,999", "1.299.999"},
           {"1,29.99", "1.29.99"},
           {"12345,299.99", "12345.299.99"},
           {"1,299.99", "29.99"},
       })
    EXPECT_EQ(with_numbers_of(source, translation), translation) << source;
  EXPECT_EQ(with_numbers_of("1,299.99", "1.299.99", {"1.299.99"}), "1.299.99") << "the caller demands it";
  EXPECT_FALSE(WrittenNumbers("1,299 or 2.5").exist());
}

}  // namespace
}  // namespace transmute
