import { PGlite } from "@electric-sql/pglite";
import { programFile } from "../../../base/program_files.ts";
import { migrate } from "../../migrate.ts";
import { readMigrations } from "../../migration_file.ts";
import { embeddedImage, openEmbedded } from "../embedded.ts";

/**
 * Makes the image of a new embedded database: `deno task embedded-image`, needed whenever PGlite's
 * version changes. With a path, writes there the image that packages carry instead, with all
 * migrations applied: applying them is more than half of a first start.
 */
async function main([path]: readonly string[]): Promise<void> {
  const image = path === undefined
    ? await dumped(await PGlite.create())
    : await inFolder(async (directory) => {
      const database = await openEmbedded(directory);
      await migrate(database, await readMigrations(programFile("migrations/")));
      await database.close();
      return await dumped(await PGlite.create(directory));
    });
  await Deno.writeFile(path ?? embeddedImage, new Uint8Array(await image.arrayBuffer()));
}

async function dumped(database: PGlite): Promise<Blob> {
  const image = await database.dumpDataDir("gzip");
  await database.close();
  return image;
}

async function inFolder<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "demeter-image-" });
  try {
    return await work(`${folder}/database`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

await main(Deno.args);
