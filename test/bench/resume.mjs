/** How long it takes to open a run with cold caches and come to its next decision, by the run's length. */
import { digestOf } from '@n17q/contracts';
import { judge, runOf } from '@n17q/domain';
import { ServiceLog } from '@n17q/event-log';
import { openStore } from './appends.mjs';
import { median } from './figures.mjs';
import { ScriptedRun } from './scripted-run.mjs';

/** A run of at least `events` events, all through the guard, that stands where the gate has to judge a generation. */
export async function buildRun({ guarded }, tenant, events) {
  const run = new ScriptedRun(tenant, 'turns', { bodyBytes: 300 });
  while (run.state.revision < events || run.state.generation?.stage !== 'compiled') {
    const { writer, request } = run.next();
    run.applied(await guarded.append(request, writer, 2000));
  }
  return run;
}

/** From nothing in memory: state, tenant, open effects in one view; the decision; median of `times`, ms. The pool is connected before. */
export async function resumeMs(url, run, times) {
  const spent = { view: [], decision: [], guard: [] };
  for (let i = 0; i < times; i++) {
    const { store, guarded } = await openStore(url);
    await store.head(run.tenant, run.stream);
    const log = new ServiceLog({ service: 'policy-gate', append: () => { throw new Error('nothing is appended here'); }, loadRun: (...a) => store.loadRun(...a), decisionView: (q) => store.decisionView(q), contents: (t, c) => store.contents(t, c, { reader: 'policy-gate' }) }, null);
    const began = performance.now();
    const view = await log.view(run.tenant, runOf(run.stream));
    const viewed = performance.now();
    judge(view, { id: (kind) => `${kind}-${i}`, digest: digestOf });
    const decided = performance.now();
    await guarded.state(run.tenant, run.stream);
    spent.view.push(viewed - began);
    spent.decision.push(decided - began);
    spent.guard.push(performance.now() - decided);
    await store.close();
  }
  return { view: median(spent.view), decision: median(spent.decision), guard: median(spent.guard) };
}
