// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Every chunk's tokens spread over two processes give what one process gives, and so do gradients.
#include "core/weights/safetensors_writer.h"
#include "core/weights/weight_file.h"
#include "layers/lact/lact.h"
#include "tests/support/paths.h"
#include "tests/support/processes.h"
#include "training/process_group.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

namespace ttt::layers {
namespace {

constexpr std::int64_t kChunk = 12, kChunks = 3, kHeads = 2, kWidth = 8, kHidden = 12;

/// Tokens [B, chunks * chunk, ...] -> the rank's part of every chunk.
at::Tensor part(const at::Tensor& x, int rank, int size) {
  const at::Tensor chunks = x.unflatten(1, {kChunks, kChunk});
  const std::int64_t count = kChunk / size;
  return chunks.narrow(2, rank * count, count).flatten(1, 2);
}

/// Output and gradients of one process of `size`; made-up inputs, the same everywhere.
std::vector<NamedTensor> run(int rank, int size, at::ScalarType dtype,
                             const SumOverProcesses& sum) {
  torch::manual_seed(11);
  const auto tensor_options = at::TensorOptions().dtype(dtype);
  const auto activation = [&] {
    return part(at::randn({2, kChunk * kChunks, kHeads * kWidth}, tensor_options), rank, size)
        .requires_grad_();
  };
  const at::Tensor q = activation(), k = activation(), v = activation();
  const at::Tensor rates =
      part(at::rand({2, kChunk * kChunks, 3, kHeads}, tensor_options) * 0.1, rank, size)
          .requires_grad_();
  const at::Tensor momentum =
      part(at::rand({2, kChunk * kChunks, kHeads}, tensor_options), rank, size).requires_grad_();
  const at::Tensor
      w0 = (at::randn({1, kHeads, kWidth, kHidden}, tensor_options) * 0.3).requires_grad_(),
      w1 = (at::randn({1, kHeads, kHidden, kWidth}, tensor_options) * 0.3).requires_grad_(),
      w2 = (at::randn({1, kHeads, kWidth, kHidden}, tensor_options) * 0.3).requires_grad_();
  LactOptions options;
  options.steps = ops::newton_schulz_five();
  options.detach_norms = false;
  options.sum = sum;
  const LactResult result =
      run_lact({{w0, w1, w2}, {}, {}}, {q, k, v, rates, momentum},
               block_causal_schedule(kChunk * kChunks / size, kChunk / size), options);
  const at::Tensor factors =
      part(at::randn({2, kChunk * kChunks, kHeads * kWidth}, tensor_options), rank, size);
  (result.output * factors).sum().backward();
  std::vector<NamedTensor> tensors{{"output", result.output.detach()},
                                   {"dq", q.grad()},
                                   {"dk", k.grad()},
                                   {"dv", v.grad()},
                                   {"drates", rates.grad()},
                                   {"dmomentum", momentum.grad()},
                                   {"state", result.state.weights.w1.detach()}};
  // Every process has a part of the starting weights' gradients.
  for (const auto& [name, weight] : {std::pair{"dw0", w0}, {"dw1", w1}, {"dw2", w2}}) {
    const at::Tensor gradient = weight.grad().clone();
    if (sum) sum(gradient);
    tensors.push_back({name, gradient});
  }
  return tensors;
}

TEST(Worker, DISABLED_Run) {
  const char* folder = std::getenv("TTT_TEST_FOLDER");
  if (folder == nullptr) GTEST_SKIP() << "runs as a part of ContextParallel";
  const auto processes = training::ProcessGroup::from_environment();
  ASSERT_TRUE(processes);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble})
    write_safetensors(std::filesystem::path(folder) /
                          fmt::format("{}{}.safetensors", c10::toString(dtype), processes->rank()),
                      run(processes->rank(), processes->size(), dtype,
                          [&](const at::Tensor& tensor) { processes->sum(tensor); }));
}

TEST(ContextParallel, TwoProcessesEqualOne) {
  const test::TempDir folder;
  const int port = test::free_port();
  const std::map<std::string, std::string> environment{{"TTT_TEST_FOLDER", folder.path().string()}};
  const std::vector<pid_t> children{test::start_worker(0, 2, port, environment),
                                    test::start_worker(1, 2, port, environment)};
  ASSERT_EQ(test::wait_for(children), std::vector<int>({0, 0}));
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const std::vector<NamedTensor> whole = run(0, 1, dtype, {});
    for (int rank = 0; rank < 2; ++rank) {
      const WeightFile file =
          WeightFile::open(folder / fmt::format("{}{}.safetensors", c10::toString(dtype), rank));
      for (const NamedTensor& item : whole) {
        const bool gradient = item.name[0] == 'd';
        const bool everywhere = item.name == "state" || item.name.rfind("dw", 0) == 0;
        const at::Tensor expected = everywhere ? item.tensor : part(item.tensor, rank, 2);
        const at::Tensor actual = file.read(item.name);
        ASSERT_EQ(actual.sizes(), expected.sizes()) << item.name;
        // In float the gradients of Newton-Schulz amplify the rounding of the sums.
        const double tolerance = dtype == at::kDouble ? 1e-10 : gradient ? 1e-4 : 1e-5;
        EXPECT_LE((actual - expected).abs().max().item<double>(),
                  tolerance * std::max(1.0, item.tensor.abs().max().item<double>()))
            << item.name << " of process " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace ttt::layers
