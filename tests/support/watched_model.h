// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/step_model.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace transmute::testing {

// A model whose predictions are seen, and may be changed.
class WatchedModel : public StepModel {
 public:
  struct Step {
    const Ids& ids;  // [B,N·T]
    int64_t positions;
    int64_t sentences;
    int64_t length;  // tokens before the step
    AttentionChoice attention;
  };
  using Watch = std::function<void(NextToken& next, const Step& step)>;

  // `inner` must outlive it.
  WatchedModel(const StepModel& inner, Watch watch) : inner_(inner), watch_(std::move(watch)) {}

  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                       const std::vector<Ids>& shortlists) const override {
    return std::make_unique<Batch>(*this, inner_.start(sources, attention, shortlists), sources.size(), attention);
  }

 private:
  class Batch : public DecodingBatch {
   public:
    Batch(const WatchedModel& model, std::unique_ptr<DecodingBatch> inner, size_t sentences, AttentionChoice attention)
        : model_(model), inner_(std::move(inner)), sentences_(static_cast<int64_t>(sentences)), attention_(attention) {}
    NextToken step(const Ids& ids, int64_t positions) override {
      NextToken next = inner_->step(ids, positions);
      model_.watch_(next, {ids, positions, sentences_, length_, attention_});
      length_ += positions;
      return next;
    }
    void select(const std::vector<int64_t>& sentences, const std::vector<int64_t>& parents) override {
      inner_->select(sentences, parents);
      sentences_ = static_cast<int64_t>(sentences.size());
    }

   private:
    const WatchedModel& model_;
    std::unique_ptr<DecodingBatch> inner_;
    int64_t sentences_, length_ = 0;
    AttentionChoice attention_;
  };

  const StepModel& inner_;
  Watch watch_;
};

}  // namespace transmute::testing
