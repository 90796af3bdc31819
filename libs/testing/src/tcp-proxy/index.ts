export { startProxy, type Direction, type ProxyCounts, type TcpProxy } from './tcp-proxy.js';
