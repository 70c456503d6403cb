// SPDX-License-Identifier: Apache-2.0
#include <transmute/export/script_transformer.h>

#include <transmute/export/compiler.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tokenizer/special_ids.h>

#include <unordered_map>

namespace transmute {
inline namespace v0 {
namespace torchscript {

namespace {

using torch::jit::Module;

// The classes in this folder's files whose methods modules get.

std::string class_of(ScoreFunction function) {
  switch (function) {
    case ScoreFunction::scaled_dot_product:
      return "attention.ScaledDotProductScore";
    case ScoreFunction::dot_product:
      return "attention.DotProductScore";
    case ScoreFunction::additive:
      return "attention.AdditiveScore";
    case ScoreFunction::bilinear:
      return "attention.BilinearScore";
    case ScoreFunction::uniform:
      break;
  }
  return "attention.UniformScore";
}

std::string class_of(NormPosition position) {
  switch (position) {
    case NormPosition::pre:
      return "layers.PreNorm";
    case NormPosition::deep:
      return "layers.DeepNorm";
    case NormPosition::post:
      break;
  }
  return "layers.PostNorm";
}

std::string class_of(PositionalEncodingKind kind) {
  return kind == PositionalEncodingKind::learned ? "positions.LearnedPositions" : "positions.SinusoidalPositions";
}

std::string class_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "layers.FeedForward";
    case Activation::swish:
      return "layers.SwishFeedForward";
    case Activation::gelu:
      return "layers.GeluFeedForward";
    case Activation::gelu_tanh:
      return "layers.GeluTanhFeedForward";
    case Activation::gelu_sigmoid:
      break;
  }
  return "layers.GeluSigmoidFeedForward";
}

std::string class_of(EmbeddingTying tying) {
  switch (tying) {
    case EmbeddingTying::all:
      return "transformer.OneEmbedding";
    case EmbeddingTying::target_output:
      return "transformer.TargetEmbeddingAsOutput";
    case EmbeddingTying::none:
      break;
  }
  return "transformer.SeparateEmbeddings";
}

void set(Module& module, const char* name, double value) {
  module.register_attribute(name, c10::FloatType::get(), value);
}

void set(Module& module, const char* name, int64_t value) {
  module.register_attribute(name, c10::IntType::get(), value);
}

// Walks the tree of modules; `path` is where in the C++ module the parameters are.
class Converter {
 public:
  Converter(const Transformer& transformer, torch::Dtype dtype, const SubwordModel* target)
      : options_(transformer->options), excluded_({options_.padding_id, special_ids::kUnknown, special_ids::kBegin}) {
    if (target != nullptr) {
      for (const int64_t id : target->line_breaks()) excluded_.push_back(id);
      needs_language_ = target->languages() == LanguagePieces::both_sides;
    }
    for (const auto& item : transformer->named_parameters())
      tensors_[item.key()] = item.value().detach().to(torch::kCPU, dtype);
    for (const auto& item : transformer->named_buffers())
      tensors_[item.key()] = item.value().detach().to(torch::kCPU, dtype);
  }

  /// With the methods of language_model.py and generation.py.
  Module language_model() {
    return compiler_.make("LanguageModel", {"language_model.LanguageModel", "generation.Generation"},
                          [&](Module& module) {
                            module.register_module("embedding", with_weight("Embedding", "embedding"));
                            if (options_.embedding_tying == EmbeddingTying::none)
                              module.register_module("output", output());
                            module.register_module("target_positions", positions("target_positions"));
                            fill_switches(module);
                            module.register_module("decoder", decoder("decoder_only.DecoderOnly"));
                            set(module, "embedding_scale", embedding_scale(options_));
                            set(module, "vocab_size", options_.target_vocab_size);
                            set_special_ids(module);
                          });
  }

  /// With the methods of transformer.py, search.py and forward.py.
  Module transformer(const std::optional<TorchScriptSearch>& forward_search) {
    return compiler_.make("Transformer",
                          {class_of(options_.embedding_tying), "transformer.Transformer", "search.Search",
                           forward_search ? "forward.Translation" : "forward.TeacherForcing"},
                          [&](Module& module) {
                            if (options_.embedding_tying == EmbeddingTying::all) {
                              module.register_module("embedding", with_weight("Embedding", "embedding"));
                            } else {
                              module.register_module("source_embedding", with_weight("Embedding", "source_embedding"));
                              module.register_module("target_embedding", with_weight("Embedding", "target_embedding"));
                            }
                            if (options_.embedding_tying == EmbeddingTying::none)
                              module.register_module("output", output());
                            module.register_module("source_positions", positions("source_positions"));
                            module.register_module("target_positions", positions("target_positions"));
                            fill_switches(module);
                            module.register_module("encoder", encoder("encoder"));
                            module.register_module("decoder", decoder("decoder.Decoder"));
                            set(module, "embedding_scale", embedding_scale(options_));
                            set(module, "source_vocab_size", options_.source_vocab_size);
                            set(module, "reads_source_begin", options_.source_begin ? int64_t{1} : int64_t{0});
                            set(module, "reads_source_end", options_.source_end ? int64_t{1} : int64_t{0});
                            set(module, "needs_language", needs_language_ ? int64_t{1} : int64_t{0});
                            if (forward_search) {
                              set(module, "forward_beam_size", forward_search->beam_size);
                              set(module, "forward_length_alpha", forward_search->length_alpha);
                              set(module, "forward_max_extra_length", forward_search->max_extra_length);
                            }
                            set_special_ids(module);
                          });
  }

 private:
  void set_special_ids(Module& module) const {
    set(module, "padding_id", options_.padding_id);
    set(module, "unknown_id", special_ids::kUnknown);
    set(module, "begin_id", special_ids::kBegin);
    set(module, "end_id", special_ids::kEnd);
    module.register_attribute("excluded_ids", c10::ListType::ofInts(), excluded_);
  }

  // Registers path.name where the C++ module has it.
  bool add_tensor(Module& module, const std::string& path, const char* name, bool is_buffer = false) {
    const auto found = tensors_.find(path + "." + name);
    if (found == tensors_.end()) return false;
    module.register_parameter(name, found->second, is_buffer);
    return true;
  }

  Module with_weight(const char* name, const std::string& path) {
    return compiler_.make(name, {std::string("layers.") + name},
                          [&](Module& module) { add_tensor(module, path, "weight"); });
  }

  // The matrix of an untied output. Its bias is the whole model's.
  Module output() { return with_weight("Projection", "output"); }

  // Adds the parts that a Transformer or a LanguageModel has only with some options.
  void fill_switches(Module& module) {
    for (const char* name : {"source_embedding_norm", "target_embedding_norm"})
      if (tensors_.count(std::string(name) + ".weight") > 0) module.register_module(name, norm(name));
    if (options_.output_bias) module.register_parameter("output_bias", tensors_.at("output_bias"), false);
  }

  Module linear(const std::string& path) {
    return compiler_.make("Linear", {"layers.Linear"}, [&](Module& module) {
      add_tensor(module, path, "weight");
      add_tensor(module, path, "bias");
    });
  }

  void fill_norm(Module& module, const std::string& path) {
    add_tensor(module, path, "weight");
    add_tensor(module, path, "bias");
    set(module, "epsilon", options_.norm_epsilon);
  }

  Module norm(const std::string& path) {
    return compiler_.make("LayerNorm", {"layers.LayerNorm"}, [&](Module& module) { fill_norm(module, path); });
  }

  Module residual_norm(const std::string& path, Stack stack) {
    return compiler_.make("ResidualNorm", {class_of(options_.norm_position)}, [&](Module& module) {
      fill_norm(module, path);
      if (options_.norm_position == NormPosition::deep) set(module, "scale", residual_scale(options_, stack));
    });
  }

  Module positions(const std::string& path) {
    return compiler_.make("PositionalEncoding", {class_of(options_.positional_encoding)}, [&](Module& module) {
      if (add_tensor(module, path, "weight")) return;
      add_tensor(module, path, "sinusoids", /*is_buffer=*/true);
      const Sinusoids& sinusoids = options_.sinusoids;
      const int64_t pairs = options_.d_model / 2;
      const bool reaches_last = sinusoids.frequencies == PositionFrequencies::tensor2tensor;
      set(module, "frequency_span", static_cast<double>(reaches_last ? pairs - 1 : pairs));
      set(module, "first_position", sinusoids.first_position);
      set(module, "interleaved", sinusoids.layout == PositionLayout::interleaved ? int64_t{1} : int64_t{0});
    });
  }

  Module attention(const std::string& path) {
    return compiler_.make("MultiHeadAttention", {"attention.MultiHeadAttention"}, [&](Module& module) {
      for (const char* projection : {"query", "key", "value", "output"})
        module.register_module(projection, options_.attention_bias
                                               ? linear(path + "." + projection)
                                               : with_weight("Projection", path + "." + projection));
      module.register_module("pooling", pooling(path + ".pooling"));
      set(module, "num_heads", options_.num_heads);
    });
  }

  Module pooling(const std::string& path) {
    return compiler_.make("AttentionPooling", {"attention.AttentionPooling"}, [&](Module& module) {
      const auto fill = [&](Module& score) {
        for (const char* name : {"query_weight", "key_weight", "score_weight", "weight"})
          add_tensor(score, path + ".score", name);
        set(score, "scale", score_scale(ScoreFunction::scaled_dot_product, options_.d_k));
      };
      module.register_module("score", compiler_.make("AttentionScore", {class_of(options_.score_function)}, fill));
    });
  }

  Module ssru(const std::string& path) {
    return compiler_.make("Ssru", {"layers.Ssru"}, [&](Module& module) {
      module.register_module("input", with_weight("Projection", path + ".input"));
      module.register_module("forget", linear(path + ".forget"));
    });
  }

  Module feed_forward(const std::string& path) {
    return compiler_.make("FeedForward", {class_of(options_.activation)}, [&](Module& module) {
      module.register_module("inner", linear(path + ".inner"));
      module.register_module("outer", linear(path + ".outer"));
    });
  }

  Module encoder_layer(const std::string& path) {
    return compiler_.make("EncoderLayer", {"encoder.EncoderLayer"}, [&](Module& module) {
      module.register_module("self_attention", attention(path + ".self_attention"));
      module.register_module("feed_forward", feed_forward(path + ".feed_forward"));
      for (const char* name : {"self_attention_norm", "feed_forward_norm"})
        module.register_module(name, residual_norm(path + "." + name, Stack::encoder));
    });
  }

  Module decoder_layer(const std::string& path) {
    const bool decoder_only = options_.architecture == Architecture::decoder_only;
    const bool is_ssru = options_.decoder_self_attention == DecoderSelfAttention::ssru;
    std::vector<std::string> classes{is_ssru ? "decoder.RecurrentUnit" : "decoder.MaskedSelfAttention",
                                     "decoder.DecoderLayer"};
    if (decoder_only) classes = {"encoder.EncoderLayer", "decoder_only.DecoderOnlyLayer"};
    return compiler_.make("DecoderLayer", classes, [&](Module& module) {
      if (is_ssru)
        module.register_module("ssru", ssru(path + ".ssru"));
      else
        module.register_module("self_attention", attention(path + ".self_attention"));
      if (!decoder_only) module.register_module("cross_attention", attention(path + ".cross_attention"));
      module.register_module("feed_forward", feed_forward(path + ".feed_forward"));
      module.register_module("self_attention_norm", residual_norm(path + ".self_attention_norm", Stack::decoder));
      if (!decoder_only)
        module.register_module("cross_attention_norm", residual_norm(path + ".cross_attention_norm", Stack::decoder));
      module.register_module("feed_forward_norm", residual_norm(path + ".feed_forward_norm", Stack::decoder));
    });
  }

  template <class MakeLayer>
  Module stack(const char* name, const char* methods, const std::string& path, int64_t num_layers,
               const MakeLayer& make_layer) {
    return compiler_.make(name, {methods}, [&](Module& module) {
      module.register_module("layers", compiler_.make(std::string(name) + "Layers", {}, [&](Module& list) {
        for (int64_t i = 0; i < num_layers; ++i)
          list.register_module(std::to_string(i), make_layer(path + ".layers." + std::to_string(i)));
      }));
      if (options_.norm_position == NormPosition::pre) module.register_module("norm", norm(path + ".norm"));
    });
  }

  Module encoder(const std::string& path) {
    return stack("Encoder", "encoder.Encoder", path, options_.num_encoder_layers,
                 [&](const std::string& layer) { return encoder_layer(layer); });
  }

  Module decoder(const char* methods) {
    return stack("Decoder", methods, "decoder", options_.num_decoder_layers,
                 [&](const std::string& layer) { return decoder_layer(layer); });
  }

  const TransformerOptions options_;
  c10::List<int64_t> excluded_;  // tokens that are never chosen
  bool needs_language_ = false;  // the decoder, before its first token
  std::unordered_map<std::string, torch::Tensor> tensors_;
  Compiler compiler_;
};

}  // namespace

Module script_transformer(const Transformer& transformer, torch::Dtype dtype, const SubwordModel* target,
                          const std::optional<TorchScriptSearch>& forward_search) {
  Converter converter(transformer, dtype, target);
  return transformer->options.architecture == Architecture::decoder_only ? converter.language_model()
                                                                         : converter.transformer(forward_search);
}

}  // namespace torchscript
}  // namespace v0
}  // namespace transmute
