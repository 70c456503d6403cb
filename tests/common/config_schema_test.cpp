// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <transmute/common/config_schema.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;

enum class Color { red, green };

// One field of every type, at the top level and in two sections.
struct Settings {
  int64_t version = 1;
  int64_t num_heads = 8;
  double dropout = 0.1;
  bool tied = true;
  std::string folder = "here";
  std::vector<std::string> files{"a", "b"};
  Color color = Color::red;
  int64_t warmup_steps = 4000;
  double rate = 1e-9;

  void declare(ConfigSchema& schema) {
    schema.section("", "");
    schema.add("version", &version, "version of the file");
    schema.section("model", "the network");
    schema.add("num_heads", &num_heads, "attention heads", Bounds<int64_t>{1});
    schema.add("dropout", &dropout, "chance of a zero", Bounds<double>{0.0, 0.99});
    schema.add("tied", &tied, "one matrix");
    schema.add("folder", &folder, "where files are");
    schema.add("files", &files, "which files");
    schema.add("color", &color, {{Color::red, "red"}, {Color::green, "green"}}, "which color");
    schema.section("training", "the optimization");
    schema.add("warmup_steps", &warmup_steps, "rising steps", Bounds<int64_t>{1, 1'000'000});
    schema.add("rate", &rate, "a small number");
  }
};

class ConfigSchemaTest : public ::testing::Test {
 protected:
  ConfigSchemaTest() { settings.declare(schema); }

  // Reads this text as the file `exp.yaml`.
  void read(const std::string& text) {
    write_text(path, text);
    schema.read_file(path);
  }

  // The message with which reading this text fails, without the file's name in front: it begins with the line, ":3: …".
  std::string refusal_of(const std::string& text) {
    const std::string message = message_of<std::invalid_argument>([&] { read(text); });
    EXPECT_THAT(message, StartsWith(path + ":"));
    return message.size() < path.size() ? message : message.substr(path.size());
  }

  std::string refusal_to_set(const std::string& assignment) {
    return message_of<std::invalid_argument>([&] { schema.set(assignment); });
  }

  const TemporaryFolder folder;
  const std::string path = folder / "exp.yaml";
  Settings settings;
  ConfigSchema schema;
};

TEST_F(ConfigSchemaTest, ReadsEveryType) {
  read(
      "version: 3\n"
      "model:\n"
      "  num_heads: 4\n"
      "  dropout: 2.5e-1\n"
      "  tied: false\n"
      "  folder: \"my data\"\n"
      "  files: [x, 'y z', \"w,\"]\n"
      "  color: green\n"
      "training: {warmup_steps: 10, rate: -3}\n");
  EXPECT_EQ(settings.version, 3);
  EXPECT_EQ(settings.num_heads, 4);
  EXPECT_EQ(settings.dropout, 0.25);
  EXPECT_FALSE(settings.tied);
  EXPECT_EQ(settings.folder, "my data");
  EXPECT_THAT(settings.files, ElementsAre("x", "y z", "w,"));
  EXPECT_EQ(settings.color, Color::green);
  EXPECT_EQ(settings.warmup_steps, 10);
  EXPECT_EQ(settings.rate, -3.0);
}

TEST_F(ConfigSchemaTest, KeepsWhatTheFileDoesNotName) {
  read("model:\n  num_heads: 2\ntraining:\n");
  EXPECT_EQ(settings.num_heads, 2);
  EXPECT_EQ(settings.dropout, 0.1);
  EXPECT_TRUE(settings.tied);
  EXPECT_EQ(settings.folder, "here");
  EXPECT_THAT(settings.files, ElementsAre("a", "b"));
  EXPECT_EQ(settings.color, Color::red);
  EXPECT_EQ(settings.warmup_steps, 4000);
}

TEST_F(ConfigSchemaTest, TakesAnEmptyFileForAllDefaults) {
  for (const char* text : {"", "# only a comment\n", "---\n"}) EXPECT_NO_THROW(read(text)) << text;
  EXPECT_EQ(settings.num_heads, 8);
}

TEST_F(ConfigSchemaTest, TakesOneWordForAListOfOne) {
  read("model:\n  files: single\n");
  EXPECT_THAT(settings.files, ElementsAre("single"));
  read("model:\n  files: []\n");
  EXPECT_THAT(settings.files, IsEmpty());
}

TEST_F(ConfigSchemaTest, PointsAnUnknownKeyToTheNearestName) {
  EXPECT_EQ(refusal_of("model:\n  tied: true\n  n_head: 4\n"),
            ":3: unknown key \"model.n_head\"; did you mean \"num_heads\"?");
  EXPECT_EQ(refusal_of("\nmodle:\n  tied: true\n"), ":2: unknown key \"modle\"; did you mean \"model\"?");
}

TEST_F(ConfigSchemaTest, ListsTheKnownKeysWhereNoneIsNear) {
  EXPECT_THAT(refusal_of("training:\n  zzzzqqqq: 4\n"),
              AllOf(StartsWith(":2: unknown key \"training.zzzzqqqq\""), EndsWith("warmup_steps, rate")));
}

TEST_F(ConfigSchemaTest, PointsAKeyToTheSectionThatHasIt) {
  EXPECT_THAT(refusal_of("model:\n  warmup_steps: 4\n"),
              AllOf(StartsWith(":2: "), HasSubstr("did you mean \"training.warmup_steps\"?")));
  EXPECT_THAT(refusal_of("warmup_steps: 4\n"), HasSubstr("did you mean \"training.warmup_steps\"?"));
}

TEST_F(ConfigSchemaTest, KnowsTheFormOfSetInAFile) {
  EXPECT_EQ(refusal_of("training.warmup_steps: 4\n"),
            ":1: unknown key \"training.warmup_steps\"; in a file, write warmup_steps inside the section training");
}

TEST_F(ConfigSchemaTest, RefusesAKeyThatStandsTwice) {
  EXPECT_THAT(refusal_of("model:\n  num_heads: 4\n  tied: true\n  num_heads: 8\n"),
              AllOf(StartsWith(":4: "), HasSubstr("\"model.num_heads\" occurs twice")));
  EXPECT_THAT(refusal_of("model:\n  num_heads: 4\ntraining:\nmodel:\n  tied: true\n"),
              AllOf(StartsWith(":4: "), HasSubstr("\"model\" occurs twice")));
}

TEST_F(ConfigSchemaTest, RefusesValuesOfAnotherType) {
  const std::pair<const char*, const char*> cases[] = {
      {"num_heads: four", "a whole number"},
      {"num_heads: 4.0", "a whole number"},
      {"num_heads: 4 heads", "a whole number"},
      {"num_heads: [4]", "a whole number"},
      {"num_heads: {a: 4}", "a whole number"},
      {"num_heads:", "a whole number"},
      {"num_heads: 99999999999999999999", "a whole number"},
      {"num_heads: true", "a whole number"},
      {"dropout: little", "a number"},
      {"dropout: 0.1x", "a number"},
      {"dropout: 0,1", "a number"},
      {"tied: yes", "true or false"},
      {"tied: 1", "true or false"},
      {"tied: [true]", "true or false"},
      {"folder: [a]", "a text"},
      {"folder:", "a text"},
      {"files: [[a]]", "a list of texts"},
      {"files: {a: b}", "a list of texts"},
      {"color: [red]", "one word"},
  };
  for (const auto& [line, wanted] : cases) {
    const std::string message = refusal_of(std::string("model:\n  ") + line + "\n");
    EXPECT_THAT(message, AllOf(StartsWith(":2: \"model."), HasSubstr(std::string("needs ") + wanted))) << line;
  }
  EXPECT_EQ(settings.num_heads, 8);
  EXPECT_THAT(settings.files, ElementsAre("a", "b"));
}

TEST_F(ConfigSchemaTest, SaysWhatIsWrongWithANumber) {
  const auto of = [&](const char* line) { return refusal_of(std::string("model:\n  ") + line + "\n"); };
  EXPECT_EQ(of("dropout: \"0.1\""), ":2: \"model.dropout\" needs a number without quotes: 0.1");
  EXPECT_EQ(of("tied: 'true'"), ":2: \"model.tied\" needs true or false without quotes: true");
  EXPECT_EQ(of("num_heads: ''"), ":2: \"model.num_heads\" needs a whole number, not ''");
  EXPECT_EQ(of("num_heads:"), ":2: \"model.num_heads\" has no value; it needs a whole number");
  EXPECT_EQ(of("num_heads: 99999999999999999999"),
            ":2: \"model.num_heads\" needs a whole number; 99999999999999999999 is too large");
  EXPECT_EQ(of("num_heads: -99999999999999999999"),
            ":2: \"model.num_heads\" needs a whole number; -99999999999999999999 is out of range");
  EXPECT_EQ(of("dropout: 1e-999"), ":2: \"model.dropout\" needs a number; 1e-999 is out of range");
}

TEST_F(ConfigSchemaTest, KnowsANumberWithACommaThatSeparatesKeys) {
  const std::string begin = ":1: a comma separates keys here, and \"";
  EXPECT_EQ(refusal_of("model: {dropout: 0,1, tied: true}\n"),
            begin + "model.dropout\" has one in its value; write dropout: 0.1");
  EXPECT_EQ(refusal_of("training: {warmup_steps: 2,048}\n"),
            begin + "training.warmup_steps\" has one in its value; write warmup_steps: 2048");
  EXPECT_EQ(refusal_of("training: {warmup_steps: 1,000,000, rate: 1}\n"),
            begin + "training.warmup_steps\" has one in its value; write warmup_steps: 1000000");
  EXPECT_EQ(refusal_of("model: {dropout: 0,125}\n"),
            begin + "model.dropout\" has one in its value; write dropout: 0.125");
  EXPECT_EQ(refusal_of("model: {tied: true, 12}\n"), begin + "model.12\" is none");
}

TEST_F(ConfigSchemaTest, ReadsListsOfNumbers) {
  std::vector<double> weights;
  schema.add("weights", &weights, "how often");
  read("training: {weights: [1, 0.5, 2e3]}\n");
  EXPECT_THAT(weights, ElementsAre(1, 0.5, 2000));
  read("training: {weights: 3}\n");
  EXPECT_THAT(weights, ElementsAre(3));
  for (const char* value : {"[a]", "['1']", "[1, [2]]", "{a: 1}", "one"})
    EXPECT_THAT(refusal_of(std::string("training:\n  weights: ") + value + "\n"),
                StartsWith(":2: \"training.weights\" needs a list of numbers"))
        << value;
  EXPECT_THAT(refusal_of("training:\n  weights: [nan]\n"), EndsWith("needs a list of numbers, not 'nan'"));
  EXPECT_THAT(refusal_of("training:\n  weights: [inf]\n"), EndsWith("needs a list of numbers, not 'inf'"));
  EXPECT_THAT(weights, ElementsAre(3));
}

TEST_F(ConfigSchemaTest, RefusesQuotedNumbersAndSwitches) {
  for (const char* line : {"num_heads: \"4\"", "num_heads: '4'", "dropout: '0.1'", "tied: 'true'", "tied: \"false\""})
    EXPECT_THAT(refusal_of(std::string("model:\n  ") + line + "\n"), StartsWith(":2: \"model.")) << line;
}

TEST_F(ConfigSchemaTest, RefusesNumbersOutOfBounds) {
  EXPECT_THAT(refusal_of("model:\n  num_heads: 0\n"), EndsWith("\"model.num_heads\" must be at least 1, not 0"));
  EXPECT_THAT(refusal_of("training:\n  warmup_steps: 1000001\n"),
              EndsWith("must lie between 1 and 1000000, not 1000001"));
  EXPECT_THAT(refusal_of("model:\n  dropout: -0.1\n"), EndsWith("must lie between 0 and 0.99, not -0.1"));
  EXPECT_THAT(refusal_of("model:\n  dropout: 1\n"), EndsWith("must lie between 0 and 0.99, not 1"));
}

TEST_F(ConfigSchemaTest, RefusesWhatIsNoFiniteNumber) {
  for (const std::string value : {"nan", ".nan", "inf", "-inf"})
    EXPECT_THAT(refusal_of("model:\n  dropout: " + value + "\n"), EndsWith("needs a number, not '" + value + "'"));
}

TEST_F(ConfigSchemaTest, AcceptsTheBoundsThemselves) {
  read("model: {num_heads: 1, dropout: 0}\ntraining: {warmup_steps: 1000000}\n");
  EXPECT_EQ(settings.num_heads, 1);
  EXPECT_EQ(settings.dropout, 0);
  EXPECT_EQ(settings.warmup_steps, 1'000'000);
  read("model: {dropout: 0.99}\n");
  EXPECT_EQ(settings.dropout, 0.99);
}

TEST_F(ConfigSchemaTest, ListsTheWordsOfAChoice) {
  EXPECT_THAT(refusal_of("model:\n  color: blue\n"), EndsWith("\"model.color\" must be one of red, green; not 'blue'"));
}

TEST_F(ConfigSchemaTest, NamesTheLineOfInvalidYaml) {
  EXPECT_THAT(refusal_of("model:\n  num_heads: 4\n  files: [a, b\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(refusal_of("model:\n  num_heads: 4\n tied: true\n"),
              AllOf(StartsWith(":3:"), HasSubstr("not valid YAML")));
  EXPECT_THAT(refusal_of("model:\n\tnum_heads: 4\n"), StartsWith(":2:1: tabs are not allowed"));
  EXPECT_THAT(refusal_of("model:\n  files: " + std::string(10'000, '[')),
              AllOf(StartsWith(":2:"), EndsWith(": nested too deeply")));
}

TEST_F(ConfigSchemaTest, RefusesASecondDocument) {
  for (const char* second : {"---\nmodel: {tied: true}\n", "...\nmodel: {tied: true}\n"})
    EXPECT_THAT(refusal_of(std::string("model: {num_heads: 4}\n") + second), HasSubstr("a second YAML document"))
        << second;
  EXPECT_NO_THROW(read("---\nmodel: {num_heads: 4}\n...\n"));
}

TEST_F(ConfigSchemaTest, RefusesASectionWithoutKeys) {
  EXPECT_THAT(refusal_of("model: 4\n"), AllOf(StartsWith(":1: "), HasSubstr("\"model\" must hold keys and values")));
  EXPECT_THAT(refusal_of("\n- a\n- b\n"), AllOf(StartsWith(":2: "), HasSubstr("must hold keys and values")));
  EXPECT_THAT(refusal_of("model:\n  ? [a, b]\n  : 1\n"), HasSubstr("a key must be a plain word"));
}

TEST_F(ConfigSchemaTest, PassesOverTheSectionsOfOtherReaders) {
  schema.ignore_section("data");
  read("data:\n  anything: [1, {2: 3}]\nmodel:\n  num_heads: 2\n");
  EXPECT_EQ(settings.num_heads, 2);
  EXPECT_THAT(refusal_of("model:\n  data: 1\n"), HasSubstr("unknown key \"model.data\"")) << "only at the top level";
}

TEST_F(ConfigSchemaTest, NamesAFileThatIsMissing) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { schema.read_file(folder / "absent.yaml"); }),
              StartsWith(folder / "absent.yaml"));
}

TEST_F(ConfigSchemaTest, SetChangesOneValue) {
  schema.set("model.num_heads=16");
  schema.set("model.folder=a=b");
  schema.set("model.files=[x, y]");
  schema.set("model.color=green");
  schema.set("model.tied=false");
  schema.set("training.rate=2e-5");
  schema.set("version=2");
  EXPECT_EQ(settings.num_heads, 16);
  EXPECT_EQ(settings.folder, "a=b");
  EXPECT_THAT(settings.files, ElementsAre("x", "y"));
  EXPECT_EQ(settings.color, Color::green);
  EXPECT_FALSE(settings.tied);
  EXPECT_EQ(settings.rate, 2e-5);
  EXPECT_EQ(settings.version, 2);
}

TEST_F(ConfigSchemaTest, SetIsAsStrictAsAFile) {
  EXPECT_THAT(refusal_to_set("model.num_heads"), HasSubstr("section.key=value"));
  EXPECT_THAT(refusal_to_set("model.n_head=4"),
              AllOf(StartsWith("--set model.n_head=4: "), HasSubstr("did you mean \"num_heads\"?")));
  EXPECT_THAT(refusal_to_set("num_heads=4"), HasSubstr("did you mean \"model.num_heads\"?"));
  EXPECT_THAT(refusal_to_set("model.num_heads=0"), HasSubstr("\"model.num_heads\" must be at least 1"));
  EXPECT_THAT(refusal_to_set("model.num_heads='4'"), HasSubstr("needs a whole number"));
  EXPECT_THAT(refusal_to_set("model.files=[a"), HasSubstr("not valid YAML"));
  EXPECT_THAT(refusal_to_set("model.num_heads="), HasSubstr("needs a whole number"));
  EXPECT_EQ(settings.num_heads, 8);
}

TEST_F(ConfigSchemaTest, SetNamesKeysOfASectionAndTheSections) {
  EXPECT_EQ(refusal_to_set("model=big"),
            "--set model=big: \"model\" is a section; set one of its keys, such as model.num_heads");
  EXPECT_EQ(refusal_to_set("optimizer.lr=1"),
            "--set optimizer.lr=1: unknown key \"optimizer.lr\"; known sections: model, training");
  EXPECT_EQ(refusal_to_set("modle.lr=1"), "--set modle.lr=1: unknown key \"modle.lr\"; did you mean \"model\"?");
}

TEST_F(ConfigSchemaTest, ReadsTheBaseFirst) {
  std::filesystem::create_directories(folder / "family/grand");
  write_text(folder / "family/grand/root.yaml", "model: {num_heads: 2, folder: grand, tied: false}\n");
  write_text(folder / "family/parent.yaml", "base: grand/root.yaml\nmodel: {num_heads: 3, dropout: 0.3}\n");
  read("model:\n  num_heads: 4\nbase: family/parent.yaml\n");
  EXPECT_EQ(settings.num_heads, 4) << "the file itself";
  EXPECT_EQ(settings.dropout, 0.3) << "its base, relative to the file";
  EXPECT_EQ(settings.folder, "grand") << "the base's base, relative to the base";
  EXPECT_FALSE(settings.tied);
  EXPECT_EQ(settings.warmup_steps, 4000);
  EXPECT_THAT(schema.files(),
              ElementsAre(EndsWith(".yaml"), EndsWith("family/parent.yaml"), EndsWith("family/grand/root.yaml")));
}

TEST_F(ConfigSchemaTest, NamesTheBaseThatIsAtFault) {
  write_text(folder / "base.yaml", "model:\n  n_head: 2\n");
  const std::string message = message_of<std::invalid_argument>([&] { read("base: base.yaml\n"); });
  EXPECT_THAT(message, StartsWith((folder / "base.yaml") + ":2: unknown key"));
  EXPECT_THAT(message_of<std::runtime_error>([&] { read("base: absent.yaml\n"); }), StartsWith(folder / "absent.yaml"));
  EXPECT_THAT(refusal_of("base: [a.yaml, b.yaml]\n"), HasSubstr("\"base\" needs the name of one file"));
}

TEST_F(ConfigSchemaTest, NamesTheFileWhoseBaseIsMissing) {
  const auto message_for = [&](const std::string& text) { return message_of<std::runtime_error>([&] { read(text); }); };
  write_text(folder / "parent.yaml", "model: {num_heads: 2}\n\nbase: absent.yaml\n");
  EXPECT_THAT(message_for("base: parent.yaml\n"),
              AllOf(StartsWith(folder / "absent.yaml"), HasSubstr("the \"base\" of " + (folder / "parent.yaml") + ":3"),
                    HasSubstr("correct the name")));
  std::filesystem::create_directory(folder / "family");
  EXPECT_THAT(message_for("base: family\n"),
              AllOf(HasSubstr("family: is a folder"), HasSubstr("the \"base\" of " + path + ":1")));
}

TEST_F(ConfigSchemaTest, RefusesACycleOfBases) {
  EXPECT_THAT(refusal_of("base: exp.yaml\n"), HasSubstr("\"base\""));
  write_text(folder / "other.yaml", "base: exp.yaml\n");
  EXPECT_THAT(refusal_of("base: other.yaml\n"), HasSubstr("does it name itself?"));
}

TEST_F(ConfigSchemaTest, BaseIsAWordOfTheTopLevelOnly) {
  EXPECT_THAT(refusal_of("model:\n  base: exp.yaml\n"), HasSubstr("unknown key \"model.base\""));
}

TEST_F(ConfigSchemaTest, ReadsItsOwnYamlBack) {
  settings.version = std::numeric_limits<int64_t>::min();
  settings.num_heads = std::numeric_limits<int64_t>::max();
  settings.dropout = 0.1 + 0.2;  // needs all 17 digits
  settings.tied = false;
  settings.folder = "C:\\data \"x\" # no: comment\n\tnext 'line' {grün} %&*!|>-?@`,[]\x01 ";
  settings.files = {"", " ", "true", "12", "null", "~", "a, b", "- x", "[y]", "汉字 \U0001F682", "a: b"};
  settings.color = Color::green;
  settings.rate = 1e-300;

  Settings again;
  ConfigSchema other;
  again.declare(other);
  write_text(path, schema.to_yaml());
  other.read_file(path);
  EXPECT_EQ(again.version, settings.version);
  EXPECT_EQ(again.num_heads, settings.num_heads);
  EXPECT_EQ(again.dropout, settings.dropout);
  EXPECT_EQ(again.tied, settings.tied);
  EXPECT_EQ(again.folder, settings.folder);
  EXPECT_EQ(again.files, settings.files);
  EXPECT_EQ(again.color, settings.color);
  EXPECT_EQ(again.warmup_steps, settings.warmup_steps);
  EXPECT_EQ(again.rate, settings.rate);
  EXPECT_EQ(other.to_yaml(), schema.to_yaml());
}

TEST_F(ConfigSchemaTest, YamlHoldsEveryKeyInOrder) {
  EXPECT_EQ(schema.to_yaml(),
            "version: 1\n"
            "model:\n"
            "  num_heads: 8\n"
            "  dropout: 0.1\n"
            "  tied: true\n"
            "  folder: \"here\"\n"
            "  files: [\"a\", \"b\"]\n"
            "  color: red\n"
            "training:\n"
            "  warmup_steps: 4000\n"
            "  rate: 1e-09\n");
}

TEST_F(ConfigSchemaTest, ValuesCanBeSetBack) {
  settings.folder = "a 'b' \"c\"";
  settings.files = {"x y", "z"};
  settings.rate = 0.125;
  const auto values = schema.values();
  ASSERT_EQ(values.size(), 9u);
  EXPECT_EQ(values.front(), std::make_pair(std::string("version"), std::string("1")));
  EXPECT_EQ(values.back(), std::make_pair(std::string("training.rate"), std::string("0.125")));
  Settings again;
  ConfigSchema other;
  again.declare(other);
  for (const auto& [name, value] : values) other.set(name + "=" + value);
  EXPECT_EQ(other.to_yaml(), schema.to_yaml());
}

TEST_F(ConfigSchemaTest, MarkdownHasATablePerSection) {
  const std::string text = schema.to_markdown();
  EXPECT_THAT(text, HasSubstr("`model`: the network\n\n| key | default | meaning |\n|---|---|---|\n"
                              "| `num_heads` | `8` | attention heads |\n"));
  EXPECT_THAT(text, HasSubstr("| `color` | `red` | which color (red, green) |\n"));
  EXPECT_THAT(text, HasSubstr("`training`: the optimization\n\n"));
  EXPECT_THAT(text, StartsWith("Top level\n\n"));
}

TEST(NearestName, FindsMisspellingsOnly) {
  const std::vector<std::string> names{"num_heads", "d_model", "dropout", "warmup_steps"};
  EXPECT_EQ(nearest_name("num_head", names), "num_heads");
  EXPECT_EQ(nearest_name("dmodel", names), "d_model");
  EXPECT_EQ(nearest_name("warmup", names), "warmup_steps");
  EXPECT_EQ(nearest_name("dropuot", names), "dropout");
  EXPECT_EQ(nearest_name("xyzzyqqq", names), "");
  EXPECT_EQ(nearest_name("num_heads", {}), "");
}

}  // namespace
}  // namespace transmute
