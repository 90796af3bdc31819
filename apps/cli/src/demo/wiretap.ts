/** Hears every message on the demo's bus, requests, replies and events alike, as a user that may say nothing. */
import { connect } from 'nats';

export interface Wiretap { readonly messages: number; /** Subject, headers and body of each. */ heard(): readonly Uint8Array[]; stop(): Promise<void> }
const BYTES_MAX = 256 * 1024 * 1024;

export async function tap(url: string, password: string): Promise<Wiretap> {
  const nc = await connect({ servers: url, user: 'observer', pass: password, name: 'n17q demo observer', maxReconnectAttempts: 20 });
  const heard: Uint8Array[] = [];
  let bytes = 0;
  const sub = nc.subscribe('>', {
    callback: (error, m) => {
      if (error !== null) return;
      const head = m.headers === undefined ? '' : [...m.headers.keys()].map((k) => `${k}: ${m.headers?.values(k).join(', ') ?? ''}`).join('\n');
      const whole = Buffer.concat([Buffer.from(`${m.subject}\n${head}\n`), m.data]);
      bytes += whole.length;
      if (bytes > BYTES_MAX) throw new Error('more was said on the bus than the demo can keep');
      heard.push(whole);
    },
  });
  await nc.flush();
  return { get messages() { return heard.length; }, heard: () => heard, stop: async () => { sub.unsubscribe(); await nc.close(); } };
}
