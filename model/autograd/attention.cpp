// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/attention.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/kernels/cpu/attention_heads.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/kernel_tensors.h>

#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

// The mask as a contiguous tensor [Bm,1,Tm,S], where Bm is 1 or B and Tm is 1 or T.
torch::Tensor whole_mask(const torch::Tensor& mask, int64_t batch, int64_t queries, int64_t keys) {
  torch::Tensor whole = mask;
  while (whole.dim() < 4) whole = whole.unsqueeze(0);
  TORCH_CHECK_VALUE(
      (whole.size(0) == 1 || whole.size(0) == batch) && whole.size(1) == 1 &&
          (whole.size(2) == 1 || whole.size(2) == queries) && (whole.size(3) == 1 || whole.size(3) == keys),
      "attention: a mask ", mask.sizes(), " does not broadcast to [", batch, ",1,", queries, ",", keys, "]");
  return whole.expand({whole.size(0), 1, whole.size(2), keys}).contiguous();
}

// A mask in the form that the kernels read. Padding and causal masks allow the first keys of each query, so the number
// of these keys describes them. Other masks are also read element by element.
struct QueryMask {
  std::vector<int32_t> extents;  // [Bm,T], where Bm is 1 or B: the keys up to the last one allowed
  int64_t batch_stride = 0;      // distance between two sentences in `extents`
  torch::Tensor allowed;         // [Bm,Tm,S] bool, contiguous; undefined if `extents` says all
  int64_t allowed_batch_stride = 0, allowed_query_stride = 0;

  QueryMask(const torch::Tensor& mask, int64_t batch, int64_t queries, int64_t keys) {
    if (!mask.defined()) {
      extents.assign(static_cast<size_t>(queries), static_cast<int32_t>(keys));
      return;
    }
    const torch::Tensor whole = whole_mask(mask, batch, queries, keys);
    const int64_t mask_batch = whole.size(0);
    const int64_t mask_queries = whole.size(2);
    const bool* rows = whole.data_ptr<bool>();
    bool first_parts = true;
    for (int64_t b = 0; b < mask_batch; ++b)
      for (int64_t t = 0; t < queries; ++t) {
        const bool* row = rows + (b * mask_queries + (mask_queries == 1 ? 0 : t)) * keys;
        if (mask_queries == 1 && t > 0) {
          extents.push_back(extents.back());
          continue;
        }
        int64_t extent = keys;
        while (extent > 0 && !row[extent - 1]) --extent;
        for (int64_t s = 0; s < extent; ++s) first_parts = first_parts && row[s];
        extents.push_back(static_cast<int32_t>(extent));
      }
    batch_stride = mask_batch == 1 ? 0 : queries;
    if (first_parts) return;
    allowed = whole;
    allowed_query_stride = mask_queries == 1 ? 0 : keys;
    allowed_batch_stride = mask_batch == 1 ? 0 : mask_queries * keys;
  }
};

// Queries, keys and values of all heads inside contiguous tensors [B,L,width].
template <class T>
struct Operand {
  T* data;
  int64_t length, width;
  int64_t head_width;

  HeadView<T> at(int64_t b, int64_t h) const { return {data + b * length * width + h * head_width, width}; }
};

// The tensors of one call. For self-attention `memory` is `query` and the keys come after the queries.
struct Operands {
  torch::Tensor query, memory;
  HeadOptions options;

  int64_t batch() const { return query.size(0); }
  int64_t queries() const { return query.size(1); }
  int64_t keys() const { return memory.size(1); }
  int64_t key_begin() const { return query.is_same(memory) ? options.num_heads * options.key_width : 0; }

  template <class T>
  Operand<T> query_of(const torch::Tensor& like) const {
    return {data_of<T>(like), queries(), like.size(2), options.key_width};
  }
  template <class T>
  Operand<T> key_of(const torch::Tensor& like) const {
    return {data_of<T>(like) + key_begin(), keys(), like.size(2), options.key_width};
  }
  template <class T>
  Operand<T> value_of(const torch::Tensor& like) const {
    return {data_of<T>(like) + key_begin() + options.num_heads * options.key_width, keys(), like.size(2),
            options.value_width};
  }
  template <class T>
  Operand<T> output_of(const torch::Tensor& like) const {
    return {data_of<T>(like), queries(), like.size(2), options.value_width};
  }
};

// Calls body(b, h, shape, scratch) for every head of every sentence.
template <class T, class Body>
void for_each_head(const Operands& o, const torch::Tensor& mask, const DropoutDraw& draw, Body body) {
  const QueryMask query_mask(mask, o.batch(), o.queries(), o.keys());
  const int64_t heads = o.options.num_heads;
  const MaskKeys drops(draw, o.batch() * heads * o.queries() * o.keys());
  HeadShape shape{o.queries(),
                  o.keys(),
                  o.options.key_width,
                  o.options.value_width,
                  static_cast<float>(o.options.scale),
                  nullptr,
                  nullptr,
                  query_mask.allowed_query_stride,
                  drops.view(),
                  0};
  const torch::Tensor scratch =
      torch::empty({active_kernels<AttentionKernels<T>>().scratch_size(shape)}, torch::kFloat);
  for (int64_t b = 0; b < o.batch(); ++b)
    for (int64_t h = 0; h < heads; ++h) {
      shape.extents = query_mask.extents.data() + b * query_mask.batch_stride;
      if (query_mask.allowed.defined())
        shape.allowed = query_mask.allowed.data_ptr<bool>() + b * query_mask.allowed_batch_stride;
      shape.first_element = (b * heads + h) * shape.queries * shape.keys;
      body(b, h, shape, data_of<float>(scratch));
    }
}

// The arguments of the GPU kernels. The object owns the expanded mask, to which `heads` points.
struct DeviceHeads {
  cuda::Heads heads;
  torch::Tensor mask;

  DeviceHeads(const Operands& o, const torch::Tensor& given_mask, const DropoutDraw& draw) {
    heads = {o.batch(),
             o.options.num_heads,
             o.queries(),
             o.keys(),
             o.options.key_width,
             o.query.size(2),
             o.memory.size(2),
             nullptr,
             0,
             0,
             static_cast<float>(o.options.scale),
             draw.device_mask()};
    if (!given_mask.defined()) return;
    mask = whole_mask(given_mask, o.batch(), o.queries(), o.keys());
    heads.allowed = mask.data_ptr<bool>();
    heads.allowed_query_stride = mask.size(2) == 1 ? 0 : o.keys();
    heads.allowed_batch_stride = mask.size(0) == 1 ? 0 : mask.size(2) * o.keys();
  }
};

struct FusedAttention : torch::autograd::Function<FusedAttention> {
  // Self-attention has no `given_memory`.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_query,
                               const MaybeTensor& given_memory, const MaybeTensor& given_mask, int64_t num_heads,
                               int64_t key_width, int64_t value_width, double scale, double probability) {
    const torch::Tensor query = given_query.contiguous();
    const torch::Tensor memory = given_memory.has_value() ? given_memory->contiguous() : query;
    const torch::Tensor mask = or_undefined(given_mask);
    const Operands o{query, memory, {num_heads, key_width, value_width, scale, probability}};
    const DropoutDraw draw = DropoutDraw::next(probability);
    torch::Tensor output = torch::empty({o.batch(), o.queries(), num_heads * value_width}, query.options());
    const torch::Tensor log_sums =
        torch::empty({o.batch(), num_heads, o.queries()}, query.options().dtype(torch::kFloat));
    if (query.is_cuda()) {
      const c10::DeviceGuard guard(query.device());
      cuda::attention_forward(DeviceHeads(o, mask, draw).heads, query.data_ptr(), o.key_of<uint16_t>(memory).data,
                              o.value_of<uint16_t>(memory).data, output.data_ptr(), data_of<float>(log_sums),
                              cuda::current_stream());
    } else {
      with_element_type(query, [&](auto element) {
        using T = decltype(element);
        for_each_head<T>(o, mask, draw, [&](int64_t b, int64_t h, const HeadShape& shape, float* scratch) {
          active_kernels<AttentionKernels<T>>().forward(
              shape, o.query_of<const T>(query).at(b, h), o.key_of<const T>(memory).at(b, h),
              o.value_of<const T>(memory).at(b, h), o.output_of<T>(output).at(b, h),
              data_of<float>(log_sums) + (b * num_heads + h) * shape.queries, scratch);
        });
      });
    }
    context->save_for_backward({query, given_memory.has_value() ? memory : torch::Tensor(), mask, log_sums});
    context->saved_data["num_heads"] = num_heads;
    context->saved_data["key_width"] = key_width;
    context->saved_data["value_width"] = value_width;
    context->saved_data["scale"] = scale;
    draw.save(*context);
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    const torch::Tensor &query = saved[0], &mask = saved[2], &log_sums = saved[3];
    const bool crossed = saved[1].defined();
    const torch::Tensor memory = crossed ? saved[1] : query;
    const torch::Tensor gradient = gradients[0].contiguous();
    auto& data = context->saved_data;
    const int64_t num_heads = data["num_heads"].toInt();
    const DropoutDraw draw = DropoutDraw::saved(*context);
    const Operands o{query,
                     memory,
                     {num_heads, data["key_width"].toInt(), data["value_width"].toInt(), data["scale"].toDouble(),
                      draw.probability}};
    const torch::Tensor query_gradient = torch::empty_like(query);
    const torch::Tensor memory_gradient = crossed ? torch::empty_like(memory) : query_gradient;
    const torch::Tensor to_memory = crossed ? memory_gradient : torch::Tensor();
    if (query.is_cuda()) {
      const c10::DeviceGuard guard(query.device());
      using T = uint16_t;
      cuda::attention_backward(DeviceHeads(o, mask, draw).heads, query.data_ptr(), o.key_of<T>(memory).data,
                               o.value_of<T>(memory).data, gradient.data_ptr(), data_of<float>(log_sums),
                               query_gradient.data_ptr(), o.key_of<T>(memory_gradient).data,
                               o.value_of<T>(memory_gradient).data, cuda::current_stream());
      return {query_gradient, to_memory, {}, {}, {}, {}, {}, {}};
    }
    with_element_type(query, [&](auto element) {
      using T = decltype(element);
      for_each_head<T>(o, mask, draw, [&](int64_t b, int64_t h, const HeadShape& shape, float* scratch) {
        active_kernels<AttentionKernels<T>>().backward(
            shape, o.query_of<const T>(query).at(b, h), o.key_of<const T>(memory).at(b, h),
            o.value_of<const T>(memory).at(b, h), o.output_of<const T>(gradient).at(b, h),
            data_of<float>(log_sums) + (b * num_heads + h) * shape.queries, o.query_of<T>(query_gradient).at(b, h),
            o.key_of<T>(memory_gradient).at(b, h), o.value_of<T>(memory_gradient).at(b, h), scratch);
      });
    });
    return {query_gradient, to_memory, {}, {}, {}, {}, {}, {}};
  }
};

torch::Tensor fused(const torch::Tensor& query, const torch::Tensor& memory, const torch::Tensor& mask,
                    const HeadOptions& options) {
  return FusedAttention::apply(query, if_defined(memory), if_defined(mask), options.num_heads, options.key_width,
                               options.value_width, options.scale, options.dropout);
}

// [B,L,·] -> [B,H,L,width], from column `begin` on.
torch::Tensor heads_of(const torch::Tensor& x, int64_t begin, int64_t num_heads, int64_t width) {
  return x.narrow(2, begin, num_heads * width).unflatten(2, {num_heads, width}).transpose(1, 2);
}

void check_width(const torch::Tensor& x, int64_t width) {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) == width, "attention needs [B,L,", width, "], not ", x.sizes());
}

}  // namespace

bool can_attend(const torch::Tensor& queries, const torch::Tensor& memory, const torch::Tensor& mask,
                const HeadOptions& options) {
  if (mask.defined() && mask.dim() >= 3 && mask.size(-3) != 1) return false;
  if (has_kernels(queries)) return true;
  if (!cuda::takes_rows(queries) || queries.scalar_type() != torch::kBFloat16) return false;
  const c10::DeviceGuard guard(queries.device());  // can_attend asks the current device for its shared memory
  return options.key_width == options.value_width &&
         cuda::can_attend(queries.size(1), memory.size(1), options.key_width);
}

torch::Tensor block_scores(const torch::Tensor& scores, const torch::Tensor& blocked) {
  return scores.masked_fill(blocked, scores.scalar_type() == torch::kHalf ? -65504.0 : -1e30);
}

torch::Tensor attention_weights(const torch::Tensor& scores, const torch::Tensor& mask) {
  if (!mask.defined()) return torch::softmax(scores, -1);
  const torch::Tensor blocked = mask.logical_not();
  return torch::softmax(block_scores(scores, blocked), -1).masked_fill(blocked, 0.0);
}

torch::Tensor self_attention_plain(const torch::Tensor& packed, const torch::Tensor& mask, const HeadOptions& options) {
  const int64_t keys = options.num_heads * options.key_width;
  return cross_attention_plain(packed.narrow(2, 0, keys), packed.narrow(2, keys, packed.size(2) - keys), mask, options);
}

torch::Tensor cross_attention_plain(const torch::Tensor& query, const torch::Tensor& memory, const torch::Tensor& mask,
                                    const HeadOptions& options) {
  const torch::Tensor q = heads_of(query, 0, options.num_heads, options.key_width);
  const torch::Tensor k = heads_of(memory, 0, options.num_heads, options.key_width);
  const torch::Tensor v =
      heads_of(memory, options.num_heads * options.key_width, options.num_heads, options.value_width);
  const torch::Tensor weights =
      attention_weights(torch::matmul(q * options.scale, k.transpose(-2, -1)), mask);              // [B,H,T,S]
  return torch::matmul(kernels::dropout(weights, options.dropout), v).transpose(1, 2).flatten(2);  // [B,T,H·Kv]
}

torch::Tensor self_attention(const torch::Tensor& packed, const torch::Tensor& mask, const HeadOptions& options) {
  check_width(packed, options.num_heads * (2 * options.key_width + options.value_width));
  check_same_device({packed, mask});
  if (!can_attend(packed, packed, mask, options)) return self_attention_plain(packed, mask, options);
  return fused(packed, {}, mask, options);
}

torch::Tensor cross_attention(const torch::Tensor& query, const torch::Tensor& memory, const torch::Tensor& mask,
                              const HeadOptions& options) {
  check_width(query, options.num_heads * options.key_width);
  check_width(memory, options.num_heads * (options.key_width + options.value_width));
  TORCH_CHECK_VALUE(memory.size(0) == query.size(0), "attention needs one memory for each of ", query.size(0),
                    " sentences, not ", memory.size(0));
  check_same_device({query, memory, mask});
  if (!can_attend(query, memory, mask, options)) return cross_attention_plain(query, memory, mask, options);
  return fused(query, memory, mask, options);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
