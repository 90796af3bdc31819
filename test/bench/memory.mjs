/**
 * What many runs leave in memory: the store, the sealer and the gate, each a process of its own that can be told to collect its garbage, are measured after
 * the first runs and after ten times as many. Each run passes through all three: created and asked to pause in one append, sealed, paused, sealed.
 */
import { randomUUID } from 'node:crypto';
import { contentOf } from '@n17q/contracts';
import { FIRST_ALLOWANCE, FIRST_POLICY, OPERATOR_ROLES, publishDocuments, until } from '@n17q/testing';
import pg from 'pg';
import { startServices } from './site.mjs';

export const MEASURED = ['event-store', 'checkpoint-sealer', 'policy-gate'];
const CALLERS = 32;
const TENANT = 'memory';
const NOTHING = { usd_micros: 0, tokens: 0, calls: 0 };
const ANSWER_MS = 30_000;

async function newRun(api) {
  const run = randomUUID();
  const goal = contentOf(`the goal of ${run}`, 'input');
  const said = [
    { type: 'run.created', data: { goal: goal.ref, title: run, retention: 'standard', world: { kind: 'real' }, budget: NOTHING, constraints: [], tools: [], workspace: null, whenDone: 'await-input', changePolicy: 'allow', onBehalfOf: null, wallMs: null } },
    { type: 'run.pause-requested', data: { reason: 'not now' } },
  ];
  const outcome = await api.append({
    tenant: TENANT, stream: `run/${run}`, expected: 0, appendId: randomUUID(), actor: { kind: 'person', id: 'operator' }, correlation: run, causation: null,
    events: said.map((e) => ({ ...e, eventId: randomUUID() })), contents: [{ ref: goal.ref, salt: Buffer.from(goal.salt).toString('base64'), body: Buffer.from(goal.body).toString('base64') }],
  });
  if (outcome.kind !== 'appended') throw new Error(`a run was not taken in: ${JSON.stringify(outcome)}`);
}

async function memoryOf(process_, asked) {
  process.kill(process_.pid, 'SIGUSR2');
  const [line] = await process_.waitForLine(new RegExp(`\\{"event":"memory","asked":${asked},.*\\}`), ANSWER_MS);
  return JSON.parse(line);
}

/** Bytes of each process after `few` and after `many` runs. */
export async function memoryAfterRuns(site, api, { few, many, withinMs }) {
  const services = await startServices(site, MEASURED, true, 'memory', { collects: true });
  const watch = new pg.Client({ connectionString: site.site.databases.reader });
  try {
    await watch.connect();
    await publishDocuments(api, TENANT, { policy: FIRST_POLICY, registry: { tools: [] }, roles: OPERATOR_ROLES, allowance: FIRST_ALLOWANCE });
    const found = { runs: { few, many }, few: {}, many: {} };
    let made = 0;
    for (const [asked, [name, count]] of [['few', few], ['many', many]].entries()) {
      await Promise.all(Array.from({ length: CALLERS }, async () => { while (made < count) { made++; await newRun(api); } }));
      await until(async () => (await watch.query(`select 1 from n17q.needs where tenant = $1 limit 1`, [TENANT])).rowCount === 0, { withinMs, what: `${count} paused runs`, everyMs: 100 });
      for (const service of MEASURED) found[name][service] = await memoryOf(services.processes[service], asked + 1);
    }
    return found;
  } finally {
    await watch.end();
    await services.stop();
  }
}
