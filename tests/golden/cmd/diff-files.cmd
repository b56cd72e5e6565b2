# SPDX-License-Identifier: BSD-2-Clause
cp "$DATA/before.ebeam" "$DATA/after.ebeam" .
ebeam diff before.ebeam after.ebeam
mkdir sub
mv after.ebeam sub
ebeam diff before.ebeam sub/after.ebeam
ls -A . sub
ebeam diff before.ebeam none.ebeam
