// Who may import whom. The arrows of ARCHITECTURE.md as rules; test/structure/boundaries.spec.ts plants a breach of each rule and
// sees it named. An import by package name resolves to the other project's dist (through its exports), a path stays a path.
const libs = {
  domain: [],
  contracts: ['domain'],
  platform: ['domain', 'contracts'],
  bus: ['domain', 'contracts', 'platform'],
  artifacts: ['domain', 'contracts'],
  'event-log': ['domain', 'contracts', 'platform', 'bus'],
  reactor: ['domain', 'contracts', 'platform', 'bus', 'artifacts', 'event-log'],
  providers: ['domain', 'contracts', 'platform'],
  tools: ['domain', 'contracts', 'platform', 'artifacts'],
  rules: ['domain', 'contracts'],
  client: ['domain', 'contracts'],
};
const SPEC = '\\.spec\\.ts$';
const oneOf = (names) => `(${names.join('|')})`;

const arrows = Object.entries(libs).map(([name, allowed]) => ({
  name: `arrows-${name}`,
  comment: allowed.length === 0 ? `${name} imports no other project.` : `${name} imports only ${allowed.join(', ')}.`,
  severity: 'error',
  from: { path: `^libs/${name}/src/`, pathNot: SPEC },
  to: { path: '^(libs|apps)/', pathNot: `^libs/${oneOf([name, ...allowed])}/` },
}));

module.exports = {
  forbidden: [
    ...arrows,
    {
      name: 'domain-is-pure', severity: 'error',
      comment: 'Decisions take facts and return events: no package, no built-in, no clock, no input or output.',
      from: { path: '^libs/domain/src/', pathNot: SPEC },
      to: { pathNot: '^libs/domain/src/' },
    },
    {
      name: 'app-never-imports-app', severity: 'error',
      comment: 'Services meet on the bus. What two of them need lives in a library.',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'lib-never-imports-app', severity: 'error',
      comment: 'Arrows point from apps to libraries, also in tests.',
      from: { path: '^libs/' },
      to: { path: '^apps/' },
    },
    {
      name: 'no-deep-import', severity: 'error',
      comment: 'A project is used by its name and its index; nobody reaches into the src of another.',
      from: { path: '^(libs|apps)/([^/]+)/' },
      to: { path: '^(libs|apps)/[^/]+/src/', pathNot: '^$1/$2/' },
    },
    {
      name: 'no-deep-import-from-tests', severity: 'error',
      comment: 'Tests outside the projects see what everybody sees; the simulation alone drives the handlers behind the services\' shells.',
      from: { path: '^test/', pathNot: '^test/simulation/' },
      to: { path: '^(libs|apps)/[^/]+/src/' },
    },
    {
      name: 'test-kit-stays-in-tests', severity: 'error',
      comment: 'The test kit serves specs, and the command line, whose demo runs on its emulators.',
      from: { path: '^(libs|apps)/', pathNot: ['^libs/testing/', '^apps/cli/', SPEC] },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'nest-only-in-shells', severity: 'error',
      comment: 'Rules and clients must be readable and usable without the framework.',
      from: { path: '^libs/', pathNot: ['^libs/(bus|platform|reactor)/', SPEC] },
      to: { path: 'node_modules/@nestjs/' },
    },
    {
      name: 'no-cycle', severity: 'error',
      comment: 'Two files that need each other are one concept or lack a third.',
      from: { pathNot: SPEC },
      to: { circular: true },
    },
    {
      name: 'resolves', severity: 'error',
      comment: 'An import that resolves to nothing escapes every other rule.',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: '^(libs|apps)/[^/]+/dist/.*\\.(js|d\\.ts)\\.map$' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.json', '.node'],
    },
  },
};
