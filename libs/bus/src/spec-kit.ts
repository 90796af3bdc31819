/** What the specs of this library share. Part of no build. */
import { randomBytes } from 'node:crypto';
import { connectBus, type Bus, type ConnectOptions } from './connection.js';
import type { RunEventMessage } from './message.js';
import { BUS_USERS, type BusUser } from './names.js';
import { natsConfig } from './server-config.js';

export type Passwords = Record<BusUser, string>;
export const passwords = (): Passwords =>
  Object.fromEntries(BUS_USERS.map((user) => [user, randomBytes(18).toString('base64url')])) as Passwords;

/** A user without bounds beside the real ones, to look behind the scenes and to break things. */
export const withRoot = (secrets: Passwords, root: string): string =>
  natsConfig({ passwords: secrets }).replace('users: [', `users: [\n    { user: root, password: "${root}" }`);

/** Connects users of one server and closes them all at the end. */
export class Users {
  readonly #open: Bus[] = [];
  constructor(private readonly url: () => string, readonly secrets: Passwords) {}

  async connect(service: BusUser, more: Partial<ConnectOptions> = {}): Promise<Bus> {
    const bus = await connectBus({ service, url: this.url(), password: this.secrets[service], reconnectWaitMs: 50, ...more });
    this.#open.push(bus);
    return bus;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((bus) => bus.close(1_000)));
  }
}

let serial = 0;
export function runEvent(more: Partial<RunEventMessage> = {}): RunEventMessage {
  serial++;
  return {
    eventId: `event-${serial}-${randomBytes(4).toString('hex')}`, tenant: 'acme', run: 'run-1', revision: serial, position: `0:${serial}`,
    type: 'effect.intended', class: 'effect', wake: 'policy-gate', source: '/n17q/effect-reconciler', time: '2026-01-01T00:00:00Z',
    trace: {}, projection: { n: serial }, ...more,
  };
}
