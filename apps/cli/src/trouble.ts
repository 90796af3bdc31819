/** What stops a command, as one sentence that says what to do. `usage`: the caller asked for something that does not exist or cannot be (exit code 2). */

export class Trouble extends Error {
  constructor(sentence: string, readonly usage = false) { super(sentence); this.name = 'Trouble'; }
  get exitCode(): 1 | 2 { return this.usage ? 2 : 1; }
}

/** The sentence for whatever was thrown; a defect keeps its name, so that it can be reported. */
export function sentenceOf(e: unknown): string {
  if (e instanceof Error && (e.name === 'Trouble' || e.name === 'LocalServerFault')) return e.message; // by name: this file is loaded before everything else
  const { code, message, syscall, path } = (e ?? {}) as { code?: unknown; message?: unknown; syscall?: unknown; path?: unknown };
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'No space is left on the disk: free some and run the command again.';
  if ((code === 'EACCES' || code === 'EROFS' || code === 'EPERM') && typeof path === 'string') return `${path} cannot be written: make it yours, or choose another folder with N17Q_DATA_DIR.`;
  if (code === '3D000' || code === '28P01' || code === '28000') return `The database refuses the owner of N17Q_DATABASE_URL (${String(message)}): correct the URL and run the command again.`;
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH' || code === 'ETIMEDOUT') return `A server does not answer (${String(message)}): check that it runs and run the command again.`;
  if (typeof message === 'string' && message !== '') return syscall === undefined && e instanceof Error && e.name !== 'Error' ? `${e.name}: ${message}` : message;
  return String(e);
}

/** What is written to standard error, for people or, where `--json` was given, for programs. */
export function errorText(sentence: string, exitCode: number, args: readonly string[] = process.argv.slice(2)): string {
  const end = args.indexOf('--');
  const json = (end < 0 ? args : args.slice(0, end)).includes('--json');
  return json ? `${JSON.stringify({ error: sentence, exitCode })}\n` : `n17q: ${sentence}\n`;
}
