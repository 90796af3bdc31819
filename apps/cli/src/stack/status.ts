/** What runs, since when, and what is wrong: facts for people and for programs. */
import { isRecordedAlive } from '@n17q/platform';
import { isSupervised, leftovers, readState, type Part, type StackState } from './state.js';

export interface StatusPart { readonly name: string; readonly state: string; /** Null: it has no process now. */ readonly pid: number | null; readonly since: string | null; readonly version: string; readonly restarts: number; readonly address?: string }
export interface Status {
  readonly stack: 'running' | 'starting' | 'stopping' | 'stopped';
  readonly mode: StackState['mode'] | null;
  readonly version: string | null;
  readonly since: string | null;
  readonly apiUrl: string | null;
  readonly parts: readonly StatusPart[];
  /** The API does not answer although it should. */
  readonly silent: boolean;
  /** One sentence each. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

/** What the command ends with: 0 it runs, 3 nothing runs, 4 something is starting, stopping, gone or silent. */
export const statusCode = (s: Status): 0 | 3 | 4 => (s.stack === 'stopped' && s.parts.length === 0 ? 3 : s.stack === 'running' && !s.silent && s.parts.every((p) => p.state === 'ready') ? 0 : 4);

/** The record of a part that is being started names its supervisor: the part itself has no process yet. */
const processOf = (p: Part, alive: boolean): Pick<StatusPart, 'state' | 'pid' | 'since'> => (!alive ? { state: 'gone', pid: null, since: null } : p.state === 'restarting' ? { state: p.state, pid: null, since: null } : { state: p.state, pid: p.process.pid, since: p.since });
const partOf = (p: Part): StatusPart => ({ name: p.name, ...processOf(p, isRecordedAlive(p.process)), version: p.version, restarts: p.restarts, ...(p.address === undefined ? {} : { address: p.address }) });

function problemsOf(s: StackState): readonly string[] {
  return s.parts.flatMap((p) => [
    ...(isRecordedAlive(p.process) ? [] : [`${p.name} (process ${p.process.pid}) is gone; its log is ${p.log}.`]),
    ...(p.state === 'restarting' ? [`${p.name} is being started again${p.problem === undefined ? '' : ` (${p.problem})`}; its log is ${p.log}.`] : []),
    ...(p.state === 'ready' && p.restarts > 0 ? [`${p.name} was started again ${p.restarts === 1 ? 'once' : `${p.restarts} times`}${p.problem === undefined ? '' : `, since it ${p.problem}`}.`] : []),
  ]);
}

/** `answers`: asks the API whether it lives; its absence is a problem of a running stack. */
export async function statusOf(stateFile: string, answers: (apiUrl: string) => Promise<string | undefined>): Promise<Status> {
  const s = readState(stateFile);
  const nothing: Status = { stack: 'stopped', mode: null, version: null, since: null, apiUrl: null, parts: [], silent: false, problems: [], notes: [] };
  if (s === undefined) return nothing;
  if (!isSupervised(s)) {
    const left = leftovers(s);
    return {
      ...nothing, parts: left.map(partOf),
      problems: [
        ...(s.phase === 'failed' ? [`The last start failed: ${s.failure ?? 'for an unknown reason'}`] : ['The stack ended without being stopped (a kill or a reboot): ./n17q up starts it again.']),
        ...(left.length > 0 ? [`${left.map((p) => p.name).join(', ')} still ${left.length === 1 ? 'runs' : 'run'} without a supervisor: ./n17q down ends ${left.length === 1 ? 'it' : 'them'}.`] : []),
      ],
    };
  }
  const silent = s.phase === 'ready' && s.apiUrl !== null && s.parts.some((p) => p.name === 'api') ? await answers(s.apiUrl) : undefined;
  return {
    stack: s.phase === 'ready' ? 'running' : s.phase === 'stopping' ? 'stopping' : 'starting', mode: s.mode, version: s.version, since: s.startedAt, apiUrl: s.apiUrl,
    parts: s.parts.map(partOf), silent: silent !== undefined, problems: [...problemsOf(s), ...(silent === undefined ? [] : [silent])], notes: s.notes,
  };
}
