// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/examples/explorer/page.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace transmute::testing {

// The common parts of the tests of the explorer's page, of its program and of a browser.

constexpr double kHalfStep = 0.5 / 65535 + 1e-9;

inline LoadedModel tiny_model(const TokenizerOptions& tokenizer_options = tiny_tokenizer_options(),
                              const TransformerOptions& options = tiny_transformer_options()) {
  Tokenizer tokenizer = tiny_tokenizer(tokenizer_options);
  Transformer transformer = tiny_transformer(tokenizer, 7, options);
  for (auto& parameter : transformer->parameters()) {
    parameter.set_requires_grad(false);
    if (parameter.dim() > 1) parameter.mul_(3);  // attention that is far from uniform
  }
  return {transformer->options, weights_of(transformer), std::move(tokenizer), tiny_config(options)};
}

inline Json data_of(const LoadedModel& model, const std::vector<ExplorerSentence>& sentences,
                    const ExplorerOptions& options = {}) {
  return parse_json(explorer_data(model, modules_of(model), sentences, options));
}

inline Json data_in_page(const std::string& page) {
  const size_t begin = page.find("id=\"data\">") + 10;
  return parse_json(page.substr(begin, page.find("</script", begin) - begin));
}

inline std::vector<double> unpacked(const std::string& base64) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count & 255U));
  }
  std::vector<double> values;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) values.push_back((bytes[i] + 256 * bytes[i + 1]) / 65535.0);
  return values;
}

// The modules' own answer: each layer's weights [1,H,T,S] under the three names.
inline std::map<std::string, std::vector<torch::Tensor>> weights_of_modules(const LoadedModel& model, Ids source,
                                                                            Ids target) {
  source.push_back(special_ids::kEnd);
  target.insert(target.begin(), special_ids::kBegin);
  Transformer transformer = modules_of(model);
  const EncodedSource encoded = transformer->encode(torch::tensor(source).unsqueeze(0), ReturnWeights::yes);
  const DecoderOutput decoded = transformer->decode(torch::tensor(target).unsqueeze(0), encoded, ReturnWeights::yes);
  return {{"encoder", encoded.self_weights}, {"decoder", decoded.self_weights}, {"cross", decoded.cross_weights}};
}

}  // namespace transmute::testing
