// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/embedding.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/kernel_tensors.h>

#include <unordered_map>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

struct FusedEmbed : torch::autograd::Function<FusedEmbed> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_table,
                               const torch::Tensor& given_ids, const torch::Tensor& given_positions, double scale,
                               double probability, bool sparse_gradient, bool has_gaps) {
    const torch::Tensor table = given_table.contiguous();
    const torch::Tensor ids = given_ids.contiguous();
    const torch::Tensor positions = given_positions.to(torch::kFloat).contiguous();
    const int64_t columns = table.size(1);
    const int64_t* id = ids.data_ptr<int64_t>();
    const int64_t first_id = has_gaps ? kNoToken : 0;
    for (int64_t i = 0; i < ids.numel(); ++i)
      TORCH_CHECK_INDEX(id[i] >= first_id && id[i] < table.size(0), "embed: id ", id[i], " is not among the ",
                        table.size(0), " pieces");
    torch::Tensor result = torch::empty({ids.size(0), ids.size(1), columns}, table.options());
    const DropoutDraw draw = DropoutDraw::next(probability);
    const MaskKeys mask(draw, result.numel());
    with_element_type(table, [&](auto element) {
      using T = decltype(element);
      active_kernels<RowKernels<T>>().embed_forward(data_of<T>(table), id, data_of<float>(positions),
                                                    static_cast<float>(scale), positions.size(0), mask.view(),
                                                    ids.numel(), columns, data_of<T>(result));
    });
    context->save_for_backward({ids});
    context->saved_data["pieces"] = table.size(0);
    context->saved_data["scale"] = scale;
    draw.save(*context);
    context->saved_data["sparse"] = sparse_gradient;
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const torch::Tensor ids = context->get_saved_variables()[0];
    const torch::Tensor gradient = gradients[0].contiguous();
    auto& data = context->saved_data;
    const int64_t columns = gradient.size(2);
    const int64_t pieces = data["pieces"].toInt();
    const bool sparse = data["sparse"].toBool();

    // Each row of the sums belongs to one piece: either every piece of the vocabulary has a row, or only those in the
    // batch do, in the order of their first occurrence.
    torch::Tensor slots = ids;
    torch::Tensor occurring;
    int64_t rows = pieces;
    if (sparse) {
      slots = torch::empty_like(ids);
      occurring = torch::empty({ids.numel()}, torch::kLong);
      std::unordered_map<int64_t, int64_t> slot_of;
      for (int64_t i = 0; i < ids.numel(); ++i) {
        const int64_t id = ids.data_ptr<int64_t>()[i];
        slots.data_ptr<int64_t>()[i] = kNoToken;
        if (id == kNoToken) continue;
        const auto [found, fresh] = slot_of.emplace(id, static_cast<int64_t>(slot_of.size()));
        if (fresh) occurring.data_ptr<int64_t>()[found->second] = id;
        slots.data_ptr<int64_t>()[i] = found->second;
      }
      rows = static_cast<int64_t>(slot_of.size());
    }
    torch::Tensor sums = torch::zeros({rows, columns}, torch::kFloat);
    const MaskKeys mask(DropoutDraw::saved(*context), gradient.numel());
    with_element_type(gradient, [&](auto element) {
      using T = decltype(element);
      active_kernels<RowKernels<T>>().embed_backward(data_of<T>(gradient), slots.data_ptr<int64_t>(),
                                                     static_cast<float>(data["scale"].toDouble()), mask.view(),
                                                     ids.numel(), columns, data_of<float>(sums));
    });
    sums = sums.to(gradient.scalar_type());
    if (sparse)
      sums = torch::_sparse_coo_tensor_unsafe(occurring.narrow(0, 0, rows).unsqueeze(0), sums, {pieces, columns});
    return {sums, {}, {}, {}, {}, {}, {}};
  }
};

// The same operation on a GPU, for ids without gaps. LibTorch sums the gradients of a piece's occurrences in a fixed
// order.
struct DeviceEmbed : torch::autograd::Function<DeviceEmbed> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_table,
                               const torch::Tensor& given_ids, const torch::Tensor& given_positions, double scale,
                               double probability) {
    const torch::Tensor table = given_table.contiguous();
    const torch::Tensor ids = given_ids.contiguous();
    const torch::Tensor positions = as_float(given_positions);
    const DropoutDraw draw = DropoutDraw::next(probability);
    torch::Tensor result = torch::empty({ids.size(0), ids.size(1), table.size(1)}, table.options());
    const c10::DeviceGuard guard(table.device());
    cuda::embed_forward(
        {cuda::element_of(table), table.data_ptr(), data_of<int64_t>(ids), data_of<float>(positions),
         static_cast<float>(scale), positions.size(0), draw.device_mask(), ids.numel(), table.size(0), table.size(1)},
        result.data_ptr(), cuda::current_stream());
    context->save_for_backward({ids});
    context->saved_data["pieces"] = table.size(0);
    context->saved_data["scale"] = scale;
    draw.save(*context);
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    auto& data = context->saved_data;
    const DropoutDraw draw = DropoutDraw::saved(*context);
    torch::Tensor gradient = gradients[0].contiguous();
    if (draw.probability > 0) {
      const torch::Tensor kept = torch::empty_like(gradient);
      const c10::DeviceGuard guard(gradient.device());
      cuda::sum_backward({cuda::element_of(gradient), gradient.data_ptr(), nullptr, draw.device_mask(),
                          gradient.size(0) * gradient.size(1), gradient.size(2)},
                         kept.data_ptr(), nullptr, nullptr, cuda::current_stream());
      gradient = kept;
    }
    torch::Tensor sums = torch::embedding_dense_backward(gradient, context->get_saved_variables()[0],
                                                         data["pieces"].toInt(), /*padding_idx=*/kNoToken, false);
    return {sums.mul_(data["scale"].toDouble()), {}, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor embed_plain(const torch::Tensor& table, const torch::Tensor& ids, const torch::Tensor& positions,
                          const EmbedOptions& options) {
  torch::Tensor vectors = torch::embedding(table, options.has_gaps ? ids.clamp_min(0) : ids);
  if (options.has_gaps) vectors = vectors * ids.ne(kNoToken).unsqueeze(2);
  const torch::Tensor sums = torch::add(positions, vectors, options.scale);
  return kernels::dropout(sums, options.dropout).to(table.scalar_type());
}

torch::Tensor embed(const torch::Tensor& table, const torch::Tensor& ids, const torch::Tensor& positions,
                    const EmbedOptions& options) {
  TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == torch::kLong && positions.dim() == 2 &&
                        (positions.size(0) == 1 || positions.size(0) == ids.size(1)),
                    "embed needs int64 ids [B,L] and positions [L,D], not ", ids.sizes(), " and ", positions.sizes());
  check_same_device({table, ids, positions});
  // Neither fused operation computes a gradient for learned positions.
  if (cuda::takes_rows(table) && !options.has_gaps && !positions.requires_grad())
    return recorded<DeviceEmbed>(table, ids, positions, options.scale, options.dropout);
  if (!has_kernels(table) || positions.requires_grad()) return embed_plain(table, ids, positions, options);
  return recorded<FusedEmbed>(table, ids, positions, options.scale, options.dropout, options.sparse_gradient,
                              options.has_gaps);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
