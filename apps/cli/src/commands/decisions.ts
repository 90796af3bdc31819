/** What the policy gate decided about a run: about what, with which code and words, by which rules, and resting on which revisions. */
import type { http } from '@n17q/contracts';
import { line } from '../terminal/plain.js';
import { withRun } from './api.js';
import { raiseText } from './run-rests.js';
import type { Output } from './output.js';

const PAGE = 500;
const DECISIONS_MAX = 5_000;

export function decisionText(d: http.ShownDecision): string {
  const { about: a, rests: r } = d;
  const what = a.kind === 'run' ? 'the run' : `${a.kind === 'model-call' ? 'model call' : a.kind} ${line(a.id)}${a.tool === null ? '' : ` (${line(a.tool)})`}`;
  return [
    `${d.revision}  ${d.at.slice(0, 19)}Z  ${d.decision}: ${what}${d.by === null ? '' : `, asked by ${line(d.by.id)}`}`,
    ...(d.code === null && d.words.length === 0 ? [] : [`  ${d.words.map((w) => line(w, 300)).join('; ')}${d.code === null ? '' : ` (${d.code})`}`]),
    ...(d.raise === null ? [] : [`  by ${raiseText(d.raise)}`]),
    ...d.met.map((m) => `  met ${m.effect} (${line(m.tool)}) of run ${m.run}: ${m.stage}`),
    ...(d.hook === null ? [] : [`  the tenant's hook: ${d.hook.answer}${d.hook.reason === '' ? '' : `, ${line(d.hook.reason, 200)}`}`]),
    ...(d.rules.length === 0 ? [] : [`  rules: ${d.rules.map((x) => line(x)).join(', ')}`]),
    ...(r === null ? [] : [`  rests on run ${r.run ?? '-'}, policy ${r.policy}, registry ${r.registry}, profiles ${r.profiles}, roles ${r.roles}`]),
  ].join('\n');
}

export async function decisionsCommand(name: string, out: Output): Promise<void> {
  const { run, decisions, more } = await withRun(name, async (client, id) => {
    const all: http.ShownDecision[] = [];
    let after: number | null = 0;
    while (after !== null && all.length < DECISIONS_MAX) {
      const page: http.DecisionsPage = await client.decisions(id, { after, limit: PAGE });
      all.push(...page.decisions);
      after = page.next;
    }
    return { run: id, decisions: all, more: after };
  });
  out.answer({ run, decisions, next: more }, () => (decisions.length === 0 ? 'The gate has decided nothing about this run yet.' : [...decisions.map(decisionText), ...(more === null ? [] : [`there are more after event ${more}`])].join('\n')));
}
