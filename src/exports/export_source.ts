import type { ExportFilters } from "../../contracts/data/export_filters.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { ExportedLines, LineForm } from "../records/analytics_store.ts";

/** The rows of a table that an export reads. */
export interface ExportQuery {
  table: ExportTable;
  accountId: number;
  start?: Date;
  end?: Date;
  filters: ExportFilters;
  /** A result of `ExportSource.snapshot`. */
  snapshot: string;
  /** Whether to leave out the payloads of calls. */
  withoutPayloads?: boolean;
}

/** The source of an export's rows. Implemented in `src/exports/store/`. */
export interface ExportSource {
  /** Takes a snapshot of the store, which excludes rows written later. Opaque to others. */
  snapshot(): Promise<string>;
  /**
   * Reads the rows of the snapshot, oldest first, a few at a time, so that memory stays flat at any
   * size. Yields finished lines if `form` is set and the source can write it, or else the cells of
   * all columns.
   */
  read(query: ExportQuery, form?: LineForm): AsyncIterable<readonly ExportedLines[]>;
  /** Counts the rows that `read` would yield. */
  count(query: ExportQuery): Promise<number>;
}
