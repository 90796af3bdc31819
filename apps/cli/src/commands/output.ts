/** How commands speak: text for people, or one JSON document for programs. */
import type { Command } from 'commander';

export interface Output {
  readonly json: boolean;
  /** A step while it works. Goes to standard error when standard output is for a program. */
  readonly step: (line: string) => void;
  /** The answer: `data` as JSON, or the text. */
  readonly answer: (data: unknown, text: () => string) => void;
}

export function outputOf(command: Command): Output {
  const json = command.optsWithGlobals<{ json?: boolean }>().json === true;
  return {
    json,
    step: (line) => { (json ? process.stderr : process.stdout).write(`${line}\n`); },
    answer: (data, text) => { process.stdout.write(json ? `${JSON.stringify(data, null, 2)}\n` : `${text()}\n`); },
  };
}
