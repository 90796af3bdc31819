// One Jest for the whole workspace, in three tiers that a file's suffix or folder selects:
//   unit    *.spec.ts, *.prop.spec.ts beside the code: no process, no network
//   int     *.int.spec.ts beside the code: real servers
//   system  test/**/*.spec.ts: processes, kills, browsers; runs against dist
const common = {
  // What set-up and test runs leave behind is not ours to crawl, and holds second copies of every project.
  modulePathIgnorePatterns: ['<rootDir>/\\.data/', '<rootDir>/\\.toolchain/', '<rootDir>/\\.nx/'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^@n17q/([a-z-]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': ['@swc/jest', {
      module: { type: 'es6' },
      jsc: {
        target: 'es2023', keepClassNames: true,
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    }],
  },
};
export default {
  // A bound for what hangs, not a promise: CI machines are slow, and every wait in a test has a bound of its own.
  testTimeout: 60_000,
  projects: [
    { ...common, displayName: 'unit', roots: ['<rootDir>/libs', '<rootDir>/apps'], testMatch: ['<rootDir>/{libs,apps}/**/src/**/*.spec.ts'], testPathIgnorePatterns: ['\\.int\\.spec\\.ts$'] },
    { ...common, displayName: 'int', roots: ['<rootDir>/libs', '<rootDir>/apps'], testMatch: ['<rootDir>/{libs,apps}/**/src/**/*.int.spec.ts'] },
    { ...common, displayName: 'system', roots: ['<rootDir>/test'], testMatch: ['<rootDir>/test/**/*.spec.ts'] },
  ],
};
