// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/fmt/fmt.h>
#include <transmute/formats/foreign/vocabulary.h>
#include <transmute/formats/model_folder.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Refuses the tensors of a file that the network does not use, if there are any: a configuration that leaves layers
/// out would translate badly without a word.
/// @throws std::runtime_error naming one of them
void refuse_leftovers(const std::string& path, std::vector<std::string> names);

/// Tensors of another program's file by name, which are checked as they are taken.
class TensorTable {
 public:
  /// @param path what messages call the file
  TensorTable(const NamedArrays& tensors, std::string path);

  bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  /// Size of its first dimension; 0 if there is no such tensor.
  int64_t rows_of(const std::string& name) const;
  /// The first of the names that there is. @throws std::runtime_error if there is none.
  const std::string& first_of(const std::vector<std::string>& names) const;
  /// True if the two tensors have the same type, shape and bits; both must exist.
  bool are_equal(const std::string& one, const std::string& other) const;
  /// Takes it as float32. @throws std::runtime_error naming file and tensor, if there is none or its shape is
  /// another.
  Array take(const std::string& name, const std::vector<int64_t>& shape);
  /// The same for an int8 matrix, as it is.
  Array take_int8(const std::string& name, const std::vector<int64_t>& shape);
  /// The same for a matrix whose size is to be found out. @throws if it has not two dimensions of at least 1.
  Array take_matrix(const std::string& name);

  /// Calls refuse_leftovers() for the tensors that were not taken, except those that `is_harmless` knows.
  void check_all_taken(const std::function<bool(const std::string&)>& is_harmless) const;

  const std::string& path() const { return path_; }

 private:
  Array in_float(const std::string& name);

  std::unordered_map<std::string, Array> tensors_;
  std::unordered_set<std::string> taken_;
  std::string path_;
};

/// Embeddings of one side, in the other program's numbers.
struct ForeignTable {
  Array weight;  // [V,D], float32 or int8
  Renumbering renumbering;
  float scale = 1;  // of an int8 one
};

/// A model of another program in our terms, as it is put together. Weights are float32.
struct ForeignModel {
  TransformerOptions options;  ///< but for the vocabulary sizes
  std::shared_ptr<const SubwordModel> source, target;
  SearchOptions search;  ///< what its files recommend
  NamedArrays weights;   ///< under our names
  std::string path;      ///< what messages call it

  /// Bounds what the weights take together by the bytes of their file, which may name one tensor many times.
  void bound_by(uint64_t file_bytes);
  /// @throws std::runtime_error if the weights become far larger than their file.
  void add(const std::string& name, const Array& weight);

  /// An int8 matrix, all of whose rows have one scale.
  void add_int8(const std::string& name, const Array& matrix, float scale);

  /// The embedding matrices that options.embedding_tying wants, and the output's bias [V]. `output_weight` is used
  /// where the output is not tied, and `bias` may be undefined.
  void add_tables(const ForeignTable& source_table, const ForeignTable& target_table, const Array& output_weight,
                  const Array& bias);

 private:
  void add_table(const std::string& name, const ForeignTable& table);

  uint64_t taken_bytes_ = 0, most_bytes_ = std::numeric_limits<uint64_t>::max();
};

/// A number of the search that a model's files recommend.
/// @param name of the setting, with the file: "decoder.yml: beam-size"
/// @throws std::runtime_error if the value, written as `text`, is not within the bounds
template <class T>
T within(const Bounds<T>& bounds, double value, const std::string& name, const std::string& text) {
  if (value >= static_cast<double>(bounds.low) && value <= static_cast<double>(bounds.high))
    return static_cast<T>(value);
  throw std::runtime_error(
      fmt::format("{} is \"{}\", not a number from {} to {}", name, text, bounds.low, bounds.high));
}

/// Rows of `matrix` [V,…] in our order; zeros where the other program has none.
Array renumbered(const Array& matrix, const Renumbering& renumbering);

/// The model, once it has all of its weights.
/// @throws std::runtime_error if weights do not fit the options, naming them
LoadedModel make_loaded_model(const ForeignModel& model);

}  // namespace formats
}  // namespace v0
}  // namespace transmute
