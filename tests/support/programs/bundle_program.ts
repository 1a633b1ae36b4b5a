/** Makes the bundle that the gate's tests start as their programs, in the folder that it is given. */
import { bundle } from "../../../packaging/bundle.ts";

await bundle(Deno.args[0]!);
