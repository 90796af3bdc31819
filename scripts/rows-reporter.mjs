// A Jest reporter that writes what ran, as JSON, to the file in N17Q_ROWS_OUT:
//   { tests: [{ file, project, title, status, failure? }], broken: [{ file, project, message }], complete: boolean }
// `title` joins the describe titles and the test's own with " > "; `broken` are files whose tests could not even be loaded.
// The file appears, whole, only at the end of the run: its absence means that Jest died.
import { renameSync, writeFileSync } from 'node:fs';
import { relative, sep } from 'node:path';

export default class RowsReporter {
  tests = [];
  broken = [];

  onTestFileResult(test, result) {
    const file = relative(process.cwd(), test.path).split(sep).join('/');
    const project = test.context.config.displayName?.name ?? '';
    for (const t of result.testResults) {
      this.tests.push({ file, project, title: [...t.ancestorTitles, t.title].join(' > '), status: t.status });
    }
    if (result.testExecError) this.broken.push({ file, project, message: String(result.testExecError.message ?? result.testExecError) });
  }

  onRunComplete(_contexts, results) {
    const out = process.env.N17Q_ROWS_OUT;
    if (!out) return;
    const complete = !results.wasInterrupted && results.numRuntimeErrorTestSuites === this.broken.length;
    writeFileSync(`${out}.new`, JSON.stringify({ tests: this.tests, broken: this.broken, complete }));
    renameSync(`${out}.new`, out);
  }
}
