// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/fixed_step.h>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/cuda.h>

#include <map>
#include <memory>
#include <mutex>

namespace transmute {
inline namespace v0 {

namespace {

// The stream of every recording on a device: cuBLAS keeps memory for each stream that it has seen.
c10::cuda::CUDAStream recording_stream(c10::DeviceIndex device) {
  static std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;
  return streams.try_emplace(device, c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)).first->second;
}

void end_recording(at::cuda::CUDAGraph& graph) {
  try {
    graph.capture_end();
  } catch (const c10::Error&) {  // the recording had failed
  }
}

}  // namespace

std::function<void()> record_cuda_graph(const std::function<void()>& body, torch::Device device) {
  if (!device.is_cuda()) return {};
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const c10::cuda::CUDAStreamGuard on_stream(recording_stream(device.index()));
  torch::cuda::synchronize(device.index());
  body();  // what the libraries prepare for their first call cannot be recorded
  torch::cuda::synchronize(device.index());
  const auto graph = std::make_shared<at::cuda::CUDAGraph>();
  graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    body();
  } catch (...) {
    end_recording(*graph);
    throw;
  }
  graph->capture_end();
  return [graph] { graph->replay(); };
}

}  // namespace v0
}  // namespace transmute
