// SPDX-License-Identifier: Apache-2.0
// translate_ids FOLDER SOURCES: greedy search with the packages of export.py, without Python. Lines of SOURCES are ids;
// lines of ids come out.

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

constexpr int64_t kPad = 0, kUnknown = 1, kBegin = 2, kEnd = 3, kExtraLength = 50;
using Ids = std::vector<int64_t>;

Ids greedy(torch::inductor::AOTIModelPackageLoader& encoder, torch::inductor::AOTIModelPackageLoader& step,
           Ids source) {
  const int64_t most = static_cast<int64_t>(source.size()) + kExtraLength;
  source.push_back(kEnd);
  // The graphs are for batches of two and more.
  const torch::Tensor rows = torch::tensor(source).unsqueeze(0).repeat({2, 1});
  const std::vector<torch::Tensor> memory = encoder.run({rows});
  std::vector<int64_t> shape = memory[0].sizes().vec();  // [N,B,H,S,K]
  shape[3] = most + 1;
  torch::Tensor keys = torch::zeros(shape), values = torch::zeros(shape),
                token = torch::full({2}, kBegin, torch::kLong);
  Ids found;
  for (int64_t position = 0; position < most; ++position) {
    const auto next = step.run({token, torch::tensor(position), keys, values, memory[0], memory[1], memory[2]});
    torch::Tensor logits = next[0];
    for (const int64_t never : {kPad, kUnknown, kBegin})
      logits.select(1, never).fill_(-std::numeric_limits<float>::infinity());
    token = logits.argmax(1);
    if (token[0].item<int64_t>() == kEnd) break;
    found.push_back(token[0].item<int64_t>());
    keys = next[1];
    values = next[2];
  }
  return found;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: translate_ids FOLDER SOURCES\n";
    return 2;
  }
  const torch::NoGradGuard no_grad;
  const std::string folder = argv[1];
  torch::inductor::AOTIModelPackageLoader encoder(folder + "/encoder.pt2"), step(folder + "/step.pt2");
  std::ifstream sources(argv[2]);
  for (std::string line; std::getline(sources, line);) {
    std::istringstream words(line);
    Ids source;
    for (int64_t id; words >> id;) source.push_back(id);
    std::string text;
    for (const int64_t id : greedy(encoder, step, source)) text += (text.empty() ? "" : " ") + std::to_string(id);
    std::cout << text << '\n';
  }
  return 0;
}
