import type { ExportFilters } from "../../contracts/data/export_filters.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { ExportedLines, LineForm } from "../records/analytics_store.ts";

/** Which rows of a table an export reads. */
export interface ExportQuery {
  table: ExportTable;
  accountId: number;
  start?: Date;
  end?: Date;
  filters: ExportFilters;
  /** As `snapshot` gave it. */
  snapshot: string;
  /** The payloads of calls aren't read. */
  withoutPayloads?: boolean;
}

/** Where an export's rows come from. Implemented in `src/exports/store/`. */
export interface ExportSource {
  /** A snapshot of the store: it excludes rows that are written later. Only the store can read it. */
  snapshot(): Promise<string>;
  /**
   * Rows of the snapshot, oldest first, some at a time: memory stays flat at any size. They are
   * lines of `form`, if there is one and the source can write them, or the cells of all columns.
   */
  read(query: ExportQuery, form?: LineForm): AsyncIterable<readonly ExportedLines[]>;
  /** How many rows `read` would give. */
  count(query: ExportQuery): Promise<number>;
}
