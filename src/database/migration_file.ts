import { sha256Hex } from "../base/hash.ts";

/** One forward step of the schema. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /**
   * `expand`: programs of the previous version keep working. `backfill`: one statement that a
   * background job repeats until no rows are left. `contract`: removes what older programs use.
   */
  phase: "expand" | "backfill" | "contract";
  /** For a contract step: the oldest schema version whose programs work with it. */
  worksWith?: number;
  /** Indexes to build concurrently, instead of running the text as it is. */
  indexes?: readonly IndexBuild[];
}

/** `create [unique] index concurrently name on table rest` */
export interface IndexBuild {
  unique: boolean;
  name: string;
  table: string;
  /** Columns and condition. */
  rest: string;
}

/** Reads `0001_name.sql` and so on, in order. */
export async function readMigrations(directory: URL): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for await (const entry of Deno.readDir(directory)) {
    const match = /^(\d{4})_(\w+)\.sql$/.exec(entry.name);
    if (!match) continue;
    const sql = await Deno.readTextFile(new URL(entry.name, directory));
    migrations.push(parseMigration(Number(match[1]), match[2]!, sql));
  }
  migrations.sort((a, b) => a.version - b.version);
  const twice = migrations.find(({ version }, at) => migrations[at + 1]?.version === version);
  if (twice) throw new Error(`Two migrations have the number ${twice.version}: renumber one.`);
  return migrations;
}

/** Parses the file's header: its first lines, each `-- name: value`. */
export function parseMigration(version: number, name: string, sql: string): Migration {
  const refuse = (reason: string) => new Error(`The migration ${version} ${name}: ${reason}.`);
  const header = readHeader(sql);
  const { phase, transaction } = header;
  if (phase !== "expand" && phase !== "backfill" && phase !== "contract") {
    throw refuse("its first line must be `-- phase: expand`, `backfill` or `contract`");
  }
  const worksWith = header["works with"];
  if ((phase === "contract") !== (worksWith !== undefined)) {
    throw refuse("a contract step, and no other, says `-- works with: 0001`, a schema version");
  }
  if (worksWith !== undefined && !(Number(worksWith) > 0 && Number(worksWith) < version)) {
    throw refuse("`works with` must be an earlier schema version");
  }
  if (transaction !== undefined && (transaction !== "none" || phase !== "expand")) {
    throw refuse("only an expand step may say `-- transaction: none`, to build indexes");
  }
  const indexes = transaction === "none" ? parseIndexes(sql) : undefined;
  if (transaction === "none" && !indexes) {
    throw refuse(
      "without a transaction it may only hold `create index concurrently name on table …;`",
    );
  }
  return {
    ...{ version, name, sql, phase },
    ...(worksWith === undefined ? {} : { worksWith: Number(worksWith) }),
    ...(indexes ? { indexes } : {}),
  };
}

function readHeader(sql: string): Record<string, string | undefined> {
  const header: Record<string, string> = {};
  for (const line of sql.split("\n")) {
    const match = /^-- (phase|transaction|works with): (\w+)$/.exec(line);
    if (!match) break;
    header[match[1]!] = match[2]!;
  }
  return header;
}

/** Undefined if there is any other statement. Conditions must not hold a semicolon. */
function parseIndexes(sql: string): IndexBuild[] | undefined {
  const code = sql.split("\n").filter((line) => !line.trimStart().startsWith("--")).join("\n");
  const statements = code.split(";").map((one) => one.trim()).filter((one) => one !== "");
  const indexes: IndexBuild[] = [];
  for (const statement of statements) {
    const match = /^create (unique )?index concurrently (\w+) on (\w+)\s([^]+)$/i.exec(statement);
    if (!match) return undefined;
    const [, unique, name, table, rest] = match;
    indexes.push({ unique: unique !== undefined, name: name!, table: table!, rest: rest! });
  }
  return indexes.length > 0 ? indexes : undefined;
}

export function checksumOf({ sql }: Migration): string {
  return sha256Hex(sql);
}
