// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/array.h>
#include <transmute/network/options.h>
#include <transmute/network/precision.h>

#include <string>
#include <unordered_map>
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
/// The suffix that makes the name of an embedding that of the int8 matrix by which states are multiplied in its place.
constexpr const char* kInt8Suffix = "_int8";

/// The parameters of a network, each as it was stored: real numbers of any type, or a matrix [outputs,inputs] of int8
/// with float32 scales [outputs], one for each row. Copies share the numbers.
///
/// The numbers of an int8 matrix lie row by row or in panels (int8_panels.h). Where the output's matrix is an
/// embedding, which stays float32, weights that are stored in int8 hold it once more under its name and kInt8Suffix.
class TRANSMUTE_API Weights {
 public:
  Weights() = default;
  /// `arrays`: one for each parameter, in any order; each int8 matrix comes with its scales under its name and
  /// kScaleSuffix, and an embedding may come with its int8 matrix. `path` names their file in messages.
  /// @throws std::runtime_error naming the first array that is missing, or does not fit the network
  Weights(const TransformerOptions& options, const NamedArrays& arrays, const std::string& path);

  const TransformerOptions& options() const { return options_; }
  /// The type in which the matrices that multiply states are stored.
  Precision stored() const { return stored_; }

  bool has(const std::string& name) const { return parameters_.count(name) > 0; }
  bool is_int8(const std::string& name) const { return at(name).scales.defined(); }
  /// The parameter in float32, which shares memory if it is stored so.
  Array float32(const std::string& name) const;
  /// The parameter's numbers as they are stored.
  const Array& numbers(const std::string& name) const { return at(name).numbers; }
  /// The numbers of an int8 matrix row by row, copied if they lie in panels.
  Array int8_rows(const std::string& name) const;
  const Array& scales(const std::string& name) const { return at(name).scales; }  ///< undefined unless is_int8()
  const std::vector<int64_t>& shape(const std::string& name) const { return at(name).shape; }

  /// Lets go of a parameter's memory; its shape remains.
  void release(const std::string& name);

  /// All parameters: int8 matrices first, so that those whose products are computed as one adjoin each other in a file,
  /// then the others and the scales. Otherwise they come in the order of the network's modules.
  NamedArrays arrays() const;
  /// The same parameters with the matrices that multiply states in another type, int8 in panels. Embeddings, positions
  /// and vectors stay float32, because they are not multiplied.
  /// @throws std::runtime_error naming a matrix with numbers that are too large for the type
  Weights stored_as(Precision precision) const;

 private:
  struct Parameter {
    std::vector<int64_t> shape;
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
