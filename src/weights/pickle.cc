// A pickle is a program for a stack machine. This machine knows the part of its language that builds numbers, texts, lists,
// tuples and dictionaries, and the places where a real one would run code: there it makes nodes. Memory stays within a constant
// times the bytes read, since no instruction copies more than an index of what is there.
#include "weights/pickle.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

#include "weights/byte_reader.h"

namespace inlay {
namespace {

constexpr uint32_t kMark = std::numeric_limits<uint32_t>::max();
constexpr std::string_view kOrderedDict = "collections OrderedDict";

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 200));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, '?');
  return result;
}

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, std::span<const std::string_view> globals, std::string_view name)
      : reader_(bytes), globals_(globals), name_(name) {}

  Result<Pickle> run() {
    while (true) {
      at_ = reader_.position();
      const std::optional<uint8_t> opcode = reader_.take<uint8_t>();
      if (!opcode) return truncated();
      if (*opcode == '.') break;
      TRY_VOID(step(*opcode));
    }
    const uint32_t root = TRY(pop());
    return Pickle{std::move(nodes_), root, reader_.position()};
  }

 private:
  using Kind = PickleNode::Kind;

  Result<> step(uint8_t opcode) {
    switch (opcode) {
      case 0x80: return skip(1);  // PROTO
      case 0x95: return skip(8);  // FRAME
      case '(': stack_.push_back(kMark); return {};
      case '0': return drop();  // POP
      case '1': return pop_marked().map([](const std::vector<uint32_t>&) {});
      default: break;
    }
    if (std::optional<Result<>> done = step_scalar(opcode)) return *std::move(done);
    if (std::optional<Result<>> done = step_memo(opcode)) return *std::move(done);
    if (std::optional<Result<>> done = step_container(opcode)) return *std::move(done);
    if (std::optional<Result<>> done = step_object(opcode)) return *std::move(done);
    return fail(ErrorCode::kCorrupt, "{}: pickle: instruction 0x{:02x} at byte {}, which tensors don't need", name_, opcode,
                at_);
  }

  std::optional<Result<>> step_scalar(uint8_t opcode) {
    switch (opcode) {
      case 'N': return push({.kind = Kind::kNone});
      case 0x88: return push({.kind = Kind::kBool, .number = 1});
      case 0x89: return push({.kind = Kind::kBool, .number = 0});
      case 'J': return push_int<int32_t>();
      case 'K': return push_int<uint8_t>();
      case 'M': return push_int<uint16_t>();
      case 0x8a: return push_long<uint8_t>();
      case 0x8b: return push_long<uint32_t>();
      case 'G': return push_float();
      case 'X': return push_text<uint32_t>();   // BINUNICODE
      case 0x8c: return push_text<uint8_t>();   // SHORT_BINUNICODE
      case 0x8d: return push_text<uint64_t>();  // BINUNICODE8
      case 'T': return push_text<uint32_t>();   // BINSTRING, of Python 2
      case 'U': return push_text<uint8_t>();    // SHORT_BINSTRING
      case 'B': return push_text<uint32_t>();   // BINBYTES
      case 'C': return push_text<uint8_t>();    // SHORT_BINBYTES
      default: return std::nullopt;
    }
  }

  std::optional<Result<>> step_memo(uint8_t opcode) {
    switch (opcode) {
      case 'q': return memoize(reader_.take<uint8_t>());
      case 'r': return memoize(reader_.take<uint32_t>());
      case 0x94: return memoize(static_cast<uint32_t>(memo_.size()));
      case 'h': return recall(reader_.take<uint8_t>());
      case 'j': return recall(reader_.take<uint32_t>());
      default: return std::nullopt;
    }
  }

  std::optional<Result<>> step_container(uint8_t opcode) {
    switch (opcode) {
      case '}': return push({.kind = Kind::kDict});
      case ']':
      case ')': return push({.kind = Kind::kSequence});
      case 0x85: return push_last(1);  // TUPLE1, 2, 3
      case 0x86: return push_last(2);
      case 0x87: return push_last(3);
      case 't':
      case 'l': return push_marked(Kind::kSequence);
      case 'd': return push_marked(Kind::kDict);
      case 'a': return append_last(1, Kind::kSequence);  // APPEND
      case 's': return append_last(2, Kind::kDict);      // SETITEM
      case 'e': return append_marked(Kind::kSequence);   // APPENDS
      case 'u': return append_marked(Kind::kDict);       // SETITEMS
      default: return std::nullopt;
    }
  }

  std::optional<Result<>> step_object(uint8_t opcode) {
    switch (opcode) {
      case 'c': return push_global();
      case 0x93: return push_stack_global();
      case 'R':
      case 0x81: return call();  // REDUCE, NEWOBJ
      case 'b': return drop();   // BUILD sets attributes, which no tensor needs.
      case 'Q': return push_persistent();
      default: return std::nullopt;
    }
  }

  tl::unexpected<Error> corrupt(std::string_view what) const {
    return fail(ErrorCode::kCorrupt, "{}: pickle: {} at byte {}", name_, what, at_);
  }
  tl::unexpected<Error> truncated() const { return corrupt("it ends within an instruction; truncated?"); }

  Result<> skip(uint64_t size) { return reader_.take_text(size) ? Result<>() : Result<>(truncated()); }

  Result<> push(PickleNode node) {
    if (nodes_.size() == kMaxPickleNodes) return corrupt(fmt::format("more than {} objects", kMaxPickleNodes));
    nodes_.push_back(std::move(node));
    stack_.push_back(static_cast<uint32_t>(nodes_.size() - 1));
    return {};
  }

  template <class T>
  Result<> push_int() {
    const std::optional<T> value = reader_.take<T>();
    if (!value) return truncated();
    return push({.kind = Kind::kInt, .number = *value});
  }

  // A little-endian two's complement of any size.
  template <class T>
  Result<> push_long() {
    const std::optional<T> size = reader_.take<T>();
    const std::optional<std::string_view> digits = size ? reader_.take_text(*size) : std::nullopt;
    if (!digits) return truncated();
    if (digits->size() > 8) return push({.kind = Kind::kOther});
    uint64_t value = !digits->empty() && (digits->back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = digits->size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>((*digits)[i]);
    return push({.kind = Kind::kInt, .number = static_cast<int64_t>(value)});
  }

  Result<> push_float() {
    TRY_VOID(skip(8));
    return push({.kind = Kind::kOther});
  }

  template <class T>
  Result<> push_text() {
    const std::optional<T> size = reader_.take<T>();
    const std::optional<std::string_view> text = size ? reader_.take_text(*size) : std::nullopt;
    if (!text) return truncated();
    return push({.kind = Kind::kText, .text = *text});
  }

  // What lies above the last mark can be taken; a mark can't.
  Result<uint32_t> pop() {
    if (stack_.empty() || stack_.back() == kMark) return corrupt("the stack is empty");
    const uint32_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Result<> drop() {
    return pop().map([](uint32_t) {});
  }
  Result<std::vector<uint32_t>> pop_last(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) items[i] = TRY(pop());
    return items;
  }
  Result<std::vector<uint32_t>> pop_marked() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) return corrupt("no mark on the stack");
    const size_t begin = static_cast<size_t>(stack_.rend() - mark);
    std::vector<uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin - 1);
    return items;
  }

  Result<> push_last(size_t count) {
    std::vector<uint32_t> items = TRY(pop_last(count));
    return push({.kind = Kind::kSequence, .items = std::move(items)});
  }
  Result<> push_marked(Kind kind) {
    std::vector<uint32_t> items = TRY(pop_marked());
    if (kind == Kind::kDict && items.size() % 2 != 0) return corrupt("a key without a value");
    return push({.kind = kind, .items = std::move(items)});
  }

  Result<> append(const std::vector<uint32_t>& items, Kind kind) {
    if (kind == Kind::kDict && items.size() % 2 != 0) return corrupt("a key without a value");
    if (stack_.empty() || stack_.back() == kMark) return corrupt("the stack is empty");
    PickleNode& target = nodes_[stack_.back()];
    if (target.kind != kind) return corrupt("items for something that takes none");
    target.items.insert(target.items.end(), items.begin(), items.end());
    return {};
  }
  Result<> append_last(size_t count, Kind kind) { return append(TRY(pop_last(count)), kind); }
  Result<> append_marked(Kind kind) { return append(TRY(pop_marked()), kind); }

  Result<> memoize(std::optional<uint32_t> slot) {
    if (!slot) return truncated();
    if (stack_.empty() || stack_.back() == kMark) return corrupt("the stack is empty");
    memo_[*slot] = stack_.back();
    return {};
  }
  Result<> recall(std::optional<uint32_t> slot) {
    if (!slot) return truncated();
    const auto found = memo_.find(*slot);
    if (found == memo_.end()) return corrupt(fmt::format("nothing was kept as {}", *slot));
    stack_.push_back(found->second);
    return {};
  }

  Result<> push_named(std::string_view module, std::string_view member) {
    for (const std::string_view allowed : globals_) {
      const size_t space = allowed.find(' ');
      if (allowed.substr(0, space) != module || allowed.substr(space + 1) != member) continue;
      return push({.kind = Kind::kGlobal, .text = allowed});
    }
    return fail(ErrorCode::kUnsupported, "{}: pickle: it wants '{}.{}', and only tensors and dictionaries of them are read",
                name_, printable(module), printable(member));
  }
  Result<> push_global() {
    const std::optional<std::string_view> module = reader_.take_line();
    const std::optional<std::string_view> member = module ? reader_.take_line() : std::nullopt;
    return member ? push_named(*module, *member) : Result<>(truncated());
  }
  Result<> push_stack_global() {
    const uint32_t member = TRY(pop());
    const uint32_t module = TRY(pop());
    if (nodes_[member].kind != Kind::kText || nodes_[module].kind != Kind::kText) return corrupt("a name that is no text");
    return push_named(nodes_[module].text, nodes_[member].text);
  }

  Result<> call() {
    std::vector<uint32_t> items = TRY(pop_last(2));
    if (nodes_[items[0]].kind != Kind::kGlobal) return corrupt("a call of something that is no name");
    if (nodes_[items[1]].kind != Kind::kSequence) return corrupt("arguments that are no tuple");
    if (nodes_[items[0]].text != kOrderedDict) return push({.kind = Kind::kCall, .items = std::move(items)});
    return push_ordered_dict(items[1]);
  }
  // OrderedDict(), or OrderedDict([[key, value], ...]) as Python 2 wrote it.
  Result<> push_ordered_dict(uint32_t arguments) {
    PickleNode dict = {.kind = Kind::kDict};
    const std::vector<uint32_t>& list = nodes_[arguments].items;
    if (list.size() > 1) return corrupt("an OrderedDict of several arguments");
    if (list.size() == 1) {
      // The one instruction that copies, so what it copies in all is bounded by the size of the pickle.
      copied_ += nodes_[list[0]].items.size();
      if (copied_ > reader_.position()) return corrupt("an OrderedDict of a list that was used before");
      for (const uint32_t pair : nodes_[list[0]].items) {
        if (nodes_[pair].items.size() != 2) return corrupt("an OrderedDict of something that is no pair");
        dict.items.insert(dict.items.end(), nodes_[pair].items.begin(), nodes_[pair].items.end());
      }
    }
    return push(std::move(dict));
  }

  Result<> push_persistent() {
    const uint32_t id = TRY(pop());
    return push({.kind = Kind::kPersistent, .items = {id}});
  }

  ByteReader reader_;
  std::span<const std::string_view> globals_;
  std::string_view name_;
  size_t copied_ = 0;
  size_t at_ = 0;  // where the instruction begins, for messages
  std::vector<PickleNode> nodes_;
  std::vector<uint32_t> stack_;
  std::unordered_map<uint32_t, uint32_t> memo_;
};

}  // namespace

Result<Pickle> read_pickle(std::span<const std::byte> bytes, std::span<const std::string_view> globals, std::string_view name) {
  return Machine(bytes, globals, name).run();
}

}  // namespace inlay
