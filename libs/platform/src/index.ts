export { httpOnce, type OnceOutcome, type OnceRequest } from './http-once.js';
export { FAILPOINTS, failpoint, type Failpoint } from './failpoints.js';
export {
  LOCAL_SERVER_FAULTS, LocalServerFault, createCluster, descendantsOf, findNatsServer, findPostgres, freePort, isAlive, isOurs, isRecordedAlive, killTree, own, pauseTree, publish,
  reachableDataDir, recordProcess, resumeTree, spawnServer, startNats, startPostgres, stopRecorded, unwatchDirectory, unwatchProcess, watchDirectory, watchProcess,
  type Exit, type LocalServerFaultCode, type NatsBinary, type NatsHandle, type PostgresBinaries, type PostgresHandle, type ProcessRecord, type ServerProcess, type ServerProcessOptions,
  type StartNatsOptions, type StartPostgresOptions,
} from './local/index.js';
export { startTelemetry } from './telemetry.js';
