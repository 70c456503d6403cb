// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/transformer_step_model.h>

#include <c10/core/InferenceMode.h>
#include <transmute/device/tensor_logits.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/plain_errors.h>
#include <transmute/libtorch/threading.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace transmute {
inline namespace v0 {

torch::Tensor padded_sources(const std::vector<Ids>& sources) {
  size_t longest = 0;
  for (const auto& source : sources) longest = std::max(longest, source.size());
  torch::Tensor ids = torch::full({static_cast<int64_t>(sources.size()), static_cast<int64_t>(longest) + 1},
                                  special_ids::kPad, torch::kLong);
  int64_t* row = ids.data_ptr<int64_t>();
  for (const auto& source : sources) {
    std::copy(source.begin(), source.end(), row);
    row[source.size()] = special_ids::kEnd;
    row += ids.size(1);
  }
  return ids;
}

namespace {

// 0, 1, 2, … .
std::vector<int64_t> counted_up(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int64_t> chosen(const std::vector<int64_t>& numbers, const std::vector<int64_t>& places) {
  std::vector<int64_t> found;
  for (const int64_t place : places) found.push_back(numbers.at(static_cast<size_t>(place)));
  return found;
}

bool have_one_length(const std::vector<Ids>& sources) {
  return std::all_of(sources.begin(), sources.end(),
                     [&](const Ids& source) { return source.size() == sources.front().size(); });
}

// The prediction of one of the transformers.
struct Prediction {
  torch::Tensor logits;     // [B,N,V] or [B,N,L] on the device
  torch::Tensor attention;  // float32 [B,N,S] on the CPU, if requested
};

// The sentences being decoded by one of the transformers.
class TransformerBatch {
 public:
  TransformerBatch(Transformer transformer, torch::Device device, const std::vector<Ids>& sources,
                   AttentionChoice attention, const std::vector<Ids>& shortlists)
      : transformer_(std::move(transformer)), attention_(attention) {
    const c10::InferenceMode inference;
    const torch::Tensor ids = transformer_->encoder
                                  ? padded_sources(sources)
                                  : torch::empty({static_cast<int64_t>(sources.size()), 0}, torch::kLong);
    EncodedSource encoded = transformer_->encode(on_device(ids, device));
    // A mask that hides nothing would be applied in each layer of each step.
    if (transformer_->options.source_end && have_one_length(sources)) encoded.mask = torch::Tensor();
    cache_ = transformer_->start_decoding(encoded);
    if (!shortlists.empty()) take(shortlists, device);
  }

  // ids: [B,N] on the device, or [B,T] for several positions.
  Prediction step(const torch::Tensor& ids, int64_t positions) {
    const ReturnWeights wanted = attention_.wanted ? ReturnWeights::yes : ReturnWeights::no;
    DecoderStep result =
        positions > 1 ? transformer_->extend(ids, cache_, wanted) : transformer_->step(ids, cache_, wanted);
    cache_ = std::move(result.cache);
    Prediction next{transformer_->project(result.states), {}};
    if (columns_.defined()) next.logits = shortlisted(next.logits);
    if (attention_.wanted) {
      const auto layer =
          attention_.layer > 0 ? static_cast<size_t>(attention_.layer) - 1 : result.cross_weights.size() - 1;
      torch::Tensor weights = result.cross_weights[layer];                    // [B,H,N,S]
      if (transformer_->options.source_begin) weights = weights.slice(3, 1);  // it is no token of the text
      next.attention = (attention_.head > 0 ? weights.select(1, attention_.head - 1) : weights.mean(1))
                           .to(torch::kCPU, torch::kFloat)
                           .contiguous();
    }
    return next;
  }

  // sentences: [B'] and parents: [B'·N'] on the device, as DecoderCache::select() takes them.
  void select(const torch::Tensor& sentences, const torch::Tensor& parents) {
    cache_ = cache_.select(sentences, parents);
    if (columns_.defined() && sentences.defined()) columns_ = columns_.index_select(0, sentences);
  }

 private:
  void take(const std::vector<Ids>& shortlists, torch::Device device) {
    const int64_t vocabulary = transformer_->options.target_vocab_size;
    size_t longest = 0;
    for (const Ids& shortlist : shortlists) {
      check_shortlist(shortlist, vocabulary);
      longest = std::max(longest, shortlist.size());
    }
    columns_ =
        torch::full({static_cast<int64_t>(shortlists.size()), static_cast<int64_t>(longest)}, kNoToken, torch::kLong);
    int64_t* row = columns_.data_ptr<int64_t>();
    for (const Ids& shortlist : shortlists) {
      std::copy(shortlist.begin(), shortlist.end(), row);
      row += longest;
    }
    columns_ = on_device(columns_, device);
  }

  // logits: [B,N,V]; result: [B,N,L].
  torch::Tensor shortlisted(const torch::Tensor& logits) const {
    const torch::Tensor columns = columns_.unsqueeze(1);  // [B,1,L]
    return logits.gather(2, columns.clamp_min(0).expand({-1, logits.size(1), -1}))
        .masked_fill(columns == kNoToken, -std::numeric_limits<float>::infinity());
  }

  static constexpr int64_t kNoToken = -1;  // beyond the end of a shortlist

  Transformer transformer_;
  AttentionChoice attention_;
  DecoderCache cache_;
  torch::Tensor columns_;  // [B,L]: the sentences' shortlists; undefined if there are none
};

// The log-probabilities of the mean of several models' probabilities, and the mean of their attention.
Prediction mean_of(const std::vector<Prediction>& all) {
  if (all.size() == 1) return all.front();
  std::vector<torch::Tensor> log_probs, attention;
  for (const Prediction& prediction : all) {
    log_probs.push_back(torch::log_softmax(prediction.logits, -1, torch::kFloat));
    if (prediction.attention.defined()) attention.push_back(prediction.attention);
  }
  return {torch::logsumexp(torch::stack(log_probs), {0}) - std::log(static_cast<double>(all.size())),
          attention.empty() ? torch::Tensor() : torch::stack(attention).mean(0)};
}

// The sentences being decoded by all of them, in LibTorch's inference mode, whose operations cost the host less than
// those without gradients. A selection waits for the next step: its numbers go to the device with that step's tokens,
// in one copy.
class DeviceBatch : public DecodingBatch {
 public:
  DeviceBatch(std::vector<TransformerBatch> members, size_t sentences, torch::Device device)
      : members_(std::move(members)), device_(device) {
    select_all(static_cast<int64_t>(sentences), static_cast<int64_t>(sentences));
  }

  NextToken step(const Ids& ids, int64_t positions) override {
    return with_plain_errors([&] {
      const c10::InferenceMode inference;
      const torch::Tensor tokens = with_selection(ids).view({static_cast<int64_t>(selected_sentences_.size()), -1});
      std::vector<Prediction> all;
      for (TransformerBatch& member : members_) all.push_back(member.step(tokens, positions));
      return next_token(mean_of(all), positions);
    });
  }

  void select(const std::vector<int64_t>& sentences, const std::vector<int64_t>& parents) override {
    selected_sentences_ = chosen(selected_sentences_, sentences);
    selected_rows_ = chosen(selected_rows_, parents);
  }

 private:
  // The ids on the device, for the sentences and hypotheses that were selected.
  torch::Tensor with_selection(const Ids& ids) {
    const bool all_stay = selected_sentences_ == counted_up(sentences_);
    const bool in_place = all_stay && selected_rows_ == counted_up(rows_);  // a greedy search's, for one
    Ids numbers = ids;
    if (!in_place) numbers.insert(numbers.end(), selected_rows_.begin(), selected_rows_.end());
    if (!all_stay) numbers.insert(numbers.end(), selected_sentences_.begin(), selected_sentences_.end());
    const torch::Tensor on_host = torch::empty({static_cast<int64_t>(numbers.size())}, torch::kLong);
    std::copy(numbers.begin(), numbers.end(), on_host.data_ptr<int64_t>());
    const torch::Tensor all = on_device(on_host, device_);
    const auto tokens = static_cast<int64_t>(ids.size()), rows = static_cast<int64_t>(selected_rows_.size());
    if (!in_place)
      for (TransformerBatch& member : members_)
        member.select(all_stay ? torch::Tensor() : all.slice(0, tokens + rows), all.slice(0, tokens, tokens + rows));
    select_all(static_cast<int64_t>(selected_sentences_.size()), rows);
    return all.slice(0, 0, tokens);
  }

  void select_all(int64_t sentences, int64_t rows) {
    sentences_ = sentences;
    rows_ = rows;
    selected_sentences_ = counted_up(sentences);
    selected_rows_ = counted_up(rows);
  }

  NextToken next_token(const Prediction& prediction, int64_t positions) {
    NextToken next;
    next.columns = prediction.logits.size(2);
    if (device_.is_cpu()) {
      next.logits = [logits = prediction.logits.to(torch::kFloat).contiguous(), columns = next.columns](int64_t row) {
        return logits.data_ptr<float>() + row * columns;
      };
    } else {
      next.on_device = std::make_shared<const TensorLogits>(prediction.logits, positions);
    }
    if (!prediction.attention.defined()) return next;
    const torch::Tensor attention = prediction.attention.contiguous();
    next.source_width = attention.size(2);
    next.attention.assign(attention.data_ptr<float>(), attention.data_ptr<float>() + attention.numel());
    return next;
  }

  std::vector<TransformerBatch> members_;
  torch::Device device_;
  int64_t sentences_ = 0, rows_ = 0;                         // of the last call
  std::vector<int64_t> selected_sentences_, selected_rows_;  // of these, for the next
};

}  // namespace

TransformerStepModel::TransformerStepModel(Transformer transformer, torch::Device device)
    : TransformerStepModel(std::vector<Transformer>{std::move(transformer)}, device) {}

TransformerStepModel::TransformerStepModel(std::vector<Transformer> transformers, torch::Device device)
    : transformers_(std::move(transformers)), device_(device) {}

void TransformerStepModel::check(AttentionChoice attention) const {
  for (const Transformer& transformer : transformers_) v0::check(attention, transformer->options);
}

std::unique_ptr<DecodingBatch> TransformerStepModel::start(const std::vector<Ids>& sources, AttentionChoice attention,
                                                           const std::vector<Ids>& shortlists) const {
  check(attention);
  if (device_.is_cpu()) run_operations_on_this_thread_only();
  return with_plain_errors([&] {
    std::vector<TransformerBatch> members;
    for (const Transformer& transformer : transformers_)
      members.emplace_back(transformer, device_, sources, attention, shortlists);
    return std::make_unique<DeviceBatch>(std::move(members), sources.size(), device_);
  });
}

std::vector<std::vector<float>> TransformerStepModel::encode(const std::vector<Ids>& sources) const {
  if (device_.is_cpu()) run_operations_on_this_thread_only();
  return with_plain_errors([&] {
    const c10::InferenceMode inference;
    Transformer transformer = transformers_.front();
    const torch::Tensor states = transformer->encode(on_device(padded_sources(sources), device_))
                                     .memory.slice(1, transformer->options.source_begin ? 1 : 0)
                                     .to(torch::kCPU, torch::kFloat)
                                     .contiguous();  // [B,S,D]
    std::vector<std::vector<float>> all;
    for (size_t b = 0; b < sources.size(); ++b) {
      const float* first = states.data_ptr<float>() + static_cast<int64_t>(b) * states.stride(0);
      all.emplace_back(first, first + (static_cast<int64_t>(sources[b].size()) + 1) * states.size(2));
    }
    return all;
  });
}

}  // namespace v0
}  // namespace transmute
