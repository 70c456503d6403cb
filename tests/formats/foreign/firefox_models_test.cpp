// SPDX-License-Identifier: Apache-2.0
// Models in the form in which Firefox has them: Marian's binary files with matrices of 8 bits, SSRU decoders and binary
// shortlists. Each is written here and compared with double-precision loops over the numbers that it was made of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/engine/inference_model.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/marian_binary.h>
#include <transmute/tests/support/reference.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/text/shortlist.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::BinaryItem;
using ::testing::HasSubstr;
using testing::little_endian;
using testing::message_of;
using ::testing::StartsWith;
using testing::write_text;

constexpr int64_t kWidth = 8, kInner = 12, kPieces = 80;
constexpr const char* kModel = "model.ende.intgemm.alphas.bin";
constexpr const char* kSentencePiece = "vocab.ende.spm";
constexpr const char* kLexicon = "lex.50.50.ende.s2t.bin";
constexpr const char* kPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 17140836\n";

const char* const kYaml = R"(dec-cell: ssru
dec-depth: 2
dim-emb: 8
enc-depth: 1
input-types:
  []
layer-normalization: false
tied-embeddings-all: true
transformer-decoder-autoreg: rnn
transformer-dim-ffn: 12
transformer-ffn-activation: relu
transformer-ffn-depth: 2
transformer-heads: 2
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-postprocess-top: ""
transformer-preprocess: ""
transformer-tied-layers:
  []
type: transformer
version: v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100
)";

// A folder with a model of one encoder and two decoder layers, and its numbers.
class FirefoxModel {
 public:
  explicit FirefoxModel(bool is_int8 = true) : is_int8_(is_int8) {
    matrix("Wemb", "embedding.weight", kPieces, kWidth);
    vector("decoder_ff_logit_out_b", "output_bias", kPieces);
    layer("encoder_l1", "encoder.layers.0.");
    attention("encoder_l1_self", "encoder.layers.0.self_attention");
    for (const char* number : {"0", "1"}) {
      const std::string from = std::string("decoder_l") + static_cast<char>(*number + 1);
      const std::string to = std::string("decoder.layers.") + number + ".";
      layer(from, to);
      attention(from + "_context", to + "cross_attention");
      matrix(from + "_rnn_W", to + "ssru.input.weight", kWidth, kWidth);
      matrix(from + "_rnn_Wf", to + "ssru.forget.weight", kWidth, kWidth);
      vector(from + "_rnn_bf", to + "ssru.forget.bias", kWidth);
      norm(from + "_rnn_ffn", to + "self_attention_norm");
    }
    items_.push_back({"none_QuantMultA", 0x404, {1, 1}, std::string(4, '\x7f')});
    items_.push_back({"special:model.yml", 0x101, {0}, ""});
    set_yaml(kYaml);
    write(kSentencePiece, tokenizer().source().serialized());
    save();
  }

  static const Tokenizer& tokenizer() {
    static const Tokenizer tokenizer = testing::tiny_tokenizer();
    return tokenizer;
  }

  std::string folder() const { return folder_.path(); }
  std::string path(const std::string& file) const { return folder_ / file; }
  void write(const std::string& file, const std::string& content) const { write_text(path(file), content); }
  void set_yaml(const std::string& yaml) {
    items_.back().bytes = yaml + '\0';
    items_.back().shape = {static_cast<int64_t>(yaml.size() + 1)};
  }
  void save() const { write(kModel, testing::binary_file(items_)); }
  std::vector<BinaryItem>& items() { return items_; }
  BinaryItem& item(const std::string& name) {
    return *std::find_if(items_.begin(), items_.end(), [&](const BinaryItem& item) { return item.name == name; });
  }
  std::string refusal() const {
    return message_of<std::runtime_error>([&] { load_model(folder()); });
  }
  const reference::Weights& weights() const { return weights_; }

 private:
  std::vector<float> random(int64_t count) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(static_cast<float>(0.9 * (2 * uniform(combine_keys(9, ++drawn_)) - 1)));
    return numbers;
  }
  // [inputs,outputs] in Marian, [outputs,inputs] in ours; tables are the same in both.
  void matrix(const std::string& from, const std::string& to, int64_t rows, int64_t columns) {
    std::vector<float> numbers = random(rows * columns);
    items_.push_back(is_int8_ ? testing::intgemm8_item(from, rows, columns, numbers)
                              : BinaryItem{from, 0x404, {rows, columns}, testing::bytes_of(numbers)});
    items_.push_back({from + "_QuantMultA", 0x404, {1, 1}, std::string(4, '\x7f')});
    const bool is_table = from == "Wemb";
    reference::Matrix ours(is_table ? rows : columns, is_table ? columns : rows);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        ours(is_table ? r : c, is_table ? c : r) = numbers[static_cast<size_t>(r * columns + c)];
    weights_.emplace(to, std::move(ours));
  }
  void vector(const std::string& from, const std::string& to, int64_t size, float offset = 0) {
    std::vector<float> numbers = random(size);
    for (float& number : numbers) number += offset;
    items_.push_back({from, 0x404, {1, size}, testing::bytes_of(numbers)});
    reference::Matrix ours(1, size);
    std::copy(numbers.begin(), numbers.end(), ours.values.begin());
    weights_.emplace(to, std::move(ours));
  }
  void norm(const std::string& from, const std::string& to) {
    vector(from + "_ln_scale", to + ".weight", kWidth, 1.5F);
    vector(from + "_ln_bias", to + ".bias", kWidth);
  }
  void attention(const std::string& from, const std::string& to) {
    for (const auto& [letter, name] : {std::pair{"q", "query"}, {"k", "key"}, {"v", "value"}, {"o", "output"}}) {
      matrix(from + "_W" + letter, to + "." + name + ".weight", kWidth, kWidth);
      vector(from + "_b" + letter, to + "." + name + ".bias", kWidth);
    }
    norm(from + "_Wo", to + "_norm");
  }
  void layer(const std::string& from, const std::string& to) {
    matrix(from + "_ffn_W1", to + "feed_forward.inner.weight", kWidth, kInner);
    vector(from + "_ffn_b1", to + "feed_forward.inner.bias", kInner);
    matrix(from + "_ffn_W2", to + "feed_forward.outer.weight", kInner, kWidth);
    vector(from + "_ffn_b2", to + "feed_forward.outer.bias", kWidth);
    norm(from + "_ffn_ffn", to + "feed_forward_norm");
  }

  testing::TemporaryFolder folder_;
  bool is_int8_;
  uint64_t drawn_ = 0;
  std::vector<BinaryItem> items_;
  reference::Weights weights_;
};

// Marian's number of each of a tokenizer's ids, by their texts; -1 for the reserved ids that Marian does not have.
std::vector<int64_t> numbers_of(const SubwordModel& ours) {
  const SubwordModel& theirs = FirefoxModel::tokenizer().source();
  std::vector<int64_t> numbers;
  for (int64_t id = 0; id < ours.size(); ++id) {
    int64_t number = 0;
    while (number < theirs.size() && (theirs.piece(number) != ours.piece(id) || number < special_ids::kCount)) ++number;
    numbers.push_back(id == special_ids::kEnd ? special_ids::kEnd : number < theirs.size() ? number : -1);
  }
  return numbers;
}

TransformerOptions marian_options() {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = kPieces;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 2;
  options.d_model = kWidth;
  options.num_heads = 2;
  options.d_ff = kInner;
  options.decoder_self_attention = DecoderSelfAttention::ssru;
  options.attention_bias = options.output_bias = true;
  options.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 0};
  return validated(options);
}

void expect_logits_of(const FirefoxModel& model) {
  const LoadedModel loaded = load_model(model.folder());
  const std::vector<int64_t> numbers = numbers_of(loaded.tokenizer.source());
  // The decoder starts with a vector of zeros: a row more.
  reference::Weights weights = model.weights();
  reference::Matrix& table = weights.at("embedding.weight");
  table.values.resize(table.values.size() + kWidth, 0.0);
  const int64_t begin = table.rows++;
  weights.at("output_bias").values.push_back(0);
  const Ids source = loaded.tokenizer.source().encode("the red house is near."), target{20, 31, 12, 44};
  reference::Matrix wanted;
  {
    std::vector<int64_t> source_numbers, target_numbers{begin};
    for (const int64_t id : source) source_numbers.push_back(numbers[static_cast<size_t>(id)]);
    source_numbers.push_back(special_ids::kEnd);
    for (const int64_t id : target) target_numbers.push_back(numbers[static_cast<size_t>(id)]);
    wanted = reference::transformer(marian_options(), weights, source_numbers, target_numbers);
  }
  const InferenceModel engine(loaded.weights, Precision::float32);
  const auto batch = engine.start({source}, {}, {});
  int64_t compared = 0;
  for (int64_t t = 0; t <= static_cast<int64_t>(target.size()); ++t) {
    const NextToken next = batch->step({t == 0 ? special_ids::kBegin : target[static_cast<size_t>(t - 1)]}, 1);
    for (size_t id = 0; id < numbers.size(); ++id) {
      if (numbers[id] < 0) continue;
      ASSERT_NEAR(next.logits(0)[id], wanted(t, numbers[id]), 2e-4) << "position " << t << ", id " << id;
      ++compared;
    }
  }
  EXPECT_GT(compared, 5 * (kPieces - special_ids::kCount));
}

TEST(FirefoxModel, ComputesWhatItsNumbersSay) {
  expect_logits_of(FirefoxModel());
}

TEST(FirefoxModel, MayHaveMatricesOfFloat32) {
  expect_logits_of(FirefoxModel(false));
}

TEST(FirefoxModel, KeepsItsMatricesOf8Bits) {
  FirefoxModel model;
  const LoadedModel loaded = load_model(model.folder());
  EXPECT_EQ(loaded.weights.stored(), Precision::int8);
  EXPECT_EQ(loaded.search.beam_size, 1);
  const std::string name = "decoder.layers.0.feed_forward.inner.weight";
  const std::string& bytes = model.item("decoder_l1_ffn_W1").bytes;
  const Array& numbers = loaded.weights.numbers(name);
  ASSERT_EQ(numbers.shape(), (std::vector<int64_t>{kInner, kWidth}));
  EXPECT_TRUE(std::equal(numbers.int8s(), numbers.int8s() + numbers.count(), bytes.begin(),
                         [](int8_t number, char byte) { return static_cast<char>(number) == byte; }));
  float multiplier = 0;
  std::memcpy(&multiplier, bytes.data() + numbers.count(), sizeof multiplier);
  for (int64_t row = 0; row < kInner; ++row) EXPECT_EQ(loaded.weights.scales(name).floats()[row], 1 / multiplier);
}

TEST(FirefoxModel, IsFoundByTheNamesOfItsFilesOrOfItsConfig) {
  const FirefoxModel model;
  const std::string vocabulary = testing::read_text(model.path(kSentencePiece));
  model.write("vocab.enfr.spm", "another model's");
  EXPECT_NO_THROW(load_model(model.folder()));
  fs::rename(model.path(kSentencePiece), model.path("srcvocab.ende.spm"));
  EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(kModel)), HasSubstr("vocabularies are not known")));
  model.write("trgvocab.ende.spm", vocabulary);
  EXPECT_NO_THROW(load_model(model.folder()));
  fs::rename(model.path("srcvocab.ende.spm"), model.path("words.spm"));
  model.write("config.intgemm8bitalpha.yml", std::string("relative-paths: true\r\nmodels:\r\n  - ") + kModel +
                                                 "\r\nvocabs:\r\n  - words.spm\r\n  - words.spm\r\nshortlist:\r\n    - "
                                                 "absent.bin\r\n    - false\r\nbeam-size: 3\r\nnormalize: 1.0\r\n");
  const LoadedModel loaded = load_model(model.folder());
  EXPECT_EQ(loaded.search.beam_size, 3);
  EXPECT_EQ(loaded.shortlist, nullptr);
}

// Pieces of subword-nmt end so, which a list of words would have.
TEST(FirefoxModel, MayHavePiecesOfAnyText) {
  const FirefoxModel model;
  std::string vocabulary = testing::read_text(model.path(kSentencePiece));
  const size_t place = vocabulary.find("▁the");
  ASSERT_NE(place, std::string::npos);
  model.write(kSentencePiece, vocabulary.replace(place, std::string("▁the").size(), "▁t@@"));
  EXPECT_NO_THROW(load_model(model.folder()));
}

TEST(FirefoxModel, MustBeUnpacked) {
  const FirefoxModel model;
  fs::rename(model.path(kModel), model.path(kModel) + ".gz");
  EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(kModel) + ".gz: "), HasSubstr("unpack it")));
}

// Ours of Marian's numbers.
std::set<int64_t> ids_of(const std::set<int64_t>& numbers, const Tokenizer& tokenizer) {
  const std::vector<int64_t> all = numbers_of(tokenizer.source());
  std::set<int64_t> ids;
  for (size_t id = 0; id < all.size(); ++id)
    if (numbers.count(all[id]) > 0) ids.insert(static_cast<int64_t>(id));
  return ids;
}

std::string some_shortlist() {
  std::vector<std::vector<uint32_t>> lists(kPieces);
  for (uint32_t source = 0; source < kPieces; ++source)
    if (source % 3 != 0) lists[source] = {(source + 5) % 76 + 4, (source + 40) % 76 + 4};
  lists[special_ids::kEnd] = {70};
  return testing::binary_shortlist(lists, 6);
}

TEST(FirefoxModel, TranslatesWithItsShortlist) {
  const FirefoxModel model;
  model.write(kLexicon, some_shortlist());
  const LoadedModel loaded = load_model(model.folder());
  ASSERT_NE(loaded.shortlist, nullptr);
  const Ids source = loaded.tokenizer.source().encode("the red house is near.");
  std::set<int64_t> wanted{special_ids::kEnd, 4, 5, 70};
  const std::vector<int64_t> numbers = numbers_of(loaded.tokenizer.source());
  for (const int64_t id : source) {
    const int64_t number = numbers[static_cast<size_t>(id)];
    wanted.insert(number);  // both sides share a vocabulary
    if (number % 3 != 0) wanted.insert({(number + 5) % 76 + 4, (number + 40) % 76 + 4});
  }
  const std::set<int64_t> allowed = ids_of(wanted, loaded.tokenizer);
  std::set<int64_t> found;
  for (const int64_t id : loaded.shortlist->tokens_for(source))
    if (numbers[static_cast<size_t>(id)] >= 0) found.insert(id);
  EXPECT_EQ(found, allowed);

  TranslationOptions options;
  options.guard = Guard::off;
  std::set<std::string> pieces;
  for (const int64_t id : allowed) pieces.insert(loaded.tokenizer.target().piece(id));
  const auto translation = Translator(model.folder()).translate_batch({"the red house is near."}, options).front();
  EXPECT_FALSE(translation.hypotheses.front().tokens.empty());
  for (const std::string& token : translation.hypotheses.front().tokens) EXPECT_EQ(pieces.count(token), 1) << token;
}

TEST(FirefoxModel, IsRefusedByTheOptionThatIsNotSupported) {
  for (const auto& [from, to, what] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"autoreg: rnn", "autoreg: average-attention", "transformer-decoder-autoreg is \"average-attention\""},
           {"dec-cell: ssru", "dec-cell: gru", "dec-cell is \"gru\""},
           {"layer-normalization: false", "layer-normalization: true", "layer-normalization is \"true\""},
           {"ffn-depth: 2", "ffn-depth: 3", "transformer-ffn-depth is \"3\""},
           {"type: transformer", "type: s2s", "its option type is \"s2s\""},
           {"dec-depth: 2", "dec-depth: 3", "decoder_l3_"},
           {"dec-depth: 2", "dec-depth: 1", "does not use the weights \"decoder_l2_"},
           {"dim-emb: 8", "dim-emb: 4000000", "Wemb"}}) {
    FirefoxModel model;
    std::string yaml = kYaml;
    model.set_yaml(yaml.replace(yaml.find(from), from.size(), to));
    model.save();
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(kModel) + ": "), HasSubstr(what))) << to;
  }
}

TEST(DamagedFirefoxModel, NamesTheItem) {
  const std::vector<std::pair<std::function<void(BinaryItem&)>, const char*>> faults{
      {[](BinaryItem& item) { item.type = 0x2801; }, "type 0x2801, packed for one kind of processor"},
      {[](BinaryItem& item) { item.shape[0] = 4000; }, "shape and size of 'decoder_l1_rnn_W' disagree"},
      {[](BinaryItem& item) { item.shape = {64}; }, "'decoder_l1_rnn_W' is no matrix"},
      {[](BinaryItem& item) {
         item.shape = {4, 16};
       },
       "\"decoder_l1_rnn_W\" has shape [16,4]"},
      {[](BinaryItem& item) { item.bytes.replace(64, 4, testing::bytes_of({0})); }, "the multiplier 0"},
      {[](BinaryItem& item) { item.bytes.replace(64, 4, testing::bytes_of({-2})); }, "the multiplier -2"},
      {[](BinaryItem& item) { item.bytes.replace(64, 4, "\0\0\xc0\x7f", 4); }, "the multiplier nan"},
      {[](BinaryItem& item) { item.name = "decoder_l1_rnn_Wf"; }, "it has 'decoder_l1_rnn_Wf' twice"},
      {[](BinaryItem& item) { item.name = "other"; }, "decoder_l1_rnn_W"}};
  for (const auto& [make_fault, what] : faults) {
    FirefoxModel model;
    make_fault(model.item("decoder_l1_rnn_W"));
    model.save();
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(kModel) + ": "), HasSubstr(what)));
  }
  FirefoxModel unnamed;
  unnamed.items().pop_back();
  unnamed.save();
  EXPECT_THAT(unnamed.refusal(), HasSubstr("it has no 'special:model.yml'"));
  const FirefoxModel encrypted;
  encrypted.write(kModel, little_endian(2, 8) + testing::read_text(encrypted.path(kModel)).substr(8));
  EXPECT_THAT(encrypted.refusal(), HasSubstr("version 2 of Marian's binary format"));
}

TEST(DamagedFirefoxModel, IsRefusedWhereverItEnds) {
  const FirefoxModel model;
  const std::string whole = testing::read_text(model.path(kModel));
  for (size_t size = 8; size < whole.size(); size += size < 6000 ? 97 : 1511) {
    model.write(kModel, whole.substr(0, size));
    EXPECT_THAT(model.refusal(), StartsWith(model.path(kModel) + ": ")) << size;
  }
}

// Whatever the numbers of the headers say, no memory is taken for what the file does not have.
TEST(DamagedFirefoxModel, MayLieAboutEachSize) {
  FirefoxModel model;
  const std::string whole = testing::read_text(model.path(kModel));
  const size_t headers_end = 16 + 32 * model.items().size();
  size_t refused = 0, tried = 0;
  for (size_t at = 8; at < headers_end; at += 24)  // each of a header's fields in turn
    for (const uint64_t lie : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
      std::string changed = whole;
      model.write(kModel, changed.replace(at, 8, little_endian(lie, 8)));
      ++tried;
      try {
        load_model(model.folder());
      } catch (const std::runtime_error&) {
        ++refused;
      }
    }
  // Headers of ranges, which are not read, may say much.
  EXPECT_GT(refused, tried / 2);
}

TEST(DamagedFirefoxModel, NamesItsShortlist) {
  const FirefoxModel model;
  const std::string whole = some_shortlist();
  const auto refusal_of = [&](const std::string& content) {
    model.write(kLexicon, content);
    return model.refusal();
  };
  for (size_t size = 0; size < whole.size(); size += 61)
    EXPECT_THAT(refusal_of(whole.substr(0, size)), StartsWith(model.path(kLexicon) + ": ")) << size;
  std::string changed = whole;
  changed[changed.size() - 20] ^= 1;
  EXPECT_THAT(refusal_of(changed), HasSubstr("its checksum does not match"));
  for (const size_t field : {32, 40})
    for (const uint64_t lie : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}, uint64_t{1} << 62}) {
      changed = whole;
      EXPECT_THAT(refusal_of(changed.replace(field, 8, little_endian(lie, 8))), HasSubstr("do not make"));
    }
  std::vector<std::vector<uint32_t>> lists(kPieces);
  model.write(kLexicon, testing::binary_shortlist(lists, 6));
  EXPECT_NO_THROW(load_model(model.folder()));
  lists.front() = {kPieces};
  EXPECT_THAT(refusal_of(testing::binary_shortlist(lists, 6)), HasSubstr("do not belong together"));
  lists.pop_back();
  lists.front() = {};
  EXPECT_THAT(refusal_of(testing::binary_shortlist(lists, 6)), HasSubstr("do not belong together"));
}

TEST(ModelFiles, AreNamedWhereAPointerOfGitLfsIsInTheirPlace) {
  for (const char* file : {kModel, kSentencePiece, kLexicon}) {
    const FirefoxModel model;
    model.write(file, kPointer);
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(file) + ": "), HasSubstr("git lfs pull")));
  }
  for (const char* file : {"model.npz", "model.bin", "model.pt", "config.json", "config.yaml"}) {
    const testing::TemporaryFolder folder;
    write_text(folder / file, kPointer);
    if (std::string(file) == "config.yaml") write_text(folder / "weights.safetensors", kPointer);
    const std::string name = file;
    if (name != "model.pt") {
      EXPECT_THAT(message_of<std::runtime_error>([&] { load_model(folder.path()); }), HasSubstr("git lfs pull"))
          << name;
    }
    if (name.rfind("config", 0) != 0) {
      EXPECT_THAT(message_of<std::runtime_error>([&] { load_model(folder / file); }),
                  AllOf(StartsWith(folder / file), HasSubstr("git lfs pull")));
    }
  }
}

}  // namespace
}  // namespace transmute
