import { chunks } from "./chunks.ts";
import { copyLine } from "./copy_text.ts";
import type { Database, Queryable, SqlRow, Transaction } from "./database.ts";
import { isLockTimeout } from "./postgres/faults.ts";
import { readSchemaVersion } from "./schema_version.ts";

/** A copied table. A partition is a table of its own. */
export interface CopiedTable {
  name: string;
  rows: number;
  /** Sums of its amounts, by column. */
  nanos: Readonly<Record<string, string>>;
}

export interface CopySteps {
  /** Creates the partitions in the target that only the source has. */
  openPartitions(from: Queryable, to: Queryable): Promise<void>;
  /** Changes in the target what depends on the kind of database; part of the transaction. */
  adapt(to: Transaction): Promise<void>;
  /** How long the copy waits for sessions that use the target's tables; default 30 seconds. */
  lockWaitMs?: number;
  /** Called with the number of all rows, before they are copied. */
  onTotal?(rows: number): void;
  /** Called with the rows and characters of each copied batch. */
  onCopied?(rows: number, characters: number): void;
}

/**
 * Copies all rows of a database into another one of the same schema version, in one transaction,
 * whose tables nobody else can read or write meanwhile. Tables and columns are read from the
 * catalogue. Throws an Error of one line, and leaves the target empty, if a table isn't empty, or
 * if its copy doesn't have the same rows, digest and sums of amounts. Nothing may change the source
 * meanwhile.
 */
export function copyDatabase(
  source: Database,
  target: Database,
  steps: CopySteps,
): Promise<CopiedTable[]> {
  return source.transaction(async (from) => {
    await from.query(`set transaction read only; ${textFormats}`);
    const { version } = await readSchemaVersion(from);
    const tables = await copiedTables(from);
    const figures = new Map<string, Figures>();
    for (const table of tables) figures.set(table.name, await figuresOf(from, table));
    steps.onTotal?.([...figures.values()].reduce((sum, { rows }) => sum + Number(rows), 0));
    await target.transaction(async (to) => {
      await to.query(`${textFormats}; set local lock_timeout = ${steps.lockWaitMs ?? 30_000}`);
      await steps.openPartitions(from, to).catch(inUse);
      await lockAll(to).catch(inUse);
      await checkEmpty(to);
      await to.query(`delete from ${backfillTable}`);
      await checkVersion(to, version);
      for (const table of tables) {
        await copyRows(from, to, table, steps);
        checkCopied(table.name, figures.get(table.name)!, await figuresOf(to, table));
      }
      await copySequences(from, to);
      await steps.adapt(to);
    });
    return tables.map(({ name }) => {
      const { rows, digest: _, ...nanos } = figures.get(name)!;
      return { name, rows: Number(rows), nanos };
    });
  });
}

/**
 * Throws an Error of one line if nothing can be copied into this database: it has rows, or tables of
 * another program, or its tables belong to a user whose rights this one doesn't have.
 */
export async function checkEmpty(target: Queryable): Promise<void> {
  const names = (await tablesOf(target)).map(({ name }) => name);
  if (!names.includes(versionTable)) return refuseUsed(names);
  await checkOwner(target);
  const used: string[] = [];
  for (const name of names) {
    if (name === versionTable || name === backfillTable) continue;
    const [row] = await target.query(`select exists (select from ${name}) as "isUsed"`, []);
    if (row!.isUsed === true) used.push(name);
  }
  refuseUsed(used);
}

function refuseUsed(tables: readonly string[]): void {
  if (tables.length === 0) return;
  const more = tables.length > 5 ? ` and ${tables.length - 5} more` : "";
  throw new Error(
    `DATABASE_URL: the database isn't empty (it has ${
      tables.slice(0, 5).join(", ")
    }${more}); create a new one, or correct the address.`,
  );
}

/** Only an owner may switch triggers off and add partitions; other rights don't suffice. */
async function checkOwner(target: Queryable): Promise<void> {
  const [other] = await target.query(
    `select quote_ident(relname) as name, pg_get_userbyid(relowner) as owner,
       current_user::text as self
     from pg_class where relkind in ('r', 'p')
       and relnamespace = quote_ident(current_schema())::regnamespace
       and not pg_has_role(relowner, 'usage')
     order by relname limit 1`,
    [],
  );
  if (other === undefined) return;
  const { name, owner, self } = other;
  throw new Error(
    `DATABASE_URL: the table ${name} belongs to ${owner}, whose rights the user ${self} doesn't have; copy as ${owner}, or create a new database.`,
  );
}

const versionTable = "schema_migrations";
/** Migrations write to it, so that it isn't empty in a new database either. */
const backfillTable = "schema_backfills";

/** So that equal values are equal texts in both, whatever the defaults of a server or role are. */
const textFormats = `set local timezone = 'UTC'; set local datestyle = 'ISO';
  set local bytea_output = 'hex'; set local extra_float_digits = 1`;

interface Table {
  name: string;
  columns: readonly string[];
  /** Columns with amounts of money. */
  amounts: readonly string[];
  /** SQL: about the characters of a row. Doesn't read values that are stored outside of it. */
  size: string;
}

/** The tables with rows of their own, so that each follows those that its foreign keys refer to. */
async function tablesOf(database: Queryable): Promise<Table[]> {
  const rows = await database.query(
    `with recursive tables as (
       select oid, relname from pg_class
       where relkind = 'r' and relnamespace = quote_ident(current_schema())::regnamespace
     ), levels (oid, level) as (
       select oid, 0 from tables
       union
       select conrelid, level + 1 from levels join pg_constraint on confrelid = levels.oid
       where contype = 'f' and conrelid <> confrelid and level < 100
     )
     select quote_ident(relname) as name, array_agg(quote_ident(attname) order by attnum) as columns,
       coalesce(array_agg(quote_ident(attname) order by attnum) filter (
         where attname like '%nanos' and atttypid in ('int8'::regtype, 'numeric'::regtype)
       ), '{}') as amounts,
       string_agg(format(case when atttypid in ('text'::regtype, 'bytea'::regtype)
         then 'coalesce(octet_length(%I), 0)' else 'coalesce(pg_column_size(%I), 0)' end,
         attname), ' + ') as size
     from tables join pg_attribute on attrelid = tables.oid
     where attnum > 0 and not attisdropped and attgenerated = ''
     group by tables.oid, relname
     order by (select max(level) from levels where levels.oid = tables.oid), relname`,
    [],
  );
  return rows as unknown as Table[];
}

async function copiedTables(database: Queryable): Promise<Table[]> {
  return (await tablesOf(database)).filter(({ name }) => name !== versionTable);
}

/** Waits for programs that are starting on the target; later ones wait for the copy. */
async function lockAll(to: Transaction): Promise<void> {
  const names = (await tablesOf(to)).map(({ name }) => name);
  await to.query(`lock table ${names.join(", ")} in access exclusive mode`);
}

function inUse(thrown: unknown): never {
  if (!isLockTimeout(thrown)) throw thrown;
  throw new Error(
    "DATABASE_URL: another session is using tables of the database: end it (pg_stat_activity shows it), and repeat the command.",
    { cause: thrown },
  );
}

async function checkVersion(to: Queryable, version: number): Promise<void> {
  const own = (await readSchemaVersion(to)).version;
  if (own === version) return;
  throw new Error(
    `The embedded database has schema version ${version}, this program ${own}: use the version that last used it.`,
  );
}

/** Values of a database that are equal after a copy. All are texts. */
type Figures = Record<"rows" | "digest", string> & Record<string, string>;

async function figuresOf(database: Queryable, table: Table): Promise<Figures> {
  const sums = table.amounts.map((amount) => `, coalesce(sum(${amount}), 0)::text as ${amount}`);
  const [row] = await database.query(
    `select count(*)::text as rows, coalesce(sum(
       ('x' || left(md5(row(${table.columns.join(", ")})::text), 15))::bit(60)::bigint
     ), 0)::text as digest${sums.join("")} from ${table.name}`,
    [],
  );
  return row as Figures;
}

function checkCopied(name: string, before: Figures, after: Figures): void {
  const differing = Object.keys(before).find((figure) => before[figure] !== after[figure]);
  if (differing === undefined) return;
  throw new Error(
    `The copy of ${name} differs from the original (${differing}: ${after[differing]} for ${
      before[differing]
    }).`,
  );
}

/** Places and sizes of rows that are read at once, and about how many characters of rows. */
const rowsPerPage = 2_000;
const charactersPerBatch = 2 * 1024 * 1024;

/** Copies values as the texts that the source makes of them: drivers would round times to milliseconds. */
async function copyRows(
  from: Queryable,
  to: Transaction,
  { name, columns, size }: Table,
  { onCopied }: CopySteps,
): Promise<void> {
  // They would count rows that are counted in other tables already.
  await to.query(`alter table ${name} disable trigger user`);
  await from.query(
    `declare places no scroll cursor for select ctid::text as place, ${size} + 64 as size from ${name}`,
  );
  const texts = columns.map((column) => `${column}::text`).join(", ");
  const sizeOf = (row: SqlRow) => Number(row.size);
  for (;;) {
    const page = await from.query(`fetch ${rowsPerPage} from places`);
    if (page.length === 0) break;
    for (const batch of chunks(page, sizeOf, charactersPerBatch)) {
      const rows = await from.query(
        `select ${texts} from ${name} where ctid = any($1::text[]::tid[])`,
        [batch.map(({ place }) => String(place))],
      );
      const lines = rows.map((row) => copyLine(Object.values(row)));
      await to.copyIn(name, columns, lines);
      onCopied?.(lines.length, lines.reduce((sum, { length }) => sum + length, 0));
    }
  }
  await from.query("close places");
  await to.query(`alter table ${name} enable trigger user`);
}

async function copySequences(from: Queryable, to: Queryable): Promise<void> {
  const sequences = await from.query(
    `select quote_ident(relname) as name from pg_class
     where relkind = 'S' and relnamespace = quote_ident(current_schema())::regnamespace`,
    [],
  );
  for (const { name } of sequences) {
    const [row] = await from.query(`select last_value::text as last, is_called from ${name}`, []);
    await to.query("select setval($1::text::regclass, $2::bigint, $3::boolean)", [
      String(name),
      String(row!.last),
      row!.is_called as boolean,
    ]);
  }
}
