// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/tile_product.h>

#include <transmute/common/aligned_buffer.h>
#include <transmute/kernels/simd/amx_tiles.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

// The product reads its operands as tiles, in order. The right matrix is copied into tiles, as many columns at a time
// as fill half of the second-level cache; the left one only if its rows cannot be loaded as tiles. The left rows are
// multiplied with those columns 32 at a time, by AMX or, in the same tiles, by vectors of AVX-512. "Depth" is what the
// sums run over; a block of it is what the first-level cache holds of 32 rows and 32 columns, a chunk what limits the
// copies.
namespace transmute {
inline namespace v0 {
namespace kernels {

#if defined(__x86_64__)
namespace {

template <class T>
constexpr int64_t kStep = kTileRowBytes / static_cast<int64_t>(sizeof(T));  // numbers of a tile's row
template <class T>
constexpr int64_t kTile = kTileRows* kStep<T>;  // and of a tile
constexpr int64_t kPair = 2 * kTileRows;        // rows of a, or columns of b, that are multiplied together
constexpr int64_t kStepsAhead = 4;              // distance at which a row is prefetched
constexpr int64_t kMostColumns = 1024;          // columns of b that are multiplied at once
constexpr int64_t kTurnedRows = 256;            // rows of a that are transposed at once

// Rows of a, or columns of b.
template <class T>
struct Operand {
  const T* data;
  int64_t count, depth;
  int64_t stride, depth_stride;
};

TRANSMUTE_TARGET_AMX inline __mmask32 first_numbers(int64_t count) {
  return count >= 32 ? ~__mmask32(0) : count <= 0 ? __mmask32(0) : (__mmask32(1) << count) - 1;
}

// Loads the first `count` numbers of a tile's row, followed by zeros.
TRANSMUTE_TARGET_AMX inline __m512i load_first(const float* from, int64_t count) {
  return _mm512_maskz_loadu_epi32(first_lanes(count), from);
}
TRANSMUTE_TARGET_AMX inline __m512i load_first(const uint16_t* from, int64_t count) {
  return _mm512_maskz_loadu_epi16(first_numbers(count), from);
}

// The column of an operand that comes to place i of the given half when two vectors of bfloat16 numbers are
// interleaved. The columns of right tiles are in this order, and so are the rows of left tiles made by interleaving.
template <class T>
constexpr int64_t unpacked_place(int64_t half, int64_t i) {
  return sizeof(T) == 2 ? i / 4 * 8 + half * 4 + i % 4 : half * kTileRows + i;
}

// 32 of an operand by a step of its depth as two tiles, `apart` numbers apart, beside zeros where it ends. A left tile
// has a row for each of the 16; a right one a row for each number of the depth or, of bfloat16, for each two, where the
// pairs of the 16 are side by side.
enum class Side { left, right };
template <Side kSide, class T>
TRANSMUTE_TARGET_AMX void pack_tiles(const Operand<T>& x, int64_t first, int64_t begin, T* to, int64_t apart) {
  __m512i tiles[2][16];
  if (x.depth_stride == 1) {
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t i = 0; i < 16; ++i) {
        const int64_t at = first + (kSide == Side::right ? unpacked_place<T>(half, i) : 16 * half + i);
        tiles[half][i] =
            at < x.count ? load_first(x.data + at * x.stride + begin, x.depth - begin) : _mm512_setzero_si512();
        __builtin_prefetch(x.data + at * x.stride + begin + kStepsAhead * kStep<T>);
      }
  } else {
    const auto numbers_at = [&](int64_t depth, int64_t from) TRANSMUTE_TARGET_AMX {
      __builtin_prefetch(x.data + (depth + kStep<T>)*x.depth_stride + from);  // prefetches the next step
      return depth < x.depth ? load_first(x.data + depth * x.depth_stride + from, x.count - from)
                             : _mm512_setzero_si512();
    };
    for (int64_t i = 0; i < 16; ++i) {
      if constexpr (sizeof(T) == 2) {
        const __m512i even = numbers_at(begin + 2 * i, first), odd = numbers_at(begin + 2 * i + 1, first);
        tiles[0][i] = _mm512_unpacklo_epi16(even, odd);
        tiles[1][i] = _mm512_unpackhi_epi16(even, odd);
      } else {
        for (int64_t half = 0; half < 2; ++half) tiles[half][i] = numbers_at(begin + i, first + half * 16);
      }
    }
  }
  for (int64_t half = 0; half < 2; ++half, to += apart) {
    if ((kSide == Side::right) == (x.depth_stride == 1)) transpose_words(tiles[half]);
    for (int64_t i = 0; i < 16; ++i) _mm512_store_si512(to + i * kStep<T>, tiles[half][i]);
  }
}

// Packs pairs of tiles from `first` on, and of the depth `steps` steps from `begin` on, in the order in which the
// product reads them: [pair][2][steps][tile].
template <Side kSide, class T>
TRANSMUTE_TARGET_AMX void pack(const Operand<T>& x, int64_t first, int64_t pairs, int64_t begin, int64_t steps, T* to) {
  const int64_t apart = steps * kTile<T>;
  const auto pack_one = [&](int64_t pair, int64_t step) TRANSMUTE_TARGET_AMX {
    pack_tiles<kSide>(x, first + pair * kPair, begin + step * kStep<T>, to + 2 * pair * apart + step * kTile<T>, apart);
  };
  if (x.depth_stride == 1) {
    for (int64_t pair = 0; pair < pairs; ++pair)
      for (int64_t step = 0; step < steps; ++step) pack_one(pair, step);
  } else {
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t pair = 0; pair < pairs; ++pair) pack_one(pair, step);
  }
}

// A pair of left tiles for each step, wherever they lie; distances are counted in numbers.
template <class T>
struct LeftTiles {
  const T* first;
  int64_t row_stride;
  int64_t step;
  int64_t apart;
};

TRANSMUTE_TARGET_AMX TRANSMUTE_INLINE __m512 add_products(__m512 sums, __m512i x, __m512i w, float) {
  return _mm512_fmadd_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(w), sums);
}
TRANSMUTE_TARGET_AMX TRANSMUTE_INLINE __m512 add_products(__m512 sums, __m512i x, __m512i w, uint16_t) {
  return add_bfloat16_dots(sums, x, w);
}

// sums [32,32] = (or, unless it begins, +=) a pair of left tiles times a pair of right ones, `apart` from each other.
template <class T>
TRANSMUTE_TARGET_AMX void multiply_vectors(const LeftTiles<T>& a, const T* b, int64_t steps, int64_t apart, bool begins,
                                           float* sums) {
  constexpr int64_t kRows = 8;
  for (int64_t row = 0; row < kPair; row += kRows, sums += kRows * kPair) {
    __m512 sum[kRows][2];
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < 2; ++v)
        sum[r][v] = begins ? _mm512_setzero_ps() : _mm512_load_ps(sums + r * kPair + v * kTileRows);
    const T* x = a.first + row / kTileRows * a.apart + row % kTileRows * a.row_stride;
    const T* w = b;
    for (int64_t step = 0; step < steps; ++step, x += a.step)
      for (int64_t word = 0; word < kTileRows; ++word, w += kStep<T>) {
        const __m512i first = _mm512_load_si512(w), second = _mm512_load_si512(w + apart);
#pragma GCC unroll 8
        for (int64_t r = 0; r < kRows; ++r) {
          int32_t numbers;
          __builtin_memcpy(&numbers, x + r * a.row_stride + word * (4 / static_cast<int64_t>(sizeof(T))), 4);
          const __m512i same = _mm512_set1_epi32(numbers);
          sum[r][0] = add_products(sum[r][0], same, first, T());
          sum[r][1] = add_products(sum[r][1], same, second, T());
        }
      }
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < 2; ++v) _mm512_store_ps(sums + r * kPair + v * kTileRows, sum[r][v]);
  }
}

// The same by AMX. The hint of the right tiles' loads keeps the left ones in the first-level cache.
TRANSMUTE_TARGET_AMX void multiply_tiles(const LeftTiles<uint16_t>& a, const uint16_t* b, int64_t steps, int64_t apart,
                                         bool begins, float* sums) {
  constexpr int64_t kStride = kPair * sizeof(float);
  if (begins) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, kStride);
    _tile_loadd(1, sums + kTileRows, kStride);
    _tile_loadd(2, sums + kTileRows * kPair, kStride);
    _tile_loadd(3, sums + kTileRows * kPair + kTileRows, kStride);
  }
  const uint16_t* rows = a.first;
  const int64_t row_bytes = a.row_stride * static_cast<int64_t>(sizeof(uint16_t));
  for (int64_t step = 0; step < steps; ++step, rows += a.step, b += kTile<uint16_t>) {
    _tile_loadd(4, rows, row_bytes);
    _tile_stream_loadd(6, b, kTileRowBytes);
    _tile_stream_loadd(7, b + apart, kTileRowBytes);
    _tile_loadd(5, rows + a.apart, row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kTileRows, kStride);
  _tile_stored(2, sums + kTileRows * kPair, kStride);
  _tile_stored(3, sums + kTileRows * kPair + kTileRows, kStride);
}

TRANSMUTE_TARGET_AMX TRANSMUTE_INLINE __m512 half_of(__m512i numbers, int half) {
  const __m256i words = half == 0 ? _mm512_castsi512_si256(numbers) : _mm512_extracti64x4_epi64(numbers, 1);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
}
TRANSMUTE_TARGET_AMX TRANSMUTE_INLINE __m512i rounded(__m512 first, __m512 second) {
  const __m512bh both = _mm512_cvtne2ps_pbh(second, first);
  return reinterpret_cast<const __m512i&>(both);
}

// Writes, or adds, the first `columns` of a row of sums [32].
TRANSMUTE_TARGET_AMX inline void write_row(const float* sums, int64_t columns, bool adds, float* out) {
  for (int64_t v = 0; v < kPair; v += kTileRows) {
    const __mmask16 lanes = first_lanes(columns - v);
    __m512 sum = _mm512_load_ps(sums + v);
    if (adds) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, out + v), sum);
    _mm512_mask_storeu_ps(out + v, lanes, sum);
  }
}
TRANSMUTE_TARGET_AMX inline void write_row(const float* sums, int64_t columns, bool adds, uint16_t* out) {
  const __m512i in_order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);  // see unpacked_place
  const __mmask32 lanes = first_numbers(columns);
  __m512i sum = _mm512_permutexvar_epi64(in_order, rounded(_mm512_load_ps(sums), _mm512_load_ps(sums + kTileRows)));
  if (adds) {
    const __m512i old = _mm512_maskz_loadu_epi16(lanes, out);
    sum = rounded(_mm512_add_ps(half_of(old, 0), half_of(sum, 0)), _mm512_add_ps(half_of(old, 1), half_of(sum, 1)));
  }
  _mm512_mask_storeu_epi16(out, lanes, sum);
}

// True if tiles can be loaded from the matrix itself: the depth is a whole number of steps, and of the 32 rows of a
// pair no more than 2 compete for the same places in the first-level cache, 4 KiB apart.
template <class T>
bool lies_in_tiles(const Operand<T>& x) {
  constexpr int64_t kPlaces = 64, kLeastApart = 4;  // cache lines
  return x.depth_stride == 1 && x.depth % kStep<T> == 0 && std::gcd(x.stride / kStep<T>, kPlaces) <= kLeastApart;
}

int64_t whole_pairs(int64_t count) {
  return (count + kPair - 1) / kPair;
}

template <class T>
struct Scratch {
  AlignedBuffer<T> left, right;
  AlignedBuffer<float> sums;
};

// A part of the depth, with all rows and columns.
template <class T>
struct DepthChunk {
  Operand<T> left, right;
  bool is_first, is_last;
};

template <class T>
DepthChunk<T> chunk_of(const Operand<T>& left, const Operand<T>& right, int64_t begin, int64_t most) {
  const int64_t depth = std::min(most, left.depth - begin);
  const auto part = [&](const Operand<T>& x) {
    return Operand<T>{x.data + begin * x.depth_stride, x.count, depth, x.stride, x.depth_stride};
  };
  return {part(left), part(right), begin == 0, begin + depth == left.depth};
}

template <class T>
struct Destination {
  T* numbers;
  bool adds;
};

// A function that multiplies pairs, and the most steps of a block of the depth for it.
template <class T>
struct Multiplication {
  void (*multiply)(const LeftTiles<T>& a, const T* b, int64_t steps, int64_t apart, bool begins, float* sums);
  int64_t most_steps;
};

// The steps fill 32 KiB of the first-level cache: with the left tiles alone for AMX, with both sides for vectors.
template <class T>
Multiplication<T> multiplication_here() {
  if constexpr (sizeof(T) == 2)
    if (active_simd() == Simd::amx) return {multiply_tiles, 16};
  return {multiply_vectors<T>, 8};
}

// sums: between chunks, [pairs of rows][pairs of columns][32,32]; for a single chunk, room for kMostColumns.
template <class T>
TRANSMUTE_TARGET_AMX void multiply(const DepthChunk<T>& chunk, const Multiplication<T>& way, float* sums,
                                   const Destination<T>& out, Scratch<T>& scratch) {
  const int64_t most_in_block = way.most_steps * kStep<T>;
  const auto& [left, right, is_first, is_last] = chunk;
  const int64_t blocks = std::max<int64_t>(1, (left.depth + most_in_block - 1) / most_in_block);
  const int64_t steps = ((left.depth + blocks - 1) / blocks + kStep<T> - 1) / kStep<T>;
  const int64_t pair_size = 2 * steps * kTile<T>;  // numbers in one block
  const int64_t all_column_pairs = whole_pairs(right.count);
  // Contiguous rows of a are copied one pair at a time, if at all; others are copied many at a time, so that memory is
  // read in long runs.
  const bool by_rows = left.depth_stride == 1;
  const bool lies_so = lies_in_tiles(left);
  const int64_t rows_at_once = by_rows ? kPair : kTurnedRows;
  const int64_t pair_bytes = std::max<int64_t>(1, blocks * pair_size * static_cast<int64_t>(sizeof(T)));
  const int64_t pairs_in_half_cache = std::max<int64_t>(1, second_level_cache() / 2 / pair_bytes);
  const int64_t columns_at_once = std::min({kMostColumns, kPair * pairs_in_half_cache, kPair * all_column_pairs});
  T* left_tiles = scratch.left.at_least(rows_at_once / kPair * blocks * pair_size);
  T* right_tiles = scratch.right.at_least(columns_at_once / kPair * blocks * pair_size);

  for (int64_t first_column = 0; first_column < right.count; first_column += columns_at_once) {
    const int64_t columns = std::min(columns_at_once, right.count - first_column);
    const int64_t column_pairs = whole_pairs(columns);
    for (int64_t block = 0; block < blocks; ++block)
      pack<Side::right>(right, first_column, column_pairs, block * steps * kStep<T>, steps,
                        right_tiles + block * column_pairs * pair_size);
    for (int64_t first_row = 0; first_row < left.count; first_row += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, left.count - first_row);
      const bool in_place = lies_so && rows % kPair == 0;
      const int64_t row_pairs = whole_pairs(rows);
      for (int64_t block = 0; block < blocks && !in_place; ++block)
        pack<Side::left>(left, first_row, row_pairs, block * steps * kStep<T>, steps,
                         left_tiles + block * row_pairs * pair_size);
      for (int64_t pair = 0; pair < row_pairs; ++pair) {
        const int64_t row = first_row + pair * kPair;
        float* own_sums = sums;
        if (!is_first || !is_last) own_sums += (row / kPair * all_column_pairs + first_column / kPair) * kPair * kPair;
        for (int64_t block = 0; block < blocks; ++block) {
          LeftTiles<T> row_tiles{left_tiles + (block * row_pairs + pair) * pair_size, kStep<T>, kTile<T>,
                                 steps * kTile<T>};
          int64_t own_steps = steps;
          if (in_place) {
            row_tiles = {left.data + row * left.stride + block * steps * kStep<T>, left.stride, kStep<T>,
                         kTileRows * left.stride};
            own_steps = std::min(steps, left.depth / kStep<T> - block * steps);
          }
          for (int64_t column_pair = 0; column_pair < column_pairs; ++column_pair) {
            float* sum = own_sums + column_pair * kPair * kPair;
            way.multiply(row_tiles, right_tiles + (block * column_pairs + column_pair) * pair_size, own_steps,
                         steps * kTile<T>, is_first && block == 0, sum);
            if (!is_last || block + 1 < blocks) continue;
            const int64_t column = first_column + column_pair * kPair;
            for (int64_t i = 0; i < kPair; ++i) {
              const int64_t own_row = row + (by_rows ? i : unpacked_place<T>(i / kTileRows, i % kTileRows));
              if (own_row < left.count)
                write_row(sum + i * kPair, right.count - column, out.adds,
                          out.numbers + own_row * right.count + column);
            }
          }
        }
      }
    }
  }
}

}  // namespace

template <class T>
TRANSMUTE_TARGET_AMX void tile_product(const MatrixView<T>& a, const MatrixView<T>& b, T* out, bool adds) {
  if (a.columns != b.rows) throw std::invalid_argument("tile_product: the matrices do not fit");
  const Operand<T> left{a.data, a.rows, a.columns, a.row_stride, a.column_stride};
  const Operand<T> right{b.data, b.columns, b.rows, b.column_stride, b.row_stride};
  for (const Operand<T>& x : {left, right})
    if (x.stride != 1 && x.depth_stride != 1) throw std::invalid_argument("tile_product: no stride is 1");
  static thread_local Scratch<T> scratch;
  // Rows of a chunk that are turned fill an eighth of the cache, beside as many columns as there may be.
  const int64_t share = left.depth_stride == 1 ? 2 : 8;
  const int64_t most_depth = second_level_cache() / share / kTurnedRows / static_cast<int64_t>(sizeof(T));
  const bool at_once = left.depth <= most_depth;
  const int64_t pairs = at_once ? kMostColumns / kPair : whole_pairs(left.count) * whole_pairs(right.count);
  float* sums = scratch.sums.at_least(pairs * kPair * kPair);
  const Multiplication<T> way = multiplication_here<T>();
  AmxTiles tiles;
  if (way.multiply != multiply_vectors<T>) tiles.shape(kTileRows, kTileRows);
  int64_t begin = 0;
  do {
    multiply<T>(chunk_of(left, right, begin, most_depth), way, sums, {out, adds}, scratch);
    begin += most_depth;
  } while (begin < left.depth);
}

template <class T>
bool has_tile_product() {
  return active_simd() >= (sizeof(T) == 2 ? Simd::avx512_bf16 : Simd::avx512);
}

#else

template <class T>
void tile_product(const MatrixView<T>&, const MatrixView<T>&, T*, bool) {
  throw std::logic_error("tile_product is for x86-64");
}

template <class T>
bool has_tile_product() {
  return false;
}

#endif

template void tile_product(const MatrixView<float>&, const MatrixView<float>&, float*, bool);
template void tile_product(const MatrixView<uint16_t>&, const MatrixView<uint16_t>&, uint16_t*, bool);
template bool has_tile_product<float>();
template bool has_tile_product<uint16_t>();

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
