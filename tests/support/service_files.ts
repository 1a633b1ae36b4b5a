/** Makes a directory that is removed with the end of the test file, however its tests end. */
export function temporaryDirectory(name: string): string {
  const path = Deno.makeTempDirSync({ prefix: `gateway-${name}-` });
  globalThis.addEventListener("unload", () => Deno.removeSync(path, { recursive: true }));
  return path;
}
