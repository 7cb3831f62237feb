// KServe v2 over gRPC. A build without the gRPC library has the same function, which says so.
#pragma once

#include <filesystem>
#include <string>

#include "server/door.h"

namespace inlay {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  int port = 8001;                 // 0: one that is free
  std::filesystem::path tls_cert;  // PEM; with tls_key, or neither
  std::filesystem::path tls_key;
  uint64_t max_message_bytes = 32 * 1024 * 1024;
};

DoorMaker grpc_door(const GrpcOptions& options);

}  // namespace inlay
