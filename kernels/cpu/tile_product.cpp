// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/tile_product.h>

#include <transmute/common/aligned_buffer.h>
#include <transmute/kernels/simd/amx_tiles.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

// The product reads its operands as tiles, in order. The right matrix is copied into tiles, as many columns at a time
// as fill half of the second-level cache; the left one only if its rows cannot be loaded as tiles. The left rows are
// multiplied with those columns 32 at a time. "Depth" is what the sums run over; a block of it is what the first-level
// cache holds of 32 rows and 32 columns, a chunk what limits the copies.
namespace transmute {
inline namespace v0 {
namespace kernels {

#if defined(__x86_64__)
namespace {

constexpr int64_t kStep = kTileRowBytes / 2;  // numbers of a tile's row
constexpr int64_t kTile = kTileRows * kStep;  // and of a tile
constexpr int64_t kPair = 2 * kTileRows;      // rows of a, or columns of b, that are multiplied together
constexpr int64_t kMostSteps = 8;             // steps of a depth block: two pairs of 8 tiles are 32 KiB
constexpr int64_t kMostDepth = 2048;          // depth of a chunk
constexpr int64_t kHalfCache = 1 << 19;       // numbers: 1 MiB
constexpr int64_t kMostColumns = 1024;        // at once
constexpr int64_t kTurnedRows = 256;          // rows that are copied at once

// Rows of a, or columns of b.
struct Operand {
  const uint16_t* data;
  int64_t count, depth;
  int64_t stride, depth_stride;
};

TRANSMUTE_TARGET_AMX inline __mmask32 first_numbers(int64_t count) {
  return count >= 32 ? ~__mmask32(0) : count <= 0 ? __mmask32(0) : (__mmask32(1) << count) - 1;
}

// Interleaving two vectors of 32 numbers leaves the numbers of the first result in this order, then those of the
// second. So the columns of right tiles are in it, and the rows of left ones that are made that way.
constexpr int64_t unpacked_place(int64_t half, int64_t i) {
  return i / 4 * 8 + half * 4 + i % 4;
}

// 32 of an operand by 32 of its depth as two tiles, `apart` numbers apart, beside zeros where it ends. A left tile has
// a row for each of the 16; a right one a row for each two of the depth, where the pairs of the 16 are side by side.
enum class Side { left, right };
template <Side kSide>
TRANSMUTE_TARGET_AMX void pack_tiles(const Operand& x, int64_t first, int64_t begin, uint16_t* to, int64_t apart) {
  if (x.depth_stride == 1) {
    const __mmask32 lanes = first_numbers(x.depth - begin);
    for (int64_t half = 0; half < 2; ++half, to += apart) {
      __m512i rows[16];
      for (int64_t i = 0; i < 16; ++i) {
        const int64_t at = first + (kSide == Side::right ? unpacked_place(half, i) : 16 * half + i);
        rows[i] =
            at < x.count ? _mm512_maskz_loadu_epi16(lanes, x.data + at * x.stride + begin) : _mm512_setzero_si512();
      }
      if constexpr (kSide == Side::right) transpose_words(rows);
      for (int64_t i = 0; i < 16; ++i) _mm512_store_si512(to + i * kStep, rows[i]);
    }
    return;
  }
  const __mmask32 lanes = first_numbers(x.count - first);
  __m512i tiles[2][16];
  for (int64_t i = 0; i < 16; ++i) {
    __m512i numbers[2];
    for (int64_t k = 0; k < 2; ++k) {
      const int64_t depth = begin + 2 * i + k;
      numbers[k] = depth < x.depth ? _mm512_maskz_loadu_epi16(lanes, x.data + depth * x.depth_stride + first)
                                   : _mm512_setzero_si512();
    }
    tiles[0][i] = _mm512_unpacklo_epi16(numbers[0], numbers[1]);
    tiles[1][i] = _mm512_unpackhi_epi16(numbers[0], numbers[1]);
  }
  for (int64_t half = 0; half < 2; ++half) {
    if constexpr (kSide == Side::left) transpose_words(tiles[half]);
    for (int64_t i = 0; i < 16; ++i) _mm512_store_si512(to + half * apart + i * kStep, tiles[half][i]);
  }
}

// Pairs from `first` on, and of the depth `steps` from `begin` on: [pair][2][steps][tile]. In the order in which they
// lie.
template <Side kSide>
TRANSMUTE_TARGET_AMX void pack(const Operand& x, int64_t first, int64_t pairs, int64_t begin, int64_t steps,
                               uint16_t* to) {
  const int64_t apart = steps * kTile;
  if (x.depth_stride == 1) {
    for (int64_t pair = 0; pair < pairs; ++pair)
      for (int64_t step = 0; step < steps; ++step)
        pack_tiles<kSide>(x, first + pair * kPair, begin + step * kStep, to + 2 * pair * apart + step * kTile, apart);
  } else {
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t pair = 0; pair < pairs; ++pair)
        pack_tiles<kSide>(x, first + pair * kPair, begin + step * kStep, to + 2 * pair * apart + step * kTile, apart);
  }
}

// A pair of left tiles for each step, wherever they lie; distances in numbers.
struct LeftTiles {
  const uint16_t* first;
  int64_t row_stride;
  int64_t step;
  int64_t apart;
};

// sums [32,32] = (or, unless it begins, +=) a pair of left tiles times a pair of right ones, `apart` from each other.
TRANSMUTE_TARGET_AMX inline void multiply_tiles(const LeftTiles& a, const uint16_t* b, int64_t steps, int64_t apart,
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
  for (int64_t step = 0; step < steps; ++step, rows += a.step, b += kTile) {
    _tile_loadd(4, rows, row_bytes);
    _tile_loadd(6, b, kTileRowBytes);
    _tile_loadd(7, b + apart, kTileRowBytes);
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

// The first `rows` by `columns` of sums [32,32], rounded, the columns in their order again.
TRANSMUTE_TARGET_AMX inline void write_rounded(const float* sums, bool rows_unpacked, int64_t rows, int64_t columns,
                                               uint16_t* out, int64_t stride) {
  const __mmask32 lanes = first_numbers(columns);
  const __m512i in_order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  for (int64_t i = 0; i < kPair; ++i, sums += kPair) {
    const int64_t row = rows_unpacked ? unpacked_place(i / 16, i % 16) : i;
    if (row >= rows) continue;
    const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_load_ps(sums + 16), _mm512_load_ps(sums));
    _mm512_mask_storeu_epi16(out + row * stride, lanes,
                             _mm512_permutexvar_epi64(in_order, reinterpret_cast<const __m512i&>(rounded)));
  }
}

// True if tiles can be loaded from where it lies: whole ones, of whose 32 rows no more than 8 have lines that want the
// same places in the first-level cache, 4 KiB apart.
bool lies_in_tiles(const Operand& x) {
  constexpr int64_t kPlaces = 64, kLeastApart = 16;  // cache lines
  return x.depth_stride == 1 && x.depth % kStep == 0 && std::gcd(x.stride / kStep, kPlaces) <= kLeastApart;
}

int64_t whole_pairs(int64_t count) {
  return (count + kPair - 1) / kPair;
}

struct Scratch {
  AlignedBuffer<uint16_t> left, right;
  AlignedBuffer<float> sums;
};

// A part of the depth, for all rows and columns.
struct DepthChunk {
  Operand left, right;
  bool is_first, is_last;
};

DepthChunk chunk_of(const Operand& left, const Operand& right, int64_t begin, int64_t most) {
  const int64_t depth = std::min(most, left.depth - begin);
  const auto part = [&](const Operand& x) {
    return Operand{x.data + begin * x.depth_stride, x.count, depth, x.stride, x.depth_stride};
  };
  return {part(left), part(right), begin == 0, begin + depth == left.depth};
}

// sums: between chunks [pairs of rows][pairs of columns][32,32]; for one alone, room for kMostColumns.
TRANSMUTE_TARGET_AMX void multiply(const DepthChunk& chunk, float* sums, uint16_t* out, Scratch& scratch) {
  const auto& [left, right, is_first, is_last] = chunk;
  const int64_t blocks = std::max<int64_t>(1, (left.depth + kMostSteps * kStep - 1) / (kMostSteps * kStep));
  const int64_t steps = ((left.depth + blocks - 1) / blocks + kStep - 1) / kStep;
  const int64_t pair_size = 2 * steps * kTile;  // in one block
  const int64_t all_column_pairs = whole_pairs(right.count);
  // Contiguous rows of a are copied when they are needed, if at all; others many at a time, so that
  // the way through memory is made of runs.
  const bool by_rows = left.depth_stride == 1;
  const bool lies_so = lies_in_tiles(left);
  const int64_t rows_at_once = by_rows ? kPair : kTurnedRows;
  const int64_t pairs_in_half_cache = std::max<int64_t>(1, kHalfCache / std::max<int64_t>(1, blocks * pair_size));
  const int64_t columns_at_once = std::min({kMostColumns, kPair * pairs_in_half_cache, kPair * all_column_pairs});
  uint16_t* left_tiles = scratch.left.at_least(rows_at_once / kPair * blocks * pair_size);
  uint16_t* right_tiles = scratch.right.at_least(columns_at_once / kPair * blocks * pair_size);

  for (int64_t first_column = 0; first_column < right.count; first_column += columns_at_once) {
    const int64_t columns = std::min(columns_at_once, right.count - first_column);
    const int64_t column_pairs = whole_pairs(columns);
    for (int64_t block = 0; block < blocks; ++block)
      pack<Side::right>(right, first_column, column_pairs, block * steps * kStep, steps,
                        right_tiles + block * column_pairs * pair_size);
    for (int64_t first_row = 0; first_row < left.count; first_row += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, left.count - first_row);
      const bool in_place = lies_so && rows % kPair == 0;
      const int64_t row_pairs = whole_pairs(rows);
      for (int64_t block = 0; block < blocks && !in_place; ++block)
        pack<Side::left>(left, first_row, row_pairs, block * steps * kStep, steps,
                         left_tiles + block * row_pairs * pair_size);
      for (int64_t pair = 0; pair < row_pairs; ++pair) {
        const int64_t row = first_row + pair * kPair;
        float* own_sums = sums;
        if (!is_first || !is_last) own_sums += (row / kPair * all_column_pairs + first_column / kPair) * kPair * kPair;
        for (int64_t block = 0; block < blocks; ++block) {
          LeftTiles row_tiles{left_tiles + (block * row_pairs + pair) * pair_size, kStep, kTile, steps * kTile};
          int64_t own_steps = steps;
          if (in_place) {
            row_tiles = {left.data + row * left.stride + block * steps * kStep, left.stride, kStep,
                         kTileRows * left.stride};
            own_steps = std::min(steps, left.depth / kStep - block * steps);
          }
          for (int64_t column_pair = 0; column_pair < column_pairs; ++column_pair) {
            float* sum = own_sums + column_pair * kPair * kPair;
            multiply_tiles(row_tiles, right_tiles + (block * column_pairs + column_pair) * pair_size, own_steps,
                           steps * kTile, is_first && block == 0, sum);
            if (!is_last || block + 1 < blocks) continue;
            const int64_t column = column_pair * kPair;
            write_rounded(sum, !by_rows, std::min(kPair, left.count - row), std::min(kPair, columns - column),
                          out + row * right.count + first_column + column, right.count);
          }
        }
      }
    }
  }
}

}  // namespace

TRANSMUTE_TARGET_AMX void tile_product(const Bfloat16Matrix& a, const Bfloat16Matrix& b, uint16_t* out) {
  if (a.columns != b.rows) throw std::invalid_argument("tile_product: the matrices do not fit");
  const Operand left{a.data, a.rows, a.columns, a.row_stride, a.column_stride};
  const Operand right{b.data, b.columns, b.rows, b.column_stride, b.row_stride};
  for (const Operand& x : {left, right})
    if (x.stride != 1 && x.depth_stride != 1) throw std::invalid_argument("tile_product: no stride is 1");
  static thread_local Scratch scratch;
  const bool at_once = left.depth <= kMostDepth;
  const int64_t pairs = at_once ? kMostColumns / kPair : whole_pairs(left.count) * whole_pairs(right.count);
  float* sums = scratch.sums.at_least(pairs * kPair * kPair);
  AmxTiles tiles;
  tiles.shape(kTileRows, kTileRows);
  int64_t begin = 0;
  do {
    multiply(chunk_of(left, right, begin, kMostDepth), sums, out, scratch);
    begin += kMostDepth;
  } while (begin < left.depth);
}

#else

void tile_product(const Bfloat16Matrix&, const Bfloat16Matrix&, uint16_t*) {
  throw std::logic_error("tile_product is for x86-64");
}

#endif

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
