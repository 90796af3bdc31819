/** How commands reach the API: the local stack's, or the one of N17Q_API_URL with N17Q_API_TOKEN. */
import { N17qClient, N17qProblem, N17qUnreachable } from '@n17q/client';
import { dataDir, placesIn } from '../stack/places.js';
import { isSupervised, readState } from '../stack/state.js';
import { readTokens } from '../stack/tokens.js';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';

export interface Reach { readonly tenant: string; readonly client: N17qClient }

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
  return readTokens(places.tokens).map((t) => ({ tenant: t.tenant, client: new N17qClient({ baseUrl: apiUrl, token: t.token }) }));
}

const isAbsent = (e: unknown): boolean => e instanceof N17qProblem && e.code === 'NOT_FOUND';

/** The client whose tenant has the run, with what `ask` gave there. */
export async function withRun<T>(run: string, ask: (client: N17qClient) => Promise<T>): Promise<T> {
  return said(async () => {
    for (const { client } of reaches()) {
      try {
        await client.run(run);
      } catch (e) {
        if (isAbsent(e)) continue;
        throw e;
      }
      return ask(client);
    }
    throw new Trouble(`There is no run ${line(run, 80)}: ./n17q runs lists them.`);
  });
}

/** What the API refused, or that it did not answer, as a sentence. */
export async function said<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (e) {
    if (e instanceof N17qProblem) throw new Trouble(`${line(e.detail, 400)} (${e.code})`);
    if (e instanceof N17qUnreachable) throw new Trouble(`The API does not answer (${line(e.message, 300)}): ./n17q status says what runs.`);
    throw e;
  }
}
