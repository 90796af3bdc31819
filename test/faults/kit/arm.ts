/** Arms a failpoint in a service that is started for it, and sees that the process died there and nowhere else. */
import type { Failpoint } from '@n17q/platform';
import type { ServiceName } from '@n17q/domain';
import { until, type Stack } from '@n17q/testing';

/** A service that passes the failpoint while it gets ready dies before it says so: that is no failure of the start. */
export async function arm(stack: Stack, service: ServiceName, spec: string): Promise<void> {
  const s = stack.service(service);
  await s.restart({ N17Q_FAILPOINT: spec }).catch((error: unknown) => {
    if (!s.handle.stderr().includes('failpoint ')) throw error;
  });
}

/** Waits for the death; throws when it was another one, or none within the bound. */
export async function diedAt(stack: Stack, service: ServiceName, name: Failpoint, withinMs: number): Promise<void> {
  const { handle } = stack.service(service);
  const exit = await until(() => Promise.race([handle.exited, new Promise<undefined>((resolve) => { setTimeout(() => resolve(undefined), 20); })]), { withinMs, everyMs: 5, what: `the death of ${service} at ${name}` })
    .catch((error: unknown) => { throw new Error(`${service} did not die at ${name}\n${handle.tail(12)}`, { cause: error }); });
  const lines = handle.stderr().split('\n').filter((l) => l.startsWith('failpoint '));
  if (exit.signal !== 'SIGKILL' || lines.length !== 1 || lines[0] !== `failpoint ${name}`) throw new Error(`${service} ended with ${JSON.stringify(exit)} at [${lines.join(', ')}], not at ${name}`);
}
