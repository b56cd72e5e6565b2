/* SPDX-License-Identifier: BSD-2-Clause */
/* Files out of the ordinary: large, deep, hostile, empty, differences, other formats. */
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { assert, test, locate, text, box, click, hover, search, rowsOf } = require('./harness.js');

const [fixtures, work] = process.argv.slice(2);

/* WCAG's ratio of two colours. */
function contrast(a, b) {
	const light = rgb => {
		const [r, g, bl] = rgb.map(c =>
			c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
		);
		return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
	};
	const [hi, lo] = [light(a), light(b)].sort((x, y) => y - x);
	return (hi + 0.05) / (lo + 0.05);
}

test('text on every box is readable in both themes', async pages => {
	for (const [file, dark] of [
		['shop.html', false],
		['shop.html', true],
		['diff.html', false],
		['diff.html', true],
	]) {
		const page = await pages.open(file, { dark });
		const ink = dark ? [0xf6, 0xf3, 0xec] : [0x24, 0x21, 0x1d];
		const names = await page.evaluate(() => [...new Set(window.ebeam.profile.items.name)]);
		const fills = new Set();
		for (const name of names) for (const b of await locate(page, name)) fills.add(b.fill);
		assert.ok(fills.size > 10);
		for (const fill of fills) {
			const ratio = contrast(fill.match(/\d+/g).map(Number), ink);
			assert.ok(ratio >= 4.5, `${fill}: ${ratio.toFixed(2)}`);
		}
	}
});

test('50,000 stacks: loads, zooms, searches and inverts without delay', async pages => {
	const start = Date.now();
	const page = await pages.open('big.html');
	const loaded = Date.now() - start;
	const sizes = await page.evaluate(() => ({
		samples: window.ebeam.profile.samples,
		rows: window.ebeam.profile.rows.n,
		nodes: window.ebeam.profile.nodes.n,
	}));
	assert.equal(sizes.samples, 60000);
	assert.equal(sizes.rows, 50000);
	const draw = await page.evaluate(() => {
		const times = [];
		for (let i = 0; i < 10; i++) {
			const t = performance.now();
			window.ebeam.drawNow();
			times.push(performance.now() - t);
		}
		return times.sort((a, b) => a - b)[5];
	});
	const timed = async change => {
		const t = Date.now();
		await change();
		await pages.settle(page);
		return Date.now() - t;
	};
	const merged = await timed(() => page.selectOption('#by', 'none'));
	const inverted = await timed(() => page.click('#invert'));
	const searched = await timed(() => page.fill('#search', 'function_7'));
	assert.match(await text(page, '#match'), /% of samples/);
	console.log(
		`        ${sizes.nodes} nodes: load ${loaded} ms, redraw ${draw.toFixed(1)} ms, merge ${merged} ms, ` +
			`invert ${inverted} ms, search ${searched} ms`,
	);
	assert.ok(loaded < 8000 && merged < 4000 && inverted < 4000 && searched < 4000, 'far too slow');
	assert.ok(draw < 150, `redraw ${draw} ms`);
	await page.click('#reset');
	await pages.settle(page);
	const group = (await locate(page, 'worker:init/1'))[0];
	assert.equal(
		(await page.evaluate(() => window.ebeam.locate('pool:start/2')[0].total)) + group.total,
		60000,
	);
});

test('deep stacks scroll, and recursion counts once', async pages => {
	const page = await pages.open('deep.html', { height: 500 });
	const size = () =>
		page.evaluate(() => {
			const s = document.getElementById('scroll');
			return { top: s.scrollTop, inner: s.scrollHeight, outer: s.clientHeight };
		});
	const before = await size();
	assert.equal(before.inner, 301 * 20 + 8);
	const canvas = () =>
		page.evaluate(() => document.getElementById('canvas').getBoundingClientRect().height);
	await page.mouse.move(300, 400);
	await page.mouse.wheel(0, 100000);
	await page.waitForFunction(() => document.getElementById('scroll').scrollTop > 5000);
	await pages.settle(page);
	assert.equal(Math.round(await canvas()), before.outer); /* it stays as high as the window */
	assert.match(await hover(pages, page, 'tree:leaf/1'), /^tree:leaf\/1/);
	const b = await box(page, 'tree:leaf/1');
	assert.ok(b.y > 0 && b.y < 500, `y = ${b.y}`);
	assert.deepEqual(await rowsOf(page), [
		['tree:leaf/1', '75.0 %', '75.0 %'],
		['tree:walk/2', '25.0 %', '100.0 %'],
		['lists:foldl/3', '0', '100.0 %'],
	]);
	assert.equal(await search(pages, page, 'walk'), '100.0 % of samples, 1 name');
});

test('lines: boxes have them, functions are counted without', async pages => {
	const page = await pages.open('lines.html');
	const totals = async name => (await locate(page, name)).map(b => b.total).sort((a, b) => a - b);
	assert.deepEqual(await totals('m:f/1:10'), [30]);
	assert.deepEqual(await totals('m:f/1:12'), [10, 60]);
	assert.deepEqual(await rowsOf(page), [
		['m:f/1', '100.0 %', '100.0 %'],
		['m:g/0', '0', '60.0 %'],
	]);
	await page.click('#table tbody tr >> nth=0');
	await page.click('#sandwich');
	await pages.settle(page);
	assert.deepEqual(await totals('m:f/1'), [100]);
	assert.deepEqual(await totals('m:g/0:5'), [60]);
});

test('names cannot break out of the file', async pages => {
	const page = await pages.open('hostile.html');
	assert.equal(await page.evaluate(() => window.broken), undefined);
	assert.equal(await text(page, '#node'), '</title><script>window.broken=1</script>@host');
	for (const name of [
		'</script><script>window.broken=1</script>',
		'{{DATA}}{{TITLE}}',
		'__proto__',
		'constructor',
		'\u03bb:\u65e5\u672c\u8a9e/1',
		'\u{1f418}:trunk/0',
		'a;b;c',
		'&amp;&lt;',
		'back\\slash\\u0022',
	])
		assert.ok((await locate(page, name)).length > 0, name);
	assert.equal(await page.evaluate(() => window.ebeam.profile.samples), 16 * 11);
	const nth = await locate(page, '<img src=x onerror=window.broken=1>');
	await page.mouse.move(nth[0].x + 5, nth[0].y + 5);
	await pages.settle(page);
	assert.match(await text(page, '#tooltip'), /<img src=x onerror=window\.broken=1>/);
	await page.click('#tab-processes');
	await pages.settle(page);
	await page.click('#table tbody tr >> nth=0');
	await page.click('#tab-functions');
	await page.click('#table tbody tr >> nth=0');
	await pages.settle(page);
	assert.equal(await page.evaluate(() => window.broken), undefined);
	assert.equal(await page.locator('#main img, #tooltip img, #warnings img, b b').count(), 0);
	await page.goto(pathToFileURL(path.join(fixtures, 'hostile.svg')).href);
	assert.equal(await page.evaluate(() => window.broken), undefined);
	assert.equal(await page.locator('script').count(), 0);
});

test('a recording without samples says so', async pages => {
	const page = await pages.open('empty.html');
	assert.equal(await text(page, '#empty'), 'This recording holds no samples.');
	assert.equal((await rowsOf(page)).length, 0);
});

test('difference: colours, widths of A or B, tooltip, table by change', async pages => {
	const page = await pages.open('diff.html');
	const fills = async name => (await box(page, name)).fill.match(/\d+/g).map(Number);
	const [r, , b] = await fills('shop_api:handle/2');
	assert.ok(r > b + 60, 'more is red');
	const [r2, , b2] = await fills('shop_catalog:search/2');
	assert.ok(b2 > r2 + 60, 'less is blue');
	const wide = (await box(page, 'shop_text:score/2')).width;
	const tip = await hover(pages, page, 'shop_text:score/2');
	assert.match(tip, /A\n+15\.3 %\n+230 samples/);
	assert.match(tip, /B\n+5\.46 %\n+90 samples/);
	assert.match(tip, /Change\n+\u22129\.88/);
	const rows = await rowsOf(page);
	assert.deepEqual(rows[0], ['shop_text:score/2', '15.3 %', '5.46 %', '\u22129.88', '\u22129.88']);
	assert.equal(rows[1][0], 'shop_json:escape/2');
	assert.equal((await locate(page, 'shop_audit:render/1')).length, 1); /* only in B */
	await page.click('[data-width="a"]');
	await pages.settle(page);
	const ratio = (await box(page, 'shop_text:score/2')).width / wide;
	assert.ok(Math.abs(ratio - 230 / 1499 / (90 / 1647)) < 0.01, `ratio ${ratio}`);
	assert.equal((await locate(page, 'shop_audit:render/1')).length, 0);
	assert.match(await page.evaluate(() => location.hash), /widths=a/);
	assert.equal(await search(pages, page, 'shop_audit'), '0.0 % \u2192 3.34 %');
	assert.ok(await page.locator('#by').isHidden());
});

test('without scripts the hottest functions can still be read', async pages => {
	const context = await pages.browser.newContext({ javaScriptEnabled: false });
	const page = await context.newPage();
	await page.goto(pathToFileURL(path.join(fixtures, 'small.html')).href);
	const body = await page.content();
	assert.match(body, /40\.00 % {2}db:find\/2/);
	await context.close();
});

test('SVG: drawn, with titles, without scripts', async pages => {
	const context = await pages.browser.newContext();
	const page = await context.newPage();
	await page.goto(pathToFileURL(path.join(fixtures, 'small.svg')).href);
	const titles = await page.$$eval('title', list => list.map(t => t.textContent));
	assert.ok(
		titles.some(t =>
			/^db:find\/2\ntotal 40 \(40\.00 %\), self 40 \(40\.00 %\)\ndb\.erl:\d+$/.test(t),
		),
		titles[5],
	);
	const widths = await page.$$eval('g', list =>
		list.map(g => [
			g.querySelector('title').textContent.split('\n')[0],
			Number(g.querySelector('rect').getAttribute('width')),
		]),
	);
	assert.equal(widths.find(w => w[0] === 'db:find/2')[1].toFixed(2), (1176 * 0.4).toFixed(2));
	await page.goto(pathToFileURL(path.join(fixtures, 'big.svg')).href);
	assert.match(
		await page.textContent('svg'),
		/frames narrower than 0\.1 % of the picture are not drawn; [\d.]+ % of the samples end in them\./,
	);
	await context.close();
});

/* speedscope loads a local file as its command line tool hands it over: a script beside it. */
test('speedscope opens our file in its own viewer', async pages => {
	const release = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist', 'release');
	const bytes = fs.readFileSync(path.join(fixtures, 'small.speedscope.json'));
	const script = path.join(work, 'profile.js');
	fs.writeFileSync(
		script,
		`speedscope.loadFileFromBase64("small.speedscope.json", "${bytes.toString('base64')}")`,
	);
	const context = await pages.browser.newContext({ viewport: { width: 1200, height: 800 } });
	const page = await context.newPage();
	const errors = [];
	page.on('pageerror', e => errors.push(e.message));
	await page.goto(pathToFileURL(path.join(release, 'index.html')) + '#localProfilePath=' + script);
	await page.waitForFunction(() => document.title.includes('shop@prod-3'), null, { timeout: 15000 });
	await page.getByText('Sandwich').click();
	await page.waitForSelector('table td');
	const rows = await page.$$eval('table tr', list =>
		list.map(tr => [...tr.cells].map(td => td.textContent)),
	);
	const find = name => rows.find(r => r[2] === name).slice(0, 2); /* total, self */
	assert.deepEqual(find('db:find/2'), ['40 (40%)', '40 (40%)']);
	assert.deepEqual(find('json:encode/1'), ['40 (40%)', '5 (5.0%)']);
	assert.deepEqual(find('scheduling'), ['6 (6.0%)', '6 (6.0%)']);
	assert.deepEqual(errors, []);
	await context.close();
});
