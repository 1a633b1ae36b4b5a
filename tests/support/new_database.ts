import { Buffer } from "node:buffer";
import { tmpdir } from "node:os";
import { embeddedImage as imagePath } from "../../packaging/contents.ts";
import { sha256Hex } from "../../src/base/hash.ts";
import { embeddedImage, openEmbedded } from "../../src/database/embedded/embedded.ts";
import { unpackImage } from "../../src/database/embedded/image.ts";
import { migrate } from "../../src/database/migrate.ts";
import { memoryFolder } from "./memory_folder.ts";
import { type Migration, readMigrations } from "../../src/database/migration_file.ts";

/** Reads the migrations in `migrations/`. */
export function productMigrations(): Promise<Migration[]> {
  return readMigrations(new URL("../../migrations/", import.meta.url));
}

/**
 * Copies an empty embedded database with all migrations to `directory`, which must not exist. A
 * service that finds it starts with a quarter of the work that migrating takes.
 */
export async function copyMigrated(directory: string): Promise<void> {
  template ??= migratedTemplate();
  copyFolder(await template, directory);
}

/** Puts a migrated embedded database into the data directory, unless it has one already. */
export async function ensureMigrated(dataDir: string): Promise<void> {
  const database = `${dataDir}/database`;
  if (exists(database)) return;
  await Deno.mkdir(dataDir, { recursive: true, mode: 0o700 });
  await copyMigrated(database);
}

let template: Promise<string> | undefined;

/**
 * Returns the folder that is copied, whose name has a hash of its contents. It is among temporary
 * files, which the gate removes, so that all test files of a run share it.
 */
async function migratedTemplate(): Promise<string> {
  const migrations = await productMigrations();
  const hash = sha256Hex(JSON.stringify([embeddedImage.href, migrations]));
  const place = `${memoryFolder().dir ?? tmpdir()}/gateway-migrated-${Deno.uid()}-${
    hash.slice(0, 16)
  }`;
  if (!exists(place)) await makeTemplate(place, migrations);
  return place;
}

/**
 * Makes the template elsewhere and renames it: if several threads do so at once, one is used. It
 * begins with the migrated database of the gate's bundle, which is a copy of an open one: closed
 * properly here, it saves each copy the recovery.
 */
async function makeTemplate(place: string, migrations: readonly Migration[]): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-migrating-", ...memoryFolder() });
  const bundle = Deno.env.get("TEST_BUNDLE");
  if (bundle) unpackImage(new URL(imagePath, `file://${bundle}/`), `${folder}/database`);
  const database = await openEmbedded(`${folder}/database`);
  await migrate(database, migrations);
  await database.query("checkpoint", []);
  await database.close();
  try {
    await Deno.rename(`${folder}/database`, place);
  } catch (thrown) {
    if (!exists(place)) throw thrown;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** PostgreSQL's own template databases, which nobody uses: they have half of all files. */
const leftOut = /\/base\/[14]$/;

/** Copies synchronously, without a turn of the event loop per file: 50 ms for a thousand files. */
function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { mode: 0o700 });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (leftOut.test(`${from}/${name}`)) Deno.mkdirSync(`${to}/${name}`, { mode: 0o700 });
    else if (isDirectory) copyFolder(`${from}/${name}`, `${to}/${name}`);
    else if (from.endsWith("/pg_wal")) copySparse(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Copies a segment of the write-ahead log, and leaves the zeros that fill it to 16 MiB a hole. */
function copySparse(from: string, to: string): void {
  const bytes = Deno.readFileSync(from);
  const blockBytes = 64 * 1024;
  const zeros = new Uint8Array(blockBytes);
  let end = bytes.length;
  while (end >= blockBytes && Buffer.compare(bytes.subarray(end - blockBytes, end), zeros) === 0) {
    end -= blockBytes;
  }
  Deno.writeFileSync(to, bytes.subarray(0, end), { mode: 0o600 });
  Deno.truncateSync(to, bytes.length);
}
