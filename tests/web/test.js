/* SPDX-License-Identifier: BSD-2-Clause */
/* The browser tests:  node test.js FIXTURES WORK   (see run). */
'use strict';
const { runAll } = require('./harness.js');
require('./graph.js');
require('./files.js');

runAll(process.argv[2]);
