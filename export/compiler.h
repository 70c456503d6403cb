// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace torchscript {

/// Content of a file of this folder, `name` without ".py"; compiled in.
/// @throws std::logic_error if there is none.
const std::string& source(const std::string& name);

/// Makes TorchScript modules of the classes in this folder's files. LibTorch's own Module::define knows neither named
/// tuples nor loops over lists of modules; this one does.
class Compiler {
 public:
  Compiler();
  ~Compiler();

  /// An instance of the class `name`, whose methods are those of `classes`, each named with its file:
  /// "layers.FeedForward". `fill` registers what the instance has: parameters, sub-modules, attributes. Instances of
  /// one name share their methods, compiled once.
  torch::jit::Module make(const std::string& name, const std::vector<std::string>& classes,
                          const std::function<void(torch::jit::Module&)>& fill);

 private:
  class Names;

  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::shared_ptr<Names> names_;
  std::map<std::string, c10::ClassTypePtr> classes_;
};

}  // namespace torchscript
}  // namespace v0
}  // namespace transmute
