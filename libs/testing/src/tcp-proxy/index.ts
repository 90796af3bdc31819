export type { Direction } from './proxied-connection.js';
export { startProxy, type ProxyCounts, type TcpProxy } from './tcp-proxy.js';
