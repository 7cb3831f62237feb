// For tests: builds safetensors files as strings, well-formed or not.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace inlay {

// Length, header and data, whatever they hold.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof(length));
  return file.append(header).append(data);
}

// A well-formed file; tensors lie in the order they are added.
class SafetensorsBuilder {
 public:
  SafetensorsBuilder& add(std::string_view name, std::string_view dtype, const std::vector<int64_t>& shape,
                          std::string_view data) {
    header_ += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header_.empty() ? "" : ",", name,
                           dtype, fmt::join(shape, ","), data_.size(), data_.size() + data.size());
    data_ += data;
    return *this;
  }
  // A float tensor with the values first, first + 1, ...
  SafetensorsBuilder& add_floats(std::string_view name, const std::vector<int64_t>& shape, float first) {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
    return add(name, "F32", shape,
               std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  }
  std::string file() const { return safetensors_file("{" + header_ + "}", data_); }

 private:
  std::string header_;
  std::string data_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace inlay
