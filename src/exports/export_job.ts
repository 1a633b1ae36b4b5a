import type { ExportFormat, ExportSpec } from "./export_spec.ts";
import type { AuditNote } from "../audit/audit.ts";
import { Fault } from "../shared/fault.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { ExportWork } from "./text.ts";

/** Where the file of an export is stored: `DATA_DIR`, the database, or the operator's bucket. */
export type ExportPath = "files" | "chunks" | "bucket";

/**
 * `deleted`: its file was removed, because it held data that was erased later; or it was erased too
 * often while it was being written.
 */
export type ExportState = "queued" | "running" | "ready" | "failed" | "deleted";

/** An export in job or bucket form, as its owner sees it. */
export interface ExportJob {
  requestId: string;
  accountId: number;
  location: ExportPath;
  format: ExportFormat;
  state: ExportState;
  tables: readonly ExportTable[];
  /** Half-open; absent: unbounded. */
  start?: Date;
  end?: Date;
  /** Columns of its filters. Their values, which may name a person, are deleted with its end. */
  filteredBy: readonly string[];
  /** Number of the attempt that wrote, or is writing, the file; 0 before the first. */
  claim: number;
  /** 0 until it is ready. */
  bytesSize: number;
  createdAt: Date;
  expiresAt: Date;
}

/** A job that this process works on, until another process claims it. */
export interface ClaimedExport {
  job: ExportJob;
  work: ExportWork;
}

export interface NewExport {
  requestId: string;
  accountId: number;
  location: ExportPath;
  spec: ExportSpec;
  snapshot: string;
  /** Hash of a request with an `X-Request-ID`: within 24 hours, its repeats get the same job. */
  requestHash?: string;
  /** Written to the audit log in the transaction that stores the job. */
  audit?: AuditNote;
}

/** The rows that an erasure affects. Both ends of the span are included; absent: unbounded. */
export interface ErasedSpan {
  tables: readonly ExportTable[];
  from?: Date;
  to?: Date;
}

/**
 * Stores jobs. Methods that take an account find only that account's jobs. Implemented in
 * `src/exports/store/`.
 */
export interface ExportJobStore {
  /**
   * Stores a job, or returns that of an earlier request with the same hash unless it has failed or
   * was deleted. Throws `rate_limit_exceeded` when the account has too many jobs that are waiting
   * or stored, or its files are too large.
   */
  create(newExport: NewExport): Promise<ExportJob>;
  /** Claims the next job for an attempt, except these; undefined when there is none to claim. */
  claim(except?: readonly string[]): Promise<ClaimedExport | undefined>;
  /** Renews the claims of attempts; returns the ids of those that this process still holds. */
  renew(jobs: readonly ExportJob[]): Promise<ReadonlySet<string>>;
  /** Marks a job as ready; false when the attempt isn't the current one, so its file is useless. */
  finish(job: ExportJob, bytesSize: number): Promise<boolean>;
  /** Ends an attempt without a file. Another may begin at once or, after a failure, a bit later. */
  release(job: ExportJob, failed: boolean): Promise<void>;
  find(accountId: number, requestId: string): Promise<ExportJob | undefined>;
  /** Lists jobs, newest first. */
  list(accountId: number): Promise<ExportJob[]>;
  /**
   * Removes a job from the list for good and returns it; undefined when there is none. The caller
   * then removes its file.
   */
  remove(accountId: number, requestId: string, audit?: AuditNote): Promise<ExportJob | undefined>;
  /**
   * Marks finished jobs that may hold rows of this span as `deleted`, and makes running ones start
   * again, unless they did so many times already. Returns these jobs; the caller removes the files
   * of their attempts.
   */
  erase(accountId: number, span: ErasedSpan): Promise<ExportJob[]>;
  /**
   * Returns ended or expired jobs whose files still exist: a random selection for each location.
   */
  leftOver(): Promise<ExportJob[]>;
  /** Stores that the files of all attempts up to this one are gone. */
  cleared(job: ExportJob): Promise<void>;
  /** Deletes expired jobs whose files are gone. */
  forget(): Promise<void>;
}

/** Identifies the file of one attempt. */
export type ExportFileName = Pick<ExportJob, "requestId" | "claim" | "format">;

/** Storage for files. */
export interface ExportFiles {
  /**
   * Writes a whole file; resolves with its length when it is durable. When it throws, parts of the
   * file may be left for `remove`.
   */
  save(file: ExportFileName, bytes: AsyncIterable<Uint8Array>): Promise<number>;
  /**
   * Reads the bytes from `start` up to but excluding `end`. Throws `export_not_found` when there is
   * no such file.
   */
  read(file: ExportFileName, start: number, end: number): AsyncGenerator<Uint8Array>;
  /** Removes the file of this attempt, or of it and all before it; missing files are ignored. */
  remove(file: ExportFileName, which: "this" | "all"): Promise<void>;
}

/** For the file of a job that is ready: somebody else removed it, or a backup lacked it. */
export function exportFileMissing(requestId: string): Fault {
  return new Fault("export_not_found", {
    param: "request_id",
    message: `request_id: the file of the export '${requestId}' is missing; ask for it again.`,
  });
}

/** Storage that can sign a download URL for a file. */
export interface ExportBucket extends ExportFiles {
  /** Returns a URL where anyone can read the file until `until`, but for seven days at most. */
  address(file: ExportFileName, until: Date): Promise<string>;
}
