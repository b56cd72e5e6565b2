# SPDX-License-Identifier: BSD-2-Clause
ebeam version
ebeam --version
ebeam ver
ebeam version -j | sed 's/"time": "[^"]*"/"time": TIME/'
