/* SPDX-License-Identifier: BSD-2-Clause */
/* A small test runner, and one browser for all tests: each gets a page of its own, which fails the
 * test if it asks the network for anything, throws, or writes an error to the console. */
'use strict';
const assert = require('node:assert/strict');
const { pathToFileURL } = require('node:url');
const path = require('node:path');
const { chromium } = require('playwright-core');

const FLAGS = [
	'--no-sandbox',
	'--disable-gpu',
	'--disable-quic',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
];
const tests = [];

function test(name, run) {
	tests.push({ name, run });
}

/* What a page may load: its own file, and what it makes itself. */
function isLocal(url) {
	return /^(file|data|blob|about):/.test(url);
}

class Pages {
	constructor(browser, directory) {
		this.browser = browser;
		this.directory = directory;
		this.contexts = [];
		this.problems = [];
	}

	/* options: {width, height, dark, hash} */
	async open(file, options = {}) {
		const context = await this.browser.newContext({
			viewport: { width: options.width ?? 1400, height: options.height ?? 900 },
			colorScheme: options.dark ? 'dark' : 'light',
			permissions: ['clipboard-read', 'clipboard-write'],
		});
		this.contexts.push(context);
		const page = await context.newPage();
		page.on('request', r => isLocal(r.url()) || this.problems.push('network request: ' + r.url()));
		page.on('websocket', w => this.problems.push('web socket: ' + w.url()));
		page.on('pageerror', e => this.problems.push('exception: ' + e.message));
		page.on('console', m => m.type() === 'error' && this.problems.push('console: ' + m.text()));
		page.on('dialog', d => this.problems.push('dialog: ' + d.message()) && d.dismiss());
		await page.goto(pathToFileURL(path.join(this.directory, file)) + (options.hash ?? ''));
		await page.waitForSelector('html[data-ready="true"]');
		await this.settle(page);
		return page;
	}

	/* Drawing and tables follow a change one frame and one task later. */
	async settle(page) {
		await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20))));
	}

	async close() {
		for (const context of this.contexts) await context.close();
		assert.deepEqual(this.problems, []);
	}
}

async function runAll(directory) {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		headless: true,
		args: FLAGS,
	});
	let passed = 0,
		failed = 0;
	for (const { name, run } of tests) {
		const pages = new Pages(browser, directory);
		try {
			await run(pages);
			await pages.close();
			passed++;
			console.log('ok      ' + name);
		} catch (error) {
			failed++;
			console.log('FAILED  ' + name + '\n' + String(error.stack).replace(/^/gm, '        '));
			for (const problem of pages.problems) console.log('        ' + problem);
			for (const context of pages.contexts) await context.close().catch(() => {});
		}
	}
	await browser.close();
	console.log(`web: ${passed} passed, ${failed} failed`);
	process.exitCode = failed || !passed ? 1 : 0;
}

/* ---- what tests do with a page ---------------------------------------------------------- */

const locate = (page, name) => page.evaluate(n => window.ebeam.locate(n), name);
const text = (page, selector) => page.locator(selector).innerText();

/* The one box of a name. */
async function box(page, name) {
	const found = await locate(page, name);
	assert.equal(found.length, 1, `${name}: ${found.length} boxes`);
	return found[0];
}

async function click(pages, page, name, options) {
	const b = await box(page, name);
	await page.mouse.click(b.x + b.width / 2, b.y + b.height / 2, options);
	await pages.settle(page);
}

async function hover(pages, page, name) {
	const b = await box(page, name);
	await page.mouse.move(b.x + Math.min(b.width / 2, 40), b.y + b.height / 2);
	await pages.settle(page);
	return text(page, '#tooltip');
}

async function select(pages, page, by) {
	await page.selectOption('#by', by);
	await pages.settle(page);
}

async function search(pages, page, query) {
	await page.fill('#search', query);
	await pages.settle(page);
	return text(page, '#match');
}

/* Colour of the canvas at a point, as [r, g, b]. */
function pixel(page, x, y) {
	return page.evaluate(
		([px, py]) => {
			const canvas = document.getElementById('canvas');
			const rect = canvas.getBoundingClientRect();
			const dpr = canvas.width / rect.width;
			const data = canvas
				.getContext('2d')
				.getImageData((px - rect.left) * dpr, (py - rect.top) * dpr, 1, 1).data;
			return [...data.slice(0, 3)];
		},
		[x, y],
	);
}

const rowsOf = page =>
	page.$$eval('#table tbody tr', list => list.map(tr => [...tr.cells].map(td => td.innerText.trim())));
const state = page =>
	page.evaluate(() => {
		const s = window.ebeam.state();
		return { ...s, off: [...s.off] };
	});

async function rowsOfProcesses(pages, page) {
	await page.click('#tab-processes');
	await pages.settle(page);
	return rowsOf(page);
}

module.exports = {
	assert,
	test,
	runAll,
	locate,
	text,
	box,
	click,
	hover,
	select,
	search,
	pixel,
	rowsOf,
	state,
	rowsOfProcesses,
};
