import { PGlite } from "@electric-sql/pglite";
import { embeddedImage } from "../embedded.ts";

/**
 * Makes the image of a new embedded database again: `deno run -A src/database/embedded/image/build.ts`. To be
 * done whenever the version of PGlite changes.
 */
const database = await PGlite.create();
const image = await database.dumpDataDir("gzip");
await Deno.writeFile(embeddedImage, new Uint8Array(await image.arrayBuffer()));
await database.close();
