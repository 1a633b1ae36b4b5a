import assert from "@std/assert";
import { claimDataDir } from "../../src/database/data_dir.ts";
import type { FirstStart } from "../../src/main/serve.ts";
import { fillDemo, removeUnfilled } from "./fill.ts";

const filesOf = (path: string) => [...Deno.readDirSync(path)].map(({ name }) => name).sort();

Deno.test("a demo that was stopped while it was filled starts afresh, and no other demo does", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "gateway-fill-" });
  const stopped = () => Promise.reject(new Error("stopped"));
  const services = { config: { dataDir }, stores: { accounts: { first: stopped } } };
  try {
    await Deno.mkdir(`${dataDir}/database/base`, { recursive: true });
    await Deno.mkdir(`${dataDir}/holiday photos`);
    await removeUnfilled(dataDir);
    assert.deepEqual(filesOf(dataDir), ["database", "holiday photos"]);
    await assert.rejects(fillDemo({ services } as unknown as FirstStart), /stopped/);
    const claim = await claimDataDir(dataDir);
    await assert.rejects(removeUnfilled(dataDir), /is held by process/);
    await claim.release();
    assert.deepEqual(filesOf(dataDir), ["database", "filling", "holiday photos", "owner.lock"]);
    await removeUnfilled(dataDir);
    assert.deepEqual(filesOf(dataDir), ["holiday photos", "owner.lock"]);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
