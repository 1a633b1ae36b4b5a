import { PGlite } from "@electric-sql/pglite";
import { embeddedImage } from "../embedded.ts";

/** To be run whenever PGlite changes: `deno run -A src/database/embedded/image/build.ts`. */
const database = await PGlite.create();
const image = await database.dumpDataDir("gzip");
await Deno.writeFile(embeddedImage, new Uint8Array(await image.arrayBuffer()));
await database.close();
