import type { ExportFormat, ExportSpec } from "./export_spec.ts";
import type { AuditNote } from "../audit/audit.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { ExportWork } from "./text.ts";

/** Where the file of an export stands: `DATA_DIR`, the database, or the operator's bucket. */
export type ExportPath = "files" | "chunks" | "bucket";

/** `deleted`: its file held data that was erased since. */
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
  /** Which attempt wrote the file, or writes it now; 0 before the first. */
  claim: number;
  /** 0 until it is ready. */
  bytesSize: number;
  createdAt: Date;
  expiresAt: Date;
}

/** A job that this process works on; only as long as nobody else has claimed it since. */
export interface ClaimedExport {
  job: ExportJob;
  work: ExportWork;
}

export interface NewExport {
  requestId: string;
  accountId: number;
  location: ExportPath;
  order: ExportSpec;
  snapshot: string;
  /** Noted in the transaction that stores the job. */
  audit?: AuditNote;
}

/** Which rows an erasure concerns: both ends are included; absent: unbounded. */
export interface ErasedSpan {
  tables: readonly ExportTable[];
  from?: Date;
  to?: Date;
}

/**
 * Where jobs are kept. What names an account finds only that account's jobs. Implemented in
 * `src/exports/store/`.
 */
export interface ExportJobStore {
  /** Frees what an earlier process worked on where only one process can run; at the start. */
  takeOver(): Promise<void>;
  /** Throws `rate_limit_exceeded` when the account has too many jobs, waiting or kept. */
  create(made: NewExport): Promise<ExportJob>;
  /** Claims the next job for an attempt, none of these; undefined when there is none to claim. */
  claim(except?: readonly string[]): Promise<ClaimedExport | undefined>;
  /** Keeps attempts alive; gives the ids of those that are still this process's. */
  renew(jobs: readonly ExportJob[]): Promise<ReadonlySet<string>>;
  /** False when another attempt has begun since: this one's file is useless. */
  finish(job: ExportJob, bytesSize: number): Promise<boolean>;
  /** Ends an attempt without a file: another may begin at once or, after a failure, a little later. */
  release(job: ExportJob, failed: boolean): Promise<void>;
  find(accountId: number, requestId: string): Promise<ExportJob | undefined>;
  /** Newest first. */
  list(accountId: number): Promise<ExportJob[]>;
  /** Takes a job out of the list for good; undefined when there is none. Its file is left over. */
  remove(accountId: number, requestId: string, audit?: AuditNote): Promise<ExportJob | undefined>;
  /**
   * Ends jobs that may hold rows of this span as `deleted`, and makes running ones start again.
   * Returns them with the attempts whose files are left over.
   */
  erase(accountId: number, span: ErasedSpan): Promise<ExportJob[]>;
  /** Ended or expired jobs whose files still exist: some of each place, others each time. */
  leftOver(): Promise<ExportJob[]>;
  /** The files of all attempts up to this one are gone. */
  cleared(job: ExportJob): Promise<void>;
  /** Forgets jobs whose time is over and whose files are gone. */
  forget(): Promise<void>;
}

/** Names the file of one attempt. */
export type ExportFileName = Pick<ExportJob, "requestId" | "claim" | "format">;

/** A place for files. */
export interface ExportFiles {
  /**
   * Writes a whole file; resolves with its length when it is safe. Nothing is left when it throws,
   * as far as that can be helped.
   */
  save(file: ExportFileName, bytes: AsyncIterable<Uint8Array>): Promise<number>;
  /** Bytes from `start` up to, not including, `end`. Throws when there is no such file. */
  read(file: ExportFileName, start: number, end: number): AsyncIterable<Uint8Array>;
  /** Removes the files of this attempt, or of it and all before it; missing ones are gone. */
  remove(file: ExportFileName, which: "this" | "all"): Promise<void>;
}

/** A place that can give an address of its own for a file. */
export interface ExportBucket extends ExportFiles {
  /** An address that anyone can read the file at until `until`. */
  address(file: ExportFileName, until: Date): Promise<string>;
}
