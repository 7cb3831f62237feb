#include "server/grpc/grpc_door.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cctype>

#include "base/file.h"
#include "base/log.h"
#include "server/grpc/infer_messages.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxPemBytes = 1 << 20;

std::string_view metadata(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

// Of what the HTTP flow reads from headers, what gRPC clients send as metadata, and gRPC's own deadline.
HttpHeaders headers_of(const grpc::CallbackServerContext& context) {
  HttpHeaders headers;
  for (const char* name : {"x-priority", "request-timeout-ms", "traceparent"}) {
    const std::string_view value = metadata(context, name);
    if (!value.empty()) headers.emplace_back(name, value);
  }
  const std::chrono::system_clock::duration left = context.deadline() - std::chrono::system_clock::now();
  const int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
  if (milliseconds > 0 && milliseconds < 86'400'000) headers.emplace_back("request-timeout-ms", std::to_string(milliseconds));
  return headers;
}

// One ModelInfer call. Ends itself when gRPC is done with it, which is after Finish() and so after the flow's last step.
class InferCall final : public grpc::ServerUnaryReactor {
 public:
  InferCall(const inference::ModelInferRequest& request, inference::ModelInferResponse& response)
      : request_(request), response_(response), route_{Dialect::kGrpc, [this](const HttpRequest&) { return parse(); }} {}

  void start(const DoorContext& door, grpc::CallbackServerContext& context, std::string tenant) {
    context_ = &context;
    IncomingRequest incoming;
    incoming.http.path = "/inference.GRPCInferenceService/ModelInfer";
    incoming.http.headers = headers_of(context);
    incoming.http.peer = context.peer();
    incoming.http.cancelled = cancelled_;
    incoming.id = request_.id();
    incoming.tenant = std::move(tenant);
    incoming.bytes = request_.ByteSizeLong();
    embed(door.requests, route_, std::move(incoming), [this](HttpResponse response) { finish(response); });
  }

  void OnCancel() override { cancelled_->store(true, std::memory_order_relaxed); }
  void OnDone() override { delete this; }

 private:
  Parsed<DialectCall> parse() {
    Result<EmbedRequest> request = parse_infer(request_);
    if (!request) {
      if (request.error().code == ErrorCode::kNotFound)
        return tl::unexpected<Failure>({Fault::kModelNotFound, request.error().message, {}});
      return tl::unexpected<Failure>(failure_of(request.error()));
    }
    return DialectCall{*std::move(request), [this](const EmbedAnswer& answer) {
                         render_infer(answer, request_, response_);
                         HttpResponse done;
                         done.status = static_cast<int>(grpc::StatusCode::OK);
                         return done;
                       }};
  }

  // Of a failure, the status is gRPC's and the body the message.
  void finish(const HttpResponse& response) {
    for (const auto& [name, value] : response.headers) {
      std::string key = name;
      for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      context_->AddTrailingMetadata(key, value);
    }
    Finish(grpc::Status(static_cast<grpc::StatusCode>(response.status), response.body));
  }

  const inference::ModelInferRequest& request_;
  inference::ModelInferResponse& response_;
  grpc::CallbackServerContext* context_ = nullptr;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  EmbedRoute route_;
};

class Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit Service(const DoorContext& door) : door_(door) {}

  grpc::ServerUnaryReactor* ServerLive(grpc::CallbackServerContext* context, const inference::ServerLiveRequest*,
                                       inference::ServerLiveResponse* response) override {
    response->set_live(true);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* ServerReady(grpc::CallbackServerContext* context, const inference::ServerReadyRequest*,
                                        inference::ServerReadyResponse* response) override {
    response->set_ready(door_.gauges().ready);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* ModelReady(grpc::CallbackServerContext* context, const inference::ModelReadyRequest* request,
                                       inference::ModelReadyResponse* response) override {
    const NamedModel found = find_model(door_.requests, request->name());
    response->set_ready(static_cast<bool>(found.model) && door_.gauges().ready);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* ServerMetadata(grpc::CallbackServerContext* context, const inference::ServerMetadataRequest*,
                                           inference::ServerMetadataResponse* response) override {
    if (!tenant_of(*context)) return finish(context, unauthenticated());
    response->set_name("inlay");
    response->set_version(INLAY_VERSION);
    for (const char* extension : {"parameters", "schedule_policy"}) response->add_extensions(extension);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* ModelMetadata(grpc::CallbackServerContext* context, const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) override {
    if (!tenant_of(*context)) return finish(context, unauthenticated());
    const NamedModel found = find_model(door_.requests, request->name());
    if (!found.model) {
      return finish(
          context, {grpc::StatusCode::NOT_FOUND, fmt::format("Request for unknown model: '{}' is not found", request->name())});
    }
    render_model_metadata(found.model->facts(), *response);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context, const inference::ModelInferRequest* request,
                                       inference::ModelInferResponse* response) override {
    std::optional<std::string> tenant = tenant_of(*context);
    if (!tenant) return finish(context, unauthenticated());
    InferCall* const call = new InferCall(*request, *response);  // Ends itself.
    call->start(door_, *context, *std::move(tenant));
    return call;
  }

 private:
  static grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  static grpc::Status unauthenticated() {
    return {grpc::StatusCode::UNAUTHENTICATED, "no valid API key in the metadata: wanted authorization: Bearer KEY"};
  }

  std::optional<std::string> tenant_of(const grpc::CallbackServerContext& context) const {
    if (door_.keys.empty()) return std::string(metadata(context, "x-tenant").substr(0, 128));
    return door_.keys.tenant(metadata(context, "authorization"));
  }

  const DoorContext door_;
};

class GrpcDoor final : public Door {
 public:
  explicit GrpcDoor(const DoorContext& context) : service_(context) {}
  ~GrpcDoor() override { close(std::chrono::milliseconds(0)); }

  Result<> open(const GrpcOptions& options) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(fmt::format("{}:{}", options.host, options.port), TRY(credentials(options)), &port_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<uint64_t>(options.max_message_bytes, INT32_MAX)));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0) {
      return fail(ErrorCode::kUnavailable, "cannot listen for gRPC on {} port {}", options.host, options.port);
    }
    return {};
  }

  int port() const override { return port_; }
  void close(std::chrono::milliseconds limit) override {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now() + limit);
    server_->Wait();
    server_.reset();
  }

 private:
  static Result<std::shared_ptr<grpc::ServerCredentials>> credentials(const GrpcOptions& options) {
    if (options.tls_cert.empty()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions tls;
    const std::string key = TRY(read_file(options.tls_key, kMaxPemBytes));
    const std::string cert = TRY(read_file(options.tls_cert, kMaxPemBytes));
    tls.pem_key_cert_pairs.push_back({key, cert});
    return grpc::SslServerCredentials(tls);
  }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace

DoorMaker grpc_door(const GrpcOptions& options) {
  return [options](const DoorContext& context) -> Result<std::unique_ptr<Door>> {
    std::unique_ptr<GrpcDoor> door = std::make_unique<GrpcDoor>(context);
    TRY_VOID(door->open(options));
    return std::unique_ptr<Door>(std::move(door));
  };
}

}  // namespace inlay
