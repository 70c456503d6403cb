// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/precision.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::string precision_name(Precision precision) {
  switch (precision) {
    case Precision::float32:
      return "float32";
    case Precision::bfloat16:
      return "bfloat16";
    case Precision::int8:
      return "int8";
    case Precision::half:
      return "half";
  }
  throw std::invalid_argument("precision_name: no such precision");
}

Precision precision_from_name(const std::string& name) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8, Precision::half})
    if (name == precision_name(precision)) return precision;
  throw std::invalid_argument("precision \"" + name + "\" is not one of float32, bfloat16, int8 and half");
}

}  // namespace v0
}  // namespace transmute
