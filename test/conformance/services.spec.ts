/** The service set as it stands on the bus: found by name, apart from one another, each with its own rights only. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectBus, RUN_EVENTS_STREAM, storeSubject, type Bus } from '@n17q/bus';
import type { ServiceName } from '@n17q/domain';
import { until } from '@n17q/testing';
import { openScene, SERVICES, type Scene } from '../faults/kit/scene.js';

describe('the service set', () => {
  let scene: Scene;
  let admin: Bus;
  const buses = new Map<ServiceName, { bus: Bus; refused: string[] }>();
  beforeAll(async () => {
    scene = await openScene({ scripts: { one: [{ calls: [{ tool: 'ticket_queryable', args: { project: '$TAG', title: '$TAG', body: 'b' } }] }, { text: 'done' }] } });
    const { natsUrl, busPasswords } = scene.stack.site;
    admin = await connectBus({ service: 'provisioner', url: natsUrl, password: busPasswords.provisioner });
    for (const service of SERVICES) {
      const refused: string[] = [];
      buses.set(service, { refused, bus: await connectBus({ service, url: natsUrl, password: busPasswords[service], onNotice: (n) => { if (n.kind === 'permission-refused') refused.push(n.detail); } }) });
    }
  }, 180_000);
  afterAll(async () => {
    await Promise.all([admin, ...[...buses.values()].map((b) => b.bus)].map((b) => b?.close(500)));
    await scene?.close();
  }, 60_000);

  /** Who answers an ordinary service discovery. */
  async function found(): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      for await (const m of await admin.nc.requestMany('$SRV.PING', new Uint8Array(), { maxWait: 700 })) names.push((m.json<{ name: string }>()).name);
    } catch (e) {
      if ((e as { code?: string }).code !== '503') throw e; // nobody is there
    }
    return names.toSorted((a, b) => a.localeCompare(b));
  }

  it('[SVC-1] is six processes, each found by $SRV.PING, and a run goes through all of them', async () => {
    expect(new Set(SERVICES.map((s) => scene.stack.service(s).pid)).size).toBe(SERVICES.length);
    expect(await found()).toEqual(SERVICES.toSorted((a, b) => a.localeCompare(b)));
    const log = await scene.ended((await scene.start('one')).run);
    expect(new Set(log.map((e) => e.writer))).toEqual(new Set(['api', ...SERVICES.slice(1)]));
  }, 60_000);

  it.each(SERVICES)('[SVC-1] [RUN-4] goes without %s as long as it is away, and takes it back when it comes', async (service) => {
    await scene.stack.service(service).kill();
    await until(async () => !(await found()).includes(service) || undefined, { withinMs: 20_000, what: `${service} to be gone` });
    expect(await found()).toEqual(SERVICES.filter((s) => s !== service).toSorted((a, b) => a.localeCompare(b)));
    const started = service === 'event-store' ? undefined : await scene.start('one');
    await scene.stack.service(service).restart();
    expect(await found()).toContain(service);
    await scene.ended((started ?? await scene.start('one')).run, 60_000);
  }, 120_000);

  it.each(SERVICES)('[SVC-1] [EFF-7] lets %s say nothing in another\'s name, and tell no run event unless it is the store', async (service) => {
    const { bus, refused } = buses.get(service) as { bus: Bus; refused: string[] };
    const tried = [...SERVICES.filter((s) => s !== service).map((s) => storeSubject('append', s)), ...(service === 'event-store' ? [] : ['run.v1.acme.effect.several']), `$JS.API.STREAM.DELETE.${RUN_EVENTS_STREAM}`];
    for (const subject of tried) {
      bus.nc.publish(subject, new TextEncoder().encode('{}'));
      await bus.flush();
    }
    await until(() => refused.length >= tried.length || undefined, { withinMs: 5_000, what: `the server to refuse ${tried.length} subjects to ${service} (${refused.length} so far)` });
    for (const subject of tried) expect(refused.some((r) => r.includes(subject))).toBe(true);
  }, 30_000);
});
