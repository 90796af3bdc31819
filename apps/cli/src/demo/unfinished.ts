/**
 * A demo that was interrupted leaves a run in the middle of its work. Its data is put aside before the next one: a stack that drove both would count both.
 *
 * The mark stands from the start of a demo to the end of its run.
 */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reachableDataDir } from '@n17q/platform';
import { leftovers, readState } from '../stack/state.js';
import { placesIn } from '../stack/places.js';
import { Trouble } from '../trouble.js';

const markIn = (at: string): string => join(at, 'demo', 'unfinished');

export const begun = (at: string): void => writeFileSync(markIn(at), '', { mode: 0o600 });
export const finished = (at: string): void => rmSync(markIn(at), { force: true });

/** Where the data of an unfinished demo is now; undefined: there was none. The one that was put aside before is removed. */
export function putUnfinishedAside(at: string): string | undefined {
  if (!existsSync(markIn(at))) return undefined;
  const p = placesIn(at, {});
  const state = readState(p.state);
  if (state !== undefined && leftovers(state).length > 0) throw new Trouble(`Parts of the last demo still run: N17Q_DATA_DIR=${at} ./n17q down ends them.`);
  const postgres = reachableDataDir(p.postgres); // where Postgres may not enter the folder it stands elsewhere, under this folder's name
  const aside = `${at}-unfinished`;
  rmSync(aside, { recursive: true, force: true });
  renameSync(at, aside);
  if (postgres !== p.postgres && existsSync(postgres)) renameSync(postgres, freshName(postgres));
  return aside;
}

function freshName(path: string): string {
  const aside = `${path}-unfinished`;
  rmSync(aside, { recursive: true, force: true });
  return aside;
}
