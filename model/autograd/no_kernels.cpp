// SPDX-License-Identifier: Apache-2.0
// Takes the place of the GPU kernels if LibTorch is built without CUDA: run_on, takes_rows and can_attend say that
// there are none, so nothing else is called.
#include <transmute/model/autograd/device_tensors.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

namespace {
[[noreturn]] void none() {
  throw std::logic_error("this build has no kernels for GPUs");
}
}  // namespace

bool run_on(torch::Device) {
  return false;
}
std::string pci_address(torch::Device) {
  none();
}
bool takes_rows(const torch::Tensor&) {
  return false;
}
bool can_attend(int64_t, int64_t, int64_t) {
  return false;
}
Element element_of(const torch::Tensor&) {
  none();
}
Stream current_stream() {
  none();
}
void norm_forward(const Norm&, void*, float*, float*, Stream) {
  none();
}
int64_t norm_scratch(int64_t, int64_t) {
  none();
}
void norm_backward(const Norm&, const void*, const float*, const float*, void*, void*, float*, float*, Stream) {
  none();
}
void sum_forward(const Sum&, void*, Stream) {
  none();
}
void sum_backward(const SumGradient&, void*, float*, float*, Stream) {
  none();
}
int64_t sum_scratch(int64_t, int64_t) {
  none();
}
void embed_forward(const Embed&, void*, Stream) {
  none();
}
void loss_rows(const Loss&, void*, float*, Stream) {
  none();
}
void consistent_loss_rows(const ConsistentLoss&, void*, float*, float*, Stream) {
  none();
}
void attention_forward(const Heads&, const void*, const void*, const void*, void*, float*, Stream) {
  none();
}
void attention_backward(const Heads&, const void*, const void*, const void*, const void*, const float*, void*, void*,
                        void*, Stream) {
  none();
}
void gradient_norms(const Trained*, int64_t, float*, float*, Stream) {
  none();
}
int64_t adam_scratch(const Trained*, int64_t) {
  none();
}
void adam_update(const Trained*, int64_t, const AdamUpdate&, Stream) {
  none();
}

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute
