/** Claims the directory of the first argument, says so, and holds it until it is killed. */
import { claimDataDir } from "../../../src/database/data_dir.ts";

const claim = await claimDataDir(Deno.args[0] ?? "");
await claim.describe({ address: "http://127.0.0.1:4321" });
console.log("holding");
setInterval(() => {}, 1000);
