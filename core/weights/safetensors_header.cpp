// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/safetensors_header.h"

#include "core/error.h"
#include "core/weights/contents.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <unordered_set>

namespace ttt::weights {
namespace {

using Json = nlohmann::json;

/// Receives the events of the JSON parser. Every function returns false to stop, after problem_ is
/// set.
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;
  const std::string& problem() const { return problem_; }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_float(double, const std::string&) override {
    return unexpected("a number with a fraction or beyond 64 bits");
  }
  bool number_integer(std::int64_t value) override {
    return unexpected("the negative number " + std::to_string(value));
  }
  bool binary(Json::binary_t&) override { return unexpected("binary data"); }
  bool number_unsigned(std::uint64_t value) override;
  bool string(std::string& value) override;
  bool start_object(std::size_t) override;
  bool key(std::string& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    return fail("the JSON text breaks off or is damaged at byte " + std::to_string(position));
  }

 private:
  enum class Place { start, tensors, metadata, tensor, shape, offsets };

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool unexpected(const std::string& what) {
    return fail(current() + " has " + what + " where none belongs");
  }
  std::string current() const {
    return entry_.info.name.empty() ? "the header"
                                    : "tensor \"" + printable(entry_.info.name) + "\"";
  }
  bool finish_tensor();

  Place place_ = Place::start;
  SafetensorsEntry entry_;
  std::string field_;
  std::string dtype_;
  std::vector<std::uint64_t> offsets_;
  bool has_shape_ = false;
  std::unordered_set<std::string> names_;
  std::string problem_;
};

bool HeaderHandler::number_unsigned(std::uint64_t value) {
  if (place_ == Place::shape) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail(current() + " has a dimension beyond 63 bits");
    if (entry_.info.shape.size() == kMaxDimensions)
      return fail(current() + " has more than " + std::to_string(kMaxDimensions) + " dimensions");
    entry_.info.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  if (place_ == Place::offsets) {
    if (offsets_.size() == 2) return fail(current() + " has more than two data_offsets");
    offsets_.push_back(value);
    return true;
  }
  return unexpected("the number " + std::to_string(value));
}

bool HeaderHandler::string(std::string& value) {
  if (place_ == Place::metadata) {
    header.metadata[field_] = value;
    return true;
  }
  if (place_ == Place::tensor && field_ == "dtype") {
    dtype_ = value;
    return true;
  }
  return unexpected("a text");
}

bool HeaderHandler::start_object(std::size_t) {
  if (place_ == Place::start) {
    place_ = Place::tensors;
    return true;
  }
  if (place_ != Place::tensors) return unexpected("an object");
  if (field_ == "__metadata__") {
    place_ = Place::metadata;
    return true;
  }
  entry_ = {};
  entry_.info.name = field_;
  dtype_.clear();
  offsets_.clear();
  has_shape_ = false;
  place_ = Place::tensor;
  return true;
}

bool HeaderHandler::key(std::string& name) {
  if (place_ == Place::tensors && !names_.insert(name).second)
    return fail("the name \"" + printable(name) + "\" occurs twice");
  if (place_ == Place::metadata && header.metadata.count(name) != 0)
    return fail("the metadata name \"" + printable(name) + "\" occurs twice");
  if (place_ == Place::tensor && name != "dtype" && name != "shape" && name != "data_offsets")
    return fail(current() + " has the unknown field \"" + printable(name) + "\"");
  if (place_ == Place::tensor &&
      ((name == "dtype" && !dtype_.empty()) || (name == "shape" && has_shape_) ||
       (name == "data_offsets" && !offsets_.empty())))
    return fail(current() + " has the field \"" + name + "\" twice");
  field_ = std::move(name);
  return true;
}

bool HeaderHandler::end_object() {
  if (place_ == Place::tensor) return finish_tensor();
  place_ = place_ == Place::metadata ? Place::tensors : Place::start;
  return true;
}

bool HeaderHandler::start_array(std::size_t) {
  if (place_ == Place::tensor && field_ == "shape") {
    place_ = Place::shape;
    has_shape_ = true;
    return true;
  }
  if (place_ == Place::tensor && field_ == "data_offsets") {
    place_ = Place::offsets;
    return true;
  }
  return unexpected("a list");
}

bool HeaderHandler::end_array() {
  place_ = Place::tensor;
  return true;
}

bool HeaderHandler::finish_tensor() {
  if (dtype_.empty() || !has_shape_ || offsets_.size() != 2)
    return fail(current() + " lacks its dtype, shape or data_offsets");
  const std::optional<DType> dtype = dtype_from_safetensors(dtype_);
  if (!dtype)
    return fail(current() + " has the dtype \"" + printable(dtype_, 40) +
                "\", which we don't read");
  entry_.info.dtype = *dtype;
  entry_.begin = offsets_[0];
  entry_.end = offsets_[1];
  if (!tensor_bytes(entry_.info.shape, *dtype, entry_.info.bytes))
    return fail(current() + " has the impossible shape " + shape_text(entry_.info.shape));
  if (entry_.begin > entry_.end || entry_.end - entry_.begin != entry_.info.bytes)
    return fail(current() + " of shape " + shape_text(entry_.info.shape) + " and dtype " + dtype_ +
                " needs " + std::to_string(entry_.info.bytes) +
                " bytes, but its data_offsets are " + std::to_string(entry_.begin) + " to " +
                std::to_string(entry_.end));
  header.entries.push_back(std::move(entry_));
  entry_ = {};
  place_ = Place::tensors;
  return true;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& where) {
  HeaderHandler handler;
  const bool done = Json::sax_parse(text.begin(), text.end(), &handler);
  TTT_CHECK(done && handler.problem().empty(), weights,
            "the safetensors header is not valid: " + handler.problem(), where,
            "download or convert the file again");
  return std::move(handler.header);
}

}  // namespace ttt::weights
