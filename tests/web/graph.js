/* SPDX-License-Identifier: BSD-2-Clause */
/* What one does with the graph: hover, zoom, search, split, sort, share, keys.  The numbers are those
 * of fixtures.c; small.html has 100 samples, so that they are percents too. */
'use strict';
const {
	assert,
	test,
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
} = require('./harness.js');

test('header says what was recorded, and how whole it is', async pages => {
	const page = await pages.open('small.html');
	assert.equal(await text(page, '#node'), 'shop@prod-3');
	assert.equal(await page.title(), 'shop@prod-3 \u00b7 CPU \u00b7 ebeam');
	const facts = await text(page, '#facts');
	for (const fact of [
		'OTP 27',
		'ERTS 15.2.1',
		'jit',
		'100 samples',
		'10.0 s',
		'99 Hz',
		'2026-03-01 03:12:44 UTC',
	])
		assert.ok(facts.includes(fact), `${fact} in ${facts}`);
	assert.equal(await text(page, '#health'), '98.0 % complete, 3 lost');
	await page.click('#health');
	const card = await text(page, '#health-card');
	assert.match(card, /98\.0 %\s+complete/);
	assert.match(card, /2\.00 %\s+truncated/);
	assert.match(card, /3\s+ring_full: samples lost/);
	assert.equal(await text(page, '#warnings'), 'first warning\nsecond warning');
	const kinds = await page.$$eval('button.kind', list =>
		list.map(b => b.innerText.trim().replace(/\s+/g, ' ')),
	);
	assert.deepEqual(kinds, [
		'Erlang 65.0 %',
		'GC 15.0 %',
		'ETS 10.0 %',
		'Scheduler 6.00 %',
		'Polling 4.00 %',
	]);
});

test('boxes have the widths of their samples', async pages => {
	const page = await pages.open('small.html');
	const width = await page.evaluate(() => document.getElementById('scroll').clientWidth);
	for (const [name, total, self] of [
		['db', 50, 0],
		['web', 40, 0],
		['db:find/2', 40, 40],
		['db:handle_call/3', 50, 0],
		['json:escape/2', 20, 20],
		['scheduler 2', 6, 0],
		['do_epoll_wait', 4, 4],
	]) {
		const b = await box(page, name);
		assert.equal(b.total, total, name);
		assert.equal(b.self, self, name);
		assert.ok(Math.abs(b.width - (width * total) / 100) < 0.01, `${name}: ${b.width} of ${width}`);
	}
	assert.deepEqual(
		(await locate(page, 'json:encode/1')).map(b => b.total),
		[40, 20],
	); /* recursion */
});

test('hover shows name, totals, percents, kind and place', async pages => {
	const page = await pages.open('small.html');
	let tip = await hover(pages, page, 'db:find/2');
	const lines = 'db:find/2|Erlang function|Total|40|40.0 % of all|Self|40|40.0 % of all|db.erl:75';
	assert.equal(tip.replace(/\n+/g, '|'), lines);
	tip = await hover(pages, page, 'db:handle_call/3');
	assert.match(tip, /Total\n+50\n+50\.0 % of all\n+Self\n+0\n+0\.0 % of all/);
	tip = await hover(pages, page, 'ets:lookup/2');
	assert.match(tip, /BIF/);
	tip = await hover(pages, page, 'beam.smp+0x1a2b');
	assert.match(tip, /Native code \u00b7 ETS/);
	await click(pages, page, 'db:handle_call/3');
	tip = await hover(pages, page, 'db:find/2');
	assert.match(tip, /40\.0 % of all, 80\.0 % of the zoom/);
	await page.mouse.move(5, 5);
	await pages.settle(page);
	assert.ok(await page.locator('#tooltip').isHidden());
	assert.ok(await page.locator('#outline').isHidden());
});

test('click zooms at once; breadcrumb, ancestors, Esc, Reset and Back lead out', async pages => {
	const page = await pages.open('small.html');
	const width = await page.evaluate(() => document.getElementById('scroll').clientWidth);
	const steps = () => page.$$eval('#path .step', list => list.map(b => b.innerText));
	await click(pages, page, 'db:handle_call/3');
	assert.equal(Math.round((await box(page, 'db:handle_call/3')).width), width);
	assert.equal(Math.round((await box(page, 'db:find/2')).width), Math.round(width * 0.8));
	assert.deepEqual(await locate(page, 'web'), []);
	assert.deepEqual(await steps(), [
		'all',
		'db',
		'proc_lib:init_p_do_apply/3',
		'gen_server:loop/7',
		'gen_server:try_handle_call/4',
		'db:handle_call/3',
	]);
	await click(pages, page, 'db');
	assert.deepEqual(await steps(), ['all', 'db']);
	await page.goBack();
	await pages.settle(page);
	assert.equal((await steps()).length, 6);
	await page.click('#path .step >> nth=2');
	await pages.settle(page);
	assert.equal((await steps()).length, 3);
	await page.keyboard.press('Escape');
	await pages.settle(page);
	assert.deepEqual(await steps(), ['all']);
	assert.equal((await box(page, 'web')).total, 40);
	await click(pages, page, 'web');
	await page.click('#reset');
	await pages.settle(page);
	assert.deepEqual(await steps(), ['all']);
});

test('search: each sample counts once, plain text and expressions, matches stand out', async pages => {
	const page = await pages.open('small.html');
	assert.equal(await search(pages, page, 'JSON'), '40.0 % of samples, 2 names');
	assert.equal(await search(pages, page, 'escape'), '20.0 % of samples, 1 name');
	assert.equal(await search(pages, page, 'web'), '40.0 % of samples, 1 name'); /* a group */
	assert.equal(await search(pages, page, '^(db|ets):'), '0.0 % of samples, 0 names');
	await page.click('#regex');
	await pages.settle(page);
	assert.equal(await text(page, '#match'), '50.0 % of samples, 3 names');
	assert.equal(await search(pages, page, '('), 'no valid expression');
	assert.match(await page.getAttribute('#search', 'class'), /bad/);
	await page.click('#regex');
	await search(pages, page, 'db:find');
	const b = await box(page, 'db:find/2'),
		other = await box(page, 'json:escape/2');
	assert.deepEqual(await pixel(page, b.x + b.width - 6, b.y + 3), [0x45, 0x51, 0xc4]); /* --accent */
	const faded = await pixel(page, other.x + other.width - 6, other.y + 3);
	assert.ok(
		faded.every(c => c > 190),
		`faded: ${faded}`,
	);
	await page.keyboard.press('Escape');
	await pages.settle(page);
	assert.equal(await text(page, '#match'), '');
	assert.notDeepEqual(await pixel(page, b.x + b.width - 6, b.y + 3), [0x45, 0x51, 0xc4]);
});

test('Ctrl-F and / go to the search box', async pages => {
	const page = await pages.open('small.html');
	const focused = () => page.evaluate(() => document.activeElement.id);
	await page.keyboard.press('/');
	assert.equal(await focused(), 'search');
	assert.equal(await page.inputValue('#search'), '');
	await page.keyboard.press('Escape');
	assert.notEqual(await focused(), 'search');
	await page.keyboard.press('Control+f');
	assert.equal(await focused(), 'search');
	await page.keyboard.type('if');
	await pages.settle(page);
	assert.equal(await page.inputValue('#search'), 'if');
	const s = await state(page);
	assert.ok(!s.invert && !s.flip, 'keys of the page act while typing');
});

test('merge and split by process name, process, initial call, scheduler and kind', async pages => {
	const page = await pages.open('small.html');
	const totals = async name => (await locate(page, name)).map(b => b.total).sort((a, b) => a - b);
	assert.deepEqual(await totals('proc_lib:init_p_do_apply/3'), [40, 50]);
	await select(pages, page, 'none');
	assert.deepEqual(await totals('proc_lib:init_p_do_apply/3'), [90]);
	assert.deepEqual(await totals('db'), []);
	assert.deepEqual(await totals('scheduling'), [6]);
	await select(pages, page, 'initial-call');
	assert.deepEqual(await totals('proc_lib:init_p/5'), [90]);
	await select(pages, page, 'process');
	const pid = (await rowsOfProcesses(pages, page)).find(r => r[0].startsWith('db'))[0].match(/<.*>/)[0];
	assert.deepEqual(await totals(pid + ' db'), [50]);
	await select(pages, page, 'scheduler');
	assert.deepEqual(await totals('scheduler 1'), [40 + 15]);
	await select(pages, page, 'none');
	await page.click('#kind-split');
	await pages.settle(page);
	assert.deepEqual(await totals('[GC]'), [15]);
	assert.deepEqual(await totals('[Erlang]'), [65]);
	assert.deepEqual(await totals('proc_lib:init_p_do_apply/3'), [10, 15, 65]);
	await select(pages, page, 'name');
	assert.deepEqual(await totals('db'), [10, 40]);
});

test('invert merges from the leaves; flip turns the picture over', async pages => {
	const page = await pages.open('small.html', { hash: '#by=none' });
	await page.click('#invert');
	await pages.settle(page);
	let b = await box(page, 'db:find/2');
	assert.equal(b.depth, 1);
	assert.equal(b.total, 40);
	assert.deepEqual(
		(await locate(page, 'json:encode/1')).filter(x => x.depth === 1).map(x => x.total),
		[5],
	);
	assert.equal(
		(await locate(page, 'proc_lib:init_p_do_apply/3')).reduce((sum, x) => sum + x.total, 0),
		90,
	);
	const before = b.y;
	await page.click('#flip');
	await pages.settle(page);
	b = await box(page, 'db:find/2');
	assert.ok(b.y > before + 300, 'the root is at the bottom');
	assert.match(await hover(pages, page, 'db:find/2'), /^db:find\/2/);
	await page.keyboard.press('i');
	await page.keyboard.press('f');
	await pages.settle(page);
	assert.equal((await box(page, 'db:find/2')).depth, 5);
});

test('frames of C code: all of them, or the innermost', async pages => {
	const page = await pages.open('shop.html', { hash: '#by=none' });
	const totals = async name => (await locate(page, name)).map(b => b.total);
	assert.deepEqual(await totals('beam.smp:db_select_hash'), [120]);
	await page.click('#native');
	await pages.settle(page);
	assert.deepEqual(await totals('beam.smp:db_select_hash'), []);
	assert.deepEqual(await totals('beam.smp:db_match_dbterm'), [120]);
	assert.match(page.url(), /native=leaf/);
	await page.keyboard.press('n');
	await pages.settle(page);
	assert.deepEqual(await totals('beam.smp:db_select_hash'), [120]);
	const again = await pages.open('shop.html', { hash: '#by=none&native=leaf' });
	assert.deepEqual(await locate(again, 'beam.smp:db_select_hash'), []);
});

test('table of functions: self and total, sorting, zoom, selection', async pages => {
	const page = await pages.open('small.html');
	let rows = await rowsOf(page);
	assert.deepEqual(rows[0], ['db:find/2', '40.0 %', '40.0 %']);
	assert.deepEqual(rows[1], ['json:escape/2', '20.0 %', '20.0 %']);
	assert.deepEqual(
		rows.find(r => r[0] === 'json:encode/1'),
		['json:encode/1', '5.00 %', '40.0 %'],
	);
	assert.equal(rows.length, 16);
	await page.click('button[data-key="total"]');
	rows = await rowsOf(page);
	assert.deepEqual(rows[0], ['proc_lib:init_p_do_apply/3', '0', '90.0 %']);
	await page.click('button[data-key="name"]');
	rows = await rowsOf(page);
	assert.equal(rows[0][0], 'beam.smp+0x1a2b');
	await page.click('button[data-key="self"]');
	await click(pages, page, 'web');
	rows = await rowsOf(page);
	assert.deepEqual(rows[0], ['json:escape/2', '50.0 %', '50.0 %']); /* 20 of 40 in the zoom */
	assert.equal(await text(page, '#scope'), 'in the zoom');
	await page.click('#reset');
	await pages.settle(page);
	await page.click('#table tbody tr >> nth=0');
	await pages.settle(page);
	assert.match(await text(page, '#card'), /db:find\/2\nself 40\.0 %, total 40\.0 %/);
	const b = await box(page, 'db:find/2');
	assert.deepEqual(await pixel(page, b.x + b.width - 6, b.y + 3), [0x45, 0x51, 0xc4]);
});

test('table of functions: without schedulers that spin, which the picture has', async pages => {
	const page = await pages.open('spinning.html');
	assert.deepEqual(await rowsOf(page), [
		['do_sched_yield', '25.0 %', '25.0 %'],
		['erlang:yield/0', '0', '25.0 %'],
		['json:encode/1', '0', '25.0 %'],
	]);
	assert.ok((await box(page, 'spinning')).width > 0);
});

test('table of processes filters the picture', async pages => {
	const page = await pages.open('small.html');
	const rows = await rowsOfProcesses(pages, page);
	assert.deepEqual(
		rows.map(r => r.slice(1)),
		[
			['50', '50.0 %'],
			['40', '40.0 %'],
		],
	);
	assert.match(rows[0][0], /^db/);
	await page.click('#table tbody tr >> nth=1');
	await pages.settle(page);
	assert.deepEqual(await locate(page, 'db'), []);
	assert.equal((await box(page, 'web')).total, 40);
	assert.match(await text(page, '#path'), /<0\.\d+\.0> web/);
	assert.equal(await search(pages, page, 'escape'), '50.0 % of samples, 1 name');
	await page.click('#path .chip');
	await pages.settle(page);
	assert.equal((await box(page, 'db')).total, 50);
});

test('kinds can be hidden, and only one shown', async pages => {
	const page = await pages.open('small.html');
	await page.click('button[data-kind="gc"]');
	await pages.settle(page);
	assert.deepEqual(await locate(page, 'garbage collection'), []);
	assert.equal((await box(page, 'web')).total, 25);
	await page.click('button[data-kind="gc"]');
	await page.click('button[data-kind="ets"]', { modifiers: ['Alt'] });
	await pages.settle(page);
	assert.equal((await box(page, 'ets:lookup/2')).total, 10);
	assert.deepEqual(await locate(page, 'web'), []);
	for (const kind of ['ets']) await page.click(`button[data-kind="${kind}"]`);
	await pages.settle(page);
	assert.match(await text(page, '#empty'), /None of the samples passes the filters/);
});

test('callers and callees of one function', async pages => {
	const page = await pages.open('small.html');
	const b = (await locate(page, 'json:encode/1'))[0];
	await page.mouse.click(b.x + 10, b.y + 5, { button: 'right' });
	await page.click('#menu >> text=Callers and callees');
	await pages.settle(page);
	const centre = (await locate(page, 'json:encode/1')).sort((x, y) => y.total - x.total)[0];
	assert.equal(centre.total, 40);
	const caller = await box(page, 'cowboy_handler:execute/2'),
		callee = await box(page, 'json:escape/2');
	assert.ok(caller.y < centre.y && callee.y > centre.y);
	assert.equal(caller.total, 40);
	assert.equal(callee.total, 20);
	assert.match(await page.evaluate(() => location.hash), /sandwich=1/);
	await page.keyboard.press('Escape');
	await page.keyboard.press('Escape');
	await pages.settle(page);
	assert.equal((await box(page, 'db')).total, 50);
});

test('the address holds the view, and gives it back', async pages => {
	const page = await pages.open('small.html', { hash: '#by=none' });
	await click(pages, page, 'cowboy_handler:execute/2');
	await search(pages, page, 'escape');
	const hash = await page.evaluate(() => location.hash);
	assert.match(hash, /by=none/);
	assert.match(hash, /q=escape/);
	assert.match(hash, /zoom=[\d.]+/);
	const other = await pages.open('small.html', { hash });
	assert.equal(await text(other, '#match'), await text(page, '#match'));
	assert.equal(await other.inputValue('#search'), 'escape');
	assert.deepEqual(await box(other, 'json:escape/2'), await box(page, 'json:escape/2'));
	assert.deepEqual(await state(other), await state(page));
	const bad = await pages.open('small.html', {
		hash: '#by=__proto__&zoom=99999.-1.x&process=7777&fn=1e9&hide=all&widths=q&sandwich=1&kinds=maybe',
	});
	const s = await state(bad);
	assert.deepEqual(
		[s.by, s.zoom, s.process, s.fn, s.off, s.widths, s.sandwich],
		['name', [], -1, -1, [], 'b', false],
	);
});

test('keyboard: arrows, Enter, c', async pages => {
	const page = await pages.open('small.html');
	await page.focus('#scroll');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('ArrowDown');
	assert.match(await text(page, '#tooltip'), /^db\n/); /* the widest child */
	await page.keyboard.press('ArrowRight');
	await page.keyboard.press('ArrowLeft');
	assert.match(await text(page, '#tooltip'), /^db\n/);
	await page.keyboard.press('Enter');
	await pages.settle(page);
	assert.equal((await state(page)).zoom.length, 1);
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('c');
	await page.waitForFunction(() => document.getElementById('toast').textContent !== '');
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'proc_lib:init_p_do_apply/3');
	assert.match(await page.locator('#spoken').textContent(), /proc_lib:init_p_do_apply\/3/);
});

test('double click and the menu copy', async pages => {
	const page = await pages.open('small.html');
	const b = await box(page, 'db:find/2');
	await page.mouse.dblclick(b.x + 20, b.y + 8);
	await page.waitForFunction(() => document.getElementById('toast').textContent !== '');
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'db:find/2');
	await page.mouse.click(b.x + 20, b.y + 8, { button: 'right' });
	await page.click('#menu >> text=Copy stack');
	assert.equal(
		await page.evaluate(() => navigator.clipboard.readText()),
		'db\nproc_lib:init_p_do_apply/3\ngen_server:loop/7\ngen_server:try_handle_call/4\n' +
			'db:handle_call/3\ndb:find/2',
	);
});

test('dark and light: by the system, and by the button', async pages => {
	for (const dark of [false, true]) {
		const page = await pages.open('small.html', { dark });
		const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
		const brightness = async () =>
			(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
				.match(/\d+/g)
				.map(Number)
				.reduce((a, b) => a + b) / 3;
		assert.equal(await theme(), dark ? 'dark' : 'light');
		assert.equal((await brightness()) < 60, dark);
		const b = await box(page, 'db:find/2');
		const first = await pixel(page, b.x + b.width - 6, b.y + 3);
		await page.click('#theme');
		await pages.settle(page);
		assert.equal(await theme(), dark ? 'light' : 'dark');
		assert.equal((await brightness()) < 60, !dark);
		assert.notDeepEqual(await pixel(page, b.x + b.width - 6, b.y + 3), first);
	}
});

test('small windows: the panel makes room, resizing redraws', async pages => {
	const page = await pages.open('shop.html', { width: 800, height: 600 });
	assert.ok(await page.locator('#panel').isHidden());
	const graph = await page.evaluate(() =>
		document.getElementById('scroll').getBoundingClientRect().toJSON(),
	);
	assert.ok(graph.width >= 780 && graph.height >= 380, `graph ${graph.width} x ${graph.height}`);
	await page.click('#panel-toggle');
	assert.ok(await page.locator('#panel').isVisible());
	await page.click('#panel-toggle');
	const before = (await box(page, 'shop_catalog')).width;
	await page.setViewportSize({ width: 1200, height: 700 });
	await pages.settle(page);
	assert.ok(Math.abs((await box(page, 'shop_catalog')).width / before - 1.5) < 0.02);
	assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 1200);
});
