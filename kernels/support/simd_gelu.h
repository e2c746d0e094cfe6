// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// GELU in the accuracy that the type of its results needs. Included as simd.h is.

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {

#if defined(__AVX512F__)

// Q(t) = erfc(t / sqrt(2)) / 2 in 31 pieces around t = 0, 0.2 ... 6: cubic polynomials of the
// distance to the middle, whose largest relative error is as small as can be (7e-4 at the far end).
// From 6.1 on, where t Q(t) is below 4e-9, it counts as zero.
constexpr float kGeluPiecesPerUnit = 5.0F, kGeluPieceWidth = 0.2F;
constexpr float kGeluLimit = 6.2F;  // in the middle of the last piece
alignas(64) constexpr float kGeluPieces[4][32] = {
    {0.5F,           0.4207404F,     0.34457847F,    0.2742534F,
     0.21185568F,    0.15865551F,    0.11506986F,    0.08075677F,
     0.054799333F,   0.035930302F,   0.022750078F,   0.013903376F,
     0.008197461F,   0.0046611214F,  0.0025550767F,  0.0013498584F,
     0.0006871106F,  0.0003369116F,  0.00015909783F, 7.2341856e-05F,
     3.1667867e-05F, 1.3344003e-05F, 5.4116845e-06F, 2.1120518e-06F,
     7.931482e-07F,  2.8657493e-07F, 9.9613096e-08F, 3.3308346e-08F,
     1.0713099e-08F, 3.3141527e-09F, 9.860471e-10F,  0.0F},
    {-0.39894286F,    -0.3910419F,     -0.36826912F,    -0.33322346F,
     -0.28969044F,    -0.24196978F,    -0.19418539F,    -0.14972714F,
     -0.110920854F,   -0.078950465F,   -0.053991478F,   -0.035475202F,
     -0.022395145F,   -0.013583524F,   -0.00791591F,    -0.0044321995F,
     -0.0023843395F,  -0.001232388F,   -0.00061200897F, -0.00029201107F,
     -0.00013386665F, -5.8962713e-05F, -2.4952542e-05F, -1.0145765e-05F,
     -3.9635825e-06F, -1.4877314e-06F, -5.3653133e-07F, -1.8590883e-07F,
     -6.1892756e-08F, -1.9797707e-08F, -6.0845133e-09F, 0.0F},
    {2.4659134e-05F, 0.03900819F,    0.073480256F,   0.09974812F,
     0.115649424F,   0.120784335F,   0.116360605F,   0.104718596F,
     0.0887041F,     0.07106897F,    0.05403546F,    0.0390813F,
     0.026934644F,   0.017712632F,   0.011125856F,   0.0066806385F,
     0.0038372797F,  0.0021095239F,  0.0011104399F,  0.0005599096F,
     0.0002705145F,  0.00012526516F, 5.5608092e-05F, 2.3670154e-05F,
     9.662638e-06F,  3.7834557e-06F, 1.4211463e-06F, 5.1215125e-07F,
     1.7709792e-07F, 5.8765966e-08F, 1.8714262e-08F, 0.0F},
    {0.06620162F,     0.062387247F,     0.051369824F,    0.03537023F,
     0.017241545F,    -9.302239e-05F,   -0.014281348F,   -0.023948425F,
     -0.028791858F,   -0.029400708F,    -0.026908448F,   -0.022615945F,
     -0.017686578F,   -0.012972999F,    -0.008971755F,   -0.0058712973F,
     -0.0036454864F,  -0.0021518036F,   -0.0012093151F,  -0.00064787455F,
     -0.00033119178F, -0.00016167793F,  -7.542097e-05F,  -3.363902e-05F,
     -1.4351937e-05F, -5.8595956e-06F,  -2.2901622e-06F, -8.5711486e-07F,
     -3.0725567e-07F, -1.05524194e-07F, -3.472833e-08F,  0.0F},
};

TTT_INLINE __m512 gelu_coefficients(int power, __m512i piece) {
  return _mm512_permutex2var_ps(_mm512_load_ps(kGeluPieces[power]), piece,
                                _mm512_load_ps(kGeluPieces[power] + kLanes));
}

/// max(z, 0) - |z| Q(|z|): within 3e-7 of GELU, and within 7e-4 of its value down to -6.
TTT_INLINE Float gelu_in_pieces(Float z) {
  const float kRoundToInteger = 12582912.0F;  // 1.5 * 2^23
  // Masked by all lanes: GCC takes the plain forms for uses of uninitialised vectors.
  const Float magnitude = reinterpret_cast<Float>(reinterpret_cast<UInt>(z) & 0x7FFFFFFFU);
  const Float t =
      Float(_mm512_maskz_min_ps(kAllLanes, __m512(magnitude), __m512(broadcast(kGeluLimit))));
  const Float shifted = t * kGeluPiecesPerUnit + kRoundToInteger;
  const __m512i piece = reinterpret_cast<__m512i>(shifted);  // its low 5 bits are looked at
  const Float r = t - (shifted - kRoundToInteger) * kGeluPieceWidth;
  Float q = Float(gelu_coefficients(3, piece));
  q = q * r + Float(gelu_coefficients(2, piece));
  q = q * r + Float(gelu_coefficients(1, piece));
  q = q * r + Float(gelu_coefficients(0, piece));
  // The order of arguments lets NaN through.
  return Float(_mm512_maskz_max_ps(kAllLanes, _mm512_setzero_ps(), __m512(z))) - t * q;
}

#endif

/// GELU for results of this type: in bfloat16 a fraction of its rounding is enough.
template <typename T>
TTT_INLINE Float gelu_as(Float z) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == sizeof(Bf16)) return gelu_in_pieces(z);
#endif
  return gelu(z);
}

}  // namespace ttt::ops::TTT_ISA
