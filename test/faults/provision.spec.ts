/** The deploy step that makes stream and consumers dies between the two (SIGKILL); a repeat finishes it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BUS_USERS, connectBus, CONSUMERS, inspectProvisioning, natsConfig, provision, STREAM, type BusUser } from '@n17q/bus';
import { openSandbox, type Sandbox } from '@n17q/testing';

describe('provisioning', () => {
  let sandbox: Sandbox;
  const passwords = Object.fromEntries(BUS_USERS.map((u) => [u, randomBytes(18).toString('hex')])) as Record<BusUser, string>;
  beforeAll(async () => { sandbox = await openSandbox({ nats: { configText: natsConfig({ passwords }) } }); }, 60_000);
  afterAll(() => sandbox?.close(), 30_000);

  it('[RUN-4] [SVC-1] that dies between stream and consumers is finished by a repeat', async () => {
    const entry = join(sandbox.dir, 'provision.mjs');
    writeFileSync(entry, `import { connectBus, provision } from ${JSON.stringify(pathToFileURL(join(process.cwd(), 'libs/bus/dist/index.js')).href)};
      await provision(await connectBus({ service: 'provisioner', url: process.env.NATS_URL, password: process.env.NATS_PASSWORD }));`);
    const died = await sandbox.spawnService({ name: 'provision', entry, env: { NATS_URL: sandbox.nats.url, NATS_PASSWORD: passwords.provisioner, N17Q_FAILPOINT: 'provision.after-stream-before-consumer' } });
    expect(await died.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(died.stderr().split('\n').filter((l) => l.startsWith('failpoint '))).toEqual(['failpoint provision.after-stream-before-consumer']);
    const bus = await connectBus({ service: 'provisioner', url: sandbox.nats.url, password: passwords.provisioner });
    try {
      const left = await inspectProvisioning(bus);
      expect(left.missing).toHaveLength(CONSUMERS.length);
      expect((await provision(bus)).created).toHaveLength(CONSUMERS.length);
      expect(await inspectProvisioning(bus)).toMatchObject({ missing: [], drift: [], unexpected: [] });
      expect(left.missing).not.toContain(STREAM.name);
    } finally { await bus.close(); }
  }, 60_000);
});
