/**
 * Named places where a test may end this process, stop it, or wait.
 *
 * `N17Q_FAILPOINT=<name>[:<action>][@<n>]` arms one of them: action `kill` (default, SIGKILL), `stop` (SIGSTOP);
 * `@n` acts at the n-th pass. Before acting, one line `failpoint <name>` is written synchronously to standard error,
 * so that a test can check that the process died there and nowhere else. Unarmed, a pass costs one map look-up.
 * The list is closed: a name that is not in it does not compile, and a test walks the list.
 */
import { writeSync } from 'node:fs';

export const FAILPOINTS = [
  'store.before-begin', 'store.after-commit-before-reply', 'store.after-reply',
  'relay.after-read', 'relay.after-publish-before-cursor', 'relay.after-cursor',
  'reactor.after-receive', 'reactor.after-load', 'reactor.after-decide', 'reactor.after-append-before-ack',
  'effect.after-claim-before-dispatch', 'effect.after-dispatch-before-observation', 'effect.after-observation',
  'generation.after-claim-before-dispatch', 'generation.after-dispatch-before-acceptance', 'generation.after-acceptance',
  'generation.before-request-after-results',
  'sealer.before-append', 'sealer.after-append',
  'provision.after-stream-before-consumer',
] as const;
export type Failpoint = (typeof FAILPOINTS)[number];

interface Armed { readonly name: string; readonly action: 'kill' | 'stop'; left: number }

function parse(spec: string | undefined): Armed | undefined {
  if (!spec) return undefined;
  const m = /^([a-z.-]+)(?::(kill|stop))?(?:@(\d+))?$/.exec(spec);
  if (!m || !(FAILPOINTS as readonly string[]).includes(m[1] as string)) throw new Error(`N17Q_FAILPOINT: "${spec}" names no failpoint`);
  return { name: m[1] as string, action: (m[2] as 'kill' | 'stop' | undefined) ?? 'kill', left: Number(m[3] ?? 1) };
}
const armed = parse(process.env['N17Q_FAILPOINT']);

export function failpoint(name: Failpoint): void {
  if (armed === undefined || armed.name !== name || --armed.left !== 0) return;
  writeSync(2, `failpoint ${name}\n`);
  process.kill(process.pid, armed.action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
}
