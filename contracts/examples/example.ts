/** Examples of one operation, for the document; a test holds them against the schemas. */
export interface OperationExamples {
  /** Values of path parameters by name. */
  readonly params?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, unknown>>;
  /** Requests as a form, by name; files stand there by their names. */
  readonly forms?: Readonly<Record<string, unknown>>;
  /** Good answers by name. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Events of a stream by name, in their order: what stands behind `data:`. */
  readonly events?: Readonly<Record<string, unknown>>;
  /** Good answers that aren't JSON, by media type. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Answers of further good statuses. */
  readonly others?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
