// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// c10d's ProcessGroupGloo.hpp includes Gloo headers that the LibTorch package lacks, but only names
// their types. These files declare them. No Gloo object may be constructed with these declarations:
// they say nothing about size or layout.
