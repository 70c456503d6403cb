// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/array.h>
#include <transmute/network/options.h>
#include <transmute/network/precision.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A network's parameter.
struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// The parameters of a network, in the order of its modules and of its files.
TRANSMUTE_API std::vector<ParameterShape> parameter_shapes(const TransformerOptions& options);

/// The suffix that makes the name of an int8 matrix that of its scales.
constexpr const char* kScaleSuffix = "_scale";

/// The parameters of a network, each as it was stored: real numbers of any type, or a matrix [outputs,inputs] of int8
/// with float32 scales [outputs], one for each row. Copies share the numbers.
class TRANSMUTE_API Weights {
 public:
  Weights() = default;
  /// `arrays`: one for each parameter, in any order; each int8 matrix comes with its scales under its name and
  /// kScaleSuffix. `path` names their file in messages.
  /// @throws std::runtime_error naming the first array that is missing, or does not fit the network
  Weights(const TransformerOptions& options, const NamedArrays& arrays, const std::string& path);

  const TransformerOptions& options() const { return options_; }
  /// The type in which the matrices that multiply states are stored.
  Precision stored() const { return stored_; }

  bool is_int8(const std::string& name) const { return at(name).scales.defined(); }
  /// The parameter in float32, which shares memory if it is stored so.
  Array float32(const std::string& name) const;
  /// The parameter's numbers as they are stored.
  const Array& numbers(const std::string& name) const { return at(name).numbers; }
  const Array& scales(const std::string& name) const { return at(name).scales; }  ///< undefined unless is_int8()
  const std::vector<int64_t>& shape(const std::string& name) const { return at(name).numbers.shape(); }

  /// Lets go of a parameter's memory; its shape remains.
  void release(const std::string& name);

  /// All parameters in the order of the network's modules, each int8 matrix before its scales.
  NamedArrays arrays() const;
  /// The same parameters with the matrices that multiply states in another type. Embeddings, positions and vectors stay
  /// float32, because they are not multiplied.
  /// @throws std::runtime_error naming a matrix with numbers that are too large for the type
  Weights stored_as(Precision precision) const;

 private:
  struct Parameter {
    Array numbers, scales;
  };
  const Parameter& at(const std::string& name) const;

  TransformerOptions options_;
  std::vector<std::string> order_;
  std::unordered_map<std::string, Parameter> parameters_;
  Precision stored_ = Precision::float32;
};

}  // namespace v0
}  // namespace transmute
