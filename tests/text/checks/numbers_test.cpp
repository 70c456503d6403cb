// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/tests/support/sanitizers.h>
#include <transmute/text/checks/numbers.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using checks::compare_numbers;
using testing::cpu_seconds_of;

// "source>target" of each fault.
std::vector<std::string> faults(const std::string& source, const std::string& target) {
  std::vector<std::string> found;
  const auto part = [](const std::string& text, const ByteSpan& span) {
    return text.substr(span.first, span.second - span.first);
  };
  for (const checks::NumberFault& fault : compare_numbers(source, target))
    found.push_back(part(source, fault.source) + ">" + part(target, fault.target));
  return found;
}

using Faults = std::vector<std::string>;

TEST(Numbers, AreTheSameInTheFormsOfOtherLanguages) {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"1,000.5 kg", "1.000,5 kg"},
      {"12,345,678 people", "12 345 678 personnes"},
      {"12,345,678 people", "12\u202F345\u202F678 personnes"},
      {"12,345 francs", "12’345 Franken"},
      {"1,00,000 rupees", "100.000 Rupien"},
      {"0.50 euros", "0,5 Euro"},
      {"0.500 kg", "0,5 kg"},
      {".08 percent", "0,08 Prozent"},
      {".5 percent", ",5 Prozent"},
      {"a .22 rifle", "ein Gewehr vom Kaliber 22"},
      {"1.250 million people", "1,25 Millionen Menschen"},
      {"from 9 to 17.00", "from 9 a.m. to 5 p.m."},
      {"5:30 p.m.", "17.30 Uhr"},
      {"at 5:00", "um 5 Uhr"},
      {"at 5 p.m.", "um 17 Uhr"},
      {"March 3, 2025", "3. März 2025"},
      {"December 25, 2024", "2024年12月25日"},
      {"December 25, 2024", "2024년 12월 25일"},
      {"December 25, 2024", "ngày 25 tháng 12 năm 2024"},
      {"03/04/2025", "4.3.2025"},
      {"2.5 million people", "2.500.000 Menschen"},
      {"30,000 people", "3万人"},
      {"350,000,000 people", "3.5억 명"},
      {"120 million people", "1億2000万人"},
      {"120 million people", "1億2,000万人"},
      {"12,345 people", "1만 2345명"},
      {"53 million people", "5천3백만 명"},
      {"2,5 bilhões de reais", "2.500.000.000 reais"},
      {"2,5 milyon kişi", "2,500,000 people"},
      {"2,5 triệu người", "2,500,000 people"},
      {"2,5 juta orang", "2,500,000 people"},
      {"2,5 εκατομμύρια", "2,500,000"},
      {"2.5 مليون", "2,500,000"},
      {"2.5 מיליון", "2,500,000"},
      {"1.5 लाख लोग", "150,000 people"},
      {"2.5 ล้านคน", "2,500,000 people"},
      {"in the 1960s", "in den 60er-Jahren"},
      {"the 21st century", "XXI век"},
      {"the 21st century", "le XXIe siècle"},
      {"the 19th century", "le XIXᵉ siècle"},
      {"in 2024", "في عام ٢٠٢٤"},
      {"in 2024", "２０２４年"},
      {"room 12 and room 7", "Zimmer 7 und Zimmer 12"},
      {"10-15 minutes", "10 bis 15 Minuten"},
  };
  for (const auto& [source, target] : pairs) {
    EXPECT_EQ(faults(source, target), Faults{}) << source << " | " << target;
    EXPECT_EQ(faults(target, source), Faults{}) << target << " | " << source;
  }
}

TEST(Numbers, MayBeWords) {
  EXPECT_EQ(faults("3 dogs and twelve cats", "drei Hunde und 12 Katzen"), Faults{});
  EXPECT_EQ(faults("2 men", "два мужчины"), Faults{});
  EXPECT_EQ(faults("It came 2 times and cost 21 pounds", "Es kam zweimal und kostete einundzwanzig Pfund"), Faults{});
  EXPECT_EQ(faults("21 people", "vingt et un"), Faults{});
  EXPECT_EQ(faults("18 Leute", "大约十八个人"), Faults{});
  EXPECT_EQ(faults("It weighs 357 tons", "Es wiegt dreihundertsiebenundfünfzig Tonnen"), Faults{});
  EXPECT_EQ(faults("nineteen eighty-six", "1986"), Faults{});
  EXPECT_EQ(faults("a hundred of them", "100 davon"), Faults{});
  EXPECT_EQ(faults("100 men and 1000 women", "hundert Männer und tausend Frauen"), Faults{});
  EXPECT_EQ(faults("1,000 men and 1,500 women", "mil homens e mil e quinhentas mulheres"), Faults{});
  EXPECT_EQ(faults("2,000,000 people", "двух миллионов человек"), Faults{});
  for (const char* five : {"năm người đàn ông", "lima orang", "пет мъже", "pet muškaraca", "päť mužov", "pet moških",
                           "пет људи", "viis meest", "cinc homes", "fem menn", "ხუთი კაცი", "پنج مرد", "חמישה גברים"})
    EXPECT_EQ(faults("5 men", five), Faults{}) << five;
  EXPECT_EQ(faults("5 men", "ผู้ชายห้าคน"), Faults{});
  EXPECT_EQ(faults("21 men", "ผู้ชายยี่สิบเอ็ดคน"), Faults{});
  EXPECT_EQ(faults("3 men and 4 dogs", "เราสามารถ"), (Faults{"3>", "4>"}))
      << "the word for \"can\" begins as that for 3";
  EXPECT_EQ(faults("2 men", "Jie matė du vyrus."), Faults{});
  EXPECT_EQ(faults("2 men", "Hast du Männer gesehen?"), Faults{"2>"});
  EXPECT_EQ(faults("5 men", "bốn người đàn ông"), Faults{"5>"}) << "four";
  EXPECT_EQ(faults("5 men", "שלושה גברים"), Faults{"5>"}) << "three";
}

TEST(Numbers, MayBeInflectedWords) {
  EXPECT_EQ(faults("with 5 dogs", "s pěti psy"), Faults{});
  EXPECT_EQ(faults("by 5 o'clock", "к пяти часам"), Faults{});
  EXPECT_EQ(faults("8 men and 15 women", "восьми мужчин и пятнадцати женщин"), Faults{});
  EXPECT_EQ(faults("6 people", "sześciu ludzi"), Faults{});
  EXPECT_EQ(faults("2 or 3 men", "dvou nebo tří mužů"), Faults{});
  EXPECT_EQ(faults("2 dogs", "két kutya"), Faults{});
  EXPECT_EQ(faults("2 hands", "beide Hände"), Faults{});
  EXPECT_EQ(faults("12 eggs", "ein Dutzend Eier"), Faults{});
  EXPECT_EQ(faults("95 Franken", "nonante-cinq francs"), Faults{});
  EXPECT_EQ(faults("in 7 houses", "seitsemässä talossa"), Faults{});
  EXPECT_EQ(faults("for 5 men", "pieciem vīriem"), Faults{});
  EXPECT_EQ(faults("for 5 men", "penkiems vyrams, kurių nėra"), Faults{});
}

TEST(Numbers, OfAClockMayBeSaidInOtherWays) {
  EXPECT_EQ(faults("I get up at 7:00.", "Ich stehe um sieben auf."), Faults{});
  EXPECT_EQ(faults("until 2:30 tomorrow", "morgen bis halb drei"), Faults{});
  EXPECT_EQ(faults("at 12:45", "um drei viertel eins"), Faults{});
  EXPECT_EQ(faults("um 14:15", "at a quarter past two"), Faults{});
  EXPECT_EQ(faults("at 2:30", "um halb fünf"), Faults{"2>"});
  EXPECT_EQ(faults("at 7:20", "um sieben"), Faults{"20>"});
}

TEST(Numbers, OfOneAndTwoMayBeInTheNoun) {
  EXPECT_EQ(faults("an hour ago", "1 時間前"), Faults{});
  EXPECT_EQ(faults("'-n' requires an argument", "“-n”需要1个参数"), Faults{});
  EXPECT_EQ(faults("1년 후에", "a year later"), Faults{});
  EXPECT_EQ(faults("第1次", "the time"), Faults{"1>"}) << "the first";
  EXPECT_EQ(faults("the last hour", "最近 12 小时"), Faults{">12"});
  EXPECT_EQ(faults("2 hours ago", "قبل ساعتين"), Faults{});
  EXPECT_EQ(faults("the last 2 days", "خلال اليومين الماضيين"), Faults{});
  EXPECT_EQ(faults("2 weeks ago", "לפני שבועיים"), Faults{});
  EXPECT_EQ(faults("3 hours ago", "قبل ساعتين"), Faults{"3>"});
  EXPECT_EQ(faults("2 hours ago", "قبل ساعة"), Faults{"2>"});
}

TEST(Numbers, MayBeYearsOfThailand) {
  EXPECT_EQ(faults("in 2017", "ในปี 2560"), Faults{});
  EXPECT_EQ(faults("in 2017", "ในปี 2561"), Faults{"2017>2561"});
  EXPECT_EQ(faults("7 men", "ผู้ชาย 550 คน"), Faults{"7>550"});
}

TEST(Numbers, ThatDifferAreFound) {
  EXPECT_EQ(faults("15 men", "51 Männer"), Faults{"15>51"});
  EXPECT_EQ(faults("7 men", "9 Männer"), Faults{"7>9"});
  EXPECT_EQ(faults("1,250 men", "1.520 Männer"), Faults{"1,250>1.520"});
  EXPECT_EQ(faults("1.5 liters", "15 Liter"), Faults{"1.5>15"});
  EXPECT_EQ(faults("500 grams", "50 Gramm"), Faults{"500>50"});
  EXPECT_EQ(faults("from 1914 to 1918", "von 1914 bis 1981"), Faults{"1918>1981"});
  EXPECT_EQ(faults("2.5 million people", "3,5 Millionen Menschen"), Faults{"2.5>3,5"});
  EXPECT_EQ(faults("120 million people", "1億3000万人"), Faults{"120>1億3000万"});
  EXPECT_EQ(faults("12/25/2024", "2024年11月25日"), Faults{"12>11"}) << "a month for a month";
  EXPECT_EQ(faults("December 25, 2024", "2024年12月26日"), Faults{"25>26"});
  EXPECT_EQ(faults("the 21st century", "le XXe siècle"), Faults{"21>"});
  EXPECT_EQ(faults("2.5 ล้านคน", "3,500,000 people"), Faults{"2.5>3,500,000"});
  EXPECT_EQ(faults("See sysctl.d(5).", "Siehe Verzeichnis sysctl.d(9)."), Faults{"5>9"}) << "V is no number there";
  EXPECT_EQ(faults("The default is 8M.", "Standardmäßig sind es 0M."), Faults{"8>0"});
  EXPECT_EQ(faults("Insert 9 copies", "Sie einigen sich auf 2 Exemplare"), Faults{"9>2"}) << "ni is Danish for 9";
}

TEST(Numbers, ThatDifferByAFactorOfAThousandAreFound) {
  EXPECT_EQ(faults("1,000,000 km", "1.000 km"), Faults{"1,000,000>"});
  EXPECT_EQ(faults("1,000 km", "1.000.000 km"), Faults{">1.000.000"});
  EXPECT_EQ(faults("1 000 000 km and 1 000 kg", "1 000 km e 1 000 kg"), Faults{"1 000 000>"});
  EXPECT_EQ(faults("2,500,000", "2.500"), Faults{"2,500,000>"});
  EXPECT_EQ(faults("I have 1,000,000 rubles.", "Я богатый."), Faults{"1,000,000>"}) << "1000000-я is no word";
  EXPECT_EQ(faults("5,000", "5"), Faults{"5,000>"});
  EXPECT_EQ(faults("1,250 km", "1,25 km"), Faults{"1,250>1,25"});
  EXPECT_EQ(faults("0.500 kg", "500 kg"), Faults{"0.500>"});
  EXPECT_EQ(faults(".08 percent", "0,008 Prozent"), Faults{".08>0,008"});
}

TEST(Numbers, AreComparedToTheLastDigit) {
  EXPECT_EQ(faults("3280643531926694921434", "3280643531926694929999"),
            Faults{"3280643531926694921434>3280643531926694929999"});
  EXPECT_EQ(faults("1.05 mg", "1,5 mg"), Faults{"1.05>1,5"});
  EXPECT_EQ(faults("1.5 mg", "1,17 mg"), Faults{"1.5>1,17"}) << "no time of day";
}

TEST(Numbers, ThatAreLeftOutOrAddedAreFound) {
  EXPECT_EQ(faults("It was built in 1873.", "Es wurde gebaut."), Faults{"1873>"});
  EXPECT_EQ(faults("It was built.", "Es wurde 1873 gebaut."), Faults{">1873"});
  EXPECT_EQ(faults("1873, yes, 1873", "ja, 1873"), Faults{}) << "once is enough";
  EXPECT_EQ(faults("0.5 mg by day, 0.5 mg at night", "0,5 mg de dia, 0 mg à noite"), Faults{"0.5>"});
  EXPECT_EQ(faults("on 2020-01-01, 2020-02-02 and 2020-04-04", "em 2020-01-01, 2020-02 e 2020-04-04"), Faults{"02>"});
  EXPECT_EQ(faults("on 10/10/2020", "em 10 de outubro de 2020"), Faults{});
  EXPECT_EQ(faults("It was a 2-2 draw.", "Foi um empate a 2."), Faults{});
  EXPECT_EQ(faults("a 50-50 chance", "50% de chance"), Faults{});
  EXPECT_EQ(faults("From 10:10:10 to 11:11:11", "De 10:10 às 11:11:11"), Faults{"10>"});
  EXPECT_EQ(faults("since January 1st, 1970", "seit dem 01.01.1970"), Faults{}) << "a month's name";
  EXPECT_EQ(faults("A man has 15 balls.", "Ein Mann hat Bälle."), Faults{"15>"}) << "small numbers too";
  EXPECT_EQ(faults("There are 3 dogs.", "Es sind Hunde."), Faults{"3>"});
  EXPECT_EQ(faults("chapter 100", "Kapitel"), Faults{"100>"});
  EXPECT_EQ(faults("Line spacing", "Zeilenabstand 20"), Faults{">20"});
}

TEST(Numbers, OfMarksThatTokenizersReadAsDigitsMayBeDigits) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"a room of 20 m²", "ein Raum von 20 m2"}, {"CO₂", "CO2"}, {"½ cup", "1⁄2 Tasse"}, {"see ①", "siehe 1"}}) {
    EXPECT_EQ(faults(source, target), Faults{}) << source << " | " << target;
    EXPECT_EQ(faults(target, source), Faults{}) << target << " | " << source;
  }
  EXPECT_EQ(faults("20 m²", "20 Quadratmeter"), Faults{}) << "or words";
  EXPECT_EQ(faults("20 m²", "20 m3"), Faults{">3"});
  EXPECT_EQ(faults("7 m²", "9 m2"), Faults{"7>9"});
  EXPECT_EQ(faults("10⁵ men", "105 Männer"), Faults{"10>105"});
}

TEST(Numbers, OfIgnoredPlacesDoNotCount) {
  EXPECT_TRUE(compare_numbers("see %1$s", "siehe", {{4, 8}}).empty());
  EXPECT_TRUE(compare_numbers("siehe", "see %99$s", {}, {{4, 9}}).empty());
}

TEST(Numbers, OfAnyLengthAreRead) {
  const std::string digits(100'000, '7');
  EXPECT_EQ(faults(digits, digits), Faults{});
  EXPECT_EQ(compare_numbers(digits, "x").size(), 1U);
}

// Each was spelled out in all languages for a text without a word, and read once for each number of the other side.
TEST(Numbers, OfALongTableAreComparedAtOnce) {
  std::string source, target, with_words;
  for (int i = 0; i < 2000; ++i) {
    source += std::to_string(i) + ".5 | ";
    target += std::to_string(9999 - i) + ".5 | ";
    with_words += std::to_string(10'000 + i) + " rows ";
  }
  EXPECT_LT(cpu_seconds_of([&] {
              EXPECT_EQ(compare_numbers(source, target).size(), 2000U);
              EXPECT_EQ(compare_numbers(source, with_words).size(), 2000U);
            }),
            4);
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// The words of all languages take more than 10 MB.
TEST(Numbers, AreComparedByManyThreadsInTheMemoryOfOne) {
  if (testing::kHasSanitizer) GTEST_SKIP() << "a sanitizer's heap keeps what is freed";
  EXPECT_EQ(faults("chapter 100", "Kapitel"), Faults{"100>"});
  const int64_t before = resident_bytes();
  std::promise<void> measured;
  const std::shared_future<void> end = measured.get_future().share();
  std::vector<std::promise<Faults>> found(8);
  std::vector<std::thread> threads;
  for (auto& of_thread : found)
    threads.emplace_back([&] {
      of_thread.set_value(faults("chapter 100", "Kapitel"));
      end.wait();
    });
  for (auto& of_thread : found) EXPECT_EQ(of_thread.get_future().get(), Faults{"100>"});
  EXPECT_LT(resident_bytes() - before, int64_t{30} << 20);
  measured.set_value();
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace transmute
