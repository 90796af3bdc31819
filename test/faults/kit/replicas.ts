/** Further replicas of a stack's services, each a process of its own with the same settings. Closed with the stack's sandbox. */
import type { ServiceName } from '@n17q/domain';
import { freePort } from '@n17q/platform';
import { serviceProgram, settingsOf, type ServiceHandle, type Stack } from '@n17q/testing';

export async function replicaOf(stack: Stack, service: ServiceName, nth = 2, settings: Readonly<Record<string, string>> = {}): Promise<ServiceHandle> {
  const handle = await stack.sandbox.spawnService({ name: `${service}-${nth}`, entry: serviceProgram(service, 'main'), env: { ...settingsOf(service, stack.site), ...settings } });
  await handle.waitForLine(/"event":"ready"/, 90_000);
  return handle;
}

/** Where a second api of the stack answers; it takes the same tokens. */
export async function secondApi(stack: Stack): Promise<string> {
  const port = await freePort();
  await replicaOf(stack, 'api', 2, { N17Q_API_PORT: String(port) });
  return `http://127.0.0.1:${port}`;
}
