// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/device_backend.h>

#include <dlfcn.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/build_info.h>
#include <transmute/common/files.h>

#include <filesystem>
#include <stdexcept>

/// The backend's own, where it is linked into this library or program (device/backend.cpp).
extern "C" __attribute__((weak)) const transmute::DeviceBackend* transmute_device_backend(const char* version);

namespace transmute {
inline namespace v0 {

namespace {

using BackendOfVersion = const DeviceBackend* (*)(const char* version);

constexpr const char* kLibrary = "libtransmute_torch.so." TRANSMUTE_SOVERSION;
constexpr const char* kFunction = "transmute_device_backend";

// LibTorch looks for its own parts among the symbols of the whole process.
constexpr int kHow = RTLD_NOW | RTLD_GLOBAL;

// The loader's word on a library that is there but cannot be loaded, which names it; of one that is not, it says that
// there is no such file.
bool is_missing(const std::string& error) {
  return begins_with(error, kLibrary) && error.find("cannot open shared object file") != std::string::npos;
}

const DeviceBackend* load() {
  if (transmute_device_backend != nullptr) return transmute_device_backend(build_version().c_str());
  void* const library = dlopen(kLibrary, kHow);
  if (library == nullptr) {
    const char* const error = dlerror();
    const std::string reason = error == nullptr ? "" : error;
    if (is_missing(reason)) return nullptr;
    throw std::runtime_error(
        fmt::format("{} cannot be loaded: {}; reinstall the package transmute-torch", kLibrary, reason));
  }
  const auto function = reinterpret_cast<BackendOfVersion>(dlsym(library, kFunction));
  const DeviceBackend* const backend = function == nullptr ? nullptr : function(build_version().c_str());
  if (backend == nullptr)
    throw std::runtime_error(
        fmt::format("{} belongs to another version than {}; install transmute and transmute-torch of the same version",
                    kLibrary, build_version()));
  return backend;
}

// Loading LibTorch takes a second, so nobody does it to find out that there is no driver.
bool has_nvidia_driver() {
  std::error_code ignored;
  for (const char* path : {"/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg", "/dev/nvhost-ctrl"})
    if (std::filesystem::exists(path, ignored)) return true;
  return false;
}

}  // namespace

const DeviceBackend* find_device_backend() {
  static const DeviceBackend* const backend = load();
  return backend;
}

const DeviceBackend& device_backend_for(const std::string& purpose) {
  const DeviceBackend* const backend = find_device_backend();
  if (backend == nullptr)
    throw std::runtime_error(
        fmt::format("{} needs LibTorch; install the package transmute-torch ({})", purpose, kLibrary));
  return *backend;
}

Device find_device(const std::string& name) {
  Device device = named_device(name);
  if (device.kind == Device::Kind::automatic) {
    const DeviceBackend* const backend = has_nvidia_driver() ? find_device_backend() : nullptr;
    device.kind = backend != nullptr && backend->gpus() > 0 ? Device::Kind::gpu : Device::Kind::cpu;
  } else if (!device.is_cpu()) {
    device_backend_for(fmt::format("device {}", name)).require_gpu(name, device.index);
  }
  return device;
}

}  // namespace v0
}  // namespace transmute
