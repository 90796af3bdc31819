/** Why a local server could not be started, stopped or reached. Closed list: a caller may switch on it. */
export const LOCAL_SERVER_FAULTS = [
  'SERVER_BINARY_MISSING',
  'SERVER_VERSION_UNSUPPORTED',
  'PORT_IN_USE',
  'NO_DISK_SPACE',
  'DATA_DIR_IN_USE',
  'DATA_DIR_UNREACHABLE',
  'START_FAILED',
  'START_TIMED_OUT',
  'STOP_TIMED_OUT',
  'RELOAD_FAILED',
] as const;
export type LocalServerFaultCode = (typeof LOCAL_SERVER_FAULTS)[number];

/**
 * Trouble with a server on this machine. The message is one sentence that says what to do;
 * `logTail` holds the last lines that the server wrote, when it got that far.
 */
export class LocalServerFault extends Error {
  constructor(
    readonly code: LocalServerFaultCode,
    sentence: string,
    readonly logTail: readonly string[] = [],
  ) {
    super(logTail.length === 0 ? sentence : `${sentence}\n${logTail.map((line) => `  | ${line}`).join('\n')}`);
    this.name = 'LocalServerFault';
  }
}

/** Runs the steps of a start; a full disk met on the way (folders, configuration, log) becomes NO_DISK_SPACE. */
export async function namingFullDisk<T>(name: string, folder: string, steps: () => Promise<T>): Promise<T> {
  try {
    return await steps();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
    throw new LocalServerFault('NO_DISK_SPACE', `${name} found no space left on the disk of ${folder}: free some and start again.`);
  }
}
