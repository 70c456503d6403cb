// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/subtitle_text.h>
#include <transmute/tests/documents/file_support.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFilm =
    "1\r\n00:00:01,000 --> 00:00:03,000\r\nA man in a blue shirt is\r\nstanding on a ladder\r\n\r\n"
    "2\r\n00:00:03,100 --> 00:00:05,000\r\n<i>cleaning a window</i> of the house.\r\n\r\n"
    "3\r\n00:00:06,000 --> 00:00:08,000\r\n{\\an8}- Two dogs.\r\n- A girl.\r\n\r\n"
    "4\r\n00:00:09,000 --> 00:00:10,000\r\n123\r\n";

TEST(SubRip, SentencesAreJoinedAndLinesOfSpeakersAreNot) {
  const auto film = opened("film.srt", kFilm);
  EXPECT_THAT(
      film->texts(),
      ElementsAre("A man in a blue shirt is standing on a ladder <img 1><b 0>cleaning a window</b> of the house.",
                  "Two dogs.", "A girl."));
  EXPECT_EQ(film->with(film->texts()), kFilm);
}

TEST(SubRip, AMarkOfManyBytesAfterADashIsAWord) {
  for (const std::string words : {"…and a man.", "“A man.”", "♪ a man", "‘A man’", "€5 a man", "日本"}) {
    const std::string film = "1\n00:00:01,000 --> 00:00:03,000\n-– " + words + "\n>> A dog.\n";
    EXPECT_THAT(opened("film.srt", film)->texts(), ElementsAre(words, "A dog."));
  }
  const std::string dashes(1'000'000, '-');  // which no stack of calls would hold
  EXPECT_THAT(opened("film.srt", "1\n00:00:01,000 --> 00:00:03,000\n" + dashes + "A dog.\n")->texts(),
              ElementsAre("A dog."));
}

TEST(SubRip, LinesOfScriptsWithoutSpacesAreJoinedWithoutOne) {
  EXPECT_THAT(opened("film.srt", "1\n00:00:01,000 --> 00:00:03,000\n彼は家で働\nく。\n")->texts(),
              ElementsAre("彼は家で働く。"));
}

TEST(SubRip, ANumberAfterAMissingEmptyLineIsNotSpoken) {
  const std::string film =
      "1\n00:00:01,000 --> 00:00:03,000\na man.\n2\n00:00:03,000 --> 00:00:05,000\nIn\n1984\n\n"
      "3\n00:00:05,000 --> 00:00:06,000\n- A dog.\n";
  const auto file = opened("film.srt", film);
  EXPECT_THAT(file->texts(), ElementsAre("a man.", "In 1984", "A dog."));
  EXPECT_EQ(with(*file, {{"a man.", "ein Mann."}}),
            film.substr(0, film.find("a man.")) + "ein Mann." + film.substr(film.find("a man.") + 6));
}

TEST(SubRip, ATranslationIsDividedOverTheSameCues) {
  const auto film = opened("film.srt", kFilm);
  EXPECT_EQ(with(*film, {{film->texts()[0],
                          "Ein Mann in blauem Hemd steht auf einer hohen Leiter, <b 0>putzt Fenster</b> und trinkt."},
                         {"Two dogs.", "Zwei Hunde."}}),
            "1\r\n00:00:01,000 --> 00:00:03,000\r\nEin Mann in blauem Hemd\r\nsteht auf einer hohen Leiter,\r\n\r\n"
            "2\r\n00:00:03,100 --> 00:00:05,000\r\n<i>putzt Fenster</i> und trinkt.\r\n\r\n"
            "3\r\n00:00:06,000 --> 00:00:08,000\r\n{\\an8}- Zwei Hunde.\r\n- A girl.\r\n\r\n"
            "4\r\n00:00:09,000 --> 00:00:10,000\r\n123\r\n");
}

TEST(SubRip, TagsThatACutDividesEndAndBeginAgain) {
  const auto film = opened("film.srt",
                           "1\n00:00:01,000 --> 00:00:02,000\none <i>two\n\n2\n00:00:02,000 --> 00:00:03,000\n"
                           "three</i> four\n");
  ASSERT_THAT(film->texts(), ElementsAre("one <img 0>two <img 2>three<img 1> four"));
  const auto words = opened("film.srt",
                            "1\n00:00:01,000 --> 00:00:02,000\n<i>one two</i> three\n\n"
                            "2\n00:00:02,000 --> 00:00:03,000\nfour five six\n");
  ASSERT_THAT(words->texts(), ElementsAre("<b 0>one two</b> three <img 1>four five six"));
  EXPECT_EQ(words->with({"one two <b 0>three four</b> five six"}),
            "1\n00:00:01,000 --> 00:00:02,000\none two <i>three</i>\n\n"
            "2\n00:00:02,000 --> 00:00:03,000\n<i>four</i> five six\n");
}

// A sentence over two cues of the same time.
std::string two_cues(const std::string& first, const std::string& second) {
  return "1\n00:00:01,000 --> 00:00:03,000\n" + first + "\n\n2\n00:00:03,000 --> 00:00:05,000\n" + second + "\n";
}

TEST(SubRip, ASentenceIsDividedWhereItsSourceIs) {
  const auto film = opened("film.srt", two_cues("Wait", "until the old man has gone home"));
  ASSERT_THAT(film->texts(), ElementsAre("Wait <img 0>until the old man has gone home"));
  EXPECT_EQ(film->with({"Warte doch <img 0>bis der alte Mann gegangen ist"}),
            two_cues("Warte doch", "bis der alte Mann gegangen ist"));
  // The end of a clause nearby is better.
  EXPECT_EQ(film->with({"Warte doch <img 0>noch, bis der alte Mann gegangen ist"}),
            two_cues("Warte doch noch,", "bis der alte Mann gegangen ist"));
  // Time alone counts without a place, and with one that would leave a cue empty.
  for (const char* place : {"", "<img 0>"})
    EXPECT_EQ(film->with({std::string(place) + "Warte doch bis der alte Mann gegangen ist"}),
              two_cues("Warte doch bis der", "alte Mann gegangen ist"));
}

TEST(SubRip, ACueThatWouldBeTooLongGivesWordsToTheNext) {
  const auto film = opened("film.srt", two_cues("One", "two"));
  std::string words;
  for (int i = 0; i < 24; ++i) words += "word ";
  const std::string divided = film->with({words + "<img 0>end"});
  const size_t border = divided.find("\n\n2\n");
  EXPECT_LE(border, two_cues("", "").find("\n\n2\n") + 42 + 1 + 42);
  size_t count = 0;
  for (size_t at = divided.find("word"); at != std::string::npos; at = divided.find("word", at + 1)) ++count;
  EXPECT_EQ(count, 24U);
  EXPECT_THAT(divided, HasSubstr("end\n"));
}

TEST(SubRip, ALongWordLeavesNoEmptyLine) {
  const std::string word(140, 'x');
  const auto film = opened("film.srt", "1\n00:00:01,000 --> 00:00:05,000\nshort\n");
  EXPECT_EQ(film->with({word}), "1\n00:00:01,000 --> 00:00:05,000\n" + word + "\n");
  EXPECT_EQ(film->with({"a " + word}), "1\n00:00:01,000 --> 00:00:05,000\na\n" + word + "\n");
  EXPECT_EQ(opened("film.srt", two_cues("one two", "three"))->with({"a b " + word}), two_cues("a b", word));
}

TEST(SubRip, ATagThatIsOnlyAPlaceLeavesOneSpace) {
  const auto film = opened("film.srt", two_cues("one two", "three four"));
  EXPECT_EQ(film->with({"five six <img 0> seven eight"}), two_cues("five six", "seven eight"));
}

TEST(SubRip, SpacesAroundTheWordsOfACueAreNoneOfTheSentence) {
  const std::string film = two_cues("one two, ", " <i>three four </i>\t");
  const auto file = opened("film.srt", film);
  ASSERT_THAT(file->texts(), ElementsAre("one two, <img 0>three four"));
  EXPECT_EQ(file->with({"five six, <img 0>seven eight"}), two_cues("five six, ", " <i>seven eight </i>\t"));
}

TEST(SubRip, AMarkAfterAPlaceHasNoSpaceBeforeIt) {
  const auto film = opened("film.srt", two_cues("one two", "three four"));
  EXPECT_EQ(film->with({"five six <img 0>, seven eight"}), two_cues("five six,", "seven eight"));
  EXPECT_EQ(film->with({"five six <img 0>? Seven eight"}), two_cues("five six ?", "Seven eight"));  // as in French
  const std::string one_cue = "1\n00:00:01,000 --> 00:00:03,000\nuse the <i>.NET</i> here\n";
  EXPECT_EQ(opened("film.srt", one_cue)->with({"use the <b 0>.NET</b> here!"}),
            one_cue.substr(0, one_cue.size() - 1) + "!\n");
}

TEST(SubRip, CuesInAnotherOrderAreDividedByTime) {
  const auto film =
      opened("film.srt", two_cues("<i>one two</i> three", "four") + "\n3\n00:00:05,000 --> 00:00:07,000\nfive six\n");
  ASSERT_THAT(film->texts(), ElementsAre("<b 0>one two</b> three <img 1>four <img 2>five six"));
  const std::string by_time = film->with({"six <b 0>five four</b> three two one"});
  EXPECT_EQ(film->with({"six <img 2><b 0>five four</b> three <img 1>two one"}), by_time);
  EXPECT_NE(film->with({"six <img 1><b 0>five four</b> three two <img 2>one"}), by_time);
}

TEST(SubRip, LinesStayReadable) {
  std::string text;
  for (int i = 0; i < 18; ++i) text += "word ";
  const auto film = opened("film.srt", "1\n00:00:01,000 --> 00:00:05,000\nshort\n");
  std::istringstream lines(film->with({text.substr(0, 79)}));
  std::string line;
  for (int i = 0; i < 2; ++i) std::getline(lines, line);
  int count = 0;
  for (; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 42U);
  EXPECT_EQ(count, 2);
}

TEST(SubRip, CharactersOfChineseTakeTheRoomOfTwo) {
  const std::string times = "1\n00:00:01,000 --> 00:00:05,000\n";
  const auto film = opened("film.srt", times + "short\n");
  EXPECT_EQ(film->with({"今天天气很好我们去公园，然后大家在湖边吃午饭"}),
            times + "今天天气很好我们去公园，\n然后大家在湖边吃午饭\n");
  EXPECT_EQ(film->with({"今天天气很好所以我们大家一起去公园"}), times + "今天天气很好所以我们大家一起去公园\n");
  EXPECT_EQ(film->with({"ก็ไม่มีที่นี่หรือที่นั่นแล้วก็ไม่รู้เลยว่ามีที่ไหน"}), times + "ก็ไม่มีที่นี่หรือที่นั่นแล้วก็ไม่รู้เลยว่ามีที่ไหน\n")
      << "29 letters with 21 signs";
}

TEST(SubRip, AVeryLongTextKeepsItsNumberOfLines) {
  const std::string times = "1\n00:00:01,000 --> 00:00:05,000\n";
  std::string source, text;
  for (int i = 0; i < 30; ++i) source += "a line that has thirty-six characters\n";
  for (int i = 0; i < 150; ++i) text += std::string(3 + i % 9, 'a') + " ";
  for (const auto& [spoken, most, count] : {std::tuple(std::string("short\n"), 620U, 2), std::tuple(source, 54U, 29)}) {
    const auto film = opened("film.srt", times + spoken);
    std::istringstream lines(film->with({text.substr(0, text.size() - 1)}).substr(times.size()));
    int seen = 0;
    for (std::string line; std::getline(lines, line); ++seen) EXPECT_LE(line.size(), most);
    EXPECT_EQ(seen, count);
  }
}

TEST(SubRip, LyricsSoundsAndSpeakersAreTextsOfTheirOwn) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cues{
      {"♪ We will be together ♪\n♪ forever and ever ♪", {"♪ We will be together ♪", "♪ forever and ever ♪"}},
      {"♪ We will be\ntogether ♪\nWho sings?", {"♪ We will be together ♪", "Who sings?"}},
      {"<i># The sun is shining #\n# the birds sing #</i>", {"# The sun is shining #", "# the birds sing #"}},
      {"[door opens]\nJOHN: Who is\nthere?", {"[door opens]", "JOHN: Who is there?"}},
      {"JOHN: I am tired\nDR. LEE (V.O.): So am I", {"JOHN: I am tired", "DR. LEE (V.O.): So am I"}},
      {"John: I am tired.\nMary: So am I.", {"John: I am tired.", "Mary: So am I."}},
      {"MARY:\nI am here.", {"MARY:", "I am here."}},
      {"It was\nmade by\nMARY ANN:\nI am", {"It was made by", "MARY ANN:", "I am"}},
      {"<font color=a>I will</font>\n<font color=b>No</font>\n<font color=b>you</font>", {"I will", "No you"}},
      {"<font color=a>He</font> said <font color=a>that</font>\n<font color=b>he</font> is <font color=b>old.</font>",
       {"<b 0>He</b> said <b 1>that</b> <b 2>he</b> is <b 3>old.</b>"}},
      {"I am going\n(sighs)\nhome.", {"I am going", "(sighs)", "home."}},
      {"I am home.\n(the door opens\nand closes)\nhello", {"I am home.", "(the door opens and closes)", "hello"}},
      {"（ドア）\n太郎です", {"（ドア）", "太郎です"}},
      {"- Who is\nthere?\n- A man.", {"Who is there?", "A man."}},
      {"[door opens]\n- Who is there?\n- A man.", {"[door opens]", "Who is there?", "A man."}},
      {"Who is there?\n- A man.", {"Who is there?", "A man."}},
      // These are one sentence.
      {"He went to Paris\n(France) to see her.", {"He went to Paris (France) to see her."}},
      {"He went to Paris (France)\nto see her.", {"He went to Paris (France) to see her."}},
      {"<c.red>I will</c>\n<c.blue>not go</c> now", {"<b 0>I will</b> <b 1>not go</b> now"}},
      {"THERE IS ONE THING\nTO DO: NOTHING", {"THERE IS ONE THING TO DO: NOTHING"}},
      {"The train of\n12:30 is late\n#1 of all", {"The train of 12:30 is late #1 of all"}},
      {"a red dog\n- and a cat -\nran", {"a red dog - and a cat - ran"}}};
  for (const auto& [cue, texts] : cues) {
    const std::string film = "1\n00:00:01,000 --> 00:00:03,000\n" + cue + "\n";
    const auto file = opened("film.srt", film);
    EXPECT_EQ(file->texts(), texts);
    EXPECT_EQ(file->with(file->texts()), film);
  }
  const auto film = opened("film.srt", two_cues("[door opens]\nI was going", "to the house\n♪ la ♪"));
  ASSERT_THAT(film->texts(), ElementsAre("[door opens]", "I was going <img 0>to the house", "♪ la ♪"));
  EXPECT_EQ(film->with({"[Tür]", "Ich ging <img 0>ins Haus", "♪ lo ♪"}),
            two_cues("[Tür]\nIch ging", "ins Haus\n♪ lo ♪"));
  EXPECT_THAT(opened("film.srt", two_cues("I was going", "ANN: not to the house"))->texts(),
              ElementsAre("I was going", "ANN: not to the house"));
}

TEST(SubRip, CapitalsBesideOtherTextAreATextOfTheirOwn) {
  const auto texts = [](const char* first, const char* second) {
    return opened("film.srt", two_cues(first, second))->texts();
  };
  EXPECT_THAT(texts("We are almost there", "CENTRAL STATION"), ElementsAre("We are almost there", "CENTRAL STATION"));
  EXPECT_THAT(texts("CENTRAL STATION", "We are there"), ElementsAre("CENTRAL STATION", "We are there"));
  EXPECT_THAT(texts("He works for the", "FBI."), ElementsAre("He works for the <img 0>FBI."));
  EXPECT_THAT(texts("THE FBI", "has a man"), ElementsAre("THE FBI <img 0>has a man"));
  EXPECT_THAT(texts("I AM GOING", "TO THE HOUSE"), ElementsAre("I AM GOING <img 0>TO THE HOUSE"));
  EXPECT_THAT(texts("CHAPTER ONE\nThe dog", "ran."), ElementsAre("CHAPTER ONE", "The dog <img 0>ran."));
  EXPECT_THAT(texts("1 000 000\nGermans live", "here."), ElementsAre("1 000 000 Germans live <img 0>here."));
  EXPECT_THAT(texts("I saw the\nRED HOUSE\nof Ann", "a\nb"), ElementsAre("I saw the RED HOUSE of Ann <img 0>a b"));
}

TEST(SubRip, TextAfterAnEmptyLineIsOfTheSameCue) {
  const std::string film =
      "1\n00:00:01,000 --> 00:00:03,000\nA dog.\n\nA cat.\n\n\n\n2\n00:00:04,000 --> 00:00:05,000\n\nTwo\n\ndogs\n\n"
      "3\n00:00:06,000 -> 00:00:07,000\nbad\n\n4\n00:00:08,000 --> 00:00:09,000\n1984\n\nand more.\n5\n"
      "00:00:09,000 --> 00:00:10,000\nThe end";
  const auto file = opened("film.srt", film);
  EXPECT_THAT(file->texts(), ElementsAre("A dog.", "A cat.", "Two <img 0>dogs", "and more.", "The end"));
  EXPECT_EQ(file->with(file->texts()), film);
  EXPECT_EQ(with(*file, {{"A cat.", "Eine Katze."}}), std::string(film).replace(film.find("A cat."), 6, "Eine Katze."));
}

TEST(SubRip, TagsThatEachLineHasAreOne) {
  const auto file = opened("film.srt", "1\n00:00:01,000 --> 00:00:03,000\n<i>I do not know</i>\n<i>who you are.</i>\n");
  EXPECT_THAT(file->texts(), ElementsAre("I do not know who you are."));
  EXPECT_EQ(file->with({"Ich weiß nicht, wer du bist, und auch nicht, wo ich bin."}),
            "1\n00:00:01,000 --> 00:00:03,000\n<i>Ich weiß nicht, wer du bist,\nund auch nicht, wo ich bin.</i>\n");
  EXPECT_THAT(opened("film.srt", "1\n00:00:01,000 --> 00:00:03,000\n<i>- A dog.</i>\n<i>- Two.</i>\n")->texts(),
              ElementsAre("A dog.", "Two."));
  EXPECT_THAT(opened("film.srt", "1\n00:00:01,000 --> 00:00:03,000\n<i>a dog</i>\n<b>and</b>\n<b>a</b> cat\n")->texts(),
              ElementsAre("<b 0>a dog</b> <b 1>and a</b> cat"));
}

TEST(WebVtt, NotesStylesAndReferencesStay) {
  const std::string page =
      "WEBVTT - title\n\nSTYLE\n::cue { color: red }\n\nNOTE a note\n\nintro\n00:01.000 --> 00:02.000 align:left\n"
      "<v Bob>A dog &amp; a cat.\n\n00:03.000 --> 00:04.000\n<c.red>It runs.</c>\n";
  const auto file = opened("film.vtt", page);
  EXPECT_THAT(file->texts(), ElementsAre("A dog &amp; a cat.", "It runs."));
  EXPECT_EQ(file->with(file->texts()), page);
  EXPECT_THAT(shouted(*file), HasSubstr("<v Bob>A DOG &amp; A CAT.\n\n00:03.000 --> 00:04.000\n<c.red>IT RUNS.</c>\n"));
  EXPECT_THROW(opened("film.vtt", "1\n00:01.000 --> 00:02.000\na\n"), std::runtime_error);
  EXPECT_THAT(opened("film.vtt",
                     "WEBVTT\n\n00:01.000 --> 00:02.000\n{\n  \"title\": \"A dog\"\n}\n\n00:02.000 --> "
                     "00:03.000\n[{\"a\": 1}]\n\n00:03.000 --> 00:04.000\n[A dog barks]\n")
                  ->texts(),
              ElementsAre("[A dog barks]"));
}

TEST(WebVtt, VoicesAndChaptersAreTextsOfTheirOwn) {
  const auto texts_of = [](const std::string& cues) { return opened("a.vtt", "WEBVTT\n\n" + cues)->texts(); };
  EXPECT_THAT(texts_of("00:01.000 --> 00:03.000\n<v Bob>a man\n<v Ann>two dogs\n\n00:03.000 --> 00:04.000\n"
                       "<v Ann>are running\n\n00:04.000 --> 00:05.000\n<v Ann>here\n"),
              ElementsAre("a man", "two dogs", "are running <img 0>here"));
  EXPECT_THAT(texts_of("00:00.000 --> 03:00.000\nThe street\n\n03:00.000 --> 05:00.000\nTwo dogs\n"),
              ElementsAre("The street", "Two dogs"));
}

TEST(WebVtt, LinesOfSpacesAndTimesOfWordsAreNoText) {
  const std::string film = "WEBVTT\n\n00:01.000 --> 00:03.000\n \na<00:01.500><c> man.</c>\n \n\n";
  const auto file = opened("a.vtt", film);
  ASSERT_THAT(file->texts(), ElementsAre("a<b 0> man.</b>"));
  EXPECT_EQ(file->with(file->texts()), film);
}

TEST(Subtitles, LinesThatRollUpAreTranslatedOnce) {
  const std::string at = "\n00:00:00.160 --> 00:00:02.310 align:start\n";
  const auto rolling = opened("a.vtt", "WEBVTT\n" + at + " \nthe<00:00:00.480><c> man</c>\n" + at + "the man\n \n" +
                                           at + "the man\nsaw<00:00:02.560><c> her</c>\n" + at + "saw her\n \n" + at +
                                           "saw her\n[Applause]\n");
  ASSERT_THAT(rolling->texts(), ElementsAre("the<b 0> man</b> <img 2>saw<b 1> her</b>", "[Applause]"));
  EXPECT_EQ(rolling->with({"der<b 0> Mann</b> <img 2>sah<b 1> sie</b>", "[Beifall]"}),
            "WEBVTT\n" + at + " \nder<c> Mann</c>\n" + at + "der<c> Mann</c>\n \n" + at +
                "der<c> Mann</c>\nsah<c> sie</c>\n" + at + "sah<c> sie</c>\n \n" + at + "sah<c> sie</c>\n[Beifall]\n");
  const std::string srt_at = "1\n00:00:01,000 --> 00:00:03,000\n";
  const auto television = opened(
      "a.srt", srt_at + ">> One.\n<i>Two.</i>\n\n" + srt_at + ">> Two.\nThree\n\n" + srt_at + "Two.\nThree\nmen.\n");
  ASSERT_THAT(television->texts(), ElementsAre("One.", "Two.", "Three <img 0>men."));
  EXPECT_EQ(television->with({"Eins.", "Zwei.", "Drei <img 0>Mann."}),
            srt_at + ">> Eins.\n<i>Zwei.</i>\n\n" + srt_at + ">> Zwei.\nDrei\n\n" + srt_at + "Zwei.\nDrei\nMann.\n");
  const std::string hearts = "WEBVTT\n" + at + "I <3 you.\n" + at + "I <3 cats.\n";
  EXPECT_THAT(opened("a.vtt", hearts)->texts(), ElementsAre("I <3 you.", "I <3 cats."));
  const std::string line = "A dog is about to go to his red house.", cue = srt_at + line + '\n';
  EXPECT_EQ(opened("a.srt", cue + '\n' + cue + "A cat.\n")->with({line + " Again.", "Eine Katze."}),
            srt_at + line + " Again.\n\n" + srt_at + line + " Again.\nEine Katze.\n");
  std::string longest = "A";
  while (longest.size() < 3000) longest += " dog and a";
  const auto twice = opened("a.srt", srt_at + longest + "\n\n" + srt_at + longest + "\nman.\n");
  EXPECT_THAT(twice->texts(), ElementsAre(longest, longest, "man."));
}

TEST(SubStationAlpha, DialogueIsTranslatedAndDrawingsAndSongsStay) {
  const std::string script =
      "[Script Info]\nTitle: a\n[V4+ Styles]\nFormat: Name\nStyle: Default\n[Events]\n"
      "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
      "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,a comment\n"
      "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\pos(1,2)}A {\\i1}red{\\i0} dog,\\Na cat.\n"
      "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{\\p1}m 0 0 l 1 1\n"
      "Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,{\\k20}la {\\k30}la\n";
  const auto file = opened("film.ass", script);
  EXPECT_THAT(file->texts(), ElementsAre("A <b 0>red</b> dog, a cat."));
  EXPECT_EQ(file->with(file->texts()), script);
  EXPECT_THAT(file->with({"Ein <b 0>roter</b> Hund und eine Katze."}),
              HasSubstr(",,{\\pos(1,2)}Ein {\\i1}roter{\\i0} Hund und eine Katze.\n"));
}

TEST(Subtitles, WhatIsNoneIsRefused) {
  EXPECT_THROW(opened("a.srt", "some text\n"), std::runtime_error);
  EXPECT_THROW(opened("a.ass", "some text\n"), std::runtime_error);
  EXPECT_THROW(opened("a.srt", "1\n00:00:01,000 --> 00:00:02,000\ncaf\xe9\n"), std::runtime_error);
  for (const char* empty : {"", "1\n00:00:01,000 --> 00:00:02,000\n\n"})
    EXPECT_THAT(opened("a.srt", empty)->texts(), ElementsAre());
}

}  // namespace
}  // namespace transmute::testing
