// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/weight_tools/convert.h"

#include "core/error.h"
#include "core/log.h"
#include "core/weights/safetensors_writer.h"
#include "core/weights/state_dict.h"
#include "core/weights/torch_dtype.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>

namespace ttt::cli {
namespace {

void check_suffix(const std::filesystem::path& output) {
  std::string suffix = output.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  TTT_CHECK(suffix == ".safetensors", output, "weights are written as .safetensors only",
            printable(output.string()), "give an output name that ends in .safetensors");
}

at::Tensor convert(const at::Tensor& tensor, const TensorInfo& info, const std::string& where) {
  const at::ScalarType type = scalar_type(info.dtype);
  if (tensor.scalar_type() == type) return tensor;
  at::Tensor result = tensor.to(type);
  const std::int64_t lost = count_non_finite(result) - count_non_finite(tensor);
  TTT_CHECK(lost <= 0, weights,
            fmt::format("{} of {} values of \"{}\" are beyond the range of {}", lost,
                        tensor.numel(), printable(info.name), to_string(info.dtype)),
            where, "convert to bf16, which has the range of fp32");
  return result;
}

}  // namespace

std::optional<DType> parse_convert_dtype(const std::string& text) {
  if (text == "keep") return std::nullopt;
  if (text == "fp32") return DType::f32;
  if (text == "fp16") return DType::f16;
  if (text == "bf16") return DType::bf16;
  throw Error(ErrorKind::usage, "there is no type \"" + printable(text, 40) + "\"", "--dtype",
              "give fp32, fp16, bf16 or keep");
}

ConvertResult run_convert(const ConvertOptions& options) {
  check_suffix(options.output);
  TTT_CHECK(!options.dtype || is_floating(*options.dtype), usage,
            "weights can only be converted to a floating type", "--dtype",
            "give fp32, fp16, bf16 or keep");
  check_writable(options.output, options.overwrite);
  const WeightFile file = WeightFile::open(options.input, {options.weights_key});

  std::vector<TensorInfo> infos = file.tensors();
  ConvertResult result{infos.size(), 0, 0};
  for (TensorInfo& info : infos) {
    if (!options.dtype || !is_floating(info.dtype) || info.dtype == *options.dtype) continue;
    info.dtype = *options.dtype;
    ++result.converted;
  }
  std::map<std::string, std::string> metadata = file.metadata();
  // Other readers ask which framework's layout the tensors have.
  if (file.container() == "torch-zip") metadata["format"] = "pt";
  SafetensorsWriter writer(options.output, std::move(infos), metadata);
  for (const TensorInfo& info : writer.tensors())
    writer.append(convert(file.read(info.name), info, printable(options.input.string())));
  writer.finish();
  result.bytes = std::filesystem::file_size(options.output);
  log_info("convert: wrote {} tensors to {} ({} converted)", result.tensors,
           printable(options.output.string()), result.converted);
  return result;
}

}  // namespace ttt::cli
