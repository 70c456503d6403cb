// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/types.h>

namespace transmute::testing {

/// While it lives, LibTorch makes tensors of this type where nobody says which, as in an application that asked for it.
class DefaultDtype {
 public:
  explicit DefaultDtype(torch::Dtype dtype) : before_(torch::get_default_dtype()) {
    torch::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtype() { torch::set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  const caffe2::TypeMeta before_;
};

/// The types that an application may ask for.
inline constexpr torch::Dtype kDefaultDtypes[] = {torch::kDouble, torch::kBFloat16, torch::kHalf};

}  // namespace transmute::testing
