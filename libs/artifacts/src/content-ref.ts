/** A reference to bytes: a salted commitment, never a path, time, name or provider address. Rows: SEAL-7. */
export interface ContentRef {
  readonly commitment: string;
  readonly bytes: number;
  readonly class: ContentClass;
  readonly media: string;
}

export const CONTENT_CLASSES = [
  'input', 'model-output', 'tool-arguments', 'tool-result', 'receipt', 'evidence', 'context', 'manifest', 'workspace', 'note', 'continuation',
] as const;
export type ContentClass = (typeof CONTENT_CLASSES)[number];
