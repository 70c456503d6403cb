// SPDX-License-Identifier: Apache-2.0
// The lower level, for those who use LibTorch themselves: modules MODEL TEXT prints the log-probability of the best
// translation as the search says, by teacher forcing and token by token, and its perplexity.

#include <torch/torch.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/formats/model_folder.h>
#include <transmute/model/module_weights.h>
#include <transmute/search/search.h>

#include <algorithm>
#include <cmath>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: modules MODEL TEXT\n";
    return 2;
  }
  const torch::NoGradGuard no_grad;
  const transmute::LoadedModel model = transmute::load_model_folder(argv[1]);
  transmute::Transformer network = transmute::make_transformer(model.weights, torch::kCPU);

  const transmute::Ids source = model.tokenizer.source().encode(argv[2]);
  const transmute::TransformerStepModel steps(network, torch::kCPU);
  const transmute::IdHypothesis best = transmute::beam_search(steps, {source}, {}).at(0).at(0);

  namespace ids = transmute::special_ids;
  transmute::Ids with_end = source, input{ids::kBegin}, output = best.ids;
  with_end.push_back(ids::kEnd);
  input.insert(input.end(), best.ids.begin(), best.ids.end());
  output.push_back(ids::kEnd);
  const auto row = [](const transmute::Ids& values) { return torch::tensor(values, torch::kLong).unsqueeze(0); };
  const torch::Tensor log_probs = torch::log_softmax(network->forward(row(with_end), row(input)), -1);  // [1,T,V]
  const double forced = log_probs.gather(2, row(output).unsqueeze(2)).sum().item<double>();

  // This is a search of one's own: two hypotheses, of which the second is continued twice.
  double in_steps = 0;
  transmute::DecoderCache cache = network->start_decoding(network->encode(row(with_end)));
  for (size_t i = 0; i < input.size(); ++i) {
    const transmute::DecoderStep step = network->step(torch::full({1, 2}, input[i], torch::kLong), cache);
    in_steps += torch::log_softmax(network->project(step.states), -1)[0][1][output[i]].item<double>();
    cache = step.cache.select({}, torch::tensor({1, 1}, torch::kLong));
  }

  std::cout << model.tokenizer.target().decode(best.ids) << '\n'
            << best.log_probability << ' ' << forced << ' ' << in_steps << '\n'
            << "perplexity " << std::exp(-forced / static_cast<double>(output.size())) << '\n';
  const double farthest = std::max(std::abs(forced - best.log_probability), std::abs(in_steps - best.log_probability));
  return farthest < 1e-3 ? 0 : 1;
}
