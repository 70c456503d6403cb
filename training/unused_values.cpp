// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>
#include <transmute/training/config.h>

namespace transmute {
inline namespace v0 {

std::vector<std::string> TrainingConfig::unused_values(const TrainingOptions& usual) const {
  const bool is_noam = training.schedule == Schedule::noam, is_guided = training.guided_alignment > 0;
  const bool is_of_translations =
      validation.metric != ValidationMetric::automatic && validation.metric != ValidationMetric::loss;
  const TransformerOptions& network = model.model;
  const TransformerOptions usual_network;
  const bool is_given = !training.initialize_from.empty();  // a finished model's network, with all of its values
  const bool is_sinusoidal = network.positional_encoding == PositionalEncodingKind::sinusoidal;
  const ValidationOptions usual_validation;
  const bool translates = !is_language_model() && validation.max_sentences > 0;
  const char* nothing_translated = is_language_model()
                                       ? "with model.architecture: decoder_only, which translates nothing"
                                       : "with validation.max_sentences: 0, which translates nothing";
  struct Value {
    const char* key;
    bool differs;
    bool is_used;
    const char* cause;
  };
  const Value values[] = {
      {"training.learning_rate", training.learning_rate != usual.learning_rate, !is_noam,
       "with training.schedule: noam; set training.schedule to another one, or use training.learning_rate_scale"},
      {"training.learning_rate_scale", training.learning_rate_scale != usual.learning_rate_scale, is_noam,
       "without training.schedule: noam; use training.learning_rate"},
      {"training.min_learning_rate", training.min_learning_rate != usual.min_learning_rate,
       has_floor(training.schedule), "without training.schedule: cosine or linear"},
      {"training.consistency_weight", training.consistency_weight != usual.consistency_weight,
       training.consistency != Consistency::none, "without training.consistency: r_drop or simcut"},
      {"training.cut_probability", training.cut_probability != usual.cut_probability,
       training.consistency == Consistency::simcut, "without training.consistency: simcut"},
      {"training.guided_layer", training.guided_layer != usual.guided_layer, is_guided,
       "without training.guided_alignment"},
      {"training.guided_head", training.guided_head != usual.guided_head, is_guided,
       "without training.guided_alignment"},
      {"data.language_temperature", data.language_temperature != DataOptions().language_temperature,
       !data.train_languages.empty(), "without data.train_languages"},
      {"data.train_alignments", !data.train_alignments.empty(), is_guided, "without training.guided_alignment"},
      {"validation.metric", is_of_translations, validation.max_sentences > 0,
       "with validation.max_sentences: 0, which translates nothing; the loss decides"},
      {"validation.beam_size", validation.beam_size != usual_validation.beam_size, translates, nothing_translated},
      {"validation.length_alpha", validation.length_alpha != usual_validation.length_alpha, translates,
       nothing_translated},
      {"model.max_positions", network.max_positions != usual_network.max_positions, !is_sinusoidal || is_given,
       "without model.positional_encoding: learned; sinusoids have no limit"},
      {"model.position_layout", network.sinusoids.layout != usual_network.sinusoids.layout, is_sinusoidal || is_given,
       "with model.positional_encoding: learned"},
      {"model.position_frequencies", network.sinusoids.frequencies != usual_network.sinusoids.frequencies,
       is_sinusoidal || is_given, "with model.positional_encoding: learned"},
      {"model.first_position", network.sinusoids.first_position != usual_network.sinusoids.first_position,
       is_sinusoidal || is_given, "with model.positional_encoding: learned"},
  };
  std::vector<std::string> unused;
  for (const Value& value : values)
    if (value.differs && !value.is_used) unused.push_back(fmt::format("{} has no effect {}", value.key, value.cause));
  return unused;
}

}  // namespace v0
}  // namespace transmute
