// API keys. Each key belongs to a tenant; without keys everybody is one tenant.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inlay {

class ApiKeys {
 public:
  // A key, or "tenant:key". Keys without a tenant get "key-1", "key-2", ... in order.
  Result<> add(std::string_view entry);
  // One entry a line; empty lines and lines that begin with # are left out.
  Result<> add_file(const std::filesystem::path& path);

  bool empty() const { return keys_.empty(); }
  // The tenant of an Authorization header's "Bearer KEY" (the scheme in any case); nullopt if it is none of ours. Takes the
  // same time for every wrong key: digests are compared, all of them, without stopping early.
  std::optional<std::string> tenant(std::string_view authorization) const;

 private:
  struct Key {
    std::string tenant;
    std::array<unsigned char, 32> digest;
  };
  std::vector<Key> keys_;
};

}  // namespace inlay
