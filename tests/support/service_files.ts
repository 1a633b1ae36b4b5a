/** A directory that goes with the test file, however its tests end. */
export function temporaryDirectory(name: string): string {
  const path = Deno.makeTempDirSync({ prefix: `gateway-${name}-` });
  globalThis.addEventListener("unload", () => Deno.removeSync(path, { recursive: true }));
  return path;
}
