/** Examples of one operation, for the document; a test checks them against the schemas. */
export interface OperationExamples {
  /** Values of path parameters by name. */
  readonly params?: Readonly<Record<string, string | number>>;
  readonly requests?: Readonly<Record<string, unknown>>;
  /** Requests as a form, by name; files are given by their file names. */
  readonly forms?: Readonly<Record<string, unknown>>;
  /** Success responses by name. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Events of a stream by name, in order, each as the content of its `data:` line. */
  readonly events?: Readonly<Record<string, unknown>>;
  /** Success responses that aren't JSON, by media type. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Responses with further success statuses, by status. */
  readonly others?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
