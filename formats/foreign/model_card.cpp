// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/model_card.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/text/language_codes.h>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

std::string metadata(const ModelFacts& facts) {
  std::string text = "---\n";
  if (!facts.license.empty()) text += fmt::format("license: {}\n", lower_case(facts.license));
  if (!facts.source_language.empty() || !facts.target_language.empty()) text += "language:\n";
  for (const std::string& language : {facts.source_language, facts.target_language})
    if (!language.empty()) text += fmt::format("- \"{}\"\n", language);  // no, of Norwegian, would be a truth value
  return text + "pipeline_tag: translation\n---\n\n";
}

}  // namespace

std::string model_card(const LoadedModel& model, Precision precision, const ModelFacts& facts,
                       const std::string& usage) {
  const auto name = [](const std::string& code) { return code.empty() ? "an unknown language" : language_name(code); };
  const bool has_languages = !facts.source_language.empty() && !facts.target_language.empty();
  const TransformerOptions& o = model.options;
  std::string text = metadata(facts);
  text += has_languages ? fmt::format("# {} to {}\n\n", name(facts.source_language), name(facts.target_language))
                        : std::string("# Translation model\n\n");
  text += fmt::format("A Transformer that translates from {} to {}, converted by transmute.\n\n",
                      name(facts.source_language), name(facts.target_language));
  text += fmt::format(
      "- License: {}\n- Network: {} encoder and {} decoder layers of width {}, {} heads, {} in the feed-forward "
      "layers\n"
      "- Parameters: {:.1f} million, stored in {}\n- Vocabulary: {} source and {} target tokens\n\n",
      facts.license.empty() ? "unknown; ask the model's authors before you pass it on" : facts.license,
      o.num_encoder_layers, o.num_decoder_layers, o.d_model, o.num_heads, o.d_ff,
      static_cast<double>(parameter_count(o)) / 1e6, precision_name(precision), o.source_vocab_size,
      o.target_vocab_size);
  text += "## Scores\n\n";
  for (const std::string& score : facts.scores) text += fmt::format("- {}\n", score);
  text += fmt::format("{}\n## Usage\n\n{}\n", facts.scores.empty() ? "Unknown.\n" : "", usage);
  return text;
}

std::string hugging_face_usage() {
  return "```python\n"
         "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
         "folder = \".\"  # where this file is\n"
         "model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForSeq2SeqLM, AutoTokenizer))\n"
         "ids = model.generate(**tokenizer([\"A sentence.\"], return_tensors=\"pt\"))\n"
         "print(tokenizer.batch_decode(ids, skip_special_tokens=True)[0])\n"
         "```";
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
