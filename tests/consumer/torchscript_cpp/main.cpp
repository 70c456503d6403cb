// SPDX-License-Identifier: Apache-2.0
// translate_ids MODEL.pt [BEAM_SIZE [BATCH_SIZE [freeze]]]
// Reads one sentence a line from standard input, as token ids, and writes the ids of its translation.

#include <ATen/Parallel.h>
#include <torch/script.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: translate_ids MODEL.pt [BEAM_SIZE [BATCH_SIZE [freeze]]]\n";
    return 2;
  }
  const int64_t beam_size = argc > 2 ? std::atoll(argv[2]) : 4;
  const int64_t batch_size = argc > 3 ? std::atoll(argv[3]) : 64;
  try {
    at::set_num_threads(1);
    const torch::NoGradGuard no_grad;
    torch::jit::Module model = torch::jit::load(argv[1]);
    if (argc > 4) model = torch::jit::freeze(model, std::vector<std::string>{"translate"});

    c10::List<c10::List<int64_t>> warm_up;  // LibTorch observes the first call and compiles at the second
    warm_up.push_back(c10::List<int64_t>({3}));
    for (int call = 0; call < 2; ++call) model.get_method("translate")({warm_up}, {{"max_extra_length", 1}});

    c10::List<c10::List<int64_t>> sources;
    for (std::string line; std::getline(std::cin, line);) {
      c10::List<int64_t> ids;
      std::istringstream words(line);
      for (int64_t id = 0; words >> id;) ids.push_back(id);
      sources.push_back(ids);
    }
    const c10::IValue found =
        model.get_method("translate")({sources}, {{"beam_size", beam_size}, {"batch_size", batch_size}});
    for (const c10::IValue& hypotheses : found.toListRef()) {
      const c10::IValue& best = hypotheses.toListRef().front();
      const char* space = "";
      for (const int64_t id : best.toTupleRef().elements()[0].toIntVector()) {
        std::cout << space << id;
        space = " ";
      }
      std::cout << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << "translate_ids: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
