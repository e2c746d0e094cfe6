// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/choose_views.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ttt::nvs {
namespace {

double distance2(const ViewFeature& a, const ViewFeature& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

ViewFeature mean_of(std::span<const ViewFeature> features) {
  ViewFeature mean{};
  for (const ViewFeature& feature : features)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += feature[i] / static_cast<double>(features.size());
  return mean;
}

/// The nearest camera to a point among those not taken.
int nearest(std::span<const ViewFeature> features, const ViewFeature& point,
            const std::vector<bool>& taken) {
  double best = std::numeric_limits<double>::infinity();
  int index = -1;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double distance = distance2(features[i], point);
    if (taken[i] || !(distance < best)) continue;
    best = distance;
    index = static_cast<int>(i);
  }
  return index;
}

}  // namespace

std::vector<ViewFeature> view_features(const Scene& scene, std::span<const int> frames) {
  std::vector<Transform> poses;
  for (const int index : frames)
    poses.push_back(inverse(scene.frames[static_cast<std::size_t>(index)].world_to_camera));
  Vector3 mean;
  for (const Transform& pose : poses)
    mean += (1.0 / static_cast<double>(poses.size())) * pose.translation;
  double extent = 0;
  for (const Transform& pose : poses) extent = std::max(extent, length(pose.translation - mean));
  if (extent == 0) extent = 1;
  std::vector<ViewFeature> features;
  for (const Transform& pose : poses) {
    const Vector3 p = (1 / extent) * (pose.translation - mean);
    const Vector3 d = normalize(pose.linear.column(2));
    features.push_back({p.x, p.y, p.z, d.x, d.y, d.z});
  }
  return features;
}

std::vector<int> choose_farthest(std::span<const ViewFeature> features, int count) {
  if (count <= 0) return {};
  std::vector<bool> taken(features.size(), false);
  // The first is the one nearest to the middle of the rig.
  std::vector<int> chosen{nearest(features, mean_of(features), taken)};
  std::vector<double> distances(features.size(), std::numeric_limits<double>::infinity());
  while (true) {
    const auto last = static_cast<std::size_t>(chosen.back());
    taken[last] = true;
    if (static_cast<int>(chosen.size()) == count) return chosen;
    double best = -1;
    int next = 0;
    for (std::size_t i = 0; i < features.size(); ++i) {
      distances[i] = std::min(distances[i], distance2(features[i], features[last]));
      if (taken[i] || distances[i] <= best) continue;
      best = distances[i];
      next = static_cast<int>(i);
    }
    chosen.push_back(next);
  }
}

std::vector<int> choose_kmeans(std::span<const ViewFeature> features, int count) {
  std::vector<ViewFeature> centres;
  for (const int i : choose_farthest(features, count))
    centres.push_back(features[static_cast<std::size_t>(i)]);
  constexpr int kMaxIterations = 100;
  std::vector<std::size_t> owner(features.size(), centres.size());
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    bool changed = false;
    for (std::size_t i = 0; i < features.size(); ++i) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < centres.size(); ++c)
        if (distance2(features[i], centres[c]) < distance2(features[i], centres[best])) best = c;
      changed = changed || owner[i] != best;
      owner[i] = best;
    }
    if (!changed) break;
    for (std::size_t c = 0; c < centres.size(); ++c) {
      std::vector<ViewFeature> members;
      for (std::size_t i = 0; i < features.size(); ++i)
        if (owner[i] == c) members.push_back(features[i]);
      if (!members.empty()) centres[c] = mean_of(members);
    }
  }
  std::vector<bool> taken(features.size(), false);
  std::vector<int> chosen;
  for (const ViewFeature& centre : centres) {
    chosen.push_back(nearest(features, centre, taken));
    taken[static_cast<std::size_t>(chosen.back())] = true;
  }
  return chosen;
}

}  // namespace ttt::nvs
