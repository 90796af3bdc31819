/**
 * The tenant's policy: what is in force, what a file would change, what it would have decided, and publishing it.
 *
 * A file is either rules in Cedar's language, which take the place of the rules in force and leave the rest of the policy as it is, or, with a name that
 * ends in .json, a whole policy.
 *
 * Rows: POL-1, POL-3.
 */
import { readFileSync } from 'node:fs';
import type { http } from '@n17q/contracts';
import type { N17qClient } from '@n17q/client';
import type { PolicyDocument } from '@n17q/domain';
import { line, plain, table } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { ownReach, said } from './api.js';
import type { Output } from './output.js';

const FILE_BYTES_MAX = 1_000_000;

function fileText(file: string): string {
  let bytes: Buffer;
  try { bytes = readFileSync(file === '-' ? 0 : file); } catch (e) { throw new Trouble(`${line(file, 200)} cannot be read (${String((e as NodeJS.ErrnoException).code)}): name a file with rules, or a policy in JSON.`, true); }
  if (bytes.length > FILE_BYTES_MAX) throw new Trouble(`${line(file, 200)} has ${bytes.length} bytes, at most ${FILE_BYTES_MAX} are taken.`, true);
  return bytes.toString('utf8');
}

const HEAD = '// Policy, revision ';

/** The policy that a file means, beside the one in force. Throws a Trouble for JSON that is none, and for rules where nothing is in force that they could join. */
export function candidateOf(file: string, text: string, now: PolicyDocument | null): PolicyDocument {
  if (!file.endsWith('.json')) {
    const rules = text.startsWith(HEAD) ? text.slice(text.indexOf('\n\n') + 2) : text; // as policy show wrote it
    if (now === null) throw new Trouble('No policy is in force that these rules could join: publish a whole one, in a file whose name ends in .json.');
    return { ...now, rules };
  }
  let read: unknown;
  try { read = JSON.parse(text); } catch { throw new Trouble(`${line(file, 200)} is not JSON: write the policy as ./n17q policy show --json has it.`, true); }
  const whole = read !== null && typeof read === 'object' && 'document' in read && 'revision' in read ? read.document : read;
  if (whole === null || typeof whole !== 'object' || Array.isArray(whole)) throw new Trouble(`${line(file, 200)} holds no policy but ${whole === null ? 'null' : Array.isArray(whole) ? 'a list' : `a ${typeof whole}`}: write it as ./n17q policy show --json has it.`, true);
  return whole as PolicyDocument;
}

const candidate = async (client: N17qClient, file: string): Promise<PolicyDocument> => candidateOf(file, fileText(file), (await client.document('policy')).document);

/** Rules as a file can hold them: what is said before them is a comment. */
export function policyText(revision: number, d: PolicyDocument | null): string {
  if (d === null) return 'No policy is published, so nothing is permitted.';
  const { rules, ...rest } = d;
  return [`${HEAD}${revision}; its rules are below, and with it stands:`, ...table(Object.entries(rest).map(([k, v]) => [k, line(typeof v === 'object' ? JSON.stringify(v) : String(v), 200)])).split('\n').map((l) => `//   ${l}`), '', plain(rules).trimEnd()].join('\n');
}

/** Rules without one that permits stop every run of the tenant. */
const WITHOUT_PERMIT = 'it has no rule that permits, so every model call and every tool call is denied; keep a permit, such as @id("allow") permit (principal, action, resource);';
/** Throws a Trouble for a policy that permits nothing, unless that is what is wanted. */
export function requirePermit(d: Pick<http.PolicyDiff, 'permitsNothing'>, denyAll: boolean): void {
  if (d.permitsNothing && !denyAll) throw new Trouble(`Nothing would be permitted any more, so nothing is published: ${WITHOUT_PERMIT.replace(/;$/u, '')}, or say --deny-all.`, true);
}

export function diffText(d: http.PolicyDiff): string {
  const rules = ([['added', d.rules.added], ['removed', d.rules.removed], ['changed', d.rules.changed]] as const).flatMap(([what, ids]) => ids.map((id) => [`rule ${line(id)}`, what]));
  const fields = d.fields.map((f) => [f.field, `${line(JSON.stringify(f.now), 80)} → ${line(JSON.stringify(f.would), 80)}`]);
  const rows = [...rules, ...fields];
  const said = rows.length === 0 ? `It changes nothing of revision ${d.revision}.` : `Against revision ${d.revision}:\n${table(rows)}`;
  return d.permitsNothing ? `NOTHING IS PERMITTED ANY MORE under it: ${WITHOUT_PERMIT}.\n${said}` : said;
}

const ruled = (r: http.PolicyTrial['changes'][number]['was']): string => `${r.decision}${r.code === null ? '' : ` (${line(r.code, 40)})`}${r.by.length === 0 ? '' : ` by ${line(r.by.join(', '), 80)}`}`;

export function trialText(t: http.PolicyTrial): string {
  const looked = `${t.decisions} decision${t.decisions === 1 ? '' : 's'} of ${t.runs} run${t.runs === 1 ? '' : 's'} judged again${t.skipped === 0 ? '' : `; ${t.skipped} could not be`}${t.complete ? '' : '; older ones were not looked at'}.`;
  if (t.changes.length === 0) return `Nothing would have been decided otherwise: ${looked}`;
  const rows = t.changes.map((c) => [line(c.run, 12), `${c.revision}`, c.tool === null ? 'model call' : line(c.tool, 40), ruled(c.was), `${ruled(c.would)}${c.would.reason === '' ? '' : `: ${line(c.would.reason, 120)}`}`]);
  return `${t.changes.length} would have been decided otherwise; ${looked}\n\n${table([['RUN', 'EVENT', 'WHAT', 'WAS', 'WOULD BE'], ...rows])}`;
}

export interface ShowOptions { readonly revision?: string; readonly history?: boolean; readonly schema?: boolean }
export async function showPolicy(o: ShowOptions, out: Output): Promise<void> {
  const { client } = ownReach();
  if (o.schema === true) {
    const schema = await said(() => client.ruleSchema());
    return out.answer({ schema }, () => plain(schema).trimEnd());
  }
  if (o.history === true) {
    const { revisions, next } = await said(() => client.policyRevisions({ limit: 100 }));
    return out.answer({ revisions, next }, () => (revisions.length === 0 ? 'No policy is published.' : table([['REVISION', 'PUBLISHED', 'BY'], ...revisions.map((r) => [`${r.revision}`, r.at, line(r.by.id)])]) + (next === null ? '' : '\nolder ones: the API has them')));
  }
  const shown = await said(() => (o.revision === undefined ? client.document('policy') : client.policyRevision(revisionOf(o.revision))));
  out.answer({ revision: shown.revision, document: shown.document }, () => policyText(shown.revision, shown.document));
}
function revisionOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Trouble(`${line(text, 40)} is no revision: ./n17q policy show --history lists them.`, true);
  return Number(text);
}

export async function diffPolicy(file: string, out: Output): Promise<void> {
  const { client } = ownReach();
  const d = await said(async () => client.diffPolicy(await candidate(client, file)));
  out.answer(d, () => diffText(d));
}

export async function tryPolicy(file: string, out: Output): Promise<void> {
  const { client } = ownReach();
  const t = await said(async () => client.tryPolicy(await candidate(client, file)));
  out.answer(t, () => trialText(t));
}

/** Publishes what the file means, or an earlier revision again; only if the policy is still the one that was read. */
export async function publishPolicy(file: string | undefined, o: { readonly revision?: string; readonly denyAll?: boolean }, out: Output): Promise<void> {
  if ((file === undefined) === (o.revision === undefined)) throw new Trouble('Name either a file or, with --revision, an earlier revision to bring back.', true);
  const { client } = ownReach();
  const published = await said(async () => {
    const now = await client.document('policy');
    const then = file === undefined ? (await client.policyRevision(revisionOf(o.revision ?? ''))).document : candidateOf(file, fileText(file), now.document);
    if (then === null) throw new Trouble('There is nothing to publish.');
    requirePermit(await client.diffPolicy(then), o.denyAll === true);
    return client.publish('policy', then, { ifRevision: now.revision });
  });
  out.answer(published, () => `The policy has revision ${published.revision} now. What was permitted before and not yet done is judged again.`);
}
