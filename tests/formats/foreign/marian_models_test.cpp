// SPDX-License-Identifier: Apache-2.0
// What Marian's own models have besides the made ones of foreign_models_test.cpp. TRANSMUTE_MARIAN_MODELS names a
// folder of models that Marian trained, with Marian's translations and scores (tests/formats/make_marian_models.sh).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/device/step_models.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/foreign/marian_files.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/zip_files.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::modules_of;
using testing::read_zip;
using testing::write_text;
using testing::write_zip;
using testing::ZipRecords;

// A copy of a model whose arrays and options may be changed.
class ChangedModel : public CopiedModel {
 public:
  explicit ChangedModel(const std::string& name = "npz") : CopiedModel(name), arrays_(read_zip(npz())) {}

  std::string npz() const { return path("model.npz"); }
  std::string& array(const std::string& name) {
    const auto is_it = [&](const auto& record) { return record.first == name + ".npy"; };
    return std::find_if(arrays_.begin(), arrays_.end(), is_it)->second;
  }
  void add(const std::string& name, const std::string& array) { arrays_.emplace_back(name + ".npy", array); }
  void rename(const std::string& name, const std::string& other) {
    for (auto& record : arrays_)
      if (record.first == name + ".npy") record.first = other + ".npy";
  }
  void remove(const std::string& name) {
    const auto is_it = [&](const auto& record) { return record.first == name + ".npy"; };
    arrays_.erase(std::remove_if(arrays_.begin(), arrays_.end(), is_it), arrays_.end());
  }
  // A later value has precedence.
  void set(const std::string& option, const std::string& value) {
    std::string& yaml = array("special:model.yml");
    yaml.back() = '\n';
    yaml += option + ":" + value + '\n' + '\0';
  }
  void save() const { write_zip(npz(), arrays_); }
  LoadedModel load() const {
    save();
    return load_model(folder());
  }

 private:
  ZipRecords arrays_;
};

// An array of NumPy with 44 rows of 8 numbers, as one of 8 rows.
std::string transposed(std::string array) {
  const size_t shape = array.find("(44, 8)");
  array.replace(shape, 7, "(8, 44)");
  const size_t data = array.size() - 44 * 8 * sizeof(float);
  std::string result = array.substr(0, data);
  for (size_t column = 0; column < 8; ++column)
    for (size_t row = 0; row < 44; ++row)
      result += array.substr(data + (row * 8 + column) * sizeof(float), sizeof(float));
  return result;
}

TEST(MarianModels, HaveAnOutputMatrixInEitherLayout) {
  const auto tied = modules_of(ChangedModel().load())->named_parameters();
  ChangedModel model;
  const std::string table = model.array("Wemb");
  model.rename("Wemb", "encoder_Wemb");
  model.add("decoder_Wemb", table);
  model.add("decoder_ff_logit_out_Wt", table);
  model.set("tied-embeddings-all", " false");
  const auto untied = modules_of(model.load())->named_parameters();
  model.rename("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W");
  model.array("decoder_ff_logit_out_W") = transposed(table);
  const auto of_old_version = modules_of(model.load())->named_parameters();
  for (const char* name : {"source_embedding.weight", "target_embedding.weight", "output.weight"}) {
    EXPECT_TRUE(torch::equal(untied[name], tied["embedding.weight"])) << name;
    EXPECT_TRUE(torch::equal(of_old_version[name], tied["embedding.weight"])) << name;
  }
}

TEST(MarianModels, MayHaveNoOutputBias) {
  ChangedModel model;
  model.remove("decoder_ff_logit_out_b");
  model.save();
  EXPECT_THAT(model.refusal(), HasSubstr("decoder_ff_logit_out_b"));
  model.set("output-omit-bias", " true");
  const LoadedModel loaded = model.load();
  const torch::Tensor bias = modules_of(loaded)->named_parameters()["output_bias"];
  EXPECT_EQ(bias.slice(0, special_ids::kCount).abs().max().item<double>(), 0);
}

TEST(MarianModels, AreReadWithoutTheDropoutOfTraining) {
  ChangedModel model;
  model.set("transformer-postprocess", " an");
  model.set("transformer-postprocess-emb", " \"\"");
  model.set("input-types", "\n  - sequence\n  - sequence\n  - alignment");
  LoadedModel unchanged = ChangedModel().load(), loaded = model.load();
  const torch::Tensor ids = torch::tensor({{5, 6, 7}}, torch::kLong);
  EXPECT_TRUE(torch::equal(modules_of(loaded)->forward(ids, ids), modules_of(unchanged)->forward(ids, ids)));
}

TEST(MarianModels, AreRefusedByTheOptionThatIsNotSupported) {
  for (const auto& [option, value] :
       std::vector<std::pair<const char*, const char*>>{{"transformer-train-position-embeddings", " true"},
                                                        {"transformer-train-positions", " true"},
                                                        {"transformer-disable-position-embeddings", " true"},
                                                        {"transformer-attention-mask", " alibi"},
                                                        {"transformer-ffn-depth", " 3"},
                                                        {"transformer-decoder-ffn-depth", " 3"},
                                                        {"transformer-decoder-dim-ffn", " 16"},
                                                        {"transformer-pool", " true"},
                                                        {"transformer-no-bias", " true"},
                                                        {"transformer-no-affine", " true"},
                                                        {"transformer-tied-layers", "\n  - 1\n  - 1"},
                                                        {"transformer-postprocess", " dar"},
                                                        {"transformer-postprocess", " dhn"},
                                                        {"transformer-postprocess-emb", " dr"},
                                                        {"transformer-postprocess-top", " n"},
                                                        {"input-types", "\n  - class\n  - sequence"},
                                                        {"lemma-dim-emb", " 8"},
                                                        {"right-left", " true"},
                                                        {"ulr", " true"}}) {
    ChangedModel model;
    model.set(option, value);
    model.save();
    EXPECT_THAT(model.refusal(), AllOf(HasSubstr("model.npz"), HasSubstr(option))) << value;
  }
}

TEST(MarianModels, OfPreNormLayersAreRefusedWhereTheirKeysWereNotNormalized) {
  ChangedModel model("npz_pre_norm");
  for (const char* version : {" v1.7.6 02f4af4 2018-12-12 18:51:10 -0800", " v1.10.28 266b931d"}) {
    model.set("version", version);
    model.save();
    EXPECT_THAT(model.refusal(), AllOf(HasSubstr("model.npz"), HasSubstr("transformer-preprocess")));
  }
  for (const char* version : {" v1.11.0 f00d062 2022-02-08 08:39:24 -0800", " v1.12.42 b7be0e964", " v2.0.0"}) {
    model.set("version", version);
    EXPECT_NO_THROW(model.load()) << version;
  }
}

TEST(MarianModels, AreFoundAsTrainingLeavesThem) {
  const CopiedModel model("npz");
  fs::remove(model.path("decoder.yml"));
  fs::rename(model.path("opus.vocab.yml"), model.path("vocab.deen.yml"));
  EXPECT_THAT(model.refusal(), HasSubstr("vocabularies"));
  // Paths are those of the place where Marian was trained.
  write_text(model.path("model.npz.decoder.yml"),
             "relative-paths: false\nmodels:\n  - runs/a/model.npz\nvocabs:\n  - runs/a/vocab.deen.yml\n"
             "  - runs/a/vocab.deen.yml\nbeam-size: 12\nnormalize: 0");
  write_zip(model.path("model.npz.optimizer.npz"), {{"adam_mt.npy", "\x93NUMPY"}});
  EXPECT_NO_THROW(load_model(model.folder()));

  fs::copy(model.path("model.npz"), model.path("model.iter5.npz"));
  EXPECT_NO_THROW(load_model(model.folder()));
  fs::rename(model.path("model.npz"), model.path("model.iter9.npz"));
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("model.iter5.npz"), HasSubstr("model.iter9.npz")));
  fs::rename(model.path("model.npz.decoder.yml"), model.path("model.iter9.npz.decoder.yml"));
  EXPECT_NO_THROW(load_model(model.path("model.iter9.npz")));
}

TEST(MarianModels, HaveTheGeluOfTheirVersion) {
  for (const auto& [version, activation] : {std::pair{"", Activation::gelu_sigmoid},
                                            {" v1.12.2 0123456", Activation::gelu_sigmoid},
                                            {" v1.12.3 d225c24", Activation::gelu},
                                            {" v1.13.0", Activation::gelu}}) {
    ChangedModel model;
    model.set("transformer-ffn-activation", " gelu");
    model.set("version", version);
    EXPECT_EQ(model.load().options.activation, activation) << version;
  }
}

// --dim-vocabs does this.
TEST(MarianModels, LeaveOutTheLastPiecesOfALongVocabulary) {
  const CopiedModel model("npz");
  write_text(model.path("opus.vocab.yml"), testing::read_text(model.path("opus.vocab.yml")) + "house: 44\ntrain: 45\n");
  const LoadedModel loaded = load_model(model.folder());
  EXPECT_EQ(loaded.tokenizer.source().size(), load_model(CopiedModel("npz").folder()).tokenizer.source().size());
}

TEST(MarianModels, OfAnEnsembleAreNamedInsteadOfReadingOnlyTheFirst) {
  const CopiedModel model("npz");
  fs::copy(model.path("model.npz"), model.path("b.npz"));
  model.change("decoder.yml", "  - model.npz", "  - model.npz\n  - b.npz");
  EXPECT_THAT(model.refusal(),
              AllOf(HasSubstr("decoder.yml: lists 2 models, an ensemble"),
                    HasSubstr("--model " + model.path("model.npz") + " --model "), HasSubstr("b.npz")));
  EXPECT_NO_THROW(load_model(model.path("b.npz")));
}

TEST(MarianModels, HaveADecoderYmlInAnyStyleOfYaml) {
  const CopiedModel model("npz");
  fs::rename(model.path("model.npz"), model.path("b.npz"));
  fs::rename(model.path("opus.vocab.yml"), model.path("words.yml"));
  for (const char* text :
       {"models: [b.npz]\nvocabs: [words.yml, \"words.yml\"]\nbeam-size: 7\n",
        "models:\n- b.npz  # the best\nvocabs:\n- words.yml # both\n- words.yml\nbeam-size: 7 # x\n"}) {
    write_text(model.path("decoder.yml"), text);
    EXPECT_EQ(load_model(model.folder()).search.beam_size, 7) << text;
  }
}

TEST(MarianModels, AreRefusedWhereTheirDecoderYmlIsDamaged) {
  const CopiedModel model("npz");
  for (const std::string& text :
       {std::string("models: [model.npz"), std::string("- model.npz"), std::string("models: {a: b}"),
        std::string("models: [[model.npz]]"), "models: " + std::string(100000, '['), std::string("beam-size: [6]"),
        std::string(",")}) {
    write_text(model.path("decoder.yml"), text);
    EXPECT_THAT(model.refusal(), HasSubstr("decoder.yml:")) << text.substr(0, 40);
  }
}

// Pieces of npz's vocabulary by number.
std::vector<std::string> pieces_of_npz() {
  return formats::read_marian_vocabulary(TRANSMUTE_TEST_DATA "/formats/npz/opus.vocab.yml", 44);
}

TEST(MarianModels, HaveVocabulariesOfPlainLinesOrJson) {
  const std::vector<std::string> pieces = pieces_of_npz();
  std::string lines;
  nlohmann::ordered_json json;
  for (size_t i = 0; i < pieces.size(); ++i) {
    lines += pieces[i] + "\n";
    json[pieces[i]] = i;
  }
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"vocab.txt", lines}, {"vocab.json", json.dump()}}) {
    const CopiedModel model("npz");
    const Ids wanted = load_model(model.folder()).tokenizer.source().encode("A B");
    write_text(model.path(name), text);
    write_text(model.path("decoder.yml"), "models: [model.npz]\nvocabs: [" + name + ", " + name + "]\n");
    EXPECT_EQ(formats::read_marian_vocabulary(model.path(name), 44), pieces) << name;
    EXPECT_EQ(load_model(model.folder()).tokenizer.source().encode("A B"), wanted) << name;
  }
  const CopiedModel model("npz");
  write_text(model.path("vocab.json"), R"({"</s>": 0, "<unk>": -1})");
  write_text(model.path("decoder.yml"), "models: [model.npz]\nvocabs: [vocab.json, vocab.json]\n");
  EXPECT_THAT(model.refusal(), HasSubstr("vocab.json: \"<unk>\" has no number"));
}

TEST(MarianModels, MayShareASentencePieceModel) {
  for (const char* name : {"sentencepiece.bpe.model", "sentencepiece.model", "spm.model"}) {
    const CopiedModel model("npz");
    fs::rename(model.path("source.spm"), model.path(name));
    fs::remove(model.path("target.spm"));
    EXPECT_NO_THROW(load_model(model.folder())) << name;
  }
}

// ---- Models that Marian trained ----

std::vector<std::string> lines_of(const std::string& path) {
  return testing::split_lines(testing::read_text(path));
}

struct MarianHypothesis {
  size_t line;
  std::string text;
  double log_probability;
};

// Lines "number ||| text ||| F0= log-probability ||| score"; those of one number are together, the best one first.
std::vector<MarianHypothesis> best_of(const std::string& path) {
  const std::string bar = " ||| ";
  std::vector<MarianHypothesis> best;
  for (const std::string& line : lines_of(path)) {
    const size_t text = line.find(bar), features = line.find(bar + "F0=");
    MarianHypothesis hypothesis{std::stoul(line), "", std::stod(line.substr(features + bar.size() + 3))};
    if (features > text) hypothesis.text = line.substr(text + bar.size(), features - text - bar.size());
    if (best.empty() || best.back().line != hypothesis.line) best.push_back(hypothesis);
  }
  return best;
}

class ModelsByMarian : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const place = std::getenv("TRANSMUTE_MARIAN_MODELS");
    if (place == nullptr) GTEST_SKIP() << "TRANSMUTE_MARIAN_MODELS names no folder of models that Marian trained";
    for (const auto& entry : fs::directory_iterator(place))
      if (fs::exists(entry.path() / "source.txt")) folders_.push_back(entry.path().string());
    ASSERT_FALSE(folders_.empty()) << place;
  }
  std::vector<std::string> folders_;
};

// Marian cuts off what is three times as long as the longest source of a batch; what is shorter has an end.
bool may_be_cut_off(const Hypothesis& hypothesis, const Ids& source) {
  return hypothesis.tokens.size() + 1 >= 3 * (source.size() + 1);
}

TEST_F(ModelsByMarian, TranslateAsMarianDoes) {
  for (const std::string& folder : folders_)
    for (const auto& [file, beam] : {std::pair<const char*, int64_t>{"greedy.nbest", 1}, {"beam.nbest", 4}}) {
      SCOPED_TRACE(folder + ", " + file);
      const auto wanted = best_of(folder + "/" + file);
      const auto sources = lines_of(folder + "/source.txt");
      TranslatorOptions open;
      open.threads = 1;
      const Translator translator(folder, open);
      TranslationOptions options;
      options.search.beam_size = beam;
      options.search.length_alpha = 0;
      options.search.max_extra_length = 100;
      const auto found = translator.translate_batch(sources, options);
      ASSERT_EQ(found.size(), wanted.size());
      size_t same = 0, compared = 0;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const Hypothesis& best = found[i].hypotheses.at(0);
        if (may_be_cut_off(best, translator.tokenizer().source().encode(sources[i]))) continue;
        ++compared;
        if (best.text != wanted[i].text) {
          std::cerr << folder << ", line " << i + 1 << ": " << best.text << ' ' << best.score << " instead of "
                    << wanted[i].text << ' ' << wanted[i].log_probability << '\n';
          continue;
        }
        ++same;
        EXPECT_NEAR(best.log_probability, wanted[i].log_probability, 1e-3) << "line " << i + 1;
      }
      EXPECT_GE(same * 1000, compared * 995);
      EXPECT_GE(compared * 100, wanted.size() * 95);
      std::cerr << folder << ", " << file << ": " << same << " of " << compared << " lines are the same\n";
    }
}

TEST_F(ModelsByMarian, ScoreAsMarianDoes) {
  for (const std::string& folder : folders_) {
    SCOPED_TRACE(folder);
    const LoadedModel model = load_model(folder);
    const ReadyModel ready = make_step_model(modules_of(model), torch::kCPU, Precision::float32);
    const auto targets = lines_of(folder + "/target.txt"), wanted = lines_of(folder + "/scores.txt");
    std::vector<SearchRequest> requests;
    for (const std::string& line : lines_of(folder + "/source.txt")) {
      const std::string& target = targets.at(requests.size());
      requests.push_back({model.tokenizer.source().encode(line), model.tokenizer.target().encode(target)});
      requests.back().prefix_is_complete = true;
    }
    const auto found = beam_search(*ready.model, requests, {});
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(found[i].front().log_probability, std::stod(wanted[i]), 1e-3) << "line " << i;
  }
}

}  // namespace
}  // namespace transmute
