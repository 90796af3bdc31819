/** A result as lines with targets. One line is one promise or one figure; the ratio is the median over rounds, each against its own round's P. */
import { median } from './figures.mjs';
import { HOP_NAMES } from './turn.mjs';

const n = (x, digits = 0) => (x === null || x === undefined || Number.isNaN(x) ? '–' : x.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits }));
const least = (x, target) => (x >= target ? 'met' : 'NOT MET');
const most = (x, target) => (x <= target ? 'met' : 'NOT MET');

function appendLines(rounds) {
  const of = (f) => median(rounds.map(f));
  const beside = rounds.filter((r) => r.pgbench !== null);
  const lines = [
    { what: 'P: single-row inserts of 300 bytes, 32 connections, own process', value: `${n(of((r) => r.inserts))}/s` },
    { what: 'pgbench, the same insert, 32 clients', value: beside.length === 0 ? 'not to be had here' : `${n(median(beside.map((r) => r.pgbench)))}/s, ${n(median(beside.map((r) => r.pgbench / r.inserts)), 2)} × P` },
    { what: 'fdatasync of 8 KB', value: `${n(of((r) => r.fdatasync))}/s, ${n(of((r) => r.fdatasync / r.inserts), 2)} × P` },
  ];
  const SCRIPT = { short: '300-byte events, a seal in four', turns: 'events of governed turns, a seal in three' };
  const rateOf = (x) => x.rate ?? x;
  for (const [level, target, stretch] of [['batcher', 1.5, 3], ['guarded', null, null], ['service', 0.5, 1]]) {
    for (const script of ['short', 'turns']) {
      const ratio = of((r) => rateOf(r[`${level} ${script}`]) / r.inserts);
      const name = { batcher: 'Batcher alone', guarded: 'Guard and batcher in one process', service: 'Through the service' }[level];
      lines.push({ what: `${name}: ${SCRIPT[script]}`, value: `${n(ratio, 2)} × P (${n(of((r) => rateOf(r[`${level} ${script}`])))}/s)`, ratio, ...(target === null ? {} : { target: `≥ ${target} × P, stretch ${stretch}`, verdict: least(ratio, target) }) });
    }
  }
  const batch = of((r) => r['batcher short'].perCommit);
  lines.push({ what: 'Appends per commit at 64 callers', value: n(batch, 0), ratio: batch });
  const tail = of((r) => r.half.p99 / r.single.p50);
  lines.push({ what: 'p99 at half of the service\'s rate, against one caller alone (median)', value: `${n(tail, 1)} × (${n(of((r) => r.half.p99), 1)} ms against ${n(of((r) => r.single.p50), 2)} ms)`, ratio: tail, target: '≤ 10 ×', verdict: most(tail, 10) });
  const debit = of((r) => r.debits / r['no debits']);
  lines.push({ what: '64 runs that draw on one account, against 64 that do not', value: `${n(debit, 2)} × (${n(of((r) => r.debits))}/s)`, ratio: debit, target: '≥ 0.5 ×', verdict: least(debit, 0.5) });
  const resident = rounds.at(-1).residentBytes;
  lines.push({ what: 'Store process after many runs, resident', value: resident === null || Number.isNaN(resident) ? 'not told by this system' : `${n(resident / 2 ** 20)} MiB` });
  return lines;
}

/** A time or a rate of turns against what the machine gives: the aims are of a machine whose commit takes 0.175 ms alone, and of which 16 clients make 23,072 a second. */
const commitsLine = (what, ratio, say, target, verdict) => ({ what, value: say(ratio), ratio, target, verdict: verdict(ratio) });

function turnLines(turns) {
  return Object.entries(turns).flatMap(([name, t]) => {
    const where = name === 'together' ? 'all services in one process' : 'each service a process';
    return [
      { what: `Governed tool turn alone, ${where}`, value: `${n(t.alone.turn, 1)} ms (with the model's part ${n(t.alone.cycle, 1)} ms)`, target: 'aim 15 ms', verdict: most(t.alone.turn, 15), ratio: t.alone.turn },
      commitsLine(`The same in commits of one small row by one client, ${where}`, (t.alone.turn * t.commits.alone) / 1000, (x) => `${n(x)} × (one takes ${n(1000 / t.commits.alone, 2)} ms)`, 'aim 86 ×; ten-step runs without governance 88 to 163 ×', (x) => most(x, 86)),
      { what: `16 runs at once, ${where}`, value: `${n(t.many.perSecond)} turns/s (${n(t.many.turn, 1)} ms each)`, target: 'aim 200/s', verdict: least(t.many.perSecond, 200), ratio: t.many.perSecond },
      commitsLine(`The same for each 1,000 commits of 16 clients, ${where}`, (t.many.perSecond * 1000) / t.commits.many, (x) => `${n(x, 1)} (${n(t.commits.many)} commits/s)`, 'aim 8.7; ten-step runs without governance 2.3 to 8.8', (x) => least(x, 8.7)),
    ];
  });
}

function otherLines(r) {
  const lines = [];
  if (r.resume) {
    const ratio = r.resume.long.decision / r.resume.short.decision;
    lines.push({ what: `Resume of ${n(r.resume.long.events)} events against ${n(r.resume.short.events)}: cold caches to the next decision`, value: `${n(ratio, 2)} × (${n(r.resume.long.decision, 1)} ms against ${n(r.resume.short.decision, 1)} ms)`, ratio, target: '≤ 1.5 ×', verdict: most(ratio, 1.5) });
  }
  if (r.gate) {
    const { allowed, asked, empty, policies } = r.gate;
    lines.push({ what: `Rules of a gate decision, ${policies} policies: allowed (median)`, value: `${n(allowed.p50, 2)} ms (99th percentile ${n(allowed.p99, 1)} ms), ${n(allowed.p50 / empty.p50, 1)} × the set that permits everything (${n(empty.p50, 2)} ms)`, ratio: allowed.p50, target: '< 2 ms', verdict: allowed.p50 < 2 ? 'met' : 'NOT MET' });
    lines.push({ what: `Rules of a gate decision, ${policies} policies: refused and asked again as if approved (median)`, value: `${n(asked.p50, 2)} ms (99th percentile ${n(asked.p99, 1)} ms)`, ratio: asked.p50, target: '< 2 ms', verdict: asked.p50 < 2 ? 'met' : 'NOT MET' });
  }
  if (r.parallel) {
    const ratio = r.parallel.many / r.parallel.one;
    lines.push({ what: `Appends of a turn with ${r.parallel.calls} calls whose results arrive together, against one call`, value: `${n(ratio, 2)} × (${n(r.parallel.many, 1)} against ${n(r.parallel.one, 1)})`, ratio, target: '≤ 2 ×', verdict: most(ratio, 2) });
  }
  for (const service of r.memory ? Object.keys(r.memory.many) : []) {
    const [few, many] = [r.memory.few[service].rss, r.memory.many[service].rss];
    lines.push({ what: `Resident after ${n(r.memory.runs.many)} runs against ${n(r.memory.runs.few)}, garbage collected: ${service}`, value: `${n(many / few, 2)} × (${n(many / 2 ** 20)} MiB against ${n(few / 2 ** 20)})`, ratio: many / few, target: '≤ 1.2 ×', verdict: most(many / few, 1.2) });
  }
  if (r.bytes) {
    const [logical, disk] = [(r.bytes.logical + r.bytes.files) / r.bytes.newBytes, (r.bytes.disk + r.bytes.files) / r.bytes.newBytes];
    lines.push({ what: `Stored per new byte over ${r.bytes.calls} tool calls of 5 KB: values`, value: `${n(logical, 2)} ×`, ratio: logical, target: '≤ 3 ×', verdict: most(logical, 3) });
    lines.push({ what: `Stored per new byte over ${r.bytes.calls} tool calls of 5 KB: on disk`, value: `${n(disk, 2)} × (indexes apart: ${n(r.bytes.indexes / r.bytes.newBytes, 2)} ×)`, ratio: disk, target: '≤ 3 ×', verdict: most(disk, 3) });
  }
  return lines;
}

export const linesOf = (r) => [...(r.rounds ? appendLines(r.rounds) : []), ...(r.turns ? turnLines(r.turns) : []), ...otherLines(r)];

const breakdownRows = (turns) => HOP_NAMES.map((hop) => [hop, ...Object.values(turns).flatMap((t) => [n(t.alone[hop], 1), n(t.many[hop], 1)])]);
const byteRows = (b) => Object.entries(b.tables).filter(([, t]) => t.rows > 0 || t.disk > 0).map(([name, t]) => [name, n(t.rows), n(t.logical / b.newBytes, 2), n(t.disk / b.newBytes, 2), n(t.indexes / b.newBytes, 2)]).concat([['files', '', n(b.files / b.newBytes, 2), n(b.files / b.newBytes, 2), '']]);

function columns(rows) {
  const width = rows[0].map((_, i) => Math.max(...rows.map((r) => r[i].length)));
  return rows.map((r) => r.map((c, i) => c.padEnd(width[i])).join('  ').trimEnd()).join('\n');
}
const HOP_HEAD = ['ms from one durable event to the next', 'one process, alone', '16 runs', 'own processes, alone', '16 runs'];
const BYTE_HEAD = ['stored per new byte', 'rows', 'values', 'disk', 'indexes'];

/** For the terminal. */
export function tableOf(r) {
  const parts = [columns([['what', 'measured', 'target', ''], ...linesOf(r).map((l) => [l.what, l.value, l.target ?? '', l.verdict ?? ''])])];
  if (r.turns) parts.push(columns([HOP_HEAD.slice(0, 1 + 2 * Object.keys(r.turns).length), ...breakdownRows(r.turns)]));
  if (r.bytes) parts.push(columns([BYTE_HEAD, ...byteRows(r.bytes)]));
  return parts.join('\n\n');
}

const md = (rows) => [`| ${rows[0].join(' | ')} |`, `| ${rows[0].map(() => '---').join(' | ')} |`, ...rows.slice(1).map((r) => `| ${r.join(' | ')} |`)].join('\n');

/** docs/bench.md. */
export function markdownOf(r) {
  return `# Speed and size, measured

Written by \`npm run bench -- --docs\`; not edited by hand. **Read the ratios**: each divides by what the machine itself gave in the same round. Absolute figures are of the one machine that
this run was made on: ${r.cores} cores, ${r.postgres.startsWith('PostgreSQL') ? r.postgres : `PostgreSQL ${r.postgres}`}, Node ${r.node}, load average ${r.loadBefore.toFixed(1)} before the run${r.rounds ? `, ${r.rounds.map((x) => x.load.toFixed(1)).join(', ')} in its rounds` : ''}${r.quick ? '; a quick run' : ''}. Where the load is above the cores, other work took the
machine away: then times of single hops and turns are mostly waiting for a core, and only ratios within a round and sizes say something about the program.

${md([['what', 'measured', 'target', 'verdict'], ...linesOf(r).map((l) => [l.what, l.value, l.target ?? '', l.verdict ?? ''])])}

What is included:

- *P* inserts one row of 300 bytes per commit, prepared, by 32 connections of a process of its own, on the same server.
- *Batcher alone*: appends that the guard's own functions prepared before the clock ran; measured are encoding, batching and the transaction with chain check, revisions, needs, open effects, accounts, contents, checkpoints and snapshots. 64 callers on runs of their own.
- *Guard and batcher*: also JSON, schema, commitments, fold, judgement, chain, cut.
- *Through the service*: also NATS request and reply, in the store's own process with its relay running. The callers fold and cut for themselves, as services do, on the same cores; the store is warmed up for three seconds first.
- *Governed tool turn*: from the accepted output to the next compiled context, by the store's times, with three seals; a provider emulator that answers at once and an HTTP tool on loopback (keyed) in the process that measures.
- *The same in commits*: the aims of 15 ms and 200/s were set on a machine where pgbench makes such a commit in 0.175 ms alone and 23,072 a second with 16 clients; these lines divide by what it made here, just before the turns.
- *Resume*: nothing in memory but an open connection; state, tenant and open effects are loaded, folded and judged.
- *Rules of a gate decision*: Cedar's part with parsed policies and schema in memory, in one process that does nothing else; the question is validated against the schema, and where it is refused asked again as if it were approved. Publishing compiles the set once.
- *Appends of a turn*: from one accepted output to the next, counted in the log; the tool answers all calls at once.
- *Resident after runs*: each service a process that is told to collect its garbage; every run is created, sealed, paused by the gate and sealed again, so that all three have seen it.
- *Stored*: all tables of the store with TOAST after a plain vacuum, and artifact files; new bytes are the JSON of all messages at the end. The results are text that does not compress.
${r.turns ? `\n## A turn by hop\n\n${md([HOP_HEAD, ...breakdownRows(r.turns)])}\n` : ''}${r.bytes ? `\n## Bytes by table\n\n${md([BYTE_HEAD, ...byteRows(r.bytes)])}\n` : ''}`;
}
