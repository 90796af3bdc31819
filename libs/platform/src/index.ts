export { httpOnce, type OnceOutcome, type OnceRequest } from './http-once.js';
export { FAILPOINTS, failpoint, type Failpoint } from './failpoints.js';
export {
  LOCAL_SERVER_FAULTS, LocalServerFault, createCluster, descendantsOf, findNatsServer, findPostgres, freePort, isAlive, isOurs, killTree, own, pauseTree, publish,
  reachableDataDir, resumeTree, spawnServer, startNats, startPostgres, unwatchDirectory, unwatchProcess, watchDirectory, watchProcess,
  type Exit, type LocalServerFaultCode, type NatsBinary, type NatsHandle, type PostgresBinaries, type PostgresHandle, type ServerProcess, type ServerProcessOptions,
  type StartNatsOptions, type StartPostgresOptions,
} from './local/index.js';
