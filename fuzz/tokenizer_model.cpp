// SPDX-License-Identifier: Apache-2.0
// Models of SentencePiece from anywhere: opened, they encode and decode.
#include <transmute/fuzz/fuzz.h>
#include <transmute/tokenizer/sampler.h>
#include <transmute/tokenizer/tokenizer.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::may_refuse([&] {
    const SubwordModel model(std::string(reinterpret_cast<const char*>(data), size), "input");
    const std::string text = "the red house, 17 \xe2\x82\xac \xf0\x9f\x98\x80 a";
    const Ids ids = model.encode(text);
    for (const int64_t id : ids) fuzz::require(id >= 0 && id < model.size());
    model.decode(ids);
    for (const auto& [begin, end] : model.spans_in_text(text)) fuzz::require(begin <= end && end <= text.size());
    model.spans_of_pieces(model.encode_as_pieces(text));
    for (const int64_t id : model.line_breaks()) model.piece(id);
    try {
      const SubwordSampler sampler(model);
      for (uint64_t key = 1; key <= 2; ++key)
        for (const int64_t id : sampler.sample(ids, 0.5, key)) fuzz::require(id >= 0 && id < model.size());
    } catch (const std::invalid_argument&) {  // neither BPE nor unigram
    }
  });
  return 0;
}
