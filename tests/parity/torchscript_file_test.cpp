// SPDX-License-Identifier: Apache-2.0
// Exported files: what they hold, how they are loaded, and what is refused.

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <transmute/libtorch/libtorch.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <locale>
#include <sstream>

#include <transmute/export/script_transformer.h>
#include <transmute/export/torchscript.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/torchscript_file.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tensors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/zip_files.h>
#include <transmute/translation/translator.h>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::largest_difference;
using testing::message_of;
using testing::modules_of;
using ::testing::Not;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_config;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;
using testing::tiny_transformer;
using testing::write_text;
using testing::write_zip;

// Files, as export_torchscript writes them of a model folder.
class TorchScriptFile : public ::testing::Test {
 protected:
  TorchScriptFile() {
    std::filesystem::create_directory(model);
    TextProfile profile;
    profile.sentences.language = "de";
    save_model_folder(model, tiny_config() + "data:\n  folder: x\n", tokenizer, weights_of(transformer), kWeightsFile,
                      profile);
  }

  void export_with(const torch::jit::ExtraFilesMap& extra_files) {
    torchscript::script_transformer(transformer, torch::kFloat).save(path, extra_files);
  }

  std::string refusal() {
    return message_of<std::runtime_error>([&] { load_torchscript_model(path); });
  }

  const TemporaryFolder folder;
  const std::string model = folder / "model";
  const std::string path = folder / "model.pt";
  const Tokenizer tokenizer = tiny_tokenizer();
  Transformer transformer = tiny_transformer(tokenizer, 1);
};

TEST_F(TorchScriptFile, ComesBackAsTheSameModel) {
  export_torchscript(model, path);
  LoadedModel back = load_model(path);
  const auto expected = transformer->named_parameters();
  for (const auto& item : modules_of(back)->named_parameters())
    EXPECT_TRUE(torch::equal(item.value(), expected[item.key()])) << item.key();
  EXPECT_EQ(back.config, read_text(model + "/config.yaml"));
  EXPECT_EQ(back.profile.sentences.language, "de");
  EXPECT_EQ(back.tokenizer.source().serialized(), tokenizer.source().serialized());
  EXPECT_TRUE(back.tokenizer.shared());
  EXPECT_THAT(testing::names_in(folder.path()), ::testing::ElementsAre("model", "model.pt"));
}

TEST_F(TorchScriptFile, CarriesTwoTokenizers) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 50;
  const Tokenizer two = tiny_tokenizer(separate);
  TransformerOptions options = testing::tiny_transformer_options();
  options.embedding_tying = EmbeddingTying::target_output;
  save_model_folder(model, tiny_config(options), two, weights_of(tiny_transformer(two, 1, options)));
  export_torchscript(model, path);
  const LoadedModel back = load_model(path);
  EXPECT_EQ(back.tokenizer.source().serialized(), two.source().serialized());
  EXPECT_EQ(back.tokenizer.target().serialized(), two.target().serialized());
}

TEST_F(TorchScriptFile, TranslatesInTheTranslator) {
  export_torchscript(model, path);
  const Translator of_folder(model, {"cpu", 1});
  const Translator of_file(path, {"cpu", 1});
  for (const auto& line : {"the red house", "the old train is near.", ""})
    EXPECT_EQ(of_file.translate(line), of_folder.translate(line));
}

// "1.000" and "0,5".
struct OtherNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(TorchScriptFile, IsTheSameInALocaleThatWritesNumbersInAnotherWay) {
  export_torchscript(model, path);
  const std::string expected = read_text(path);
  const std::locale before = std::locale::global(std::locale(std::locale(), new OtherNumbers));
  export_torchscript(model, path);
  std::ostringstream number;
  number << 1234.5;
  std::locale::global(before);
  EXPECT_EQ(number.str(), "1.234,5") << "the application has its locale again";
  EXPECT_EQ(read_text(path), expected);
  EXPECT_NO_THROW(torch::jit::load(path));
}

TEST_F(TorchScriptFile, IsNotMadeWithASearchThatIsRefusedNatively) {
  TorchScriptSearch no_beam, no_number, endless;
  no_beam.beam_size = -3;
  no_number.length_alpha = std::nan("");
  endless.max_extra_length = std::numeric_limits<int64_t>::max();
  for (const TorchScriptSearch& search : {no_beam, no_number, endless}) {
    TorchScriptOptions options;
    options.forward_search = search;
    EXPECT_THROW(export_torchscript(model, path, options), std::invalid_argument);
    EXPECT_THROW(export_triton_model(model, folder / "repository/tiny", options), std::invalid_argument);
  }
  EXPECT_THAT(testing::names_in(folder.path()), ::testing::ElementsAre("model"));
}

TEST_F(TorchScriptFile, GivesServersTheSameScoresWhateverTheDefaultTypeIs) {
  const torch::NoGradGuard no_grad;
  TorchScriptOptions options;
  options.forward_search.emplace();
  export_torchscript(model, path, options);
  torch::jit::Module module = torch::jit::load(path);
  const torch::Tensor source = torch::tensor({{7, 8, 9, 10}, {12, 13, 7, 0}});
  const auto expected = module.forward({source}).toTuple();
  for (const torch::Dtype dtype : testing::kDefaultDtypes) {
    const testing::DefaultDtype of_the_application(dtype);
    const auto found = module.forward({source}).toTuple();
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(torch::equal(found->elements()[i].toTensor(), expected->elements()[i].toTensor())) << dtype;
  }
}

// A row is a source's ids, with its end or without, and padding.
torch::Tensor padded_rows(const std::vector<Ids>& rows) {
  size_t longest = 0;
  for (const Ids& row : rows) longest = std::max(longest, row.size());
  const torch::Tensor ids =
      torch::full({static_cast<int64_t>(rows.size()), static_cast<int64_t>(longest)}, special_ids::kPad, torch::kLong);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < rows[r].size(); ++i) ids[static_cast<int64_t>(r)][static_cast<int64_t>(i)] = rows[r][i];
  return ids;
}

TEST_F(TorchScriptFile, HasEmptyResultsForEmptyBatches) {
  const torch::NoGradGuard no_grad;
  const auto zeros = [](at::IntArrayRef sizes) { return torch::zeros(sizes, torch::kLong); };
  export_torchscript(model, path);
  torch::jit::Module network = torch::jit::load(path);
  for (const auto& [source, target] : {std::pair{zeros({0, 5}), zeros({0, 3})},
                                       {zeros({2, 0}), zeros({2, 3})},
                                       {zeros({2, 5}), zeros({2, 0})},
                                       {zeros({0, 0}), zeros({0, 0})}}) {
    const torch::Tensor logits = network.forward({source, target}).toTensor();
    const torch::Tensor expected = transformer->forward(source, target);
    EXPECT_EQ(logits.sizes(), expected.sizes());
    EXPECT_TRUE(torch::allclose(logits, expected, 1e-5, 1e-6));
  }
  TorchScriptOptions options;
  options.forward_search.emplace();
  export_torchscript(model, path, options);
  torch::jit::Module module = torch::jit::load(path);
  for (const torch::Tensor& none : {zeros({0, 5}), zeros({0, 0}), zeros({0, 5}).to(torch::kInt)}) {
    const auto found = module.forward({none}).toTupleRef().elements();
    EXPECT_EQ(found[0].toTensor().sizes(), torch::IntArrayRef({0, 0}));
    EXPECT_EQ(found[1].toTensor().sizes(), torch::IntArrayRef({0}));
    EXPECT_EQ(found[2].toTensor().sizes(), torch::IntArrayRef({0}));
    EXPECT_EQ(found[0].toTensor().scalar_type(), torch::kLong);
    EXPECT_EQ(found[1].toTensor().scalar_type(), torch::kLong);
    EXPECT_EQ(found[2].toTensor().scalar_type(), torch::kFloat);
  }
  // Rows without a token are empty sources.
  const auto empty = module.forward({zeros({2, 0})}).toTupleRef().elements();
  const auto padded = module.forward({zeros({2, 3})}).toTupleRef().elements();
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(torch::equal(empty[i].toTensor(), padded[i].toTensor()));
}

TEST_F(TorchScriptFile, TranslatesInForwardForServersOfTensors) {
  const torch::NoGradGuard no_grad;
  EXPECT_THROW(export_triton_model(model, folder / "repository/a\"b"), std::invalid_argument);
  const std::string triton = folder / "repository/tiny";
  TorchScriptOptions options;
  options.forward_search = TorchScriptSearch{2, 1.0, 7};
  export_triton_model(model, triton + "/./", options);
  EXPECT_THAT(testing::names_in(triton), ::testing::ElementsAre("1", "config.pbtxt"));
  EXPECT_THAT(read_text(triton + "/config.pbtxt"),
              AllOf(StartsWith("name: \"tiny\"\nbackend: \"pytorch\"\n"), HasSubstr("reshape { shape: [ ] }")));

  torch::jit::Module module = torch::jit::load(triton + "/1/model.pt");
  const std::vector<Ids> sources{{7, 8, 9, 10}, {}, {11}, {12, 13, 7}};
  c10::List<c10::List<int64_t>> lists;
  for (const Ids& source : sources) lists.push_back(c10::List<int64_t>(c10::ArrayRef<int64_t>(source)));
  const auto expected =
      module.get_method("translate")({lists}, {{"beam_size", 2}, {"length_alpha", 1.0}, {"max_extra_length", 7}})
          .toList();
  std::vector<Ids> with_end = sources;
  for (Ids& row : with_end) row.push_back(special_ids::kEnd);
  for (const auto& rows : {padded_rows(sources), padded_rows(with_end), padded_rows(with_end).to(torch::kInt)}) {
    const auto found = module.forward({rows}).toTupleRef().elements();
    const torch::Tensor ids = found[0].toTensor(), lengths = found[1].toTensor(), scores = found[2].toTensor();
    ASSERT_EQ(ids.size(0), 4);
    ASSERT_EQ(lengths.sizes(), torch::IntArrayRef({4}));
    ASSERT_EQ(scores.sizes(), torch::IntArrayRef({4}));
    EXPECT_EQ(ids.scalar_type(), torch::kLong);
    EXPECT_EQ(scores.scalar_type(), torch::kFloat);
    EXPECT_EQ(ids.size(1), lengths.max().item<int64_t>());
    for (int64_t r = 0; r < 4; ++r) {
      const auto best = c10::IValue(expected.get(static_cast<size_t>(r))).toListRef()[0].toTupleRef().elements();
      Ids row = best[0].toIntVector();
      EXPECT_EQ(lengths[r].item<int64_t>(), static_cast<int64_t>(row.size()));
      row.resize(static_cast<size_t>(ids.size(1)), special_ids::kPad);
      EXPECT_TRUE(torch::equal(ids[r], torch::tensor(row, torch::kLong))) << r;
      EXPECT_NEAR(scores[r].item<double>(), best[1].toDouble(), 1e-5);
    }
  }
  // Another model of the same repository is replaced, and the file opens as any other.
  export_triton_model(model, triton);
  EXPECT_EQ(Translator(triton + "/1/model.pt", {"cpu", 1}).translate("the red house"),
            Translator(model, {"cpu", 1}).translate("the red house"));
}

TEST_F(TorchScriptFile, OfHalfTheSizeLoadsAsFloat32) {
  export_torchscript(model, path);
  const auto full_bytes = std::filesystem::file_size(path);
  for (const auto precision : {Precision::bfloat16, Precision::half}) {
    export_torchscript(model, path, {precision});
    EXPECT_LT(std::filesystem::file_size(path), full_bytes);
    LoadedModel back = load_model(path);
    const auto expected = transformer->named_parameters();
    for (const auto& item : modules_of(back)->named_parameters()) {
      EXPECT_EQ(item.value().scalar_type(), torch::kFloat);
      // 8 significant bits, at weights below 2.
      EXPECT_LT(largest_difference(item.value(), expected[item.key()]), 2.0 / 256) << item.key();
    }
  }
}

TEST_F(TorchScriptFile, NamesAFileThatIsMissing) {
  EXPECT_THAT(refusal(), StartsWith(path + ": no such file"));
}

TEST_F(TorchScriptFile, NamesAFileOfAnotherKind) {
  write_text(path, "not a zip archive");
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": "), HasSubstr("no TorchScript file")));
}

TEST_F(TorchScriptFile, NamesAModuleOfAnotherProgram) {
  torch::jit::Module other("Other");
  other.define("def forward(self, x):\n    return x\n");
  other.save(path);
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": "), HasSubstr("not one that export_torchscript made")));
}

TEST_F(TorchScriptFile, NamesAnArchiveOfAnotherKind) {
  write_zip(path, {{"translate-en_de-1_0/metadata.json", "{}"}, {"translate-en_de-1_0/model/model.bin", "x"}});
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": a zip archive that is no model"), HasSubstr("unzip"),
                               Not(HasSubstr("TorchScript"))));
}

TEST_F(TorchScriptFile, NamesWeightsWithoutTheirNetwork) {
  std::filesystem::copy_file(TRANSMUTE_TEST_DATA "/formats/torch_save/views.archive.bin", path);
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": weights that torch.save wrote"), HasSubstr("give the folder")));
}

TEST_F(TorchScriptFile, IsReadWithoutRunningItsCode) {
  const std::string victim = folder / "victim";
  torch::jit::Module hostile("Hostile");
  hostile.register_attribute("training", c10::BoolType::get(), false);
  hostile.define(
      "def __getstate__(self) -> int:\n    return 0\n"
      "def __setstate__(self, state: int) -> None:\n"
      "    self.training = False\n"
      "    torch.save(torch.zeros([1]), \"" +
      victim + "\")\n");
  hostile.save(path, {{"transmute.json", R"({"format_version": 1, "crc32": "00000000"})"},
                      {"config.yaml", tiny_config()},
                      {"tokenizer.model", tokenizer.source().serialized()}});
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": "), HasSubstr("damaged")));
  EXPECT_FALSE(std::filesystem::exists(victim));
  torch::jit::load(path);  // the file does what the test says of it
  EXPECT_TRUE(std::filesystem::exists(victim));
}

// Pickles that no export writes, in an archive of LibTorch's.
TEST_F(TorchScriptFile, RefusesAPickleThatIsMoreThanModulesAndTensors) {
  const auto refusal_of = [&](const std::string& pickle) {
    std::ofstream out(path, std::ios::binary);
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, size_t count) {
      out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
      return count;
    });
    const std::string facts = R"({"format_version": 1, "crc32": "00000000"})";
    const float four[4] = {};
    writer.writeRecord("extra/transmute.json", facts.data(), facts.size());
    writer.writeRecord("data/0", four, sizeof(four));
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    writer.writeEndOfFile();
    out.close();
    return refusal();
  };
  const auto text = [](const std::string& word) {
    return std::string("X") + static_cast<char>(word.size()) + std::string(3, '\0') + word;
  };
  const std::string module =
      "\x80\x02"
      "c__torch__.transmute\nTransformer\n)\x81}(";
  // A tensor whose offset, size and stride are given in pickle's words.
  const auto tensor = [&](const std::string& offset, const std::string& size, const std::string& stride) {
    return module + text("weight") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
           "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x04tQ" + offset + "(" + size + "t(" + stride +
           "t\x89"
           "ccollections\nOrderedDict\n)RtRub.";
  };
  const std::string zero("K\0", 2);
  EXPECT_THAT(refusal_of(tensor(zero, "K\x04", "K\x01")), HasSubstr("checksum")) << "this one is well-formed";
  for (const std::string& bad :
       {tensor(zero, "K\x05", "K\x01"), tensor("K\x01", "K\x04", "K\x01"),
        tensor("J\xff\xff\xff\xff", "K\x01", "K\x01"), tensor(zero, "K\x02", "K\x04"), tensor(zero, "K\x05", zero),
        tensor(zero,
               "J\xff\xff\xff\x7f"
               "J\xff\xff\xff\x7f"
               "J\xff\xff\xff\x7f",
               "K\x01K\x01K\x01")})
    EXPECT_THAT(refusal_of(bad), AllOf(HasSubstr("damaged"), Not(HasSubstr("checksum"))));
  // 8,000 tensors of one tuple of 8,000 numbers: half a gigabyte out of 50 kB.
  std::string many = "\x80\x02(";
  for (int i = 0; i < 8000; ++i) many += 'N';
  many +=
      "tq\x01"
      "ctorch._utils\n_rebuild_tensor_v2\nq\x02";
  for (int i = 0; i < 8000; ++i) many += "h\x02h\x01R";
  EXPECT_THAT(refusal_of(many + "."), AllOf(HasSubstr("damaged"), HasSubstr("too often")));
  EXPECT_THAT(refusal_of("\x80\x02"
                         "cos\nsystem\n(" +
                         text("true") + "tR."),
              HasSubstr("it calls 'os system'"));
  EXPECT_THAT(refusal_of("\x80\x02"
                         "cos\nstat_result\n)\x81."),
              HasSubstr("class 'os stat_result'"));
  // A module that is its own attribute.
  EXPECT_THAT(refusal_of("\x80\x02"
                         "c__torch__.transmute\nLayer\n)\x81q" +
                         std::string(1, '\0') + "}(" + text("self") + "h" + std::string(1, '\0') + "ub."),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal_of("\x80\x02"
                         "X\xff\xff\xff\xff."),
              HasSubstr("cut short"));
  EXPECT_THAT(refusal_of(""), HasSubstr("cut short"));
  for (const char* empty_stack : {".", "b.", "R.", "Q.", "(.", "u.", "a.", "\x87.", "h\x01."})
    EXPECT_THAT(refusal_of(empty_stack), HasSubstr("damaged")) << empty_stack;
}

TEST_F(TorchScriptFile, NamesBothVersionsWhereTheyDiffer) {
  export_with({{"transmute.json", R"({"format_version": 2})"}, {"config.yaml", tiny_config()}});
  EXPECT_THAT(refusal(), AllOf(StartsWith(path), HasSubstr("format version 2"), HasSubstr("reads version 1")));
}

TEST_F(TorchScriptFile, NoticesEveryTruncation) {
  export_torchscript(model, path);
  const std::string whole = read_text(path);
  for (const double share : {0.0, 0.01, 0.3, 0.9, 0.999}) {
    write_text(path, whole.substr(0, static_cast<size_t>(share * static_cast<double>(whole.size()))));
    EXPECT_THAT(refusal(), StartsWith(path + ": ")) << share;
  }
}

TEST_F(TorchScriptFile, NoticesAChangedWeight) {
  export_torchscript(model, path);
  std::string content = read_text(path);
  const torch::Tensor weight = transformer->named_parameters()["embedding.weight"];
  const std::string bytes(static_cast<const char*>(weight.data_ptr()), weight.nbytes());
  const size_t at = content.find(bytes);
  ASSERT_NE(at, std::string::npos) << "weights are stored as they are";
  content[at + bytes.size() / 2] ^= 4;
  write_text(path, content);
  EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": "), HasSubstr("damaged")));
}

TEST_F(TorchScriptFile, NoticesAChangedExtraFile) {
  export_torchscript(model, path);
  const std::string whole = read_text(path);
  for (const std::string& part : {read_text(model + "/config.yaml"), tokenizer.source().serialized()}) {
    std::string content = whole;
    const size_t at = content.find(part);
    ASSERT_NE(at, std::string::npos);
    content[at + part.size() / 2] ^= 1;
    write_text(path, content);
    EXPECT_THAT(refusal(), AllOf(StartsWith(path + ": "), HasSubstr("checksum")));
  }
}

TEST_F(TorchScriptFile, NamesTheFolderThatCannotBeWrittenTo) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { export_torchscript(model, folder / "absent/model.pt"); }),
              StartsWith(folder / "absent/model.pt"));
}

TEST_F(TorchScriptFile, IsAlsoReadFromNeutralNames) {
  std::filesystem::rename(model + "/weights.safetensors", model + "/model.safetensors");
  const LoadedModel back = load_model(model);
  EXPECT_TRUE(torch::equal(modules_of(back)->parameters()[0], transformer->parameters()[0]));
}

}  // namespace
}  // namespace transmute
