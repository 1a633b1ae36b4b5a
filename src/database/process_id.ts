/**
 * The id under which this process holds leases: made once per `DATA_DIR`, so that a restart finds
 * what it held. The directory is claimed by the caller, so no other process uses it meanwhile.
 */
export async function readProcessId(dataDir: string, newId: () => string): Promise<string> {
  const path = `${dataDir}/process-id`;
  const existing = await Deno.readTextFile(path).then((text) => text.trim(), () => "");
  if (/^[\w-]{8,64}$/.test(existing)) return existing;
  const made = newId();
  const fresh = `${path}.new`;
  await Deno.writeTextFile(fresh, `${made}\n`, { mode: 0o600 });
  await Deno.rename(fresh, path);
  return made;
}
