// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/recompute.h>

#include <ATen/Context.h>
#include <transmute/libtorch/generator_state.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/torch_compat.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/kernel_tensors.h>

#include <optional>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// The random state on which dropout depends when the object is made: the thread's DropoutScope, or without one the
// state of LibTorch's CPU generator, which supplies all keys. On other devices LibTorch's own operations may draw as
// well, so that the state of the device's generator belongs to it.
class DrawState {
 public:
  explicit DrawState(torch::Device device) : scope_(kernels::DropoutScope::state()) {
    if (!scope_.active) keep(torch::kCPU);
    if (!device.is_cpu()) keep(device);
  }

  /// Runs `function` with that random state.
  template <class Function>
  auto replay(const Function& function) const {
    std::optional<kernels::DropoutScope> scope;
    if (scope_.active) scope.emplace(scope_);
    const Rewound rewound(generators_);
    return function();
  }

 private:
  struct Generator {
    at::Generator generator;
    torch::Tensor state;
  };

  // Puts generators into a former state while the object lives.
  class Rewound {
   public:
    explicit Rewound(const std::vector<Generator>& former) {
      for (const Generator& of : former) {
        now_.push_back({of.generator, generator_state(of.generator)});
        set_generator_state(of.generator, of.state);
      }
    }
    Rewound(const Rewound&) = delete;
    Rewound& operator=(const Rewound&) = delete;
    ~Rewound() {
      for (const Generator& of : now_) set_generator_state(of.generator, of.state);
    }

   private:
    std::vector<Generator> now_;
  };

  void keep(torch::Device device) {
    const at::Generator& generator = at::globalContext().defaultGenerator(device);
    generators_.push_back({generator, generator_state(generator)});
  }

  kernels::DropoutScope::State scope_;
  std::vector<Generator> generators_;
};

// The call that the backward pass makes again.
struct Call : torch::CustomClassHolder {
  Call(LayerFunction layer_function, torch::Device device) : function(std::move(layer_function)), draws(device) {}

  LayerFunction function;
  DrawState draws;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const LayerFunction& function,
                               const torch::Tensor& x, const MaybeTensor& maybe_memory) {
    const torch::Tensor memory = kernels::or_undefined(maybe_memory);
    context->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<Call>(function, x.device()));
    context->save_for_backward({x, memory});
    return function(x, memory);  // autograd is off here
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    kernels::check_first_derivative();
    const auto call = c10::static_intrusive_pointer_cast<Call>(context->saved_data["call"].toCapsule());
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const auto detached = [](const torch::Tensor& input) {
      return input.defined() ? input.detach().requires_grad_(input.requires_grad()) : input;
    };
    const torch::Tensor x = detached(saved[0]), memory = detached(saved[1]);
    const torch::AutoGradMode with_gradients(true);
    const torch::Tensor output = call->draws.replay([&] { return call->function(x, memory); });
    torch::autograd::backward({output}, {gradients[0]});
    return {torch::Tensor(), x.grad(), memory.defined() ? memory.grad() : torch::Tensor()};
  }
};

}  // namespace

torch::Tensor recomputed(const LayerFunction& function, const torch::Tensor& x, const torch::Tensor& memory) {
  const bool has_gradient = x.requires_grad() || (memory.defined() && memory.requires_grad());
  if (!torch::GradMode::is_enabled() || !has_gradient) return function(x, memory);
  return Recompute::apply(function, x, kernels::if_defined(memory));
}

}  // namespace v0
}  // namespace transmute
