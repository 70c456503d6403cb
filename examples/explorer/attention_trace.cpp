// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/explorer/attention_trace.h>

#include <transmute/libtorch/libtorch.h>

#include <cmath>
#include <cstdlib>

namespace transmute {
inline namespace v0 {

namespace {

torch::Tensor row_of(const Ids& ids, torch::Device device) {
  return torch::tensor(ids, torch::kLong).unsqueeze(0).to(device);  // [1,L]
}

std::vector<torch::Tensor> of_one_sentence(const std::vector<torch::Tensor>& layers) {
  std::vector<torch::Tensor> heads;
  for (const auto& weights : layers)
    heads.push_back(weights.squeeze(0).to(torch::kCPU, torch::kFloat).contiguous());  // [1,H,T,S] -> [H,T,S]
  return heads;
}

double surprise(double probability) {
  return probability > 0 ? -probability * std::log2(probability) : 0.0;
}

}  // namespace

AttentionTrace trace_attention(Transformer transformer, const Ids& source, const Ids& target) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = transformer->parameters().front().device();
  AttentionTrace trace;
  trace.source = source;
  trace.source.push_back(special_ids::kEnd);
  trace.target_in = target;
  trace.target_in.insert(trace.target_in.begin(), special_ids::kBegin);
  trace.target_out = target;
  trace.target_out.push_back(special_ids::kEnd);

  const EncodedSource encoded = transformer->encode(row_of(trace.source, device), ReturnWeights::yes);
  const DecoderOutput decoded = transformer->decode(row_of(trace.target_in, device), encoded, ReturnWeights::yes);
  trace.encoder = of_one_sentence(encoded.self_weights);
  trace.decoder = of_one_sentence(decoded.self_weights);
  trace.cross = of_one_sentence(decoded.cross_weights);
  if (transformer->options.source_begin) trace.source.insert(trace.source.begin(), special_ids::kBegin);

  const torch::Tensor probabilities = torch::softmax(transformer->project(decoded.states).to(torch::kDouble), -1);
  const torch::Tensor chosen = probabilities.gather(2, row_of(trace.target_out, device).unsqueeze(2));  // [1,T,1]
  const torch::Tensor flat = chosen.flatten().to(torch::kCPU).contiguous();
  trace.probabilities.assign(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  return trace;
}

HeadStatistics head_statistics(const torch::Tensor& weights) {
  const auto weight = weights.accessor<float, 2>();
  HeadStatistics sums;
  for (int64_t t = 0; t < weight.size(0); ++t) {
    for (int64_t s = 0; s < weight.size(1); ++s) {
      sums.entropy += surprise(weight[t][s]);
      sums.distance += static_cast<double>(std::abs(t - s)) * weight[t][s];
      if (s == t) sums.diagonal += weight[t][s];
    }
  }
  const auto queries = static_cast<double>(weight.size(0));
  return {sums.entropy / queries, sums.distance / queries, sums.diagonal / queries};
}

double head_divergence(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor left = a.contiguous();
  const torch::Tensor right = b.contiguous();
  const float* p = left.data_ptr<float>();
  const float* q = right.data_ptr<float>();
  double sum = 0;
  for (int64_t i = 0; i < left.numel(); ++i) {
    const double mean = (static_cast<double>(p[i]) + q[i]) / 2;
    sum += surprise(mean) - (surprise(p[i]) + surprise(q[i])) / 2;
  }
  return sum / static_cast<double>(left.size(0));
}

}  // namespace v0
}  // namespace transmute
