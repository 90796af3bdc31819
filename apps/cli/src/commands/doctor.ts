/** Checks the store of the local stack, or of N17Q_DATABASE_URL, tenant by tenant. It changes nothing. Rows: SVC-5. */
import { FolderArtifactStore } from '@n17q/artifacts';
import { examine, PostgresEventStore, type Examination } from '@n17q/event-log';
import { rulesFrom } from '@n17q/rules';
import { urlOf } from '../stack/forms.js';
import { dataDir, placesIn } from '../stack/places.js';
import { readSecrets } from '../stack/secrets.js';
import { isSupervised, readState } from '../stack/state.js';
import { readTokens } from '../stack/tokens.js';
import { line } from '../terminal/plain.js';
import { Trouble } from '../trouble.js';
import type { Output } from './output.js';

/** The database in the role that only reads. `given`: N17Q_DATABASE_URL; `address`: of the stack's own server, if it runs. */
export function readerUrlOf(given: string | undefined, address: string | undefined, password: string): string {
  const whole = given !== undefined && given !== '' ? urlOf('N17Q_DATABASE_URL', given, ['postgres:', 'postgresql:']).href : address === undefined ? undefined : `postgres://${address}/n17q`;
  if (whole === undefined) throw new Trouble('The stack is not running: ./n17q up starts it.');
  const url = new URL(whole);
  url.username = 'n17q_reader';
  url.password = password;
  return url.href;
}

function readerUrl(): string {
  const places = placesIn(dataDir());
  const secrets = readSecrets(places.secrets);
  if (secrets === undefined) throw new Trouble('There is no local stack here: ./n17q up makes one.');
  const state = readState(places.state);
  return readerUrlOf(process.env['N17Q_DATABASE_URL'], isSupervised(state) ? state.parts.find((p) => p.name === 'Postgres')?.address : undefined, secrets.roles.reader);
}

export const examinationText = (tenant: string, e: Examination): string => [
  `${line(tenant, 80)}: ${e.events} events in ${e.streams} streams, ${e.checkpoints} checkpoints, ${e.contents} contents looked at`,
  ...e.findings.map((f) => `${f.wrong ? '! ' : '  '}${line(f.stream, 80)} ${f.check}: ${line(f.words, 400)}`),
  e.findings.some((f) => f.wrong) ? 'Something is wrong. Nothing was changed.' : 'Nothing is wrong.',
].join('\n');

/** Exit code 1 when something is wrong. */
export async function doctorCommand(out: Output): Promise<void> {
  const places = placesIn(dataDir());
  const store = await PostgresEventStore.open({ url: readerUrl(), writers: 1 });
  try {
    const artifacts = new FolderArtifactStore(places.artifacts);
    const tenants = [...new Set(readTokens(places.tokens).map((t) => t.tenant))];
    const found: { tenant: string; examination: Examination }[] = [];
    for (const tenant of tenants) found.push({ tenant, examination: await examine(store, tenant, artifacts, rulesFrom) });
    out.answer({ tenants: found }, () => found.map((f) => examinationText(f.tenant, f.examination)).join('\n'));
    if (found.some((f) => f.examination.findings.some((x) => x.wrong))) process.exitCode = 1;
  } finally {
    await store.close();
  }
}
