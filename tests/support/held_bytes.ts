import v8 from "node:v8";
import vm from "node:vm";

/** Returns how many bytes of the heap the value holds that `make` returns. */
export function heldBytes(make: () => unknown): number {
  v8.setFlagsFromString("--expose-gc");
  const gc: () => void = vm.runInNewContext("gc");
  gc();
  const before = Deno.memoryUsage().heapUsed;
  const held = [make()];
  gc();
  const bytes = Deno.memoryUsage().heapUsed - before;
  // Used after the collection, which would take it otherwise.
  held.pop();
  return bytes;
}
