// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"

#include "core/error.h"
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"
#include "kernels/registry.h"
#include "kernels/rope_2d/rope_2d.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"
#include "kernels/ttt_depthwise/ttt_depthwise.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "tests/support/paths.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace ttt::ops {
namespace {

namespace fs = std::filesystem;

const OpSupport& support() {
  return registry().front().support();
}

/// Kind of the ttt::Error that the call throws, after checking that it says where and what to do.
template <typename Call>
ErrorKind error_kind(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    EXPECT_FALSE(error.where().empty());
    EXPECT_FALSE(error.hint().empty());
    return error.kind();
  }
  ADD_FAILURE() << "no exception";
  return ErrorKind::internal;
}

TEST(Backend, WordsRoundTrip) {
  for (const Backend backend :
       {Backend::automatic, Backend::reference, Backend::cpu, Backend::cuda})
    EXPECT_EQ(parse_backend(to_string(backend)), backend);
  EXPECT_EQ(parse_backend("auto"), Backend::automatic);
  for (const char* word : {"", "CPU", "gpu", "cpu ", "reference2"})
    EXPECT_EQ(error_kind([&] { parse_backend(word); }), ErrorKind::usage) << word;
}

TEST(Backend, AutomaticFollowsDtype) {
  EXPECT_EQ(resolve(support(), Backend::automatic, {at::ones({2})}), Backend::cpu);
  EXPECT_EQ(resolve(support(), Backend::automatic, {at::ones({2}, at::kBFloat16)}), Backend::cpu);
  EXPECT_EQ(resolve(support(), Backend::automatic, {at::ones({2}, at::kDouble)}),
            Backend::reference);
  EXPECT_EQ(resolve(support(), Backend::automatic, {at::ones({2}, at::kHalf)}), Backend::reference);
  EXPECT_EQ(resolve(support(), Backend::automatic, {at::Tensor(), at::ones({2})}), Backend::cpu);
}

TEST(Backend, ProcessDefaultAppliesWhereNothingIsAsked) {
  set_default_backend(Backend::reference);
  EXPECT_EQ(resolve(support(), Backend::automatic, {at::ones({2})}), Backend::reference);
  EXPECT_EQ(resolve(support(), Backend::cpu, {at::ones({2})}), Backend::cpu);
  set_default_backend(Backend::automatic);
}

TEST(Backend, UnavailableCombinationsSayWhatIsAvailable) {
  const auto message = [](Backend backend, at::ScalarType dtype) {
    try {
      resolve(support(), backend, {at::ones({2}, dtype)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      EXPECT_FALSE(error.hint().empty());
      return std::string(error.what());
    }
    ADD_FAILURE() << "no exception";
    return std::string();
  };
  for (const std::string& text :
       {message(Backend::cpu, at::kDouble), message(Backend::automatic, at::kInt),
        message(Backend::cuda, at::kFloat)}) {
    EXPECT_NE(text.find(support().name), std::string::npos) << text;
    EXPECT_NE(text.find("available: reference"), std::string::npos) << text;
    EXPECT_NE(text.find("cpu (Float, BFloat16)"), std::string::npos) << text;
  }
}

TEST(CpuIsa, OverrideHolds) {
  EXPECT_LE(cpu_isa(), best_cpu_isa());
  set_cpu_isa(CpuIsa::baseline);
  EXPECT_EQ(cpu_isa(), CpuIsa::baseline);
  set_cpu_isa(std::nullopt);
  if (best_cpu_isa() < CpuIsa::avx512) {
    EXPECT_EQ(error_kind([] { set_cpu_isa(CpuIsa::avx512); }), ErrorKind::device);
  }
}

void expect_usage_errors(const std::vector<std::function<void()>>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    EXPECT_EQ(error_kind(calls[i]), ErrorKind::usage) << "call " << i;
}

TEST(OpArguments, GatedLinearNamesWrongShapesAndDtypes) {
  const at::Tensor x = at::ones({2, 6, 8}), w = at::ones({1, 2, 4, 4});
  expect_usage_errors({
      [&] {
        gated_linear_step(x, at::ones({2, 5, 8}), w, w);
      },
      [&] {
        gated_linear_step(x, x, at::ones({1, 2, 4, 3}), w);
      },
      [&] {
        gated_linear_step(x, x, w, at::ones({1, 4, 2, 2}));
      },
      [&] {
        gated_linear_step(x, x, at::ones({3, 2, 4, 4}), w);
      },
      [&] { gated_linear_step(x, x.to(at::kDouble), w, w); },
      [&] { gated_linear_step(x, x, w.to(at::kDouble), w); },
      [&] { gated_linear_step(at::ones({8}), x, w, w); },
      [&] { gated_linear_step(x, x, at::Tensor(), w); },
      [&] { gated_linear_step(at::Tensor(), x, w, w); },
      [&] {
        gated_linear_apply(x, {w, at::ones({1, 1, 8, 8})});
      },
      [&] {
        gated_linear_apply_out(x, {w, w}, at::ones({2, 6, 9}));
      },
      [&] {
        gated_linear_apply_out(x, {w, w}, at::ones({2, 6, 8}, at::kDouble));
      },
      [&] {
        gated_linear_apply_out(x, {w, w}, at::ones({2, 8, 6}).transpose(1, 2));
      },
      [&] {
        gated_linear_apply_out(x, {w, w}, at::ones({1, 6, 8}).expand({2, 6, 8}));
      },
  });
}

TEST(OpArguments, GridOpsNameWrongShapesAndDtypes) {
  const at::Tensor x = at::ones({2, 6, 8}), grid = x.view({2, 2, 3, 8});
  const at::Tensor taps = at::ones({2, 3, 3, 8}), w3 = at::ones({8, 1, 3, 3});
  const RopeTable table = make_rope_table(2, 3, 8);
  expect_usage_errors({
      [&] {
        depthwise_step(grid, grid, at::ones({8, 3, 3}));
      },
      [&] { depthwise_step(grid, x, w3); },
      [&] {
        depthwise_apply(grid, at::ones({1, 3, 3, 8}));
      },
      [&] {
        depthwise_apply_out(grid, taps, at::ones({2, 2, 3, 7}));
      },
      [&] { depthwise_conv_weight(w3); },
      [&] { make_rope_table(2, 3, 6); },
      [&] { make_rope_table(-1, 3, 8); },
      [&] {
        rope_2d(at::ones({2, 5, 8}), table);
      },
      [&] {
        rope_2d(at::ones({2, 6, 12}), table);
      },
      [&] { rope_2d(x, RopeTable{}); },
      [&] {
        depthwise_conv3x3(grid, at::ones({8, 1, 5, 5}), {});
      },
      [&] { depthwise_conv3x3(grid, w3, at::ones({7})); },
      [&] { depthwise_conv3x3(grid, w3, {}, {.stride = 3}); },
      [&] { depthwise_conv3x3(grid, w3, {}, {.stride = 0}); },
      [&] { depthwise_conv3x3(grid, w3, {}, {.stride = 2, .add_input = true}); },
      [&] { depthwise_conv3x3(x, w3, {}); },
  });
}

TEST(OpArguments, FormsThatWriteIntoAnOutputRecordNoGradients) {
  const at::Tensor x = at::ones({2, 6, 8}).requires_grad_();
  const at::Tensor w = at::ones({1, 2, 4, 4}), out = at::ones({2, 6, 8});
  EXPECT_EQ(error_kind([&] { gated_linear_apply_out(x, {w, w}, out); }), ErrorKind::usage);
  const at::NoGradGuard no_gradients;
  EXPECT_NO_THROW(gated_linear_apply_out(x, {w, w}, out));
}

TEST(OpArguments, OutputsDoNotOverwriteWhatIsRead) {
  const at::Tensor stack = at::ones({3, 6, 8}), w = at::ones({1, 2, 4, 4});
  const at::Tensor x = stack.narrow(0, 0, 2), shifted = stack.narrow(0, 1, 2);
  const at::Tensor grid = x.view({2, 2, 3, 8}), taps = at::ones({2, 3, 3, 8});
  const at::Tensor m = at::ones({1, 1, 8, 8});
  const SwigluMatrices matrices{m, m, m};
  expect_usage_errors({
      [&] {
        gated_linear_apply_out(x, {w, w}, shifted);
      },
      [&] { depthwise_apply_out(grid, taps, grid); },
      [&] {
        depthwise_apply_out(grid, taps, shifted.view({2, 2, 3, 8}));
      },
      [&] { swiglu_apply_out(x, matrices, x); },
      [&] { swiglu_apply_out(x, matrices, shifted); },
  });
  EXPECT_NO_THROW(gated_linear_apply_out(x, {w, w}, x, Backend::cpu));
  EXPECT_NO_THROW(depthwise_apply_out(grid, taps, at::empty_like(grid)));
  EXPECT_NO_THROW(swiglu_apply_out(x, matrices, at::empty_like(x)));
}

TEST(OpArguments, HalfTakesTheReference) {
  const at::Tensor x = at::ones({1, 3, 4}, at::kHalf), w = at::ones({1, 1, 4, 4}, at::kHalf);
  const InnerWeights weights = gated_linear_step(x, x, w, w);
  EXPECT_EQ(weights.w1.scalar_type(), at::kFloat);
  EXPECT_EQ(gated_linear_apply(x, weights).scalar_type(), at::kHalf);
}

/// Device code must compile without LibTorch: its headers cost 6 to 36 times the compile time
/// there.
TEST(SourceRules, DeviceCodeIncludesNoLibTorch) {
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() / "kernels")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cu" && extension != ".cuh" && entry.path().filename() != "cuda.h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      for (const char* root : {"<ATen/", "<c10/", "<torch/"})
        EXPECT_FALSE(line.starts_with("#include") && line.find(root) != std::string::npos)
            << entry.path() << ": " << line;
  }
}

/// A file compiled for a newer processor must not hold inline functions of common headers: the
/// linker may pick its copy for everyone.
TEST(SourceRules, VectorisedFilesIncludeOnlyTheirOwnHeaders) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() / "kernels")) {
    if (entry.path().filename() != "cpu_kernel.cpp") continue;
    ++files;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      EXPECT_TRUE(!line.starts_with("#include") || line.ends_with("/cpu_kernel.h\"") ||
                  line.starts_with("#include \"kernels/support/simd"))
          << entry.path() << ": " << line;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace ttt::ops
