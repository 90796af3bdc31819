/** Who may act for whom. Whose token asks is whose delegation it is. */
import type { http } from '@n17q/contracts';
import { line, table } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { ownReach, said } from './api.js';
import { theOne } from './names.js';
import type { Output } from './output.js';
import { given } from './words-given.js';

/** The moment that is meant, as the API takes it. */
export function momentOf(text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/u.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new Trouble(`--until is a day or a time with its zone, such as 2030-01-31 or 2030-01-31T18:00:00Z, not "${line(text, 40)}".`, true);
  return new Date(ms).toISOString();
}

/** Throws a Trouble for a tool that is not registered: a delegation for it would look like one and permit nothing. */
export function requireTools(named: readonly string[], there: readonly string[]): void {
  const strange = named.find((t) => t !== '*' && !there.includes(t));
  if (strange !== undefined) throw new Trouble(`There is no tool ${line(strange, 80)}: ${there.length === 0 ? 'none is registered' : `there are ${there.map((t) => line(t, 80)).join(', ')}; "*" means all`}.`, true);
}

export async function delegateCommand(person: string, o: { readonly tool: readonly string[]; readonly until?: string }, out: Output): Promise<void> {
  given('person', person, 200);
  for (const t of o.tool) given('tool', t, 200);
  const until = o.until === undefined ? undefined : momentOf(o.until);
  const { client } = ownReach();
  requireTools(o.tool, (await said(() => client.document('registry'))).document?.tools.map((t) => t.name) ?? []);
  const made = await said(() => client.delegate({ to: person, tools: [...o.tool], ...(until === undefined ? {} : { until }) }));
  out.answer(made, () => `${line(person)} may act for you${o.tool.includes('*') ? '' : ` with ${o.tool.map((t) => line(t)).join(', ')}`}${until === undefined ? '' : ` until ${until}`}. ./n17q undelegate ${made.delegation} takes it back.`);
}

export async function delegationsCommand(out: Output): Promise<void> {
  const view = await said(() => ownReach().client.delegations());
  out.answer(view, () => delegationsText(view));
}
export const delegationsText = (view: http.DelegationsView): string => (view.delegations.length === 0 ? 'Nobody acts for anybody else: ./n17q delegate PERSON --tool NAME lets somebody act for you.'
  : table([['DELEGATION', 'FROM', 'TO', 'TOOLS', 'UNTIL', ''], ...view.delegations.map((d) => [d.delegation, line(d.from, 40), line(d.to, 40), line(d.tools.join(', '), 80), d.until === null ? 'until it is taken back' : `${d.until.slice(0, 19)}Z`, d.stands ? '' : 'is over'])]));

export async function undelegateCommand(delegation: string, out: Output): Promise<void> {
  const done = await said(async () => {
    const { client } = ownReach();
    const only = theOne(delegation, (await client.delegations()).delegations.map((d) => d.delegation), 'delegation', './n17q delegations lists them', 'delegation');
    return { only, published: await client.takeBackDelegation(only) };
  });
  out.answer({ ...done.published, delegation: done.only }, () => `${done.only} is taken back: what rests on it is judged again.`);
}
