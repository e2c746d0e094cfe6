// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/version.h"

#include <cstdio>

int main() { std::printf("ttt %s\n", ttt::build_info().version.c_str()); }
