// For builds without the gRPC library.
#include "server/grpc/grpc_door.h"

namespace inlay {

DoorMaker grpc_door(const GrpcOptions&) {
  return [](const DoorContext&) -> Result<std::unique_ptr<Door>> {
    return fail(ErrorCode::kUnsupported, "--grpc-port: this build has no gRPC");
  };
}

}  // namespace inlay
