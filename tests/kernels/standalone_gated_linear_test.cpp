// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_gated_linear/cuda.h"
#include "tests/kernels/standalone.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ttt::test {
namespace {

using namespace ops::cuda;

struct Case {
  std::int64_t batch, tokens, heads, width;
  bool sliced = false;  // activations between other channels, results too
  std::int64_t block_tokens = 0;
  std::int64_t grid_width = 0;  // of tokens that are rotated; 0: none are
};

Case rotated(Case c, std::int64_t grid_width) {
  c.grid_width = grid_width;
  return c;
}

double sigmoid(double z) {
  return 1 / (1 + std::exp(-z));
}

/// One head of one sample in double, straight from the formulas.
struct Head {
  std::int64_t tokens, width;
  std::vector<double> x, y, w1, w2;  // x, y [tokens, width]

  std::vector<double> times(const std::vector<double>& rows, const std::vector<double>& m) const {
    std::vector<double> out(tokens * width, 0.0);
    for (std::int64_t n = 0; n < tokens; ++n)
      for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          out[n * width + j] += rows[n * width + i] * m[i * width + j];
    return out;
  }
  void add_times_transposed(const std::vector<double>& rows, const std::vector<double>& m,
                            std::vector<double>& out) const {
    for (std::int64_t n = 0; n < tokens; ++n)
      for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          out[n * width + i] += rows[n * width + j] * m[i * width + j];
  }
  std::vector<double> sum(const std::vector<double>& rows, double scale) const {
    std::vector<double> out(width * width, 0.0);
    for (std::int64_t n = 0; n < tokens; ++n)
      for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          out[i * width + j] += scale * x[n * width + i] * rows[n * width + j];
    return out;
  }
  double slope() const { return tokens > 0 ? -1.0 / (3.0 * static_cast<double>(tokens)) : 0; }

  /// y * silu(z2) and y * z1 * silu'(z2)
  void gated(std::vector<double>& r1, std::vector<double>& r2) const {
    const std::vector<double> z1 = times(x, w1), z2 = times(x, w2);
    r1.resize(z1.size());
    r2.resize(z1.size());
    for (std::size_t i = 0; i < z1.size(); ++i) {
      const double s = sigmoid(z2[i]);
      r1[i] = y[i] * z2[i] * s;
      r2[i] = y[i] * z1[i] * s * (1 + z2[i] * (1 - s));
    }
  }
  double norm(const std::vector<double>& g, std::int64_t column) const {
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i)
      squares += g[i * width + column] * g[i * width + column];
    return std::sqrt(squares);
  }
  std::vector<double> stepped(const std::vector<double>& w, const std::vector<double>& g) const {
    std::vector<double> out(w);
    for (std::int64_t j = 0; j < width; ++j)
      for (std::int64_t i = 0; i < width; ++i)
        out[i * width + j] -= g[i * width + j] / (norm(g, j) + 1);
    return out;
  }
  std::vector<double> through_clip(const std::vector<double>& g,
                                   const std::vector<double>& dout) const {
    std::vector<double> out(g.size());
    for (std::int64_t j = 0; j < width; ++j) {
      const double n = norm(g, j);
      double dot = 0;
      for (std::int64_t i = 0; i < width; ++i) dot -= g[i * width + j] * dout[i * width + j];
      for (std::int64_t i = 0; i < width; ++i)
        out[i * width + j] = -dout[i * width + j] / (n + 1) -
                             (n > 0 ? g[i * width + j] * dot / (n * (n + 1) * (n + 1)) : 0);
    }
    return out;
  }
};

/// What the step's backward pass gives for one head.
struct HeadGradients {
  std::vector<double> dk, dv, dw1, dw2;
};

HeadGradients step_backward(const Head& head, const std::vector<double>& dout1,
                            const std::vector<double>& dout2) {
  std::vector<double> r1, r2;
  head.gated(r1, r2);
  const std::vector<double> dg1 = head.through_clip(head.sum(r1, head.slope()), dout1);
  const std::vector<double> dg2 = head.through_clip(head.sum(r2, head.slope()), dout2);
  const std::vector<double> z1 = head.times(head.x, head.w1), z2 = head.times(head.x, head.w2);
  const std::vector<double> u1 = head.times(head.x, dg1), u2 = head.times(head.x, dg2);
  HeadGradients out;
  out.dk.resize(z1.size());
  std::vector<double> dz1(z1.size()), dz2(z1.size());
  for (std::size_t i = 0; i < z1.size(); ++i) {
    const double s = sigmoid(z2[i]), e = head.slope() * head.y[i];
    const double slope = s * (1 + z2[i] * (1 - s));
    const double curvature = s * (1 - s) * (2 + z2[i] * (1 - 2 * s));
    out.dv.push_back(head.slope() * (u1[i] * z2[i] * s + u2[i] * z1[i] * slope));
    dz1[i] = u2[i] * e * slope;
    dz2[i] = u1[i] * e * slope + u2[i] * e * z1[i] * curvature;
    r1[i] *= head.slope();
    r2[i] *= head.slope();
  }
  head.add_times_transposed(r1, dg1, out.dk);
  head.add_times_transposed(r2, dg2, out.dk);
  head.add_times_transposed(dz1, head.w1, out.dk);
  head.add_times_transposed(dz2, head.w2, out.dk);
  out.dw1 = head.sum(dz1, 1);
  out.dw2 = head.sum(dz2, 1);
  for (std::size_t i = 0; i < out.dw1.size(); ++i) {
    out.dw1[i] += dout1[i];
    out.dw2[i] += dout2[i];
  }
  return out;
}

/// A rotary table of quarter turns, which no rounding changes.
class QuarterTurns {
 public:
  explicit QuarterTurns(const Case& c)
      : width_(std::max<std::int64_t>(1, c.grid_width)),
        pairs_(c.grid_width > 0 ? c.heads * c.width / 4 : 0),
        row_(turns("row", (c.tokens + width_ - 1) / width_ * pairs_)),
        column_(turns("column", width_ * pairs_)),
        row_cos_(cosines(row_, 0)),
        row_sin_(cosines(row_, 3)),
        column_cos_(cosines(column_, 0)),
        column_sin_(cosines(column_, 3)) {}

  RopeAngles angles() const {
    if (pairs_ == 0) return {};
    return {row_cos_.floats(),    row_sin_.floats(),        column_cos_.floats(),
            column_sin_.floats(), static_cast<int>(width_), static_cast<int>(pairs_)};
  }
  /// Turns the channels of one head's tokens, or turns them back.
  void turn(std::vector<double>& x, std::int64_t head, std::int64_t channels, bool back) const {
    if (pairs_ == 0) return;
    for (std::size_t at = 0; at < x.size(); at += 2) {
      const std::int64_t token = static_cast<std::int64_t>(at) / channels;
      const std::int64_t pair = (head * channels + static_cast<std::int64_t>(at) % channels) / 2;
      const int turns = pair < pairs_ ? row_[token / width_ * pairs_ + pair]
                                      : column_[token % width_ * pairs_ + pair - pairs_];
      for (int i = 0; i < (back ? 4 - turns : turns); ++i) {
        std::swap(x[at], x[at + 1]);
        x[at] = -x[at];
      }
    }
  }

 private:
  static std::vector<int> turns(const char* name, std::int64_t count) {
    std::vector<int> out;
    for (const float value : made_up(name, count, DataType::float32, 2))
      out.push_back(static_cast<int>(std::floor(value)) + 2);
    return out;
  }
  /// Of the angles, after `more` further turns.
  static DeviceArray cosines(const std::vector<int>& turns, int more) {
    constexpr float kCosine[] = {1, 0, -1, 0};
    std::vector<float> out;
    for (const int turn : turns) out.push_back(kCosine[(turn + more) % 4]);
    return DeviceArray(out);
  }
  std::int64_t width_, pairs_;
  std::vector<int> row_, column_;
  DeviceArray row_cos_, row_sin_, column_cos_, column_sin_;
};

/// Inputs of a case on host and device.
class Problem {
 public:
  Problem(const Case& c, DataType type)
      : sizes{c.batch, c.tokens, c.heads, c.width, c.block_tokens},
        type_(type),
        pad_(c.sliced ? 3 : 0),
        row_(c.heads * c.width + 2 * pad_),
        count_(c.batch * c.tokens * row_),
        matrix_(c.heads * c.width * c.width),
        turns_(c),
        x_host(made_up("x", count_, type)),
        y_host(made_up("y", count_, type)),
        w1_host(made_up("w1", matrix_, DataType::float32, 0.5F)),
        w2_host(made_up("w2", matrix_, DataType::float32, 0.5F)),
        x(x_host, type),
        y(y_host, type),
        w1(w1_host),
        w2(w2_host) {}

  TokenStrides strides() const { return {sizes.tokens * row_, row_}; }
  TokenInput input(const DeviceArray& array) const { return {array.element(pad_), strides()}; }
  TokenOutput output(const DeviceArray& array) const { return {array.element(pad_), strides()}; }
  std::size_t tokens_count() const { return count_; }
  std::size_t state_count() const { return sizes.batch * matrix_; }
  MatrixPair shared_weights() const { return {w1.floats(), w2.floats(), 0}; }
  MatrixPair per_sample(const DeviceArray& a, const DeviceArray& b) const {
    return {a.floats(), b.floats(), static_cast<std::int64_t>(matrix_)};
  }

  Head head(std::int64_t b, std::int64_t h) const {
    Head out{sizes.tokens, sizes.width, {}, {}, {}, {}};
    for (std::int64_t n = 0; n < sizes.tokens; ++n)
      for (std::int64_t i = 0; i < sizes.width; ++i) {
        const std::size_t at = token_element(b, n, h, i);
        out.x.push_back(x_host[at]);
        out.y.push_back(y_host[at]);
      }
    turns_.turn(out.x, h, sizes.width, false);
    out.w1 = matrix_of(w1_host, 0, h);
    out.w2 = matrix_of(w2_host, 0, h);
    return out;
  }
  RopeAngles rope() const { return turns_.angles(); }
  /// The gradient of what was read before it was turned.
  std::vector<double> turned_back(std::vector<double> gradient, std::int64_t h) const {
    turns_.turn(gradient, h, sizes.width, true);
    return gradient;
  }
  std::vector<double> matrix_of(const std::vector<float>& all, std::int64_t b,
                                std::int64_t h) const {
    const std::int64_t size = sizes.width * sizes.width;
    const auto from = all.begin() + (b * sizes.heads + h) * size;
    return {from, from + size};
  }
  /// Compares a state [batch, heads, width, width] of one sample and head.
  void check_matrix(const DeviceArray& actual, std::int64_t b, std::int64_t h,
                    const std::vector<double>& expected, const char* what) const {
    const std::vector<double> values = matrix_of(actual.values(), b, h);
    expect_close({values.begin(), values.end()}, expected, state_tolerance(), what);
  }
  /// Compares one head's channels, and that what lies beside was left alone.
  void check_tokens(const DeviceArray& actual, std::int64_t b, std::int64_t h,
                    const std::vector<double>& expected, const char* what) const {
    const std::vector<float> values = actual.values();
    std::vector<float> own;
    for (std::int64_t n = 0; n < sizes.tokens; ++n) {
      for (std::int64_t i = 0; i < sizes.width; ++i)
        own.push_back(values[token_element(b, n, h, i)]);
      const std::size_t row = (b * sizes.tokens + n) * row_;
      for (std::int64_t i = 0; i < pad_; ++i) {
        EXPECT_TRUE(std::isnan(values[row + i])) << what << ": something before was changed";
        EXPECT_TRUE(std::isnan(values[row + row_ - 1 - i])) << what << ": something behind too";
      }
    }
    expect_close(own, expected, tolerance(type_), what);
  }
  /// Float sums of bfloat16 activations: states enter with 16 bits of precision.
  double state_tolerance() const { return type_ == DataType::bfloat16 ? 2e-5 : 4e-6; }

  GatedLinearSizes sizes;

 private:
  std::size_t token_element(std::int64_t b, std::int64_t n, std::int64_t h, std::int64_t i) const {
    return (b * sizes.tokens + n) * row_ + pad_ + h * sizes.width + i;
  }
  DataType type_;
  std::int64_t pad_, row_;
  std::size_t count_, matrix_;
  QuarterTurns turns_;

 public:
  std::vector<float> x_host, y_host, w1_host, w2_host;
  DeviceArray x, y, w1, w2;
};

class GatedLinear : public testing::TestWithParam<std::tuple<DataType, Case>> {};

TEST_P(GatedLinear, StepMatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, c] = GetParam();
  const Problem p(c, type);
  const DeviceArray new1(p.state_count()), new2(p.state_count());
  const DeviceArray g1(p.state_count()), g2(p.state_count());
  const DeviceArray workspace(gated_linear_workspace(p.sizes));
  launch_gated_linear_step({type,
                            p.sizes,
                            p.input(p.x),
                            p.input(p.y),
                            p.shared_weights(),
                            {new1.floats(), new2.floats()},
                            {g1.floats(), g2.floats()},
                            p.rope(),
                            workspace.floats()},
                           {});
  const DeviceArray d1(made_up("d1", p.state_count(), DataType::float32));
  const DeviceArray d2(made_up("d2", p.state_count(), DataType::float32));
  const DeviceArray dk(p.tokens_count(), type), dv(p.tokens_count(), type);
  const DeviceArray dw1(p.state_count()), dw2(p.state_count());
  const DeviceArray more(gated_linear_backward_workspace(p.sizes));
  launch_gated_linear_step_backward({type,
                                     p.sizes,
                                     p.input(p.x),
                                     p.input(p.y),
                                     p.shared_weights(),
                                     p.per_sample(g1, g2),
                                     p.per_sample(d1, d2),
                                     p.output(dk),
                                     p.output(dv),
                                     {dw1.floats(), dw2.floats()},
                                     p.rope(),
                                     more.floats()},
                                    {});
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h) {
      const Head head = p.head(b, h);
      std::vector<double> r1, r2;
      head.gated(r1, r2);
      const std::vector<double> e1 = head.sum(r1, head.slope()), e2 = head.sum(r2, head.slope());
      p.check_matrix(g1, b, h, e1, "g1");
      p.check_matrix(g2, b, h, e2, "g2");
      p.check_matrix(new1, b, h, head.stepped(head.w1, e1), "w1");
      p.check_matrix(new2, b, h, head.stepped(head.w2, e2), "w2");

      const HeadGradients expected =
          step_backward(head, p.matrix_of(d1.values(), b, h), p.matrix_of(d2.values(), b, h));
      p.check_tokens(dv, b, h, expected.dv, "dv");
      p.check_tokens(dk, b, h, p.turned_back(expected.dk, h), "dk");
      p.check_matrix(dw1, b, h, expected.dw1, "dw1");
      p.check_matrix(dw2, b, h, expected.dw2, "dw2");
    }
}

TEST_P(GatedLinear, ApplyMatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, c] = GetParam();
  const Problem p(c, type);
  const DeviceArray out(p.tokens_count(), type), dq(p.tokens_count(), type);
  const DeviceArray dw1(p.state_count()), dw2(p.state_count());
  const DeviceArray workspace(gated_linear_workspace(p.sizes));
  launch_gated_linear_apply(
      {type, p.sizes, p.input(p.x), p.shared_weights(), p.output(out), p.rope()}, {});
  launch_gated_linear_apply_backward({type,
                                      p.sizes,
                                      p.input(p.x),
                                      p.shared_weights(),
                                      p.input(p.y),
                                      p.output(dq),
                                      {dw1.floats(), dw2.floats()},
                                      p.rope(),
                                      workspace.floats()},
                                     {});
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h) {
      const Head head = p.head(b, h);
      std::vector<double> eout = head.times(head.x, head.w1);
      const std::vector<double> y2 = head.times(head.x, head.w2);
      for (std::size_t i = 0; i < eout.size(); ++i) eout[i] *= y2[i] * sigmoid(y2[i]);
      p.check_tokens(out, b, h, eout, "out");
      std::vector<double> r1, r2, edq(eout.size(), 0.0);
      head.gated(r1, r2);
      head.add_times_transposed(r1, head.w1, edq);
      head.add_times_transposed(r2, head.w2, edq);
      p.check_tokens(dq, b, h, p.turned_back(edq, h), "dq");
      p.check_matrix(dw1, b, h, head.sum(r1, 1), "dw1");
      p.check_matrix(dw2, b, h, head.sum(r2, 1), "dw2");
    }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, GatedLinear,
    testing::Combine(testing::Values(DataType::float32, DataType::bfloat16),
                     testing::Values(Case{2, 12, 2, 16}, Case{1, 1, 1, 32}, Case{1, 70, 1, 64},
                                     Case{1, 33, 2, 72, true}, Case{1, 5, 1, 8, true},
                                     Case{2, 9, 2, 13}, Case{1, 3, 2, 1}, Case{1, 40, 1, 128},
                                     Case{1, 18, 1, 100}, Case{1, 450, 1, 32},
                                     Case{1, 150, 1, 32, false, 256}, Case{1, 0, 2, 8},
                                     Case{0, 4, 2, 8}, Case{1, 20, 0, 8},
                                     rotated({2, 12, 2, 16}, 4), rotated({1, 35, 3, 20, true}, 5),
                                     rotated({1, 9, 1, 72}, 9), rotated({1, 150, 2, 10, true}, 15),
                                     rotated({1, 1, 1, 4}, 1), rotated({1, 450, 1, 128}, 30),
                                     rotated({0, 4, 1, 8}, 2))));

TEST(GatedLinearLimits, TooWideHeadsAreRefused) {
  EXPECT_THROW(launch_gated_linear_apply({DataType::float32, {1, 1, 1, 129}, {}, {}, {}}, {}),
               Failure);
}

}  // namespace
}  // namespace ttt::test
