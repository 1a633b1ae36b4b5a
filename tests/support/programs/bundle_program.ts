/** Makes the bundle that the gate's tests start as programs, in the folder of its argument. */
import { bundle } from "../../../packaging/bundle.ts";

await bundle(Deno.args[0]!);
