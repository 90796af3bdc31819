/** How commands reach the API: the local stack's, or the one of N17Q_API_URL with N17Q_API_TOKEN. */
import { N17qClient, N17qProblem, N17qUnreachable } from '@n17q/client';
import { dataDir, placesIn } from '../stack/places.js';
import { isSupervised, readState } from '../stack/state.js';
import { readTokens, type ApiToken } from '../stack/tokens.js';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import { theOne } from './names.js';

export interface Reach { readonly tenant: string; readonly client: N17qClient }

export const isRemote = (): boolean => (process.env['N17Q_API_URL'] ?? '') !== '';

/** One client per tenant that the local tokens speak for, the local tenant first; those of past demos after it. */
export function reaches(): readonly Reach[] {
  const url = process.env['N17Q_API_URL'];
  if (url !== undefined && url !== '') {
    const token = process.env['N17Q_API_TOKEN'];
    if (token === undefined || token === '') throw new Trouble('Set N17Q_API_TOKEN beside N17Q_API_URL.', true);
    if (!URL.canParse(url)) throw new Trouble('N17Q_API_URL must be a URL.', true);
    return [{ tenant: '', client: new N17qClient({ baseUrl: url, token }) }];
  }
  const places = placesIn(dataDir());
  const state = readState(places.state);
  if (!isSupervised(state) || state.phase !== 'ready' || state.apiUrl === null) throw new Trouble('The stack is not running: ./n17q up starts it.');
  const { apiUrl } = state;
  return onePerTenant(readTokens(places.tokens)).map((t) => ({ tenant: t.tenant, client: new N17qClient({ baseUrl: apiUrl, token: t.token }) }));
}

/** Of several people of a tenant the first, who is its operator. */
export const onePerTenant = (tokens: readonly ApiToken[]): readonly ApiToken[] => tokens.filter((t, i) => tokens.findIndex((x) => x.tenant === t.tenant) === i);

/** The tenant that `run` and `provider` speak for. */
export function ownReach(): Reach {
  const [own] = reaches();
  if (own === undefined) throw new Trouble('No token is known for a tenant: ./n17q up makes one.');
  return own;
}

const PAGE = 500;
const PAGES_MAX = 40;
async function runsOf(client: N17qClient): Promise<readonly string[]> {
  const runs: string[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await client.listRuns({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    runs.push(...page.runs.map((r) => r.run));
    if (page.next === null) break;
    after = page.next;
  }
  return runs;
}

const isAbsent = (e: unknown): boolean => e instanceof N17qProblem && e.code === 'NOT_FOUND';

async function whose(given: string): Promise<{ readonly client: N17qClient; readonly run: string }> {
  const all = reaches();
  for (const { client } of all) {
    try {
      return { client, run: (await client.run(given)).run };
    } catch (e) {
      if (!isAbsent(e)) throw e;
    }
  }
  const owners = new Map<string, N17qClient>();
  for (const { client } of all) for (const run of await runsOf(client)) owners.set(run, client);
  const run = theOne(given, [...owners.keys()], 'run', './n17q runs lists them');
  return { client: owners.get(run) as N17qClient, run };
}

/** What `ask` gave for the run that `given` names, whole or by its beginning, at the tenant that has it. */
export function withRun<T>(given: string, ask: (client: N17qClient, run: string) => Promise<T>): Promise<T> {
  return said(async () => {
    const { client, run } = await whose(given);
    return ask(client, run);
  });
}

/** The API's own words, but where the command line knows better what to do. */
export function refusalText(code: string, detail: string): string {
  if (code === 'UNAUTHENTICATED') return 'The server does not know the token: correct N17Q_API_TOKEN, or for the local stack run ./n17q down and ./n17q up.';
  if (code === 'MALFORMED') return `What was given has not the form that is needed: ${line(detail, 500).replace(/\.$/u, '')}. Correct it and run the command again.`;
  if (code === 'TOO_LARGE') return `What was given is too large for one request (${line(detail, 200).replace(/\.$/u, '')}): give a part of it, or a text that says where the whole is.`;
  return line(detail, 600);
}

/** What was given cannot be taken, whatever the state of the run or tenant. */
const ASKED_WRONGLY = new Set<string>(['MALFORMED', 'CARRIER_FIELD', 'TOO_LARGE', 'UNSUPPORTED_MEDIA', 'RULES_BROKEN']);

/** What the API refused, or that it did not answer, as a sentence with the code at its end. */
export async function said<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (e) {
    if (e instanceof N17qProblem) throw new Trouble(`${refusalText(e.code, e.detail)} (${e.code})`, ASKED_WRONGLY.has(e.code));
    if (e instanceof N17qUnreachable) throw new Trouble(`The API does not answer (${line(e.message, 300)}): ${isRemote() ? 'check N17Q_API_URL' : './n17q status says what runs'}.`);
    throw e;
  }
}
