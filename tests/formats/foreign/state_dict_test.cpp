// SPDX-License-Identifier: Apache-2.0
// Files of Python's torch.save, in its present layout and in that of before PyTorch 1.6. Those in
// tests/data/formats/torch_save were made by tests/formats/make_pickles.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/state_dict.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/subprocess.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/zip_files.h>
#include <transmute/translation/translator.h>

#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::little_endian;
using testing::message_of;
using testing::modules_of;
using testing::read_text;
using testing::shell_quoted;
using testing::TemporaryFolder;
using testing::write_text;

std::string saved_file(const std::string& name) {
  return TRANSMUTE_TEST_DATA "/formats/torch_save/" + name;
}

TEST(StateDict, OfEitherLayoutHasAllTensors) {
  const torch::Tensor table = torch::arange(24, torch::kFloat).view({4, 6});
  std::map<std::string, torch::Tensor> expected = {
      {"whole", table},
      {"transposed", table.t()},
      {"tail", table.flatten().slice(0, 18)},
      {"column", table.select(1, 2)},
      {"corner", table.slice(0, 1, 3).slice(1, 4, 6)},
      {"double", torch::arange(3, torch::kDouble)},
      {"half", torch::arange(3, torch::kFloat).to(torch::kHalf)},
      {"bfloat16", torch::arange(1, 3, torch::kFloat).to(torch::kBFloat16)},
      {"scalar", torch::tensor(7.0F)}};
  for (const auto& [name, type] : {std::pair{"long", torch::kLong},
                                   {"int", torch::kInt},
                                   {"short", torch::kShort},
                                   {"char", torch::kChar},
                                   {"byte", torch::kByte},
                                   {"bool", torch::kBool}})
    expected[name] = torch::tensor({0, 1, 1}).to(type);
  for (const char* file : {"views.before_1_6.bin", "views.archive.bin"}) {
    SCOPED_TRACE(file);
    const NamedTensors tensors = to_tensors(read_state_dict(saved_file(file)));
    EXPECT_EQ(tensors.size(), expected.size());
    for (const auto& [name, tensor] : tensors) {
      SCOPED_TRACE(name);
      ASSERT_EQ(expected.count(name), 1U);
      EXPECT_EQ(tensor.scalar_type(), expected[name].scalar_type());
      EXPECT_TRUE(torch::equal(tensor, expected[name])) << tensor;
    }
  }
}

TEST(StateDict, OfPyTorchBefore16GivesTheSameTranslations) {
  const CopiedModel model("marian");
  const auto expected = modules_of(load_model(model.folder()))->named_parameters();
  TranslationOptions options;
  options.search.min_length = 4;
  const std::string text = "the old bridge is gone.";
  const std::string translation = Translator(model.folder()).translate(text, options);
  EXPECT_NE(translation, "");
  fs::remove(model.path("model.safetensors"));
  fs::copy_file(saved_file("marian.before_1_6.bin"), model.path("pytorch_model.bin"));
  const auto found = modules_of(load_model(model.folder()))->named_parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& parameter : expected)
    EXPECT_TRUE(torch::equal(found[parameter.key()], parameter.value())) << parameter.key();
  EXPECT_EQ(Translator(model.folder()).translate(text, options), translation);
}

// The words of pickle's machine.
std::string pickled(const std::string& text) {
  return "X" + little_endian(text.size(), 4) + text;
}

std::string pickled(int64_t number) {
  return "\x8a\x08" + little_endian(static_cast<uint64_t>(number), 8);
}

// A file of the old layout, part by part, whose only tensor reads numbers 2 and 3 of four: 10, 20, 30, 40.
struct OldLayout {
  std::string version = pickled(1001);
  std::string facts = "}" + pickled("little_endian") + "\x88s";
  std::string type = "FloatStorage", key = "7";
  std::string count = pickled(4), part = "N";
  std::string offset = pickled(2), sizes = pickled(2), strides = pickled(1);
  std::string names = "](" + pickled("7") + "e";
  std::string stored_count = little_endian(4, 8);
  std::string more;  // in the dictionary

  std::string storage(const std::string& of_type) const {
    return "(" + pickled("storage") + "ctorch\n" + of_type + "\n" + pickled(key) + pickled("cpu") + count + part + "tQ";
  }
  std::string tensor(const std::string& of_type) const {
    return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage(of_type) + offset + "(" + sizes + "t(" + strides +
           "t\x89}tR";
  }
  std::string content() const {
    const float numbers[4] = {10, 20, 30, 40};
    std::string file;
    for (const std::string& pickle : {"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" + std::string(), version,
                                      facts, "}(" + pickled("weight") + tensor(type) + more + "u", names})
      file += "\x80\x02" + pickle + ".";
    return file + stored_count + std::string(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
};

class OldStateDict : public ::testing::Test {
 protected:
  NamedTensors read(const OldLayout& layout) const {
    write_text(path, layout.content());
    return to_tensors(read_state_dict(path));
  }
  std::string refusal(const OldLayout& layout) const {
    std::string message = message_of<std::runtime_error>([&] { read(layout); });
    EXPECT_EQ(message.find(path), 0U) << message;
    EXPECT_EQ(message.rfind(path), 0U) << message;
    return message;
  }

  TemporaryFolder folder;
  std::string path = folder / "pytorch_model.bin";
};

TEST_F(OldStateDict, MayHaveStoragesThatArePartsOfOthers) {
  EXPECT_TRUE(torch::equal(read({}).at(0).second, torch::tensor({30.0F, 40.0F})));
  OldLayout layout;
  layout.part = "(" + pickled("8") + pickled(1) + pickled(2) + "t";
  layout.offset = pickled(0);
  const NamedTensors tensors = read(layout);
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].first, "weight");
  EXPECT_TRUE(torch::equal(tensors[0].second, torch::tensor({20.0F, 30.0F})));
  layout.offset = pickled(1);
  EXPECT_THAT(refusal(layout), HasSubstr("'weight' reaches beyond its storage 7"));
  for (const auto& [begin, count] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 2}, {-1, 2}, {1, -1}, {int64_t{1} << 62, int64_t{1} << 62}}) {
    layout.part = "(" + pickled("8") + pickled(begin) + pickled(count) + "t";
    EXPECT_THAT(refusal(layout), HasSubstr("a part reaches beyond its storage 7"));
  }
}

TEST_F(OldStateDict, IsReadWithinItsBounds) {
  const auto with = [&](std::string OldLayout::*field, const std::string& value) {
    OldLayout layout;
    layout.*field = value;
    return refusal(layout);
  };
  EXPECT_THAT(with(&OldLayout::version, pickled(1002)), HasSubstr("layout is not version 1001"));
  EXPECT_THAT(with(&OldLayout::facts, "}" + pickled("little_endian") + "\x89s"), HasSubstr("big-endian"));
  EXPECT_THAT(with(&OldLayout::type, "ComplexFloatStorage"), HasSubstr("'torch ComplexFloatStorage'"));
  EXPECT_THAT(with(&OldLayout::key, "6"), HasSubstr("no tensor has the storage 7"));
  EXPECT_THAT(with(&OldLayout::names, "]"), HasSubstr("it has no storage 7"));
  EXPECT_THAT(with(&OldLayout::names, "N"), HasSubstr("no list of its storages"));
  EXPECT_THAT(with(&OldLayout::names, "](" + pickled("7") + pickled("7") + "e"), HasSubstr("storage 7"));
  EXPECT_THAT(with(&OldLayout::count, pickled(5)), HasSubstr("storage 7 has 4 numbers instead of 5"));
  EXPECT_THAT(with(&OldLayout::stored_count, little_endian(5, 8)), HasSubstr("storage 7 has 5 numbers instead of 4"));
  EXPECT_THAT(with(&OldLayout::offset, pickled(3)), HasSubstr("'weight' reaches beyond its storage 7"));
  EXPECT_THAT(with(&OldLayout::offset, pickled(-1)), HasSubstr("impossible shape of 'weight'"));
  EXPECT_THAT(with(&OldLayout::strides, pickled(2)), HasSubstr("'weight' reaches beyond its storage 7"));
  EXPECT_THAT(with(&OldLayout::strides, pickled(int64_t{1} << 62)), HasSubstr("'weight'"));
  EXPECT_THAT(with(&OldLayout::sizes, pickled(1) + pickled(2)), HasSubstr("impossible shape of 'weight'"));
  for (const int64_t count : {int64_t{5}, int64_t{1} << 40, (int64_t{1} << 62) + 4}) {
    OldLayout layout;
    layout.count = pickled(count);
    layout.stored_count = little_endian(static_cast<uint64_t>(count), 8);
    EXPECT_THAT(refusal(layout), HasSubstr("the storage 7 is cut short"));
  }
  OldLayout other;
  other.more = pickled("other") + other.tensor("DoubleStorage");
  EXPECT_THAT(refusal(other), HasSubstr("differ about the storage 7"));
  other.more = pickled("other") + other.tensor("IntStorage");
  EXPECT_THAT(refusal(other), HasSubstr("shares its storage 7"));
}

// Each is a matrix of its own in memory, but all are one storage in the file.
TEST_F(OldStateDict, TakesLittleMemoryForTensorsThatRepeatAStorage) {
  OldLayout layout;
  layout.offset = pickled(0);
  layout.sizes = pickled(2) + pickled(2);
  layout.strides = pickled(1) + pickled(2);
  const std::string transposed = layout.tensor("FloatStorage");
  for (int i = 0; i < 3; ++i) layout.more += pickled("more" + std::to_string(i)) + transposed;
  for (const auto& [name, tensor] : read(layout))
    EXPECT_TRUE(torch::equal(tensor, torch::tensor({{10.0F, 30.0F}, {20.0F, 40.0F}}))) << name;
  for (int i = 3; i < 9; ++i) layout.more += pickled("more" + std::to_string(i)) + transposed;
  EXPECT_THAT(refusal(layout), HasSubstr("repeat their storage 7 too often"));
}

TEST_F(OldStateDict, RunsNothing) {
  const std::string trace = folder / "must-not-be-there", command = "touch " + shell_quoted(trace);
  const std::string call = "cposix\nsystem\n(" + pickled(command) + "tR";
  for (std::string OldLayout::*field : {&OldLayout::version, &OldLayout::facts, &OldLayout::part, &OldLayout::names}) {
    OldLayout layout;
    layout.*field = call;
    EXPECT_THAT(refusal(layout), HasSubstr("it calls 'posix system'"));
    EXPECT_FALSE(fs::exists(trace));
  }
}

// A value of a pickle takes a hundred times its byte in the file.
TEST_F(OldStateDict, TakesLittleMemoryForAPickle) {
  OldLayout layout;
  layout.facts = std::string(3 << 20, 'N');
  EXPECT_THAT(refusal(layout), HasSubstr("too many values"));
  layout.facts = pickled(std::string(5 << 20, 'x'));
  EXPECT_THAT(refusal(layout), HasSubstr("its pickle: it is too large to describe a model"));
  layout.facts = "X" + little_endian(5 << 20, 4);
  EXPECT_THAT(refusal(layout), HasSubstr("its pickle: it is cut short"));
}

TEST_F(OldStateDict, IsRefusedOrReadWhateverItsDamage) {
  const std::string whole = read_text(saved_file("views.before_1_6.bin"));
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string changed = whole;
    if (i % 8 == 0) changed.resize(random() % whole.size());
    for (int bytes = static_cast<int>(random() % 4); bytes > 0 && !changed.empty(); --bytes)
      changed[random() % changed.size()] = static_cast<char>(i % 3 == 0 ? 0xff : random());
    write_text(path, changed);
    try {
      for (const auto& [name, array] : read_state_dict(path)) array.copy();
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
}

TEST(StateDict, OfAnotherKindIsNamedOnce) {
  const TemporaryFolder folder;
  const std::string path = folder / "pytorch_model.bin";
  for (const std::string& content : {std::string("PK"), std::string("text"), std::string()}) {
    write_text(path, content);
    const std::string message = message_of<std::runtime_error>([&] { read_state_dict(path); });
    EXPECT_EQ(message.find(path), 0U) << message;
    EXPECT_EQ(message.rfind(path), 0U) << message;
  }
}

}  // namespace
}  // namespace transmute
