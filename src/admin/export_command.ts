import { type AuditLog, commandLine } from "../audit/audit.ts";
import { didYouMean } from "../base/nearest_names.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import { exportRequest } from "../../contracts/data/exports.ts";
import { filterColumns } from "../../contracts/data/export_filters.ts";
import { columnKinds } from "../../contracts/data/export_tables.ts";
import type { AccountStore } from "../keys/account.ts";
import { describeExport, type ExportSpec, readExportSpec } from "../exports/export_spec.ts";
import { Fault } from "../shared/fault.ts";
import { validate } from "../shared/validate.ts";
import type { Exports } from "../exports/exports.ts";
import {
  chosenAccount,
  type CommandForm,
  optional,
  textOption,
  timeOption,
  UsageError,
  type Values,
} from "./command.ts";
import { parseCommand } from "./command_line.ts";

export interface ExportDeps {
  accounts: AccountStore;
  exports: Pick<Exports, "write" | "count">;
  audit: Pick<AuditLog, "record">;
  /** Resolves when the store has all calls that this process recorded. */
  flushRecords: FlushRecords;
}

/** An event of a running export; the last one is `end`, unless the export throws. */
export type ExportEvent =
  | { kind: "total"; rows: number }
  | { kind: "data"; bytes: Uint8Array; rows: number }
  | { kind: "end"; rows: number };

const many = { type: "string", multiple: true } as const;
const options = {
  from: textOption,
  to: textOption,
  format: textOption,
  table: many,
  column: many,
  "no-payloads": { type: "boolean" },
  filter: many,
  "raw-cells": { type: "boolean" },
  account: textOption,
  out: textOption,
} as const;

export const exportForm: CommandForm = {
  usage:
    "export [--from T] [--to T] [--format json|csv|jsonl] [--table interactions|eval_runs|eval_results]… [--column NAME]… [--no-payloads] [--filter COLUMN=VALUE]… [--raw-cells] [--account A] [--out FILE]",
  summary: "Exports recorded calls or evaluations as JSON, JSON Lines or CSV.",
  options,
  example: "export --from 2026-11-01 --to 2026-11-30 --format csv --out november.csv",
};

/** Returns the options by name. `argv` are the arguments after `export`. Throws `UsageError`. */
export function readExportOptions(argv: readonly string[]): Values {
  return parseCommand("export", exportForm, argv).values;
}

/** Runs an export; rows are read only as its events are pulled. `withTotal` counts them first. */
export async function* runExport(
  deps: ExportDeps,
  argv: readonly string[],
  withTotal: boolean,
): AsyncGenerator<ExportEvent> {
  const values = readExportOptions(argv);
  const account = await chosenAccount(deps.accounts, values);
  const spec = exportSpecOf(values, account.id);
  await deps.flushRecords({ timeoutMs: Infinity, accountId: account.id });
  if (withTotal) yield { kind: "total", rows: await deps.exports.count(account.id, spec) };
  // The audit log gets its entry before any data leaves.
  await deps.audit.record({
    ...{ accountId: account.id, actor: commandLine, action: "export.downloaded" },
    ...{ subject: describeExport(spec), detail: "" },
  });
  let rows = 0;
  const pieces = await deps.exports.write(account.id, spec, (written) => rows = written);
  for await (const bytes of pieces) yield { kind: "data", bytes, rows };
  yield { kind: "end", rows };
}

function exportSpecOf(values: Values, accountId: number): ExportSpec {
  const request = {
    format: optional(values, "format"),
    // Without `--from` the export begins at the first row.
    start_date: timeOption({ from: "0001-01-02", ...values }, "from", "start")?.toISOString(),
    end_date: timeOption(values, "to", "end")?.toISOString(),
    tables: values.table,
    columns: values.column,
    payloads: values["no-payloads"] === true ? false : undefined,
    filters: filtersOf(values.filter as string[] | undefined ?? []),
    raw_cells: values["raw-cells"] === true,
    delivery: "stream",
  };
  try {
    return readExportSpec(validate(exportRequest, request), { accountId, hasBucket: false }).spec;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const { param = "", message } = thrown;
    if (!message.startsWith(`${param}: `)) throw new UsageError(message);
    // Such as `filters.app` or `columns[0]`.
    const [field = "", member] = param.split(/[.[\]]/);
    const column = field === "columns" ? ` ${(values.column as string[])[Number(member)]}` : "";
    throw new UsageError(`--${optionOf(field, member)}${column}${message.slice(param.length)}`);
  }
}

/** Reads `--filter column=value`; repeating a column adds a value to its filter. */
function filtersOf(texts: readonly string[]): Record<string, unknown[]> {
  const filters: Record<string, unknown[]> = {};
  const tables = Object.keys(columnKinds) as (keyof typeof columnKinds)[];
  const columns = [...new Set(tables.flatMap(filterColumns))];
  for (const one of texts) {
    const [, column, value] = /^(\w+)=(.*)$/s.exec(one) ?? [];
    if (column === undefined || value === undefined) {
      throw new UsageError(`--filter ${one}: expected COLUMN=VALUE`);
    }
    if (!columns.includes(column)) {
      const hint = didYouMean(column, columns);
      const expected = `Expected one of ${filterColumns("interactions").join(", ")}`;
      throw new UsageError(`--filter ${one}: unknown column '${column}'.${hint} ${expected}`);
    }
    (filters[column] ??= []).push(typed(column, value));
  }
  return filters;
}

function typed(column: string, value: string): unknown {
  const tables: readonly Readonly<Record<string, string>>[] = Object.values(columnKinds);
  const kind = tables.map((table) => table[column]).find((one) => one !== undefined);
  if (kind === "number" && /^-?\d/.test(value)) return Number(value);
  if (kind === "boolean" && /^(true|false)$/.test(value)) return value === "true";
  return value;
}

/** Returns the option that sets a field of the request: some have another name. */
function optionOf(field: string, column: string | undefined): string {
  const names: Readonly<Record<string, string>> = {
    start_date: "from",
    end_date: "to",
    tables: "table",
    columns: "column",
    filters: column === undefined ? "filter" : `filter ${column}`,
  };
  return names[field] ?? field;
}
