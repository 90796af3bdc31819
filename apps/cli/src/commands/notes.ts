import { accountsFrom } from '../stack/providers-file.js';
import { dataDir, placesIn } from '../stack/places.js';
import { sentenceOf } from '../trouble.js';
import { noModel } from './advice.js';

/** What the stack said at its start, and what its configuration lacks now. */
export function notesOf(said: readonly string[]): readonly string[] {
  const places = placesIn(dataDir());
  try {
    return [...said, ...(accountsFrom(places.providers, false).length === 0 ? [noModel(places, 'runs wait')] : [])];
  } catch (e) {
    return [...said, sentenceOf(e)];
  }
}
