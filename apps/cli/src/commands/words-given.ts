/** Texts that people give on the command line, checked before anything is asked for. */
import { Trouble } from '../trouble.js';

const CHARS_MAX = 200_000;

/** The text as it was given. Throws a Trouble for one that says nothing, or is too long. */
export function given(what: string, text: string, charsMax = CHARS_MAX): string {
  if (text.trim() === '') throw new Trouble(`The ${what} is empty: say in words what you want.`, true);
  if (text.length > charsMax) throw new Trouble(`The ${what} has ${text.length} characters, at most ${charsMax} are taken: shorten it, or put the rest into a file of the repository.`, true);
  if (!text.isWellFormed()) throw new Trouble(`The ${what} is not whole text: it holds half a character.`, true);
  return text;
}
