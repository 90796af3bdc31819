import type { http } from '@n17q/contracts';

/** The server answered with a problem. `code` is from the closed list of the API; `facts` are the problem's other members. */
export class N17qProblem extends Error {
  readonly code: http.ProblemCode;
  readonly status: number;
  readonly detail: string;
  /** JSON Pointer of the field at fault, if there is one. */
  readonly path: string | undefined;
  readonly facts: { readonly [name: string]: unknown };
  /** After how many seconds to try again; undefined: the server gave no time. */
  readonly retryAfterS: number | undefined;

  constructor(body: http.ProblemBody, retryAfterS: number | undefined) {
    super(`${body.code}: ${body.detail}`);
    this.name = 'N17qProblem';
    const { code, status, detail, path, type: _type, title: _title, ...facts } = body;
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.path = path;
    this.facts = facts;
    this.retryAfterS = retryAfterS;
  }
}

/** No usable answer came. Unless a request carried an idempotency key, it is not known whether it was taken in. */
export class N17qUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) { super(message, options); this.name = 'N17qUnreachable'; }
}

/** The stream left out a revision twice in a row: something between here and the server loses events. */
export class N17qGap extends Error {
  constructor(readonly run: string, readonly expected: number, readonly got: number) { super(`run ${run}: revision ${got} came where ${expected} was due`); this.name = 'N17qGap'; }
}

/** What was waited for did not come in time. `last` is the view that was seen last. */
export class N17qTimeout extends Error {
  constructor(readonly run: string, withinMs: number, readonly last: http.RunView) { super(`run ${run} was not there after ${withinMs} ms; it is ${last.status}: ${last.move.words}`); this.name = 'N17qTimeout'; }
}
