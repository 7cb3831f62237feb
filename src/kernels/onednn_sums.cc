#if defined(INLAY_ONEDNN)
#include "kernels/onednn_sums.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <compare>
#include <cstring>
#include <map>

#include "tensor/buffer.h"

namespace inlay {
namespace {

struct Key {
  bool is_int8;
  int k;
  int panels;
  auto operator<=>(const Key&) const = default;
};

struct Prepared {
  dnnl::matmul primitive;
  dnnl::memory a, b, sums;
};

// oneDNN of one thread: it starts no others, since lanes and teams already use every core.
class Products {
 public:
  Products() : engine_((omp_set_num_threads(1), dnnl::engine::kind::cpu), 0), stream_(engine_) {}

  const void* run(const OneDnnProduct& product, const void* a, const void* b) {
    Prepared& prepared = prepare(product);
    prepared.a.set_data_handle(whole_rows(product, a));
    prepared.b.set_data_handle(const_cast<void*>(b));
    prepared.primitive.execute(stream_,
                               {{DNNL_ARG_SRC, prepared.a}, {DNNL_ARG_WEIGHTS, prepared.b}, {DNNL_ARG_DST, prepared.sums}});
    return sums_.as<>();
  }

 private:
  using Type = dnnl::memory::data_type;
  using Tag = dnnl::memory::format_tag;

  static int whole_blocks(const OneDnnProduct& product) {
    const int block = product.is_int8 ? 64 : 32;
    return (product.k + block - 1) / block * block;
  }

  // The rows with zeros up to whole blocks of k and up to the number of rows of every product: for other sizes oneDNN may have
  // a reference loop only, 500 times slower.
  void* whole_rows(const OneDnnProduct& product, const void* a) {
    const size_t element = product.is_int8 ? 1 : 2;
    const size_t row_bytes = static_cast<size_t>(whole_blocks(product)) * element;
    const size_t k_bytes = static_cast<size_t>(product.k) * element;
    if (rows_.size() < row_bytes * kOneDnnRows) rows_ = Buffer(row_bytes * kOneDnnRows);
    char* out = rows_.as<char>();
    for (int row = 0; row < product.rows; ++row, out += row_bytes) {
      std::memcpy(out, static_cast<const char*>(a) + row * product.a_stride * static_cast<int64_t>(element), k_bytes);
      std::memset(out + k_bytes, 0, row_bytes - k_bytes);
    }
    std::memset(out, 0, row_bytes * (kOneDnnRows - product.rows));
    return rows_.as<>();
  }

  Prepared& prepare(const OneDnnProduct& product) {
    const Key key = {product.is_int8, whole_blocks(product), product.panels};
    const std::map<Key, Prepared>::iterator found = prepared_.find(key);
    if (found != prepared_.end()) return found->second;
    const int64_t columns = static_cast<int64_t>(product.panels) * kOneDnnPanelColumns;
    const dnnl::memory::desc a({kOneDnnRows, key.k}, product.is_int8 ? Type::u8 : Type::bf16, Tag::ab);
    const dnnl::memory::desc b({key.k, columns}, product.is_int8 ? Type::s8 : Type::bf16,
                               product.is_int8 ? Tag::BA16a48b4a : Tag::BA16a48b2a);
    const dnnl::memory::desc sums({kOneDnnRows, columns}, product.is_int8 ? Type::s32 : Type::f32, Tag::ab);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, sums), engine_);
    const auto empty = [this](const dnnl::memory::desc& desc) { return dnnl::memory(desc, engine_, DNNL_MEMORY_NONE); };
    Prepared prepared = {dnnl::matmul(description), empty(a), empty(b), dnnl::memory(sums, engine_, sums_.as<>())};
    return prepared_.emplace(key, std::move(prepared)).first->second;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<Key, Prepared> prepared_;
  Buffer sums_ = Buffer(sizeof(float) * kOneDnnRows * kOneDnnPanels * kOneDnnPanelColumns);
  Buffer rows_;
};

}  // namespace

const void* onednn_sums(const OneDnnProduct& product, const void* a, const void* b) noexcept {
  static thread_local Products products;
  return products.run(product, a, b);
}

}  // namespace inlay
#endif  // INLAY_ONEDNN
