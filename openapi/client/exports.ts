import { connectionError, GatewayError, isAbort, isGatewayError } from "./errors.ts";
import type { Gateway } from "./gateway.ts";
import { createExport, listInteractions, streamExport } from "./generated/sdk.gen.ts";
import type {
  ExportedEvalResult,
  ExportedEvalRun,
  ExportRequest,
  Interaction,
  InteractionSummary,
  ListInteractionsData,
} from "./generated/types.gen.ts";
import { readRows } from "./json_rows.ts";
import { readBytes, readText } from "./sse.ts";

/** The tables that can be exported, with the type of their rows. */
export interface ExportedRow {
  interactions: Interaction;
  eval_runs: ExportedEvalRun;
  eval_results: ExportedEvalResult;
}

export type ExportTable = keyof ExportedRow;

export interface ExportRowsOptions<
  Table extends ExportTable,
  Column extends keyof ExportedRow[Table] = keyof ExportedRow[Table],
> {
  client: Gateway;
  /** Default `interactions`. */
  table?: Table | undefined;
  /** First day (UTC), or time in RFC 3339. Default: from the beginning. */
  start_date?: string | undefined;
  /** Last day, inclusive, or end time, exclusive. Default: now. */
  end_date?: string | undefined;
  /** Only these columns; without the texts of calls, rows are much smaller. Default: all. */
  columns?: readonly Column[] | undefined;
  filters?: NonNullable<ExportRequest["filters"]> | undefined;
  signal?: AbortSignal | undefined;
}

/** Yields the rows of one table as they arrive, oldest first. Holds only one row at a time. */
export async function* exportRows<
  Table extends ExportTable = "interactions",
  Column extends keyof ExportedRow[Table] = keyof ExportedRow[Table],
>(
  options: ExportRowsOptions<Table, Column>,
): AsyncGenerator<Pick<ExportedRow[Table], Column>, void> {
  const { client, table = "interactions", start_date = "1970-01-01T00:00:00Z", signal } = options;
  const { response } = await createExport({
    client,
    parseAs: "stream",
    ...(signal ? { signal } : {}),
    body: {
      format: "json",
      delivery: "stream",
      tables: [table],
      start_date,
      ...(options.end_date === undefined ? {} : { end_date: options.end_date }),
      ...(options.filters === undefined ? {} : { filters: options.filters }),
      ...(options.columns === undefined ? {} : {
        columns: options.columns as readonly string[] as NonNullable<ExportRequest["columns"]>,
      }),
    },
  });
  try {
    yield* readRows(readText(bodyOf(response))) as AsyncGenerator<
      Pick<ExportedRow[Table], Column>,
      void
    >;
  } catch (thrown) {
    throw readingError(thrown, response);
  }
}

export interface InteractionRowsOptions {
  client: Gateway;
  /** Filters, dates, search words; `limit` is the length of a page. */
  query?: Omit<NonNullable<ListInteractionsData["query"]>, "cursor"> | undefined;
  signal?: AbortSignal | undefined;
}

/** Yields calls without their texts, newest first. Fetches further pages as rows are consumed. */
export async function* interactionRows(
  { client, query = {}, signal }: InteractionRowsOptions,
): AsyncGenerator<InteractionSummary, void> {
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const { data } = await listInteractions({
      client,
      query: { ...query, ...(cursor === undefined ? {} : { cursor }) },
      ...(signal ? { signal } : {}),
    });
    yield* data.data;
    cursor = data.next_cursor;
  }
}

export interface DownloadOptions {
  client: Gateway;
  /** Id of an export in job form: `request_id` of its answer. */
  request_id: string;
  /** Interval of polling for an export that isn't written yet, in ms. Default 1000. */
  pollMs?: number | undefined;
  /** How often an interrupted download is resumed without progress. Default 5. */
  resumes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Yields the file of an export, once it is written. An interrupted download is resumed, as long as
 * the file is the same.
 */
export async function* downloadExport(
  options: DownloadOptions,
): AsyncGenerator<Uint8Array, void> {
  let [got, left] = [0, options.resumes ?? 5];
  let etag: string | undefined;
  for (;;) {
    const response = await openFile(options, got, etag);
    etag ??= response.headers.get("ETag") ?? undefined;
    try {
      for await (const bytes of readBytes(bodyOf(response))) {
        got += bytes.length;
        left = options.resumes ?? 5;
        yield bytes;
      }
      return;
    } catch (thrown) {
      if (isAbort(thrown) || etag === undefined || left-- <= 0) {
        throw readingError(thrown, response);
      }
    }
  }
}

async function openFile(
  options: DownloadOptions,
  from: number,
  etag: string | undefined,
): Promise<Response> {
  const { client, request_id, pollMs = 1000, signal } = options;
  for (;;) {
    try {
      const { response } = await streamExport({
        client,
        path: { request_id },
        parseAs: "stream",
        ...(signal ? { signal } : {}),
        ...(etag === undefined ? {} : { headers: { "Range": `bytes=${from}-`, "If-Range": etag } }),
      });
      if (etag === undefined || response.status === 206) return response;
      await response.body?.cancel();
      const message = "The file has changed since the download began.";
      throw new GatewayError({ code: "stream_cut", message, status: 0 }, response);
    } catch (thrown) {
      if (!isGatewayError(thrown, "export_not_ready")) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
}

function readingError(thrown: unknown, response: Response): unknown {
  if (isAbort(thrown) || thrown instanceof GatewayError) return thrown;
  if (!(thrown instanceof SyntaxError)) return connectionError(thrown);
  return new GatewayError({ code: "stream_cut", message: thrown.message, status: 0 }, response);
}
