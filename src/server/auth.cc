#include "server/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cctype>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxKeyFileBytes = 1 << 20;
constexpr size_t kMinKeyBytes = 8;

std::array<unsigned char, 32> digest_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  const int done = EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  INLAY_CHECK(done == 1, "SHA-256 is always there");
  return digest;
}

bool is_bearer(std::string_view scheme) {
  constexpr std::string_view kBearer = "bearer";
  if (scheme.size() != kBearer.size()) return false;
  for (size_t i = 0; i < scheme.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(scheme[i])) != kBearer[i]) return false;
  }
  return true;
}

}  // namespace

Result<> ApiKeys::add(std::string_view entry) {
  entry = trim(entry);
  const size_t colon = entry.find(':');
  const std::string_view key = trim(colon == std::string_view::npos ? entry : entry.substr(colon + 1));
  const std::string_view tenant = colon == std::string_view::npos ? std::string_view() : trim(entry.substr(0, colon));
  if (key.size() < kMinKeyBytes)
    return fail(ErrorCode::kInvalidArgument, "an API key has {} characters, wanted {} or more", key.size(), kMinKeyBytes);
  keys_.push_back({tenant.empty() ? fmt::format("key-{}", keys_.size() + 1) : std::string(tenant), digest_of(key)});
  return {};
}

Result<> ApiKeys::add_file(const std::filesystem::path& path) {
  const std::string text = TRY(read_file(path, kMaxKeyFileBytes));
  const size_t before = keys_.size();
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view entry = trim(line);
    if (!entry.empty() && entry[0] != '#') TRY_VOID(add(entry).map_error(within(path.string())));
  }
  if (keys_.size() == before) return fail(ErrorCode::kInvalidArgument, "{}: no API key in it", path.string());
  return {};
}

std::optional<std::string> ApiKeys::tenant(std::string_view authorization) const {
  const size_t space = authorization.find(' ');
  if (space == std::string_view::npos || !is_bearer(authorization.substr(0, space))) return std::nullopt;
  const std::array<unsigned char, 32> digest = digest_of(trim(authorization.substr(space + 1)));
  const Key* found = nullptr;
  for (const Key& key : keys_) {
    if (CRYPTO_memcmp(key.digest.data(), digest.data(), digest.size()) == 0) found = &key;
  }
  if (found == nullptr) return std::nullopt;
  return found->tenant;
}

}  // namespace inlay
