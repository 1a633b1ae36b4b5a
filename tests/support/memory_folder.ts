/**
 * Returns where to make a folder that only this process and its database server read: in memory in
 * the gate (tests/run/memory_folder.ts), otherwise among temporary files. Not for a service that is
 * started as a program: Deno doesn't let it access files below `/dev`.
 */
export function memoryFolder(): { readonly dir?: string } {
  const dir = Deno.env.get("TEST_MEMORY_DIR");
  return dir === undefined ? {} : { dir };
}
