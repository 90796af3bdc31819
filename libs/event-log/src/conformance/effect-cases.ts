/** What the gate and the sweeps rest on: open effects, needs, accounts, and one view of all of it. */
import assert from 'node:assert/strict';
import type { AppendOutcome, Need } from '@n17q/contracts';
import { overlaps, type Scope, type StreamId } from '@n17q/domain';
import type { NeedAt } from '../store-port.js';
import { appended, refusedWith, storeCase, type StoreCase } from './case.js';
import { digest, draft, newRun, newTenant, note, openEffect, prepare, scopeNamed } from './draft.js';

const amounts = (usd_micros: number, tokens = 0, calls = 0): { usd_micros: number; tokens: number; calls: number } => ({ usd_micros, tokens, calls });
const need = (reason: string, dueAt: number, waitsFor: Need['waitsFor'] = null, service: Need['service'] = 'policy-gate'): Need => ({ service, reason, dueAt, waitsFor });

export const EFFECT_CASES: readonly StoreCase[] = [
  storeCase('EFF-6', 'shows the unresolved effects of all runs of the tenant by scope, and no other tenant\'s', async (store) => {
    const [t, a, b] = [newTenant(), newRun(), newRun()];
    appended(await store.append(await draft(store, t, a, { openEffects: { upsert: [openEffect('e-1', 'invoice 7')], remove: [] } })));
    appended(await store.append(await draft(store, t, b, { openEffects: { upsert: [openEffect('e-2', 'invoice 8')], remove: [] } })));
    appended(await store.append(await draft(store, newTenant(), newRun(), { openEffects: { upsert: [openEffect('e-3', 'invoice 7')], remove: [] } })));
    assert.deepEqual((await store.decisionView({ tenant: t, stream: b, targets: ['invoice 7'] })).openEffects, [{ ...openEffect('e-1', 'invoice 7'), stream: a }]);
    assert.deepEqual((await store.decisionView({ tenant: t, stream: b, targets: 'all' })).openEffects.map((o) => o.effect), ['e-1', 'e-2']);
    assert.deepEqual(await store.openEffects(t, []), []);
    const unknown = openEffect('e-1', 'invoice 7', 'neither', 'unknown');
    appended(await store.append(await draft(store, t, a, { openEffects: { upsert: [unknown], remove: [] } })));
    assert.deepEqual(await store.openEffects(t, ['invoice 7']), [{ ...unknown, stream: a }]);
    appended(await store.append(await draft(store, t, a, { openEffects: { upsert: [], remove: ['e-1'] } })));
    assert.deepEqual(await store.openEffects(t, 'all'), [{ ...openEffect('e-2', 'invoice 8'), stream: b }]);
  }),
  storeCase('EFF-6', 'starts an attempt only while no other consequential effect of the tenant has its scope', async (store) => {
    const [t, a, b] = [newTenant(), newRun(), newRun()];
    const claim = (run: string, effect: string, scope = 'invoice 7'): ReturnType<typeof draft> => draft(store, t, run, { scopesFree: [{ scope: scopeNamed(scope), except: [effect] }], openEffects: { upsert: [openEffect(effect, scope)], remove: [] } });
    const [first, second] = await Promise.all([claim(a, 'e-1'), claim(b, 'e-2')]);
    const outcomes = await Promise.all([store.append(first), store.append(second)]);
    assert.equal(outcomes.filter((o) => o.kind === 'appended').length, 1, 'two attempts of one scope passed');
    const loser = outcomes[0].kind === 'appended' ? outcomes[1] : outcomes[0];
    const facts = refusedWith(loser, 'SCOPE_BUSY');
    assert.equal(facts['target'], 'invoice 7');
    assert.equal((await store.openEffects(t, 'all')).length, 1);
    appended(await store.append(await claim(newRun(), 'e-9', 'invoice 9')));
    const reading = await draft(store, t, newRun(), { openEffects: { upsert: [openEffect('r-1', 'page', 'read-only'), openEffect('c-1', 'page', 'contained')], remove: [] } });
    appended(await store.append(reading));
    appended(await store.append(await claim(newRun(), 'e-10', 'page')));
    const winner = outcomes[0].kind === 'appended' ? a : b;
    const settle = await draft(store, t, winner, { openEffects: { upsert: [], remove: ['e-1', 'e-2'] } });
    appended(await store.append(settle));
    appended(await store.append(await claim(newRun(), 'e-11')));
  }),
  storeCase('EFF-6', 'keeps scopes apart only by a field with two values: a whole target meets every part of it', async (store) => {
    const t = newTenant();
    const claim = async (effect: string, scope: string): Promise<AppendOutcome> => store.append(await draft(store, t, newRun(), { scopesFree: [{ scope: scopeNamed(scope), except: [effect] }], openEffects: { upsert: [openEffect(effect, scope)], remove: [] } }));
    appended(await claim('e-1', 'bank: 7'));
    appended(await claim('e-2', 'bank: 8'));
    for (const scope of ['bank', 'bank: 7']) assert.deepEqual(refusedWith(await claim('e-3', scope), 'SCOPE_BUSY')['effect'], 'e-1');
    appended(await claim('e-4', 'shop'));
    assert.deepEqual(refusedWith(await claim('e-5', 'shop: 7'), 'SCOPE_BUSY')['effect'], 'e-4');
    const other = await draft(store, t, newRun(), { scopesFree: [{ scope: { target: 'bank', fields: { who: digest('x') } }, except: [] }] });
    assert.deepEqual(refusedWith(await store.append(other), 'SCOPE_BUSY')['effect'], 'e-1');
  }),
  storeCase('EFF-6', 'compares scopes as the domain does, whatever their fields are called', async (store) => {
    const fields = (text: string, of: number): Scope['fields'] => JSON.parse(`{${text.split('|').map((name) => `${JSON.stringify(name)}:"${digest(of)}"`).join(',')}}`) as Scope['fields'];
    const names = ['__proto__', 'constructor', '', ' ', 'a.b', '$.a', "it's", '"', '\\', '\\u0000', 'é', 'e\u0301', '😀', 'x'.repeat(200), '__proto__|a.b', 'constructor|a.b'];
    const scopes = [{}, ...names.flatMap((n) => [fields(n, 1), fields(n, 2)])].map((f): Scope => ({ target: 'bank', fields: f }));
    for (const [at, held] of scopes.entries()) {
      const t = newTenant();
      appended(await store.append(await draft(store, t, newRun(), { openEffects: { upsert: [{ ...openEffect('e-1', ''), scope: held }], remove: [] } })));
      assert.deepEqual((await store.openEffects(t, ['bank']))[0]?.scope, held);
      for (const scope of scopes.filter((_, i) => i % 5 === at % 5 || Math.abs(i - at) < 3)) {
        const o = await store.append(await draft(store, t, newRun(), { scopesFree: [{ scope, except: [] }] }));
        assert.equal(o.kind, overlaps(held, scope) ? 'refused' : 'appended', `${JSON.stringify(held)} and ${JSON.stringify(scope)}`);
      }
    }
  }),
  storeCase('EFF-6 RUN-1', 'refuses a scope that cannot be stored, and says so', async (store) => {
    for (const scope of [{ target: 'a\u0000', fields: {} }, { target: 'a\ud800', fields: {} }, { target: 'a', fields: { 'b\u0000': digest(1) } }] as Scope[]) {
      refusedWith(await store.append(await draft(store, newTenant(), newRun(), { scopesFree: [{ scope, except: [] }] })), 'MALFORMED');
      refusedWith(await store.append(await draft(store, newTenant(), newRun(), { openEffects: { upsert: [{ ...openEffect('e-1', ''), scope }], remove: [] } })), 'MALFORMED');
    }
  }),
  storeCase('BUD-5 BUD-2', 'never lets racing debits take more than the account holds', async (store) => {
    const t = newTenant();
    appended(await store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-100, -1000, -10) })));
    const claims = await Promise.all(Array.from({ length: 12 }, () => draft(store, t, newRun(), { debit: amounts(15, 10, 1) })));
    const outcomes = await Promise.all(claims.map((p) => store.append(p)));
    assert.equal(outcomes.filter((o) => o.kind === 'appended').length, 6);
    for (const o of outcomes) if (o.kind !== 'appended') assert.deepEqual(refusedWith(o, 'BUDGET_SHORT'), { dimension: 'usd_micros', needed: 15, balance: 10 });
    assert.deepEqual(await store.account(t), amounts(10, 940, 4));
    appended(await store.append(await draft(store, t, newRun(), { debit: amounts(-5, 0, 0) })));
    appended(await store.append(await draft(store, t, newRun(), { debit: amounts(15, 0, 0) })));
    assert.deepEqual(await store.account(t), amounts(0, 940, 4));
    assert.deepEqual(refusedWith(await store.append(await draft(store, newTenant(), newRun(), { debit: amounts(0, 1, 0) })), 'BUDGET_SHORT')['balance'], 0);
  }),
  storeCase('BUD-2 RUN-4', 'charges a repeated append once, and a refused one never', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-100) })));
    const p = await draft(store, t, run, { debit: amounts(60) });
    appended(await store.append(p));
    appended(await store.append(p));
    assert.equal((await store.append(await draft(store, t, run, { debit: amounts(10), at: { revision: 0, head: '' } }))).kind, 'conflict');
    refusedWith(await store.append(await draft(store, t, run, { debit: amounts(10), cites: ['c1.none'] })), 'CONTENT_MISSING');
    refusedWith(await store.append(await draft(store, t, run, { debit: amounts(10), requires: [{ stream: 'tenant/policy', revision: 3 }] })), 'REQUIREMENT_FAILED');
    assert.deepEqual(await store.account(t), amounts(40));
  }),
  storeCase('RUN-4', 'keeps needs: the first due time of a reason stays, removals come first, changes of the tenant release', async (store) => {
    const [t, run, other] = [newTenant(), newRun(), newRun()];
    const now = await store.now();
    const later = now + 3_600_000;
    const put = async (upsert: readonly Need[], remove: readonly { service: string; reason: string }[] = [], stream = run): Promise<void> => void appended(await store.append(await draft(store, t, stream, { needs: { upsert, remove } })));
    await put([need('decide', now - 500), need('wait', later, 'policy')]);
    await put([need('decide', now + 9000), need('wait', later + 5, 'profiles')]);
    assert.deepEqual(await store.needsOf(t, run), [need('decide', now - 500), need('wait', later, 'profiles')]);
    await put([need('decide', now + 9000)], [{ service: 'policy-gate', reason: 'decide' }]);
    assert.deepEqual(await store.needsOf(t, run), [need('decide', now + 9000), need('wait', later, 'profiles')]);
    await put([need('wait', later, 'policy')], [], other);
    const due = async (): Promise<unknown[]> => (await store.needsDue('policy-gate', 0, 1000)).filter((n) => n.tenant === t).map((n) => [n.stream, n.reason]);
    assert.deepEqual(await due(), []);
    appended(await store.append(await draft(store, t, 'tenant/policy', { releases: ['policy'] })));
    assert.deepEqual(await due(), [[other, 'wait']]);
    assert.deepEqual(await store.needsDue('context-compiler', 0, 1000).then((n) => n.filter((x) => x.tenant === t)), []);
    assert.deepEqual((await store.needsDue('policy-gate', 60_000, 1000)).filter((n) => n.tenant === t), []);
    await put([], [{ service: 'policy-gate', reason: 'wait' }], other);
    assert.deepEqual(await due(), []);
  }),
  storeCase('RUN-4', 'hands out what waits for the tenant\'s budget only while the balance covers it', async (store) => {
    const [t, run, other] = [newTenant(), newRun(), newRun()];
    const later = (await store.now()) + 3_600_000;
    const put = async (upsert: readonly Need[], stream: StreamId): Promise<void> => void appended(await store.append(await draft(store, t, stream, { needs: { upsert, remove: [] }, releases: ['budget'] })));
    const grant = async (n: number): Promise<void> => void appended(await store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-n), releases: ['budget'] })));
    const due = async (): Promise<unknown[]> => (await store.needsDue('policy-gate', 0, 1000)).filter((n) => n.tenant === t).map((n) => n.reason).sort();
    await put([need('small', later, 'budget:usd_micros:5')], run);
    await put([need('large', later, 'budget:usd_micros:50')], other);
    assert.deepEqual(await due(), []);
    await grant(4);
    assert.deepEqual(await due(), []);
    await grant(3);
    assert.deepEqual(await due(), ['small']);
    await grant(50);
    assert.deepEqual(await due(), ['large', 'small']);
    appended(await store.append(await draft(store, t, newRun(), { debit: amounts(40) }))); // somebody else was faster
    assert.deepEqual(await due(), ['small']);
    appended(await store.append(await draft(store, t, run, { debit: amounts(-40), releases: ['budget'] })));
    assert.deepEqual(await due(), ['large', 'small']);
    await put([need('late', later, 'budget:usd_micros:57')], newRun()); // what it waits for is there already
    assert.deepEqual(await due(), ['large', 'late', 'small']);
  }),
  storeCase('BUD-5', 'grants no balance that would not be exact everywhere', async (store) => {
    const t = newTenant();
    const grant = async (n: number) => store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-n) }));
    appended(await grant(Number.MAX_SAFE_INTEGER - 5));
    refusedWith(await grant(6), 'BALANCE_TOO_LARGE');
    assert.deepEqual(await store.account(t), amounts(Number.MAX_SAFE_INTEGER - 5));
    appended(await grant(5));
    assert.deepEqual(await store.account(t), amounts(Number.MAX_SAFE_INTEGER));
  }),
  storeCase('RUN-4', 'hands out due needs page by page, each once, also those of one due time', async (store) => {
    const [t, at] = [newTenant(), (await store.now()) - 5000];
    const names = Array.from({ length: 7 }, (_, i) => `n${String(i)}`);
    for (const stream of [newRun(), newRun()]) appended(await store.append(await draft(store, t, stream, { needs: { upsert: names.map((n, i) => need(n, at - (i % 2), null, 'context-compiler')), remove: [] } })));
    const met: string[] = [];
    let after: NeedAt | undefined;
    for (let pages = 0; pages < 1000; pages++) {
      const page = await store.needsDue('context-compiler', 0, 3, after);
      met.push(...page.filter((n) => n.tenant === t).map((n) => `${n.stream} ${n.reason}`));
      after = page.at(-1);
      if (page.length < 3) break;
    }
    assert.equal(met.length, 14);
    assert.equal(new Set(met).size, 14);
  }),
  storeCase('EFF-7', 'shows head, tail, effects, tenant and account as they were at one instant, while others append', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, 'tenant/budget', { debit: amounts(-1000) })));
    let going = true;
    let reads = 0;
    const write = async (): Promise<void> => {
      // each append moves the run's revision, one open effect and the account together
      for (let i = 0; i < 40; i++) {
        const effects = i % 2 === 0 ? { upsert: [openEffect(`e-${String(i)}`, 's')], remove: [] } : { upsert: [], remove: [`e-${String(i - 1)}`] };
        appended(await store.append(await draft(store, t, run, { openEffects: effects, debit: amounts(1) })));
      }
      going = false;
    };
    const read = async (): Promise<void> => {
      while (going) {
        const v = await store.decisionView({ tenant: t, stream: run, afterRevision: 0, targets: 'all' });
        assert.deepEqual([v.tail.length, v.openEffects.length, v.account.usd_micros], [v.head.revision, v.head.revision % 2, 1000 - v.head.revision]);
        assert.equal(v.tail.at(-1)?.digest ?? '', v.head.head);
        reads++;
      }
    };
    await Promise.all([write(), read(), read()]);
    assert.ok(reads > 4, `only ${String(reads)} views were read`);
  }),
  storeCase('OPS-2', 'takes nothing in that spends a permit of a run that lost events, until somebody looked, and is not told the same loss twice', async (store) => {
    const [t, run, other] = [newTenant(), newRun(), newRun()];
    const spend = async (stream: string): ReturnType<typeof store.append> => store.append(await draft(store, t, stream, { validUntil: (await store.now()) + 60_000 }));
    const p = await draft(store, t, run, { validUntil: (await store.now()) + 60_000 });
    appended(await store.append(p));
    const loss = { tenant: t, stream: run, eventId: 'lost-1', why: 'the bus has it' };
    const view = async (): Promise<boolean> => (await store.decisionView({ tenant: t, stream: run, targets: [] })).suspect;
    assert.equal(await view(), false);
    await store.markSuspect(loss);
    refusedWith(await spend(run), 'INCARNATION_SUSPECT');
    assert.equal(appended(await store.append(p)).fresh, false);
    appended(await spend(other));
    appended(await store.append(await draft(store, t, run)));
    assert.equal(await view(), true);
    assert.deepEqual((await store.suspects(1000)).filter((s) => s.tenant === t).map(({ tenant, stream, eventId, why }) => ({ tenant, stream, eventId, why })), [loss]);
    assert.deepEqual([await store.clearSuspect(t, run, 'ann'), await store.clearSuspect(t, run, 'ann'), await store.clearSuspect(t, other, 'ann')], [true, false, false]);
    await store.markSuspect(loss);
    appended(await spend(run));
    await store.markSuspect({ ...loss, eventId: 'lost-2' });
    refusedWith(await spend(run), 'INCARNATION_SUSPECT');
  }),
  storeCase('EFF-7 TOOL-1', 'shows the tenant\'s newest documents with their revisions, and leaves out what the caller has seen', async (store) => {
    const [t, run] = [newTenant(), newRun()];
    appended(await store.append(await draft(store, t, 'tenant/policy', { facts: [note('old'), note('new')] })));
    appended(await store.append(await draft(store, t, 'tenant/registry')));
    const view = await store.decisionView({ tenant: t, stream: run, targets: [], tenantSeen: { 'tenant/registry': 1, 'tenant/policy': 1 } });
    assert.deepEqual(view.tenant.map((d) => [d.stream, d.revision, d.event?.data ?? null]), [['tenant/policy', 2, { steps: ['new'] }], ['tenant/registry', 1, null]]);
    assert.deepEqual([view.head, view.tail, view.snapshot, view.openEffectsCut], [{ revision: 0, head: '' }, [], null, false]);
    assert.ok(Math.abs(view.now - (await store.now())) < 5000);
  }),
  storeCase('RUN-1 RUN-4', 'gives every event of many writers a place in the lane, without holes and without letting a plain cursor miss one', async (store) => {
    const start = (await lastPosition(store)) ?? 0;
    const t = newTenant();
    const seen: string[] = [];
    let going = true;
    const follow = async (): Promise<void> => {
      for (let cursor = start; ;) {
        const done = !going;
        const page = await store.readByPosition(0, cursor, 100);
        for (const e of page) {
          assert.equal(e.position, cursor + 1, 'a hole in the lane');
          cursor = e.position;
          if (e.event.tenant === t) seen.push(e.event.eventId);
        }
        if (page.length === 0) {
          if (done) return;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    };
    const wanted: string[] = [];
    const write = async (): Promise<void> => {
      const run = newRun();
      let at = { revision: 0, head: '' as string };
      for (let i = 0; i < 12; i++) {
        const p = prepare(t, run, at, await store.now(), { facts: i % 3 === 0 ? [note('a'), note('b')] : [note('c')] });
        const o = appended(await store.append(p));
        at = { revision: o.last, head: o.head };
        wanted.push(...p.rows.map((r) => r.eventId));
      }
    };
    const following = follow();
    await Promise.all(Array.from({ length: 32 }, write)).finally(() => { going = false; });
    await following;
    assert.deepEqual([...seen].sort(), [...wanted].sort());
  }),
];

async function lastPosition(store: { readByPosition: (lane: number, after: number, limit: number) => Promise<readonly { readonly position: number }[]> }): Promise<number | undefined> {
  let last: number | undefined;
  for (;;) {
    const page = await store.readByPosition(0, last ?? 0, 500);
    if (page.length === 0) return last;
    last = page.at(-1)?.position;
  }
}
