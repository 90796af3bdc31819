import { createServer, type AddressInfo } from 'node:net';

/**
 * A loopback port that was free a moment ago, for servers that cannot choose one themselves. Another process may take it
 * before the server does: the caller starts again with another port when that happens.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
