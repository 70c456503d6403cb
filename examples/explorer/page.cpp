// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/explorer/page.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/html.h>
#include <transmute/common/json.h>
#include <transmute/common/text_file.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/examples/explorer/attention_trace.h>
#include <transmute/examples/explorer/embedding_map.h>
#include <transmute/examples/explorer/web_sources.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/positional_encoding.h>
#include <transmute/text/source_parts.h>
#include <transmute/tokenizer/piece_marks.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>

namespace transmute {
inline namespace v0 {

namespace {

/// A sentence and its translation, as the model sees them and as people do. First come the languages' pieces.
struct Encoded {
  Ids source, target;
  std::vector<std::string> source_pieces, target_pieces;
  std::string source_text, target_text;
  bool forced = false;
};

LanguageTokens languages_of(const LoadedModel& model, const ExplorerOptions& options) {
  return language_tokens({options.source_language, options.target_language}, model.tokenizer);
}

// Maximum number of a text's own tokens.
int64_t most_own_tokens(const LoadedModel& model, const ExplorerOptions& options) {
  return std::min(options.max_tokens, most_tokens(model.options) - most_language_tokens(model.tokenizer.source()));
}

void put_before(const Ids& language, const SubwordModel& tokenizer, Ids& ids, std::vector<std::string>& pieces) {
  for (size_t i = 0; i < language.size(); ++i)
    pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i), tokenizer.piece(language[i]));
  ids.insert(ids.begin(), language.begin(), language.end());
}

std::string base64(const std::vector<uint8_t>& bytes) {
  static const char* const kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    const uint32_t group = static_cast<uint32_t>(bytes[i] << 16) |
                           (left > 1 ? static_cast<uint32_t>(bytes[i + 1] << 8) : 0U) | (left > 2 ? bytes[i + 2] : 0U);
    for (size_t digit = 0; digit < 4; ++digit) text += digit <= left ? kDigits[(group >> (18 - 6 * digit)) & 63U] : '=';
  }
  return text;
}

// Numbers from 0 to 1 as multiples of 1/65535, two bytes each, the lower first.
void append_quantized(std::vector<uint8_t>& bytes, const torch::Tensor& values) {
  const torch::Tensor flat = values.to(torch::kFloat).contiguous();
  const float* value = flat.data_ptr<float>();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const auto steps = static_cast<uint32_t>(std::lround(std::clamp(value[i], 0.0F, 1.0F) * 65535.0));
    bytes.push_back(static_cast<uint8_t>(steps & 255U));
    bytes.push_back(static_cast<uint8_t>(steps >> 8));
  }
}

std::string packed_weights(const std::vector<torch::Tensor>& layers) {
  std::vector<uint8_t> bytes;
  for (const auto& weights : layers) append_quantized(bytes, weights);
  return base64(bytes);
}

void check_length(const Ids& ids, UnshownText::Side side, size_t sentence, int64_t most) {
  if (ids.empty()) throw UnshownText(side, sentence, "is empty: there is nothing to attend to");
  if (static_cast<int64_t>(ids.size()) > most)
    throw UnshownLongText(side, sentence, fmt::format("has {} tokens, {} may be shown", ids.size(), most));
}

std::vector<Encoded> encode(const LoadedModel& model, const std::vector<ExplorerSentence>& sentences,
                            const ExplorerOptions& options) {
  if (sentences.empty()) throw std::invalid_argument("no sentence was given: a page needs at least one");
  if (static_cast<int64_t>(sentences.size()) > options.max_sentences)
    throw std::invalid_argument(
        fmt::format("max_sentences must be raised for more than {} sentences; or give fewer", options.max_sentences));
  const int64_t most = most_own_tokens(model, options);
  const LanguageTokens languages = languages_of(model, options);
  std::vector<Encoded> all;
  for (const auto& sentence : sentences) {
    const size_t number = all.size() + 1;
    check_utf8(sentence.source, "sentence", number);
    Encoded encoded;
    encoded.source_text = sentence.source;
    check_tag(model.tokenizer.source(), sentence.source, all.size());
    SegmentedSource source = segment_source(model.tokenizer.source(), sentence.source);
    encoded.source = std::move(source.tokens.ids);
    encoded.source_pieces = std::move(source.tokens.pieces);
    check_length(encoded.source, UnshownText::Side::source, all.size(), most);
    put_before(source.tag.empty() ? languages.source : source.tag, model.tokenizer.source(), encoded.source,
               encoded.source_pieces);
    if (sentence.target) {
      check_utf8(*sentence.target, "target", number);
      encoded.forced = true;
      encoded.target_text = *sentence.target;
      SegmentedText target = model.tokenizer.target().segment(*sentence.target);
      encoded.target = std::move(target.ids);
      encoded.target_pieces = std::move(target.pieces);
      check_length(encoded.target, UnshownText::Side::target, all.size(), most);
      put_before(languages.target, model.tokenizer.target(), encoded.target, encoded.target_pieces);
    }
    all.push_back(std::move(encoded));
  }
  return all;
}

void translate(Encoded& sentence, const LoadedModel& model, const Transformer& network,
               const ExplorerOptions& options) {
  const TransformerStepModel step_model(network, network->parameters().front().device());
  SearchOptions search = options.search;
  SearchRequest request{sentence.source, languages_of(model, options).target};
  request.forced_tokens = static_cast<int64_t>(request.prefix.size());
  SearchContext context;
  context.most_tokens = most_tokens(model.options);
  context.excluded = model.tokenizer.target().line_breaks();
  const auto found = beam_search(step_model, {request}, search, {}, context);
  sentence.target = found.front().front().ids;
  sentence.target_text = model.tokenizer.target().decode(sentence.target);
  for (const int64_t id : sentence.target) sentence.target_pieces.push_back(model.tokenizer.target().piece(id));
}

// For each layer and head the statistics, and the three heads that look most alike: [layer, head, divergence].
Json statistics_of(const std::vector<torch::Tensor>& layers) {
  struct Head {
    int64_t layer, head;
    torch::Tensor weights;
  };
  std::vector<Head> heads;
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (int64_t head = 0; head < layers[layer].size(0); ++head)
      heads.push_back({static_cast<int64_t>(layer), head, layers[layer][head]});

  const size_t count = heads.size();
  std::vector<double> divergence(count * count, 0.0);
  for (size_t a = 0; a < count; ++a)
    for (size_t b = a + 1; b < count; ++b)
      divergence[a * count + b] = divergence[b * count + a] = head_divergence(heads[a].weights, heads[b].weights);

  Json result = Json::array();
  for (size_t a = 0; a < count; ++a) {
    std::vector<size_t> others;
    for (size_t b = 0; b < count; ++b)
      if (b != a) others.push_back(b);
    const size_t listed = std::min<size_t>(3, others.size());
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(listed), others.end(),
                      [&](size_t x, size_t y) { return divergence[a * count + x] < divergence[a * count + y]; });
    Json similar = Json::array();
    for (size_t i = 0; i < listed; ++i)
      similar.push_back({heads[others[i]].layer, heads[others[i]].head, divergence[a * count + others[i]]});
    const HeadStatistics statistics = head_statistics(heads[a].weights);
    if (heads[a].head == 0) result.push_back(Json::array());
    result.back().push_back({{"entropy", statistics.entropy},
                             {"distance", statistics.distance},
                             {"diagonal", statistics.diagonal},
                             {"similar", std::move(similar)}});
  }
  return result;
}

Json sentence_data(const Encoded& sentence, const LoadedModel& model, const Transformer& network) {
  const AttentionTrace trace = trace_attention(network, sentence.source, sentence.target);
  const std::string begin = model.tokenizer.target().piece(special_ids::kBegin);
  Json source = Json::array();
  if (model.options.source_begin) source.push_back(model.tokenizer.source().piece(special_ids::kBegin));
  for (const auto& piece : sentence.source_pieces) source.push_back(piece);
  source.push_back(model.tokenizer.source().piece(special_ids::kEnd));
  Json target_in = Json::array({begin});
  for (const auto& piece : sentence.target_pieces) target_in.push_back(piece);
  Json target_out = sentence.target_pieces;
  target_out.push_back(model.tokenizer.target().piece(special_ids::kEnd));
  return {{"source_text", sentence.source_text},
          {"target_text", sentence.target_text},
          {"forced", sentence.forced},
          {"source", source},
          {"source_ids", trace.source},
          {"target_in", target_in},
          {"target_in_ids", trace.target_in},
          {"target_out", target_out},
          {"probabilities", trace.probabilities},
          {"weights",
           {{"encoder", packed_weights(trace.encoder)},
            {"decoder", packed_weights(trace.decoder)},
            {"cross", packed_weights(trace.cross)}}},
          {"statistics",
           {{"encoder", statistics_of(trace.encoder)},
            {"decoder", statistics_of(trace.decoder)},
            {"cross", statistics_of(trace.cross)}}}};
}

// Position vectors scaled to [0, 1]: value = (stored * 2 - 1) * scale.
Json positions_data(const Transformer& network, int64_t longest) {
  const TransformerOptions& options = network->options;
  const bool learned = options.positional_encoding == PositionalEncodingKind::learned;
  constexpr int64_t kShown = 64;
  int64_t rows = std::max(kShown, longest);
  if (learned) rows = std::min(rows, options.max_positions);
  Json all = Json::array();
  for (const char* side : {"source", "target"}) {
    if (!learned && !all.empty()) break;  // one table of sinusoids serves both
    const auto module = network->named_children()[std::string(side) + "_positions"];
    const torch::Tensor vectors = module->as<PositionalEncodingImpl>()->forward(0, rows).to(torch::kCPU, torch::kFloat);
    const double scale = std::max(1e-12, vectors.abs().max().item<double>());
    std::vector<uint8_t> bytes;
    append_quantized(bytes, (vectors / scale + 1) / 2);
    all.push_back({{"name", learned ? side : "source and target"},
                   {"kind", learned ? "learned" : "sinusoidal"},
                   {"rows", rows},
                   {"width", vectors.size(1)},
                   {"scale", scale},
                   {"values", base64(bytes)}});
  }
  return all;
}

// The sentences' tokens, then the first of the vocabulary, where SentencePiece puts what is frequent: what begins a
// word before the fragments, which say less.
Ids tokens_for_map(const std::vector<Ids>& used, const SubwordModel& vocabulary, int64_t most) {
  Ids chosen;
  std::unordered_set<int64_t> seen;
  const auto add = [&](int64_t id) {
    if (id >= special_ids::kCount && seen.insert(id).second) chosen.push_back(id);
  };
  for (const auto& ids : used) std::for_each(ids.begin(), ids.end(), add);
  const auto is_word = [](const std::string& piece) {
    return begins_word(piece) && piece.size() > kSpaceMark.size() + 1;
  };
  for (const bool words : {true, false})
    for (int64_t id = special_ids::kCount; id < vocabulary.size() && static_cast<int64_t>(chosen.size()) < most; ++id)
      if (const std::string piece = vocabulary.piece(id); is_word(piece) == words && !is_byte_piece(piece)) add(id);
  return chosen;
}

Json embedding_data(const char* name, const torch::Tensor& table, const std::vector<Ids>& used,
                    const SubwordModel& vocabulary, const ExplorerOptions& options) {
  const Ids ids = tokens_for_map(used, vocabulary, options.map_tokens);
  const auto neighbors = nearest_neighbors(table, ids, options.num_neighbors);
  const PrincipalPlane plane = principal_plane(table.to(torch::kCPU).index_select(0, torch::tensor(ids, torch::kLong)));
  Json tokens = Json::array();
  for (size_t i = 0; i < ids.size(); ++i) {
    Json near = Json::array();
    for (const auto& neighbor : neighbors[i])
      near.push_back({vocabulary.piece(neighbor.id), neighbor.cosine, neighbor.id});
    tokens.push_back({{"id", ids[i]},
                      {"piece", vocabulary.piece(ids[i])},
                      {"x", plane.points[i][0]},
                      {"y", plane.points[i][1]},
                      {"near", std::move(near)}});
  }
  return {{"name", name}, {"vocabulary", vocabulary.size()}, {"explained", plane.explained}, {"tokens", tokens}};
}

Json embeddings_data(const LoadedModel& model, const Transformer& network, const std::vector<Encoded>& sentences,
                     const ExplorerOptions& options) {
  std::vector<Ids> sources, targets;
  for (const auto& sentence : sentences) {
    sources.push_back(sentence.source);
    targets.push_back(sentence.target);
  }
  const auto parameters = network->named_parameters();
  if (const torch::Tensor* shared = parameters.find("embedding.weight")) {
    sources.insert(sources.end(), targets.begin(), targets.end());
    return Json::array({embedding_data("source and target", *shared, sources, model.tokenizer.source(), options)});
  }
  return Json::array(
      {embedding_data("source", parameters["source_embedding.weight"], sources, model.tokenizer.source(), options),
       embedding_data("target", parameters["target_embedding.weight"], targets, model.tokenizer.target(), options)});
}

// The template with each mark replaced by its text; marks within those texts stay as they are.
std::string filled(const std::string& page, const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string result;
  size_t place = 0;
  for (const auto& [mark, text] : texts) {  // in the template's order
    const size_t found = page.find(mark, place);
    if (found == std::string::npos) throw std::logic_error("page.html has no " + mark);
    result.append(page, place, found - place).append(text);
    place = found + mark.size();
  }
  return result.append(page, place, std::string::npos);
}

// JSON says < and & as well in another way, in which they can neither end a script element nor open a comment.
std::string script_safe(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string explorer_data(const LoadedModel& model, const Transformer& network,
                          const std::vector<ExplorerSentence>& sentences, const ExplorerOptions& options) {
  std::vector<Encoded> all = encode(model, sentences, options);
  Json list = Json::array();
  int64_t longest = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].forced) translate(all[i], model, network, options);
    list.push_back(sentence_data(all[i], model, network));
    longest = std::max({longest, static_cast<int64_t>(all[i].source.size()) + (model.options.source_begin ? 2 : 1),
                        static_cast<int64_t>(all[i].target.size()) + 1});
  }
  const Json data{{"title", options.title},
                  {"model",
                   {{"encoder_layers", model.options.num_encoder_layers},
                    {"decoder_layers", model.options.num_decoder_layers},
                    {"heads", model.options.num_heads},
                    {"d_model", model.options.d_model},
                    {"parameters", parameter_count(model.options)}}},
                  {"steps", 65535},
                  {"sentences", std::move(list)},
                  {"positions", positions_data(network, longest)},
                  {"embeddings", embeddings_data(model, network, all, options)}};
  // A title may be a path, which need not be UTF-8.
  return script_safe(json_text(data));
}

std::string explorer_page(const LoadedModel& model, const Transformer& network,
                          const std::vector<ExplorerSentence>& sentences, const ExplorerOptions& options) {
  std::string script;
  for (const char* file :
       {"data.js", "state.js", "attention.js", "statistics.js", "positions.js", "embeddings.js", "page.js"})
    script += explorer::source(file);
  return filled(explorer::source("page.html"), {{"<!-- title -->", html_escaped(options.title)},
                                                {"/* style */", explorer::source("page.css")},
                                                {"/* data */", explorer_data(model, network, sentences, options)},
                                                {"/* script */", script}});
}

}  // namespace v0
}  // namespace transmute
