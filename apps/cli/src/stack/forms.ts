/** Forms that settings and files must have; each wrong one is one sentence (exit code 2). */
import { readFileSync } from 'node:fs';
import { Trouble } from '../trouble.js';

export function urlOf(name: string, text: string, schemes: readonly string[]): URL {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  if (parsed === undefined || !schemes.includes(parsed.protocol)) throw new Trouble(`${name} must be a URL that begins with ${schemes.map((s) => `${s}//`).join(' or ')}.`, true);
  return parsed;
}

export function jsonIn(file: string, what: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch (e) {
    throw new Trouble(`${what} ${file} cannot be read as JSON (${e instanceof Error ? e.message : String(e)}): correct it and run the command again.`, true);
  }
}
